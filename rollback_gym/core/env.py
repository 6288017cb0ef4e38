"""The Gymnasium shell around a simulator: what is played, how it stands, and how many turns were spent."""

import os
from abc import abstractmethod
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, ClassVar, Generic, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from rollback_gym.core.codec import pack
from rollback_gym.core.history import Point
from rollback_gym.core.host import Host
from rollback_gym.core.options import count
from rollback_gym.core.random import random_state, set_random_state
from rollback_gym.core.simulator import Coder, Simulator
from rollback_gym.core.snapshot import Layer, Origin, Outcome, Snapshot
from rollback_gym.core.spaces import apart

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")
_new = tuple.__new__  # a NamedTuple's own constructor takes twice as long
_RUNNING, _WON = Outcome.RUNNING, Outcome.WON  # to look a member up takes 80 ns, each time


class SnapshotEnv(Host, gym.Env[ObsT, ActT], Generic[ObsT, ActT]):
    """An environment whose whole state can be taken and put back in constant time.

    A subclass names its simulator and says which level an episode plays. The shell owns the level, the state, the
    random state, and the turns: every `step` is one turn, and the turn that reaches `max_turns` truncates the episode
    unless it ends it.
    """

    name: ClassVar[str]
    """Which environment this is, in snapshots and digests."""
    simulator: Simulator
    max_turns: int

    def __init__(self, *, max_turns: int, render_mode: str | None = None) -> None:
        max_turns = count("max_turns", max_turns, 1)
        modes = self.metadata.get("render_modes", [])
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode must be None or one of {modes}, got {render_mode!r}.")
        self._spec: EnvSpec | None = None
        self.max_turns = max_turns
        self.render_mode = render_mode
        self._state: Any = None
        self._random: tuple[Any, ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: a simulator may be a module, which neither can copy."""
        state = self.__dict__.copy()
        state.pop("origin", None)
        return state

    @property
    def spec(self) -> EnvSpec | None:
        """How `gym.make` made this environment; paths among its arguments as str, so that it can be written as JSON."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None:
            spec.kwargs = {k: os.fspath(v) if isinstance(v, os.PathLike) else v for k, v in spec.kwargs.items()}
        self._spec = spec

    # What a subclass provides.

    @abstractmethod
    def choose_level(self, options: dict[str, Any]) -> Any:
        """The level of the next episode; may draw from `self.np_random`."""

    def settings(self) -> tuple[tuple[str, Any], ...]:
        """What this environment was made with, as far as it decides an episode's future once its level is known."""
        return (("max_turns", self.max_turns),)

    @cached_property
    def origin(self) -> Origin:
        """What this environment's snapshots say they belong to."""
        return Origin(self.name, self.settings(), self.simulator)

    def read_action(self, action: ActT) -> Any:
        """The simulator's action for what `step` was given. Raises TypeError where it is of a wrong type."""
        return action

    # The episode.

    @property
    def state(self) -> Any:
        """The state of the game, an immutable value. Raises ResetNeeded before the first reset or restore."""
        if self._level is None:
            self._check_begun()
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ObsT, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seeds the choice of levels; the same seed gives the same levels in every process.
            options: `{"level": id}` plays that level.
        """
        before = self._np_random, self._np_random_seed, self._random
        super().reset(seed=seed)
        if seed is not None:
            self._random = None
        try:
            level = self.choose_level(dict(options or {})) if self._resumed is None else self._resumed
        except Exception:
            # There is no such level: the episode that runs goes on, and the next ones with it.
            self._np_random, self._np_random_seed, self._random = before
            raise
        self._state, self._observation = self.simulator.begin(level)
        self._level = level
        self._turn = 0
        self._outcome = Outcome.RUNNING
        return apart(self._observation), self.info()

    def step(self, action: ActT) -> tuple[ObsT, float, bool, bool, dict[str, Any]]:
        """Take one action, which spends one turn. Raises ResetNeeded where no episode is running."""
        if self._outcome is not _RUNNING or self._level is None:
            raise self._not_running()
        state, reward, terminated, feedback, won, invalid = self.simulator.step(
            self._level, self._state, self.read_action(action)
        )
        terminated = bool(terminated)
        self._state = state
        self._observation = feedback
        self._turn += 1
        truncated = False
        if terminated:
            self._outcome = Outcome.WON if won else Outcome.LOST
        elif self._turn >= self.max_turns:
            self._outcome = Outcome.TRUNCATED
            truncated = True
        info = self.info()
        if invalid is not None:
            info["invalid_action"] = invalid
        return apart(feedback), float(reward), terminated, truncated, info

    def info(self) -> dict[str, Any]:
        """What every `reset`, `step` and `restore` reports beside the observation."""
        level = self._level
        return {
            "admissible_actions": self.simulator.actions(level, self._state),
            "action_index": self._turn,
            "turn": self._turn,
            "won": self._outcome is _WON,
            "task": level.task,
            "level": level.id,
        }

    def render(self) -> Any:
        """The last observation as text, where `render_mode` is `"ansi"`."""
        if self.render_mode == "ansi":
            return str(self._observation)
        return None

    # Snapshots.

    def snapshot(self, layers: tuple[Layer, ...] = ()) -> Snapshot:
        """Everything that decides the future of this episode, in constant time.

        Called on an environment without wrappers; for a whole stack use `rollback_gym.snapshot(env)`, which passes
        the wrappers' parts as `layers`.
        """
        if self._level is None:
            self._check_begun()
        random = self._random
        if random is None:
            random = self._freeze_random()
        game = (self._level, self._state, random, self._turn, self._outcome, self._observation)
        return Snapshot(self.origin, game, layers)

    def state_digest(self) -> str:
        """A hash of environment, level content and game state: equal iff they are, in every process."""
        self._check_begun()
        return state_digest(self.name, self.simulator, self._level, self._state)

    def point(self) -> Point:
        """See `Host.point`."""
        return _new(Point, (self._state, self._random or self._freeze_random(), self._observation))

    def accept_point(self, level: Any, point: Point) -> None:
        """See `Host.accept_point`."""
        self._level = level
        self._state, self._random, self._observation = point

    def check_random(self, random: Any) -> None:
        """See `Host.check_random`."""
        _check_random_state(random)

    @property
    def coder(self) -> Coder:
        """The simulator."""
        return self.simulator

    # The random generator: read once after it was used, written only when it is used again.

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that chooses levels."""
        generator = super().np_random
        if self._random is not None:
            set_random_state(generator, self._random)
            self._random = None
        return generator

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._random = None
        self._np_random = value
        self._np_random_seed = -1

    def _freeze_random(self) -> tuple[Any, ...]:
        self._random = random_state(super().np_random)
        return self._random


@lru_cache(maxsize=16)
def _check_random_state(state: Any) -> None:
    """Raise ValueError unless `state` can be put back; the points of an episode mostly share one."""
    set_random_state(np.random.Generator(np.random.PCG64(0)), state)


def state_digest(name: str, simulator: Simulator, level: Any, state: Any) -> str:
    """See `SnapshotEnv.state_digest`."""
    return sha256(pack((name, level.digest, simulator.encode(level, state)))).hexdigest()
