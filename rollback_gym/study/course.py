"""The course of one episode: its first pivotal mistake, what became of it, and every rollback judged.

A pure function of the record; `diagnose` counts what is found here.
"""

import math
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from rollback_gym.core.errors import RecordError
from rollback_gym.core.snapshot import Outcome
from rollback_gym.play.records import Act, Episode
from rollback_gym.study.admissions import acts_the_same, admits

HOPELESS = "hopeless"
"""The grade, here, of an action that was taken when the goal was out of reach already."""


class Mistake(NamedTuple):
    """The first pivotal mistake of an episode."""

    turn: int
    """Its action index."""
    before: float
    """L before it: finite."""
    after: float
    """L after it: larger, or infinite."""
    wasted: int
    """Turns after it; of a won episode, only those beyond what was needed before it."""
    recovered: int | None
    """After how many turns L was for the first time below `before`; None where it never was."""
    by_rollback: bool
    """A rollback before that took the mistake back."""

    @property
    def fatal(self) -> bool:
        """Whether it put the goal out of reach, but for going back."""
        return math.isinf(self.after)

    @property
    def shortest(self) -> float:
        """The turns that recovering takes at least without going back, 1 + after - before; going back takes 2."""
        return 1 + self.after - self.before


class Effect(StrEnum):
    """What a rollback that was carried out did, by L at its target and L where it was taken, `here`."""

    USEFUL = "useful"
    """L(target) + 1 <= L(here): going back, its own turn included, costs no more than going on would have."""
    PREDICTIVE = "predictive"
    """L(target) = L(here), the least L on the branch, and no action taken back had raised it: a change of mind before
    any harm was done."""
    COSTLY = "costly"
    """L(target) > L(here): progress was given up."""
    VAIN = "vain"
    """All others: the mistake stays on the branch, or it had been repaired already."""


class Undoing(NamedTuple):
    """A rollback that was carried out, as an oracle sees it."""

    turn: int
    effect: Effect
    delay: int | None
    """Turns since the first pivotal mistake that it took back: 1 if at once; None where it took none back."""
    miss: int | None
    """Nodes between the right target and the one chosen: 0 exact, 1 the node after it (the mistake itself), -1 the one
    before. The right target is the last node on the branch with the least L: the last index before the mistake. None
    where there was no mistake to take back, that is, where going back to the right target would not have been useful.
    """
    followed: bool
    """The next action brought the goal nearer."""


class Course(NamedTuple):
    """What is counted of an episode."""

    kind: str
    outcome: str
    turns: int
    invalid: int
    """Inadmissible actions, refused rollbacks among them."""
    unreadable: int
    """Answers of a model that no action could be read from."""
    answers: int
    """Answers of a model."""
    rollbacks: int
    """Rollbacks that were carried out."""
    refused: int
    """Rollbacks that were not."""
    admitted: int
    """Turns that admit a mistake in words."""
    unmoved: int
    """Those among them that go on all the same: see `admissions.acts_the_same`."""
    injected: tuple[tuple[int, str], ...]
    """Turn and kind of every error that was put in on purpose."""
    shortest: float | None
    """L(start); None where no oracle judged the episode, and then all that follows is empty."""
    pivots: tuple[int, ...]
    mistake: Mistake | None
    grades: Mapping[str, int]
    """Game actions by grade, `HOPELESS` among them."""
    undoings: tuple[Undoing, ...]

    @property
    def won(self) -> bool:
        """Whether the episode was won; a truncated one was not."""
        return self.outcome == Outcome.WON

    @property
    def judged(self) -> bool:
        """Whether an oracle judged it."""
        return self.shortest is not None


def course(episode: Episode) -> Course:
    """What there is to count of an episode.

    Raises:
        RecordError: if the record contradicts itself.
    """
    _check(episode)
    acts = episode.acts
    back = [act for act in acts if act.kind == "rollback"]
    judged = episode.distance is not None
    admitted = [
        acts_the_same(act, acts[at - 1] if at else None)
        for at, act in enumerate(acts)
        if act.call is not None and admits(act.call.text)
    ]
    return Course(
        kind=episode.kind,
        outcome=episode.outcome,
        turns=len(acts),
        invalid=sum(act.invalid is not None for act in acts),
        unreadable=sum(act.call is not None and act.call.problem is not None for act in acts),
        answers=sum(act.call is not None for act in acts),
        rollbacks=sum(act.target is not None for act in back),
        refused=sum(act.target is None for act in back),
        admitted=len(admitted),
        unmoved=sum(admitted),
        injected=tuple((act.index, act.injected) for act in acts if act.injected is not None),
        shortest=episode.distance,
        pivots=episode.pivots,
        mistake=_mistake(episode) if judged else None,
        grades=Counter(act.grade or HOPELESS for act in acts if act.kind == "game") if judged else {},
        undoings=_undoings(episode) if judged else (),
    )


def _mistake(episode: Episode) -> Mistake | None:
    if not episode.pivots:
        return None
    turn = episode.pivots[0]
    act = _numbered(episode)[turn]
    before, after = _known(act.previous), _known(act.distance)
    recovered, by_rollback = None, False
    for later in episode.acts:
        if later.index <= turn:
            continue
        by_rollback = by_rollback or turn in later.abandoned
        if _known(later.distance) < before:
            recovered = later.index - turn
            break
    return Mistake(turn, before, after, episode.wasted, recovered, by_rollback and recovered is not None)


def _undoings(episode: Episode) -> tuple[Undoing, ...]:
    numbered = _numbered(episode)
    pivots = set(episode.pivots)
    judged = []
    for at, act in enumerate(episode.acts):
        if act.kind != "rollback" or act.target is None:
            continue
        branch = _branch(act.parent, numbered)
        lengths = [_length(index, episode, numbered) for index in branch]
        removed = [index for index in branch if index > act.target and index in pivots]
        miss = _miss(branch.index(act.target), lengths)
        following = episode.acts[at + 1] if at + 1 < len(episode.acts) else None
        judged.append(
            Undoing(
                turn=act.index,
                effect=_effect(lengths[branch.index(act.target)], lengths[-1], bool(removed), miss is not None),
                delay=act.index - removed[0] if removed else None,
                miss=miss,
                followed=following is not None and following.kind == "game" and _nearer(following),
            )
        )
    return tuple(judged)


def _effect(target: float, here: float, removes_pivot: bool, mistaken: bool) -> Effect:
    if target + 1 <= here and not math.isinf(target):
        return Effect.USEFUL
    if target > here:
        return Effect.COSTLY
    if removes_pivot or mistaken or math.isinf(here):
        return Effect.VAIN
    return Effect.PREDICTIVE


def _miss(chosen: int, lengths: list[float]) -> int | None:
    """How far `chosen`, a place on the branch, is from the right one; `lengths` are L along the branch to here."""
    behind = lengths[:-1]
    least = min(behind)
    if math.isinf(least) or least + 1 > lengths[-1]:
        return None
    return chosen - max(place for place, length in enumerate(behind) if length == least)


def _branch(index: int, numbered: Mapping[int, Act]) -> list[int]:
    """The nodes from the start to this one."""
    branch = [index]
    while branch[-1] != 0:
        branch.append(numbered[branch[-1]].parent)
    return branch[::-1]


def _length(index: int, episode: Episode, numbered: Mapping[int, Act]) -> float:
    return _known(numbered[index].distance if index else episode.distance)


def _check(episode: Episode) -> None:
    """That the record tells of a tree, and that L is known at every action or at none."""
    numbered, here = _numbered(episode), 0
    for act in episode.acts:
        if act.parent != here:
            raise _contradiction(episode, act, f"it has parent {act.parent}, but the game stood at node {here}")
        if (act.distance is None or act.previous is None) != (episode.distance is None):
            raise _contradiction(episode, act, "L is known at some actions, and not at others")
        if act.kind == "game":
            here = act.index
        elif act.target is not None:
            if act.target not in _branch(here, numbered)[:-1]:
                raise _contradiction(episode, act, f"no node {act.target} is before it on its branch")
            here = act.target
    if strange := [index for index in episode.pivots if index not in numbered]:
        raise RecordError(f"Episode {episode.id}: there is no action {strange[0]}, which is said to be a pivot.")


def _contradiction(episode: Episode, act: Act, what: str) -> RecordError:
    return RecordError(f"Episode {episode.id}, action {act.index}: {what}. Was the record changed by hand?")


def _numbered(episode: Episode) -> dict[int, Act]:
    return {act.index: act for act in episode.acts}


def _nearer(act: Act) -> bool:
    return _known(act.distance) < _known(act.previous)


def _known(length: float | None) -> float:
    assert length is not None  # `_check` has seen to it
    return length
