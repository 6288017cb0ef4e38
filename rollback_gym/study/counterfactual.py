"""What would have been: a failed episode played on from its first pivotal mistake, in several ways, by its own policy.

PivotOPD's Figure 1b. The recorded actions are played again, word for word; snapshots along the way are restored for
every branch, so that each starts from exactly what the policy had before it, with the turns that it had left.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.core.snapshot import Outcome
from rollback_gym.play.playing import chance
from rollback_gym.play.policies import AnyPolicy
from rollback_gym.play.records import Episode, Made
from rollback_gym.study.branches import Arm, Past
from rollback_gym.study.statistics import Distribution, Estimate, distribution, shares


class Replay(NamedTuple):
    """One branch, played to its end."""

    episode: str
    """Id of the episode that it branches from."""
    kind: str
    """Its task type."""
    arm: str
    sample: int
    start: int
    """The action index after which the record was left."""
    won: bool
    turns: int
    """Turns that were played after `start`, forced ones included."""
    shortest: float
    """L after `start`."""


class Result(NamedTuple):
    """What became of an arm."""

    success: Estimate
    """Replays that were won, of all; the interval draws whole episodes, with all their replays."""
    episodes: int
    replays: int
    turns_of_wins: Distribution
    """Turns after the branching, of won replays that had a finite L there: the mean over an episode's."""
    shortest_of_wins: Distribution
    """L at the branching, of the same: the fewest turns that it takes without going back."""


def eligible(episode: Episode) -> bool:
    """Whether there is something to play on from: a failed episode with a pivotal mistake."""
    return bool(episode.pivots) and episode.outcome != Outcome.WON


def replays(
    episode: Episode,
    policy: AnyPolicy,
    make: Callable[[Made], gym.Env[Any, Any]],
    wanted: Mapping[Arm, tuple[int, ...]],
    *,
    seed: int = 0,
) -> Iterator[Replay]:
    """The samples wanted of each arm, in this order; none of an arm that the episode has no place for.

    What comes of a sample depends on the episode, the policy, the arm, its number and `seed` alone.

    Args:
        episode: An eligible one.
        policy: Who plays on.
        make: Makes the environment of a record.
        wanted: The numbers of the samples of each arm.
        seed: Decides, with the rest, what is left to chance.

    Raises:
        ReplayDiverged: if the environment answers the recorded actions otherwise than it did.
    """
    past = Past(episode, make(episode.made))
    lengths = [episode.distance, *(act.distance for act in episode.acts)]
    for arm, samples in wanted.items():
        for sample in samples:
            played = past.play(arm, policy, chance(seed, f"{episode.id}/{arm}/{sample}"))
            if played is None:
                break
            start, won, turns = played
            length = lengths[start]
            assert length is not None  # there is a pivot
            yield Replay(episode.id, episode.kind, str(arm), sample, start, won, turns, length)


def results(found: Iterable[Replay]) -> dict[str, Result]:
    """Each arm's result, in the order of `Arm`; arms without a replay are left out."""
    by_arm: dict[str, dict[str, list[Replay]]] = {}
    for one in found:
        by_arm.setdefault(one.arm, {}).setdefault(one.episode, []).append(one)
    return {str(arm): _result(list(by_arm[arm].values())) for arm in Arm if arm in by_arm}


def _result(episodes: Sequence[Sequence[Replay]]) -> Result:
    wins = [[one for one in samples if one.won] for samples in episodes]
    finite = [won for samples in wins if (won := [one for one in samples if not math.isinf(one.shortest)])]
    counts = [len(won) for won in wins], [len(samples) for samples in episodes]
    return Result(
        success=shares({"success": counts})["success"],
        episodes=len(episodes),
        replays=sum(counts[1]),
        turns_of_wins=distribution([fmean(one.turns for one in won) for won in finite]),
        shortest_of_wins=distribution([fmean(one.shortest for one in won) for won in finite]),
    )
