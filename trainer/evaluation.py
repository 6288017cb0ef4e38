"""How well an agent goes back: counted per level on episodes that it did not learn from.

Pure functions of trajectories. A tally keeps every episode's counts, so that seeds can be put together and intervals
drawn with episodes as what is drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rollback_gym.oracles.lookup import Oracle
from rollback_gym.study.statistics import Estimate, shares
from rollback_gym.trainer.shaping import facts
from rollback_gym.trainer.trajectory import Trajectory

CLEAN = "clean"


class Counts(NamedTuple):
    """What there is to count of one episode."""

    won: int
    turns: int
    answers: int
    readable: int
    """Answers that came to their end and that an action could be read from."""
    noticed: int | None
    """1 where the error that was put in was gone back from, 0 where not; None where none was put in."""
    aimed: int
    """Rollbacks while an error stood: those that have a right target."""
    exact: int
    """Those that hit it."""
    near: int
    """Those that hit it, or missed it by one."""
    needless: int
    """Whether there was a rollback while there was no error."""


Tally = Mapping[str, tuple[Counts, ...]]
"""The episodes of each group: `clean`, `1`, `2`, `3`."""


def counts(trajectory: Trajectory, oracle: Oracle) -> Counts:
    """What there is to count of an episode."""
    found = facts(trajectory.history, trajectory.level, oracle, trajectory.prefix)
    own = [fact for fact in found if fact.own]
    misses = [fact.miss for fact in own if fact.miss is not None]
    put_in = getattr(trajectory.start.note, "error", None)
    noticed = None
    if put_in is not None:
        noticed = int(any(fact.rollback and fact.error == put_in and fact.left != put_in for fact in own))
    return Counts(
        won=int(trajectory.won),
        turns=len(trajectory.steps),
        answers=len(trajectory.steps),
        readable=sum(step.turn.problem is None for step in trajectory.steps),
        noticed=noticed,
        aimed=len(misses),
        exact=sum(miss == 0 for miss in misses),
        near=sum(abs(miss) <= 1 for miss in misses),
        needless=int(any(fact.needless for fact in own)),
    )


def estimates(episodes: Sequence[Counts]) -> dict[str, Estimate]:
    """Every measure, with its interval; without a value where there is nothing to count."""
    if not episodes:
        return {name: Estimate(None, None, None, 0) for name in MEASURES}
    return shares(
        {
            name: ([float(over(episode)) for episode in episodes], [float(under(episode)) for episode in episodes])
            for name, (over, under) in _COUNTED.items()
        }
    )


MEASURES: Mapping[str, str] = {
    "success": "episodes won",
    "noticed": "errors put in that were gone back from",
    "exact": "rollbacks from an error to the right target",
    "near": "the same, or one off",
    "needless": "episodes with a rollback that nothing called for",
    "format": "answers that could be read",
}
"""What is measured, in words."""


def plain(tally: Tally) -> dict[str, list[list[Any]]]:
    """A tally as plain values."""
    return {group: [list(episode) for episode in episodes] for group, episodes in tally.items()}


def from_plain(data: Mapping[str, Any]) -> dict[str, tuple[Counts, ...]]:
    """The inverse of `plain`."""
    return {group: tuple(Counts(*episode) for episode in episodes) for group, episodes in data.items()}


def together(tallies: Sequence[Tally]) -> dict[str, tuple[Counts, ...]]:
    """The episodes of several tallies, such as those of several seeds."""
    groups = list(dict.fromkeys(group for tally in tallies for group in tally))
    return {group: tuple(e for tally in tallies for e in tally.get(group, ())) for group in groups}


def mean(episodes: Sequence[Counts], name: str) -> float | None:
    """A share without its interval, for the log; None where there is nothing to count."""
    over, under = _COUNTED[name]
    below = sum(under(episode) for episode in episodes)
    return sum(over(episode) for episode in episodes) / below if below else None


_COUNTED: Mapping[str, Any] = {
    "success": (lambda e: e.won, lambda e: 1),
    "noticed": (lambda e: e.noticed or 0, lambda e: e.noticed is not None),
    "exact": (lambda e: e.exact, lambda e: e.aimed),
    "near": (lambda e: e.near, lambda e: e.aimed),
    "needless": (lambda e: e.needless, lambda e: 1),
    "format": (lambda e: e.readable, lambda e: e.answers),
}
