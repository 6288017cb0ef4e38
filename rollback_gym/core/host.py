"""What can be taken and put back: the innermost part of a stack, which owns the game and the turns.

`SnapshotEnv` is one, for the games of this project and others like them; `wrappers.Snapshots` is another, for any
Gymnasium environment. Wrappers above a host, Rollback first of all, need nothing else.
"""

from abc import abstractmethod
from typing import Any

from gymnasium.error import ResetNeeded

from rollback_gym.core.errors import RollbackGymError, SnapshotMismatch
from rollback_gym.core.history import Point
from rollback_gym.core.simulator import Coder
from rollback_gym.core.snapshot import Layer, LevelName, Origin, Outcome, Snapshot, check_belongs
from rollback_gym.core.spaces import apart

_new = tuple.__new__  # a NamedTuple's own constructor takes twice as long


class Host:  # no ABC: isinstance asks this of every layer of a stack, and of those it takes ten times as long
    """Owns a level, the state of a game on it, and how many turns were spent."""

    max_turns: int | None
    """The turn that truncates the episode; None where nothing but the game does."""
    observation_space: Any
    knows_losses: bool = True
    """Whether `outcome` tells a lost episode from a won one."""

    _level: Any = None
    _resumed: Any = None
    """The level of a reset that only precedes a restore; None in any other."""
    _observation: Any = None
    _turn: int = 0
    _outcome: Outcome = Outcome.RUNNING

    # What each kind of host provides.

    @property
    @abstractmethod
    def origin(self) -> Origin:
        """What this environment's snapshots say they belong to."""

    @property
    @abstractmethod
    def coder(self) -> Coder:
        """How states are written as plain values and read again."""

    @abstractmethod
    def find_level(self, name: LevelName) -> Any:
        """The level that a snapshot from bytes names. Raises RollbackGymError where there is none such here."""

    @abstractmethod
    def state_digest(self) -> str:
        """A hash of environment, level content and game state: equal iff they are, in every process."""

    @abstractmethod
    def info(self) -> dict[str, Any]:
        """What every `reset`, `step` and `restore` reports beside the observation."""

    @abstractmethod
    def point(self) -> Point:
        """The game as a rollback would put it back."""

    @abstractmethod
    def accept_point(self, level: Any, point: Point) -> None:
        """Put the game back to `point`, which is one of `level`."""

    @abstractmethod
    def check_random(self, random: Any) -> None:
        """Raise ValueError unless `random` is a random state that can be put back."""

    # The episode.

    @property
    def begun(self) -> bool:
        """Whether there was a reset or a restore."""
        return self._level is not None

    @property
    def level(self) -> Any:
        """The level being played. Raises ResetNeeded before the first reset or restore."""
        if self._level is None:
            self._check_begun()
        return self._level

    @property
    def turn(self) -> int:
        """Turns spent in this episode."""
        return self._turn

    @property
    def outcome(self) -> Outcome:
        """How the episode stands."""
        return self._outcome

    def _check_begun(self) -> None:
        if self._level is None:
            raise ResetNeeded("No episode has begun: call reset() or restore a snapshot first.")

    def _not_running(self) -> ResetNeeded:
        self._check_begun()
        return ResetNeeded(f"The episode is over ({self._outcome}): call reset() or restore a snapshot.")

    # Snapshots.

    def snapshot(self, layers: tuple[Layer, ...] = ()) -> Snapshot:
        """Everything that decides the future of this episode.

        Called on a host without wrappers around it; for a whole stack use `rollback_gym.snapshot(env)`, which passes
        the wrappers' parts as `layers`.
        """
        self._check_begun()
        state, random, observation = self.point()
        return Snapshot(self.origin, (self._level, state, random, self._turn, self._outcome, observation), layers)

    def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """Put `snapshot` back, and return the observation and info of that moment.

        Called on a host without wrappers around it; for a whole stack use `rollback_gym.restore(env, snapshot)`.

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
            return level, _new(Point, (state, random, observation))
        if self._level is not None and self._level.digest == level.digest:
            level = self._level
        else:
            level = self._found(level)
        return level, self.decode_point(level, (state, random), observation)

    def accept(self, snapshot: Snapshot, level: Any, point: Point) -> None:
        """Take over what `read_snapshot` has checked."""
        self.accept_point(level, point)
        _, _, _, self._turn, self._outcome, _ = snapshot._game

    def decode_point(self, level: Any, data: Any, observation: Any, before: Point | None = None) -> Point:
        """A point of `level` from plain values, given the point of the node before it where it is part of a history.

        Raises:
            SnapshotMismatch: where it is none.
        """
        try:
            state, random = data
            self.check_random(random)
            if not self.observation_space.contains(observation):
                raise ValueError(f"the observation {observation!r:.60} is none of {self.observation_space}")
            return Point(self.coder.decode(level, state), random, observation)
        except (ValueError, TypeError) as error:
            raise SnapshotMismatch(
                f"The snapshot's state is none of level {level.id!r}: {error}. It was damaged, or made by another "
                "release."
            ) from error

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

    # For wrappers: Rollback, which goes back without giving turns back, and DeadEnd.

    def go_back(self, point: Point) -> None:
        """Put the game back to `point`; the turns stay spent."""
        self.accept_point(self._level, point)
        self._outcome = Outcome.RUNNING

    def spend_turn(self) -> bool:
        """Spend a turn on something that is no game action, and return whether that truncates the episode."""
        self._turn += 1
        if self.last_turn and self._outcome is Outcome.RUNNING:
            self._outcome = Outcome.TRUNCATED
            return True
        return False

    @property
    def last_turn(self) -> bool:
        """Whether no turn is left."""
        return self.max_turns is not None and self._turn >= self.max_turns

    def hold(self) -> None:
        """Keep a lost episode open: it may still go back."""
        self._outcome = Outcome.FAILED

    def lose(self) -> None:
        """End the episode as lost: one that was held open, or one that a wrapper knows to be hopeless."""
        self._outcome = Outcome.LOST
