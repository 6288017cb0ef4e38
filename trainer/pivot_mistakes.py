"""Pivotal mistakes that a model made, and how often a judge without an oracle would have found them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rollback_gym.oracles.agreement import Judgement
from rollback_gym.oracles.lookup import Oracle
from rollback_gym.oracles.pivots import Assessment, assessments
from rollback_gym.trainer.trajectory import Trajectory

TELLS = ("go", "take", "move")
"""Kinds of mistakes, by the verb of the action; all others are `other`."""


class Mistake(NamedTuple):
    """A pivotal mistake, at most one of a level."""

    level: str
    actions: tuple[str, ...]
    """All that led to it, itself the last."""
    texts: tuple[str | None, ...]
    kind: str
    knowable: bool
    """Whether the agent could have known better: it walked past what it had seen and needs, or touched what it does not
    need. Who has not seen it yet can only search, and no walk of a search is known to be wrong."""


def pivots(trajectory: Trajectory, oracle: Oracle) -> list[Assessment]:
    """What the agent did that made L grow."""
    judges = assessments(trajectory.history, trajectory.level, oracle)
    return [of for of in judges if of.pivotal and of.entry.index > trajectory.prefix]


def first_mistake(trajectory: Trajectory, oracle: Oracle, cap: int) -> Mistake | None:
    """The first pivotal mistake of an episode, if the task could still be done in `cap` turns."""
    found = pivots(trajectory, oracle)
    if not found or found[0].distance > cap - found[0].entry.index:
        return None
    turns = trajectory.view.turns[1 : found[0].entry.index + 1]
    verb = str(turns[-1].action).split(" ")[0]
    needed = f" {trajectory.level.goal.object_type} "
    return Mistake(
        trajectory.level.id,
        tuple(str(turn.action) for turn in turns),
        tuple(turn.text for turn in turns),
        verb if verb in TELLS else "other",
        verb != "go" or any(needed in str(turn.observation) for turn in turns[:-1]),
    )


def balanced(mistakes: Sequence[Mistake], most: int) -> list[Mistake]:
    """At most so many, as many of each kind as of any other as far as there are; of a kind the first ones."""
    ranks: Counter[str] = Counter()
    ordered = []
    for place, of in enumerate(mistakes):
        ordered.append((ranks[of.kind], place))
        ranks[of.kind] += 1
    return [mistakes[place] for _, place in sorted(ordered)[:most]]


def judged(trajectory: Trajectory, oracle: Oracle) -> Judgement:
    """A weak judge, beside the oracle: it names the first action that failed, or that had been done before."""
    done: set[str] = set()
    named: tuple[int, ...] = ()
    for turn in trajectory.view.turns[1:]:
        if turn.failed or turn.invalid is not None or str(turn.action) in done:
            named = (turn.index,)
            break
        done.add(str(turn.action))
    known = tuple(of.entry.index for of in pivots(trajectory, oracle))
    return Judgement(named, known, trajectory.view.turns[-1].index)
