"""What those that choose episodes, and those that add to an update, are given."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rollback_gym.trainer.generator import Generator
from rollback_gym.trainer.rewards import Scores
from rollback_gym.trainer.rows import Row
from rollback_gym.trainer.trajectory import Start, Trajectory


class Source(Protocol):
    """Chooses where episodes begin."""

    def starts(self, seeds: Sequence[int]) -> Sequence[Start]:
        """A start for each seed. Each process asks with seeds of its own, and a seed is asked once in a run."""


@runtime_checkable
class Part(Protocol):
    """Something with a state that a checkpoint holds: a curriculum, a memory."""

    def state(self) -> Any:
        """All that decides how it goes on, as JSON can hold it."""

    def resume(self, state: Any) -> None:
        """Take over what `state` gave."""


class Seeds:
    """Episodes that begin at a reset, with the seed they are asked for.

    Args:
        first: Added to each seed.
        levels: Levels to play in turn; None lets the seeds choose.
    """

    def __init__(self, first: int = 0, levels: Sequence[str] | None = None) -> None:
        self._first, self._levels = first, levels

    def starts(self, seeds: Sequence[int]) -> Sequence[Start]:
        """See `Source.starts`."""
        return [self._start(seed) for seed in seeds]

    def _start(self, seed: int) -> Start:
        options = {} if self._levels is None else {"level": self._levels[seed % len(self._levels)]}
        return Start(self._first + seed, options)


class Scorer(Protocol):
    """Says what a model makes of texts."""

    def logprobs(self, rows: Sequence[Row], *, reference: bool = False) -> tuple[tuple[float, ...], ...]:
        """For each token of each row's completion, its log-prob under the policy as it stands, or the reference."""


class Scene(NamedTuple):
    """A batch between playing and updating, in one process."""

    trajectories: tuple[Trajectory, ...]
    scores: Scores
    rows: tuple[Row, ...]
    """What was sampled while playing, with advantages."""
    generator: Generator
    scorer: Scorer
    step: int
    """Updates so far."""
    seed: int
    """Of this batch and process."""


class Extension(NamedTuple):
    """What is trained in the end."""

    rows: Sequence[Row]
    measures: Mapping[str, Sequence[float]] = {}
    """What is logged besides; see `Scores`."""


Extending = Callable[[Scene], Extension]
"""Adds to a batch: other advantages, and rows of other kinds."""


def as_played(scene: Scene) -> Extension:
    """Adds nothing."""
    return Extension(scene.rows)
