"""What each turn of an episode earns: rollback curriculum learning's reward, term by term.

A pure function of the history and of L(s). `facts` says what every turn did; `earned` puts numbers to it; `returned`
adds them up. Nothing here can be earned twice:

- A step is effective where L falls below its least so far, abandoned branches included. So no walking to and fro, and
  no going back and doing the same again, is paid.
- An error pays its rollback reward once.
- A mistake of the agent's own costs at once what going back from it can earn, and is paid back when it is made good.
  So erring in order to go back never beats a clean win, however long the episode, for any discount.

*The error* is the first pivotal mistake on the active branch that has neither been rolled back nor repaired: the action
after the last node with the least L. Where there is none, nothing is to be gained by going back.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rollback_gym.core.history import History, Node
from rollback_gym.oracles.grading import is_pivotal
from rollback_gym.oracles.lookup import Oracle
from rollback_gym.trainer.checking import NotNegative, NotPositive
from rollback_gym.trainer.rewards import Scores, environment_rewards
from rollback_gym.trainer.trajectory import Trajectory


@dataclass(frozen=True)
class Rewards:
    """What is paid for what. The numbers are the seed's (rollback curriculum learning, sections 3.2 and 5.1)."""

    step: NotNegative = 0.1
    """An effective step."""
    rollback: NotNegative = 0.3
    """A justified rollback: 1.0 in the first design, which taught to roll back for its own sake."""
    exact: NotNegative = 0.5
    """On top, where it goes back to the last index before the error."""
    win: float = 5.0
    """The end of a won episode."""
    loss: NotPositive = -2.0
    """The end of any other, one that was cut off among them."""
    needless: NotPositive = -0.5
    """On the end, where the agent went back when there was no error."""
    charge: bool = True
    """Whether a mistake of the agent's own costs what going back from it can earn. Not in the first design."""
    wrong: NotPositive = 0.0
    """An ablation of the seed: every pivotal mistake of the agent's own."""
    invalid: NotPositive = 0.0
    """Every answer of the agent that was no action, or none that could be done. The papers on ALFWorld take -0.1."""
    environment: NotNegative = 0.0
    """A weight on what the environment pays, refunds and costs included."""


FIRST_DESIGN = Rewards(rollback=1.0, needless=0.0, charge=False)
"""The seed's first numbers, under which over 30% of its simple episodes held a needless rollback."""


class Fact(NamedTuple):
    """What one turn did."""

    turn: int
    """The action index."""
    own: bool
    """The agent's; those before it took over are not."""
    rollback: bool
    """A rollback that was carried out."""
    before: float
    """L before it."""
    after: float
    """L after it."""
    effective: bool
    """A game action that took L below its least so far."""
    error: int | None
    """The error before the turn, by its action index."""
    target: int | None
    """Of a rollback: where it went."""
    right: int | None
    """The right target before the turn, the last index before the error; None where there was no error."""
    miss: int | None
    """Of a rollback, nodes between the right target and where it went: 0 exact, 1 one too late, -1 one too early."""
    left: int | None
    """The error after the turn."""
    invalid: bool
    """Nothing that could be done."""
    environment: float
    """What the environment paid, refunds and costs included."""

    @property
    def justified(self) -> bool:
        """A rollback that was worth its turn: L(target) + 1 <= L(here)."""
        return self.rollback and not math.isinf(self.after) and self.after + 1 <= self.before

    @property
    def needless(self) -> bool:
        """A rollback where there was no error."""
        return self.rollback and self.error is None

    @property
    def pivotal(self) -> bool:
        """A pivotal mistake."""
        return not self.rollback and is_pivotal(self.before, self.after)


class Earned(NamedTuple):
    """What one turn earned, term by term."""

    step: float = 0.0
    rollback: float = 0.0
    exact: float = 0.0
    charge: float = 0.0
    wrong: float = 0.0
    end: float = 0.0
    """Won or not."""
    needless: float = 0.0
    invalid: float = 0.0
    environment: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return math.fsum(self)


def facts(history: History, level: Any, oracle: Oracle, prefix: int = 0) -> tuple[Fact, ...]:
    """What every turn of an episode did, in the order in which turns were taken.

    Args:
        history: All of the episode.
        level: The level that was played.
        oracle: Knows L.
        prefix: So many of the first actions are not the agent's own.

    Raises:
        OracleBudgetExceeded: where a state is too large to be judged exactly.
    """
    begin, *entries = history.entries
    lengths = {node.index: oracle.distance(level, node.point.state) for node in history.nodes}
    assert isinstance(begin, Node)
    here, least = begin, lengths[begin.index]
    found = []
    for entry in entries:
        path = here.path
        right = _least(path, lengths)
        error = None if right == len(path) - 1 else path[right + 1].index
        chosen = None if isinstance(entry, Node) else entry.target
        then = entry if isinstance(entry, Node) else chosen or here
        before, after = lengths[here.index], lengths[then.index]
        path_then = then.path
        place = _least(path_then, lengths)
        found.append(
            Fact(
                turn=entry.index,
                own=entry.index - begin.index > prefix,
                rollback=chosen is not None,
                before=before,
                after=after,
                effective=isinstance(entry, Node) and after < least,
                error=error,
                target=None if chosen is None else chosen.index,
                right=None if error is None else path[right].index,
                miss=None if chosen is None or error is None else chosen.depth - path[right].depth,
                left=None if place == len(path_then) - 1 else path_then[place + 1].index,
                invalid=entry.invalid is not None,
                environment=float(entry.reward),
            )
        )
        here, least = then, min(least, after)
    return tuple(found)


def _least(path: Sequence[Node], lengths: dict[int, float]) -> int:
    """The place of the last node with the least L."""
    least = min(lengths[node.index] for node in path)
    return max(place for place, node in enumerate(path) if lengths[node.index] == least)


def earned(found: Sequence[Fact], won: bool, rewards: Rewards) -> tuple[Earned, ...]:
    """What each of the agent's own turns earned; the end is earned by the last of them.

    Args:
        found: The facts of all turns.
        won: Whether the episode was won.
        rewards: What is paid.
    """
    paid: set[int] = set()
    charged: set[int] = set()
    deposit = rewards.rollback + rewards.exact if rewards.charge else 0.0
    turns: list[Earned] = []
    for fact in found:
        if not fact.own:
            continue
        pays = fact.justified and fact.error is not None and fact.error not in paid
        charge = 0.0
        if not fact.rollback and fact.left == fact.turn:
            charge, charged = -deposit, charged | {fact.turn}
        elif not fact.rollback and fact.left is None and fact.error in charged - paid:
            charge = deposit  # repaired by going on
        if fact.error is not None and (pays or charge > 0):
            paid.add(fact.error)
        turns.append(
            Earned(
                step=rewards.step if fact.effective else 0.0,
                rollback=rewards.rollback if pays else 0.0,
                exact=rewards.exact if pays and fact.miss == 0 else 0.0,
                charge=charge,
                wrong=rewards.wrong if fact.pivotal else 0.0,
                invalid=rewards.invalid if fact.invalid else 0.0,
                environment=rewards.environment * fact.environment,
            )
        )
    if turns:
        needless = any(fact.own and fact.needless for fact in found)
        turns[-1] = turns[-1]._replace(
            end=rewards.win if won else rewards.loss, needless=rewards.needless if needless else 0.0
        )
    return tuple(turns)


def returned(turns: Iterable[Earned], discount: float = 1.0) -> float:
    """The discounted sum of what the turns earned, in the order in which they were taken."""
    return math.fsum(discount**place * turn.total for place, turn in enumerate(turns))


class Shaping:
    """The curriculum's reward, as the trainer asks for it (`trainer.rewards.Rewarding`).

    Args:
        rewards: What is paid for what.
        oracle: Knows L.
    """

    def __init__(self, rewards: Rewards, oracle: Oracle) -> None:
        self._rewards, self._oracle = rewards, oracle

    def __call__(self, trajectories: Sequence[Trajectory]) -> Scores:
        """What every turn of every episode earned; each term is measured apart, as an episode's sum."""
        scored = [self._of(trajectory) for trajectory in trajectories]
        measures = dict(environment_rewards(trajectories).measures)
        measures["return"] = [returned(turns) for turns in scored]
        for name in Earned._fields:
            measures[f"reward/{name}"] = [math.fsum(getattr(turn, name) for turn in turns) for turns in scored]
        return Scores(tuple(tuple(turn.total for turn in turns) for turns in scored), measures)

    def _of(self, trajectory: Trajectory) -> tuple[Earned, ...]:
        found = facts(trajectory.history, trajectory.level, self._oracle, trajectory.prefix)
        return earned(found, trajectory.won, self._rewards)
