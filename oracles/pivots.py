"""Where an episode went wrong: every action judged by the oracle, and the pivotal mistakes among them."""

import math
from typing import Any, NamedTuple

from rollback_gym.core.history import Entry, History, Node
from rollback_gym.oracles.grading import Grade, grade, is_pivotal, regret
from rollback_gym.oracles.lookup import Oracle


class Assessment(NamedTuple):
    """What one action did to L."""

    entry: Entry
    """The node or rollback, with its action index."""
    previous: float
    """L before the action."""
    distance: float
    """L after it."""
    pivotal: bool
    """A mistake after which more turns are needed; never a rollback."""
    grade: Grade | None
    """None where the goal was out of reach already."""


class Pivots(NamedTuple):
    """The pivotal mistakes of an episode."""

    turns: tuple[int, ...]
    """The action indices of all pivotal mistakes, abandoned branches included."""
    first: int | None
    """The first of them: the pivot turn."""
    wasted: int
    """Turns spent after the first pivot; of a won episode, only those beyond what was needed before it."""


def assessments(history: History, level: Any, oracle: Oracle) -> tuple[Assessment, ...]:
    """Every action of an episode, in the order of action indices, as `oracle` judges it.

    A rollback is graded by the fewest turns still needed if going back is allowed, to any node on the path: those after
    it against those before it, as in `info["oracle"]`.
    """
    lengths: dict[int, float] = {}
    freely: dict[int, float] = {}

    def length(node: Node) -> float:
        if node.index not in lengths:
            lengths[node.index] = oracle.distance(level, node.point.state)
        return lengths[node.index]

    def with_rollback(node: Node) -> float:
        if node.index not in freely:
            behind = min([length(before) for before in node.path[:-1]], default=math.inf)
            freely[node.index] = min(length(node), 1 + behind)
        return freely[node.index]

    judged = []
    for entry in history.entries[1:]:
        if isinstance(entry, Node):
            assert entry.parent is not None
            before, after = previous, distance = length(entry.parent), length(entry)
            pivotal = is_pivotal(previous, distance)
        else:
            target = entry.target or entry.source
            previous, distance = length(entry.source), length(target)
            before, after = with_rollback(entry.source), with_rollback(target)
            pivotal = False
        worth = None if math.isinf(before) else grade(regret(before, after))
        judged.append(Assessment(entry, previous, distance, pivotal, worth))
    return tuple(judged)


def pivots(history: History, level: Any, oracle: Oracle) -> Pivots:
    """The pivotal mistakes of an episode (PivotOPD, section 2: an action with L(s') > L(s))."""
    return pivots_among(assessments(history, level, oracle))


def pivots_among(judged: tuple[Assessment, ...]) -> Pivots:
    """As `pivots`, of an episode whose actions are judged already."""
    mistakes = [assessment for assessment in judged if assessment.pivotal]
    if not mistakes:
        return Pivots((), None, 0)
    first, last = mistakes[0], judged[-1]
    wasted = last.entry.index - first.entry.index
    if last.distance == 0:
        wasted = max(0, wasted + 1 - int(first.previous))
    return Pivots(tuple(mistake.entry.index for mistake in mistakes), first.entry.index, wasted)
