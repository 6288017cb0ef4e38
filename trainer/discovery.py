"""Adapting at test time: the same tasks again and again, with frozen weights and a memory that grows.

Discovery@k is the share of tasks that were solved in at least one of the first k attempts. Without a memory it is what
trying again alone gives, so an effect of lessons is the difference of the two.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from rollback_gym.study.statistics import Estimate, shares
from rollback_gym.trainer.collector import Collector
from rollback_gym.trainer.generator import Generator
from rollback_gym.trainer.retroagent import RetroAgent
from rollback_gym.trainer.trajectory import Start


class Adaptation(NamedTuple):
    """How attempts at some tasks ended."""

    won: tuple[tuple[bool, ...], ...]
    """(tasks, attempts)."""
    phi: tuple[tuple[float, ...], ...]
    """(tasks, attempts): how much of the task got done, as whoever looked back said."""
    lessons: tuple[int, ...]
    """How many lessons there were after each attempt."""


def adapt(
    collector: Collector, agent: RetroAgent, starts: Sequence[Start], generator: Generator, attempts: int, seed: int
) -> Adaptation:
    """Play each task `attempts` times; all tasks once, then all of them again, with what was learnt of all of them.

    Args:
        collector: How episodes are played; what its setup tells of lessons is the agent's here.
        agent: Looks back and remembers. Give it a memory of its own, or it goes on with the one that it has: it learns.
        starts: The tasks, one each.
        generator: Who answers; its weights are not changed.
        attempts: At each task.
        seed: With all the above, it decides everything.
    """
    if attempts < 1 or not starts:
        raise ValueError(f"At least one task and one attempt are needed, got {len(starts)} and {attempts}.")
    playing = Collector(collector.setup._replace(lesson=agent.every), collector.chat)
    tasks = [start._replace(group=group, member=0) for group, start in enumerate(starts)]
    won, phi, lessons = [], [], []
    for number in range(attempts):
        chance = _seed_of(seed, number)
        trajectories = playing.play(tasks, generator, chance).trajectories
        hindsight = agent.look_back(trajectories, generator, chance)
        won.append([of.won for of in trajectories])
        phi.append([of.phi for of in hindsight.reflections])
        lessons.append(0 if agent.memory is None else len(agent.memory))
    return Adaptation(tuple(zip(*won, strict=True)), tuple(zip(*phi, strict=True)), tuple(lessons))


def discovery(won: Sequence[Sequence[bool]]) -> tuple[Estimate, ...]:
    """Discovery@1, @2, ... with intervals, over tasks."""
    return _estimates([[any(of[:k]) for of in won] for k in _numbers(won)])


def success(won: Sequence[Sequence[bool]]) -> tuple[Estimate, ...]:
    """The share of tasks that were solved in the first attempt, the second ..., with intervals."""
    return _estimates([[of[k - 1] for of in won] for k in _numbers(won)])


def _numbers(won: Sequence[Sequence[bool]]) -> range:
    sizes = {len(of) for of in won}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError("Every task needs as many attempts as the others, and at least one.")
    return range(1, 1 + sizes.pop())


def _estimates(counts: Sequence[Sequence[bool]]) -> tuple[Estimate, ...]:
    ones = [1.0] * len(counts[0])
    return tuple(shares({str(k): (list(map(float, of)), ones) for k, of in enumerate(counts)}).values())


def _seed_of(seed: int, number: int) -> int:
    return int.from_bytes(blake2b(f"{seed}:adapt:{number}".encode(), digest_size=7).digest(), "big")
