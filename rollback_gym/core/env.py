"""The Gymnasium shell around a simulator: what is played, how it stands, and how many turns were spent."""

import os
from abc import abstractmethod
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, ClassVar, Generic, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded

from rollback_gym.core.codec import pack
from rollback_gym.core.errors import RollbackGymError, SnapshotMismatch
from rollback_gym.core.history import Point
from rollback_gym.core.random import random_state, set_random_state
from rollback_gym.core.simulator import Simulator
from rollback_gym.core.snapshot import Layer, LevelName, Origin, Outcome, Snapshot, check_belongs
from rollback_gym.core.spaces import apart

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")
_new = tuple.__new__  # a NamedTuple's own constructor takes twice as long


class SnapshotEnv(gym.Env[ObsT, ActT], Generic[ObsT, ActT]):
    """An environment whose whole state can be taken and put back in constant time.

    A subclass names its simulator and says which level an episode plays. The shell owns the level, the state, the
    random state, and the turns: every `step` is one turn, and the turn that reaches `max_turns` truncates the episode
    unless it ends it.
    """

    name: ClassVar[str]
    """Which environment this is, in snapshots and digests."""
    simulator: Simulator

    def __init__(self, *, max_turns: int, render_mode: str | None = None) -> None:
        if not isinstance(max_turns, int | np.integer) or isinstance(max_turns, bool) or max_turns < 1:
            raise ValueError(f"max_turns must be a whole number of at least 1, got {max_turns!r}.")
        modes = self.metadata.get("render_modes", [])
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode must be None or one of {modes}, got {render_mode!r}.")
        self._spec: EnvSpec | None = None
        self.max_turns = int(max_turns)
        self.render_mode = render_mode
        self._level: Any = None
        self._resumed: Any = None
        """The level of a reset that only precedes a restore; None lets `choose_level` decide."""
        self._state: Any = None
        self._random: tuple[Any, ...] | None = None
        self._turn = 0
        self._outcome = Outcome.RUNNING
        self._observation: Any = None

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

    @abstractmethod
    def find_level(self, name: LevelName) -> Any:
        """The level that a snapshot from bytes names. Raises RollbackGymError where there is none such here."""

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
    def begun(self) -> bool:
        """Whether there was a reset or a restore."""
        return self._level is not None

    @property
    def level(self) -> Any:
        """The level being played. Raises ResetNeeded before the first reset or restore."""
        self._check_begun()
        return self._level

    @property
    def state(self) -> Any:
        """The state of the game, an immutable value. Raises ResetNeeded before the first reset or restore."""
        self._check_begun()
        return self._state

    @property
    def turn(self) -> int:
        """Turns spent in this episode."""
        return self._turn

    @property
    def outcome(self) -> Outcome:
        """How the episode stands."""
        return self._outcome

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
        if self._outcome is not Outcome.RUNNING or self._level is None:
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
            "won": self._outcome is Outcome.WON,
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

    def restore(self, snapshot: Snapshot) -> tuple[ObsT, dict[str, Any]]:
        """Put `snapshot` back, and return the observation and info of that moment.

        Called on an environment without wrappers; for a whole stack use `rollback_gym.restore(env, snapshot)`.

        Raises:
            SnapshotMismatch: if it belongs elsewhere; the environment is left as it was.
        """
        check_belongs(snapshot, self.origin)
        if snapshot.layers:
            raise SnapshotMismatch(
                f"This snapshot was made under {snapshot.layers[0][0]}, which the bare environment lacks. Restore it "
                "with rollback_gym.restore(env, snapshot), into an environment that is wrapped alike."
            )
        level, point = self.read_snapshot(snapshot)
        self.accept(snapshot, level, point)
        return apart(snapshot.observation), self.info()

    def read_snapshot(self, snapshot: Snapshot) -> tuple[Any, Point]:
        """The level and the point of `snapshot`, checked against each other; changes nothing."""
        level, state, random, _, _, observation = snapshot._game
        if not isinstance(level, LevelName):
            return level, Point(state, random, observation)
        if self._level is not None and self._level.digest == level.digest:
            level = self._level
        else:
            level = self._found(level)
        return level, self.decode_point(level, (state, random), observation)

    def accept(self, snapshot: Snapshot, level: Any, point: Point) -> None:
        """Take over what `read_snapshot` has checked."""
        self._level = level
        self._state, self._random, self._observation = point
        self._turn, self._outcome = snapshot.turn, snapshot.outcome

    def decode_point(self, level: Any, data: Any, observation: Any) -> Point:
        """A point of `level` from plain values. Raises SnapshotMismatch where it is none."""
        try:
            state, random = data
            _check_random_state(random)
            if not self.observation_space.contains(observation):
                raise ValueError(f"the observation {observation!r:.60} is none of {self.observation_space}")
            return Point(self.simulator.decode(level, state), random, observation)
        except (ValueError, TypeError) as error:
            raise SnapshotMismatch(
                f"The snapshot's state is none of level {level.id!r}: {error}. It was damaged, or made by another "
                "release."
            ) from error

    def state_digest(self) -> str:
        """A hash of environment, level content and game state: equal iff they are, in every process."""
        self._check_begun()
        return state_digest(self.name, self.simulator, self._level, self._state)

    # For wrappers: Rollback, which goes back without giving turns back, and DeadEnd.

    def point(self) -> Point:
        """The game as a rollback would put it back."""
        return _new(Point, (self._state, self._random or self._freeze_random(), self._observation))

    def go_back(self, point: Point) -> None:
        """Put the game back to `point`; the turns stay spent."""
        self._state, self._random, self._observation = point
        self._outcome = Outcome.RUNNING

    def spend_turn(self) -> bool:
        """Spend a turn on something that is no game action, and return whether that truncates the episode."""
        self._turn += 1
        if self._turn >= self.max_turns and self._outcome is Outcome.RUNNING:
            self._outcome = Outcome.TRUNCATED
            return True
        return False

    def hold(self) -> None:
        """Keep a lost episode open: it may still go back."""
        self._outcome = Outcome.FAILED

    def lose(self) -> None:
        """End the episode as lost: one that was held open, or one that a wrapper knows to be hopeless."""
        self._outcome = Outcome.LOST

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

    def _found(self, name: LevelName) -> Any:
        try:
            level = self.find_level(name)
        except SnapshotMismatch:
            raise
        except RollbackGymError as error:
            raise SnapshotMismatch(f"The snapshot's level {name.id!r} was not found here: {error}") from error
        if level.digest != name.digest:
            raise SnapshotMismatch(
                f"Level {name.id!r} here has other content ({level.digest[:12]}) than the snapshot's "
                f"({name.digest[:12]}). Use the data that the snapshot was made with."
            )
        return level

    def _check_begun(self) -> None:
        if self._level is None:
            raise ResetNeeded("No episode has begun: call reset() or restore a snapshot first.")

    def _not_running(self) -> ResetNeeded:
        self._check_begun()
        return ResetNeeded(f"The episode is over ({self._outcome}): call reset() or restore a snapshot.")


@lru_cache(maxsize=16)
def _check_random_state(state: Any) -> None:
    """Raise ValueError unless `state` can be put back; the points of an episode mostly share one."""
    set_random_state(np.random.Generator(np.random.PCG64(0)), state)


def state_digest(name: str, simulator: Simulator, level: Any, state: Any) -> str:
    """See `SnapshotEnv.state_digest`."""
    return sha256(pack((name, level.digest, simulator.encode(level, state)))).hexdigest()
