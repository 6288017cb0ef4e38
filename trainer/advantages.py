"""How much better a turn was than expected: pure functions of what turns earned.

Rewards are per turn, in the order in which turns were taken, whichever branch they were taken on.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rewards = Sequence[Sequence[float]]
"""What each turn of each episode earned."""

_LEAST_SPREAD = 1e-4
"""Added to a standard deviation before it divides, as in TRL."""


def discounted_return(rewards: Sequence[float], gamma: float) -> float:
    """The return of an episode: sum over t of gamma^t r_t."""
    return float(returns_to_go(rewards, gamma)[0]) if len(rewards) else 0.0


def returns_to_go(rewards: Sequence[float], gamma: float) -> Floats:
    """(T,): what was still to come at each turn, its own reward included: sum over k >= t of gamma^(k-t) r_k."""
    returns = np.zeros(len(rewards))
    ahead = 0.0
    for turn in range(len(rewards) - 1, -1, -1):
        ahead = returns[turn] = rewards[turn] + gamma * ahead
    return returns


def group_relative(values: Sequence[float] | Floats, groups: Sequence[Hashable], *, scale: bool = True) -> Floats:
    """(N,): each value less the mean of its group, and by its standard deviation if `scale` (GRPO, DeepSeekMath 4.1).

    The deviation is that of a sample (n - 1), and a group of one has none: 0 for it.
    """
    given = np.asarray(values, dtype=np.float64)
    advantages = np.zeros(len(given))
    members: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    for places in members.values():
        if len(places) > 1:
            among = given[places]
            spread = among.std(ddof=1) + _LEAST_SPREAD if scale else 1.0
            advantages[places] = (among - among.mean()) / spread
    return advantages


def grpo(rewards: Rewards, groups: Sequence[Hashable], *, gamma: float = 0.95, scale: bool = True) -> Floats:
    """(N,): an advantage for each episode, by its discounted return among those that began alike.

    gamma 0.95 is PivotOPD's.
    """
    return group_relative([discounted_return(of, gamma) for of in rewards], groups, scale=scale)


def gigpo(
    rewards: Rewards,
    groups: Sequence[Hashable],
    states: Sequence[Sequence[Hashable]],
    *,
    gamma: float = 0.95,
    weight: float = 1.0,
    scale: bool = True,
) -> tuple[Floats, ...]:
    """An advantage for each turn of each episode: the episode's, plus `weight` times that of the turn among all turns
    that the group took in the same state (GiGPO, arXiv 2505.10978, equations 5 to 8).

    Args:
        rewards: Of N episodes.
        groups: (N,): episodes of a group began alike.
        states: The state in which each turn was taken.
        gamma: Discounts what is still to come at a turn, and the episode's return.
        weight: Of the turn's part.
        scale: Whether both are divided by their group's standard deviation.
    """
    episodes = grpo(rewards, groups, gamma=gamma, scale=scale)
    ahead = [value for of in rewards for value in returns_to_go(of, gamma)]
    anchors = [(group, state) for group, of in zip(groups, states, strict=True) for state in of]
    turns = group_relative(ahead, anchors, scale=scale)
    ends = np.cumsum([len(of) for of in rewards])
    parts = np.split(turns, ends[:-1]) if len(rewards) else []
    return tuple(episode + weight * part for episode, part in zip(episodes, parts, strict=True))


def gae(
    rewards: Sequence[float], values: Sequence[float], *, gamma: float = 0.99, lam: float = 0.95
) -> tuple[Floats, Floats]:
    """Advantages (T,) and what the values should have been (T,), by generalised advantage estimation, arXiv 1506.02438.

    A turn is one action: values are of the moments right before turns, and nothing is worth anything after the last.
    """
    if len(rewards) != len(values):
        raise ValueError(f"A value for each turn is needed: {len(rewards)} turns, {len(values)} values.")
    given = np.asarray(values, dtype=np.float64)
    advantages = np.zeros(len(given))
    ahead, following = 0.0, 0.0
    for turn in range(len(given) - 1, -1, -1):
        surprise = rewards[turn] + gamma * following - given[turn]
        ahead = advantages[turn] = surprise + gamma * lam * ahead
        following = given[turn]
    return advantages, advantages + given
