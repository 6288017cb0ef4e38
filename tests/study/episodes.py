"""Records made by hand, from the course of L alone: what the oracle would have said of an episode."""

import math
from typing import NamedTuple

from rollback_gym.oracles.grading import grade, is_pivotal, regret
from rollback_gym.play.records import Act, Call, Episode, Made


class Back(NamedTuple):
    """A rollback to an action index; refused where `refused`."""

    target: int
    refused: bool = False


class Step(NamedTuple):
    """A game action with more to say than L after it."""

    distance: float
    invalid: str | None = None
    injected: str | None = None
    text: str | None = None
    problem: str | None = None
    action: str = "look"


def episode(start, *course, kind="pick", outcome=None, id="e", oracle=True, cap=30):
    """An episode with L(start) = `start`; `course` are L after each action, `Step`s and `Back`s."""
    acts, lengths, parents, here = [], {0: start}, {0: None}, 0
    for index, item in enumerate(course, 1):
        before = lengths[here]
        if isinstance(item, Back):
            acts.append(_rollback(index, here, item, lengths, parents))
            here = here if item.refused else item.target
            continue
        step = item if isinstance(item, Step) else Step(item)
        call = None if step.text is None else Call((), step.text, 0.0, step.problem)
        lengths[index], parents[index] = step.distance, here
        judged = None if math.isinf(before) else str(grade(regret(before, step.distance)))
        acts.append(
            Act(
                index, "game", here, step.action, "seen", 0.0, step.invalid, False, None, "", (),
                before, step.distance, judged, is_pivotal(before, step.distance), step.injected, call, 0.0,
            )
        )  # fmt: skip
        here = index
    won = lengths[here] == 0
    pivots = tuple(act.index for act in acts if act.pivotal)
    wasted = len(acts) - pivots[0] if pivots else 0
    if pivots and won:
        wasted = max(0, wasted + 1 - int(acts[pivots[0] - 1].previous))
    if not oracle:
        acts = [act._replace(previous=None, distance=None, grade=None, pivotal=False) for act in acts]
    return Episode(
        id, Made("Rollback-ALFWorld-v0", {}), "level", 0, "task", kind, {"name": "by hand"}, "seen",
        start if oracle else None, tuple(acts), outcome or ("won" if won else "truncated"), float(won), cap,
        pivots if oracle else (), wasted if oracle else 0,
    )  # fmt: skip


def _rollback(index, here, item, lengths, parents):
    removed, node = [], here
    while not item.refused and node != item.target:
        removed.append(node)
        node = parents[node]
    after = lengths[here] if item.refused else lengths[item.target]
    return Act(
        index, "rollback", here, f"rollback({item.target})", "seen", 0.0, "refused" if item.refused else None, False,
        None if item.refused else item.target, "", tuple(sorted(removed)), lengths[here], after, None, False, None,
        None, 0.0,
    )  # fmt: skip
