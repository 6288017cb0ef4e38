"""What an agent could do so far, task by task, and the reward for doing more.

RetroAgent's capability-evolution reward: R_int = max(0, phi - Phi_x), where phi is how much of the task an episode got
done and Phi_x is what the task's episodes reached before. Pure functions of immutable values; a checkpoint holds them.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

Rates = Iterable[tuple[str, float]]
"""Tasks, each with the share of a group's episodes that were won."""


class Capability(NamedTuple):
    """The historical baseline Phi of every task that was played."""

    reached: Mapping[str, float] = {}
    """By task, in [0, 1]; 0 for one that is not here."""
    decay: float | None = None
    """None: the highest success rate so far, which never falls (the paper, and its public code). Else Phi is a
    moving average of success rates, and this is the weight of the past (0.9 in the code, where it is commented out)."""

    def baseline(self, task: str) -> float:
        """Phi of a task."""
        return self.reached.get(task, 0.0)

    def after(self, rates: Rates) -> "Capability":
        """The baselines once more groups were played, one after the other.

        Raises:
            ValueError: at a rate outside of [0, 1].
        """
        reached = dict(self.reached)
        for task, rate in rates:
            reached[task] = _moved(reached.get(task, 0.0), _share(rate, "A success rate"), self.decay)
        return self._replace(reached=reached)

    def mean(self) -> float:
        """Phi over all tasks that were played; 0 where none was."""
        return sum(self.reached.values()) / max(1, len(self.reached))


def intrinsic(phi: float, baseline: float) -> float:
    """R_int: what an episode got done beyond its task's baseline. Raises ValueError outside of [0, 1]."""
    return max(0.0, _share(phi, "phi") - _share(baseline, "A baseline"))


def checked(capability: Capability) -> Capability:
    """`capability`. Raises ValueError if its decay is no share below 1, or a baseline is outside of [0, 1]."""
    if capability.decay is not None and not 0 <= capability.decay < 1:
        raise ValueError(f"decay must be None, or at least 0 and below 1, got {capability.decay!r}.")
    for rate in capability.reached.values():
        _share(rate, "A baseline")
    return capability


def _moved(before: float, rate: float, decay: float | None) -> float:
    return max(before, rate) if decay is None else decay * before + (1 - decay) * rate


def _share(value: float, what: str) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{what} must be in [0, 1], got {value!r}.")
    return value
