"""Advantages of turns, written onto the rows in which the turns were said."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from rollback_gym.trainer.advantages import Floats, gae, gigpo, grpo
from rollback_gym.trainer.rewards import Scores
from rollback_gym.trainer.rows import Row, with_advantages
from rollback_gym.trainer.trajectory import Trajectory


class Method(NamedTuple):
    """How turns are given credit."""

    name: Literal["grpo", "gigpo", "ppo"] = "grpo"
    gamma: float = 0.95
    """PivotOPD and GiGPO; PPO mostly takes 0.99."""
    scale: bool = True
    """Whether a group's advantages are divided by their standard deviation; for PPO, those of the batch."""
    step_weight: float = 1.0
    """GiGPO: of a turn's own advantage beside the episode's."""
    lam: float = 0.95
    """PPO: the lambda of GAE."""
    below: float = 1.0
    """What a group's advantages below 0 are multiplied by. Under 1, what lost is pushed down less than what won is
    pushed up: what is pushed down goes to whatever else there is, of which a small model says much. In no paper."""


Turns = tuple[Mapping[int, float], ...]
"""For each episode, a number for each turn by its action index."""


def credit(trajectories: Sequence[Trajectory], scores: Scores, method: Method) -> Turns:
    """The advantages of turns, by comparison in groups: GRPO's or GiGPO's."""
    groups = [trajectory.start.group for trajectory in trajectories]
    if method.name == "grpo":
        episodes = grpo(scores.rewards, groups, gamma=method.gamma, scale=method.scale)
        return tuple(
            {step.turn.index: _lightened(float(of), method) for step in trajectory.steps}
            for trajectory, of in zip(trajectories, episodes, strict=True)
        )
    if method.name == "gigpo":
        states = [[step.state for step in trajectory.steps] for trajectory in trajectories]
        given = gigpo(scores.rewards, groups, states, gamma=method.gamma, weight=method.step_weight, scale=method.scale)
        lighter = [[_lightened(float(value), method) for value in of] for of in given]
        return tuple(_by_turn(trajectory, of) for trajectory, of in zip(trajectories, lighter, strict=True))
    raise ValueError(f"{method.name!r} compares no groups; PPO's advantages need values: see credit_by_values.")


def _lightened(advantage: float, method: Method) -> float:
    return advantage if advantage > 0 else method.below * advantage


def credit_by_values(
    trajectories: Sequence[Trajectory], scores: Scores, values: Turns, method: Method
) -> tuple[Turns, Turns]:
    """The advantages of turns by GAE, not scaled yet, and what the values should have been.

    Args:
        trajectories: Episodes.
        scores: What their turns earned.
        values: What a critic expected right before each turn.
        method: How.
    """
    advantages, targets = [], []
    for trajectory, rewards, expected in zip(trajectories, scores.rewards, values, strict=True):
        before = [expected[step.turn.index] for step in trajectory.steps]
        better, returns = gae(rewards, before, gamma=method.gamma, lam=method.lam)
        advantages.append(_by_turn(trajectory, better))
        targets.append(_by_turn(trajectory, returns))
    return tuple(advantages), tuple(targets)


def credited(rows: Sequence[Row], advantages: Turns) -> tuple[Row, ...]:
    """`rows` with the advantages of their episodes' turns."""
    return tuple(with_advantages(row, advantages[row.episode]) for row in rows)


def _by_turn(trajectory: Trajectory, of: Sequence[float] | Floats) -> dict[int, float]:
    return {step.turn.index: float(value) for step, value in zip(trajectory.steps, of, strict=True)}
