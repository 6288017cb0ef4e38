"""What turns earn."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rollback_gym.core.history import Node, Rollback
from rollback_gym.trainer.trajectory import Trajectory


class Scores(NamedTuple):
    """What the turns of some episodes earned."""

    rewards: tuple[tuple[float, ...], ...]
    """One for each of the agent's turns, for each episode."""
    measures: Mapping[str, Sequence[float]] = {}
    """What is logged: by name, values whose mean is shown."""


Rewarding = Callable[[Sequence[Trajectory]], Scores]
"""Rewards the turns of episodes."""


def environment_rewards(trajectories: Sequence[Trajectory]) -> Scores:
    """The environment's rewards on the branch that was active at the end, and the costs of rollbacks.

    What an abandoned branch earned, and the refund of it, count for nothing: paid at different turns, they would not
    cancel out in a discounted return. Without refunds what was earned stays earned.
    """
    rewards = tuple(_of(trajectory) for trajectory in trajectories)
    return Scores(
        rewards,
        {
            "won": [float(trajectory.won) for trajectory in trajectories],
            "return": [sum(of) for of in rewards],
            "turns": [float(len(trajectory.steps)) for trajectory in trajectories],
            "rollbacks": [float(_rollbacks(trajectory)) for trajectory in trajectories],
            "unreadable": [_unreadable(trajectory) for trajectory in trajectories],
            "cut": [float(bool(trajectory.cut)) for trajectory in trajectories],
        },
    )


def _of(trajectory: Trajectory) -> tuple[float, ...]:
    nodes = {node.index: node for node in trajectory.history.nodes}
    gone: set[int] = set()
    paid: dict[int, float] = {}
    for step in trajectory.steps:
        entry = step.entry
        if isinstance(entry, Rollback) and entry.target is not None:
            earned = sum(nodes[index].reward for index in entry.abandoned)
            refunded = trajectory.refund
            paid[entry.index] = step.reward + earned if refunded else step.reward
            gone |= set(entry.abandoned) if refunded else set()
        else:
            paid[entry.index] = step.reward if isinstance(entry, Node) else 0.0
    return tuple(0.0 if index in gone else reward for index, reward in paid.items())


def _rollbacks(trajectory: Trajectory) -> int:
    return sum(isinstance(step.entry, Rollback) and step.entry.target is not None for step in trajectory.steps)


def _unreadable(trajectory: Trajectory) -> float:
    """The share of answers that no action could be read from."""
    return sum(step.turn.problem is not None for step in trajectory.steps) / max(1, len(trajectory.steps))
