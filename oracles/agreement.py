"""How often another judge names the pivotal mistakes that the oracle knows, and how often chance would.

A judge may be a teacher model that reads the trajectory, as in PivotOPD (there: 71.1% and 84.4% within one turn,
against 33.6% and 28.1% at random), or a rule of thumb.
"""

from collections.abc import Callable, Iterable, Sequence
from math import comb
from typing import NamedTuple

from rollback_gym.study.statistics import Estimate, shares


class Judgement(NamedTuple):
    """What a judge said of an episode, beside what is so."""

    named: tuple[int, ...]
    """The action indices that the judge takes for pivotal mistakes; one that is named twice counts once."""
    pivots: tuple[int, ...]
    """Those that the oracle knows."""
    turns: int
    """The episode's turns: 1 ... `turns` could have been named."""


class Agreement(NamedTuple):
    """How far a judge agrees with the oracle; turns at most `tolerance` apart agree.

    Beside each share stands what chance would reach: its exact expectation if in every episode as many turns as the
    judge named were drawn from all turns, all alike likely and none twice. None where there is nothing to count.
    """

    tolerance: int
    episodes: int
    named: int
    """How many turns the judge named."""
    pivots: int
    """How many the oracle knows."""
    right: Estimate
    """Turns named that agree with a pivot, of all that were named."""
    right_by_chance: float | None
    found: Estimate
    """Pivots that a named turn agrees with, of all pivots."""
    found_by_chance: float | None
    first_found: Estimate
    """The same of each episode's first pivot only."""
    first_found_by_chance: float | None


def agreement(judgements: Iterable[Judgement], *, tolerance: int = 1) -> Agreement:
    """How far the judge and the oracle agree over these episodes, with bootstrap intervals over the episodes.

    >>> agreement([Judgement(named=(4,), pivots=(5,), turns=9)]).found.value
    1.0

    Raises:
        ValueError: if `tolerance` is negative, or a turn is not among the episode's turns.
    """
    if tolerance < 0:
        raise ValueError(f"tolerance is a number of turns of at least 0, got {tolerance}.")
    cases = [_case(judgement, tolerance) for judgement in judgements]
    by_name = shares(
        {
            "right": ([one.right for one in cases], [one.named for one in cases]),
            "found": ([sum(one.found) for one in cases], [len(one.found) for one in cases]),
            "first_found": ([sum(one.found[:1]) for one in cases], [len(one.found[:1]) for one in cases]),
        }
    )
    return Agreement(
        tolerance=tolerance,
        episodes=len(cases),
        named=sum(one.named for one in cases),
        pivots=sum(len(one.found) for one in cases),
        right=by_name["right"],
        right_by_chance=_expected(cases, lambda one: [one.right_by_chance] * one.named),
        found=by_name["found"],
        found_by_chance=_expected(cases, lambda one: one.found_by_chance),
        first_found=by_name["first_found"],
        first_found_by_chance=_expected(cases, lambda one: one.found_by_chance[:1]),
    )


class _Case(NamedTuple):
    """What is counted of one episode; pivot by pivot, in order."""

    named: int
    right: int
    right_by_chance: float
    found: tuple[bool, ...]
    found_by_chance: tuple[float, ...]


def _case(judgement: Judgement, tolerance: int) -> _Case:
    named, pivots, turns = sorted(set(judgement.named)), sorted(set(judgement.pivots)), judgement.turns
    if strange := [turn for turn in (*named, *pivots) if not 1 <= turn <= turns]:
        raise ValueError(f"Turn {strange[0]} is named, but the episode has turns 1 to {turns}.")
    near = [set(range(max(1, pivot - tolerance), min(turns, pivot + tolerance) + 1)) for pivot in pivots]
    covered = set().union(*near)
    return _Case(
        named=len(named),
        right=len(covered.intersection(named)),
        right_by_chance=len(covered) / turns if turns else 0.0,
        found=tuple(not window.isdisjoint(named) for window in near),
        # That none of the turns drawn falls into the window is hypergeometric.
        found_by_chance=tuple(1 - comb(turns - len(window), len(named)) / comb(turns, len(named)) for window in near),
    )


def _expected(cases: Sequence[_Case], chances: Callable[[_Case], Sequence[float]]) -> float | None:
    all_chances = [chance for one in cases for chance in chances(one)]
    return sum(all_chances) / len(all_chances) if all_chances else None
