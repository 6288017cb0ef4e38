"""The genuine engine as a simulator: the backend `textworld`.

The engine's own state lies in a C library and cannot be copied. So a state here also knows how it was reached: going
back to one plays its commands again from the start, and compares every answer with the one it got before.
"""

from typing import Any

from rollback_gym.core.errors import ReplayDiverged
from rollback_gym.core.simulator import Transition
from rollback_gym.envs.alfworld.data import Games
from rollback_gym.envs.alfworld.problem import read_content
from rollback_gym.envs.alfworld.textworld import TextWorldGame, state_of
from rollback_gym.envs.alfworld.types import Level, State

Trail = tuple[tuple[str, str], ...]
"""(command, answer) for every command since the start."""


_MAX_KNOWN = 4096


class Played(State):
    """A state of the native engine that also knows its trail. Equal to the bare state."""

    trail: Trail
    admissible: tuple[str, ...]

    @classmethod
    def made(cls, state: State, trail: Trail, admissible: tuple[str, ...]) -> "Played":
        """`state`, reached by `trail`."""
        played = cls(*state)
        played.trail = trail
        played.admissible = admissible
        return played


class GenuineSimulator:
    """TextWorld behind the interface of a simulator; pure to the outside, with one engine inside.

    Copies and pickles as its games, and starts an engine of its own when it is needed.
    """

    def __init__(self, games: Games) -> None:
        self.games = games
        self._level: Level | None = None
        self._engine: TextWorldGame | None = None
        self._at: Trail = ()
        """Where the engine is."""
        self._known: dict[Trail, Played] = {}
        """The states of the level that the engine has been in."""

    def __reduce__(self) -> tuple[Any, ...]:
        return GenuineSimulator, (self.games,)

    def begin(self, level: Level) -> tuple[Played, str]:
        """The state that `level` starts in, and the first observation."""
        return self._restart(level)

    def step(self, level: Level, state: Played, action: str) -> Transition:
        """What the command `action` does. Raises ReplayDiverged if the engine, going back, answers otherwise."""
        if not isinstance(action, str):
            raise TypeError(f"an ALFWorld action is a str such as 'look', got {type(action).__name__}")
        engine = self._go_to(level, state.trail)
        feedback, admissible, won = engine.step(action)
        command = action.strip()
        if command not in state.admissible:
            return Transition(
                state, float(won), won, feedback, won, f"{command!r} is not among the admissible commands"
            )
        self._at = (*state.trail, (command, feedback))
        return Transition(self._reached(level, engine, admissible), float(won), won, feedback, won)

    def actions(self, level: Level, state: Played) -> tuple[str, ...]:
        """The admissible commands, sorted as the engine sorts them."""
        return state.admissible

    def encode(self, level: Level, state: Played) -> Any:
        """The trail: it decides the state."""
        return state.trail

    def decode(self, level: Level, data: Any) -> Played:
        """The inverse of `encode`, by playing the trail. Raises ValueError where it cannot be played."""
        if not isinstance(data, tuple):
            raise ValueError("expected a trail of commands and answers")
        for pair in data:
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
                raise ValueError("expected a trail of commands and answers")
        if self._level is not level:
            self._restart(level)
        done = next(done for done in range(len(data), -1, -1) if data[:done] in self._known)
        state = self._known[data[:done]]
        for command, answer in data[done:]:
            if command not in state.admissible:
                raise ValueError(f"{command!r} could not be done")
            transition = self.step(level, state, command)
            if transition.feedback != answer:
                raise ValueError(f"{command!r} is answered by {transition.feedback!r}, not by {answer!r}")
            state = transition.state
        return state

    def _restart(self, level: Level) -> tuple[Played, str]:
        if self._engine is None or self._level is not level:
            self._start_engine(level)
        assert self._engine is not None
        observation, admissible = self._engine.reset()
        self._at = ()
        return self._reached(level, self._engine, admissible), observation

    def _reached(self, level: Level, engine: TextWorldGame, admissible: tuple[str, ...]) -> Played:
        """The state that the engine is in now."""
        if len(self._known) >= _MAX_KNOWN:
            self._known = {trail: state for trail, state in self._known.items() if not trail}
        state = self._known[self._at] = Played.made(state_of(level, engine.facts()), self._at, admissible)
        return state

    def _start_engine(self, level: Level) -> None:
        content = read_content(self.games.read(level.id), level.id)
        names = {thing.id: thing.name for thing in level.things}
        names |= {receptacle.id: receptacle.name for receptacle in level.receptacles}
        if self._engine is not None:
            self._engine.close()
        self._engine, self._level = TextWorldGame(content, names), level
        self._known.clear()

    def _go_to(self, level: Level, trail: Trail) -> TextWorldGame:
        """The engine, at the end of `trail`."""
        if self._level is not level or self._at != trail:
            self._restart(level)
            assert self._engine is not None
            for number, (command, answer) in enumerate(trail, start=1):
                again, _, _ = self._engine.step(command)
                if again != answer:
                    self._level = None
                    raise ReplayDiverged(
                        f"{level.id}: command {number}, {command!r}, was answered by {answer!r} before, and by "
                        f"{again!r} when played again. The engine or the game file has changed meanwhile."
                    )
            self._at = trail
        assert self._engine is not None
        return self._engine
