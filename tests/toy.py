"""A small game for testing the core: a corridor with a goal at one end, a pit at the other, and coins.

Text is hostile on purpose: line breaks, letters outside ASCII, and the empty string.
"""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.errors import DataError
from rollback_gym.core.simulator import Transition
from rollback_gym.core.snapshot import LevelName
from rollback_gym.core.spaces import AnyText

ACTIONS = ("left", "right", "take")
_SAYS = ("", "À gauche:\na pit.", "déjà vu", "步", "\x00", "a coin?\r\n")


class ToyLevel(NamedTuple):
    id: str
    length: int

    @property
    def locator(self) -> tuple[str, int]:
        return ("toy", self.length)

    @property
    def digest(self) -> str:
        return f"toy-{self.length}"

    @property
    def task(self) -> str:
        return f"walk {self.length} steps"

    def __deepcopy__(self, memo: Any) -> "ToyLevel":
        return self


class ToyState(NamedTuple):
    position: int
    coins: frozenset[int]


class ToySimulator:
    def begin(self, level: ToyLevel) -> tuple[ToyState, str]:
        return ToyState(0, frozenset()), _SAYS[0]

    def step(self, level: ToyLevel, state: ToyState, action: str) -> Transition:
        position, coins = state
        if action not in ACTIONS:
            return Transition(state, -0.1, False, "What?", False, f"{action!r} is none of {ACTIONS}")
        if action == "take":
            if position in coins:
                return Transition(state, 0.0, False, "nothing here", False, "no coin here")
            return Transition(ToyState(position, coins | {position}), 0.3, False, _SAYS[5])
        position += 1 if action == "right" else -1
        after = ToyState(position, coins)
        if position >= level.length:
            return Transition(after, 10.0, True, "win", True)
        if position <= -2:
            return Transition(after, -5.0, True, "you fell")
        return Transition(after, 0.1, False, _SAYS[position % 5])

    def actions(self, level: ToyLevel, state: ToyState) -> tuple[str, ...]:
        return ACTIONS[:2] if state.position in state.coins else ACTIONS

    def encode(self, level: ToyLevel, state: ToyState) -> Any:
        return (state.position, tuple(sorted(state.coins)))

    def decode(self, level: ToyLevel, data: Any) -> ToyState:
        if not isinstance(data, tuple) or len(data) != 2:
            raise ValueError("expected a position and coins")
        position, coins = data
        if type(position) is not int or not -2 <= position <= level.length or not isinstance(coins, tuple):
            raise ValueError(f"position {position!r}")
        if any(type(coin) is not int for coin in coins):
            raise ValueError("coins")
        return ToyState(position, frozenset(coins))


class ToyEnv(SnapshotEnv[Any, Any]):
    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012
    name = "toy"
    simulator = ToySimulator()

    def __init__(self, max_turns: int = 12, actions: str = "text", render_mode: str | None = None) -> None:
        super().__init__(max_turns=max_turns, render_mode=render_mode)
        self.observation_space = AnyText()
        self.actions = actions
        self.action_space = {
            "text": AnyText(),
            "discrete": spaces.Discrete(3),
            "multi": spaces.MultiBinary(2),
        }[actions]

    def read_action(self, action: Any) -> Any:
        if self.actions == "text":
            return action
        if self.actions == "discrete":
            return ACTIONS[int(action)]
        return ACTIONS[min(2, int(action[0]) + 2 * int(action[1]))]

    def choose_level(self, options: dict[str, Any]) -> ToyLevel:
        length = options.get("level")
        if length is None:
            length = int(self.np_random.integers(3, 6))
        return ToyLevel(f"toy/{length}", int(length))

    def find_level(self, name: LevelName) -> ToyLevel:
        try:
            kind, length = name.locator
        except (TypeError, ValueError):
            kind, length = None, None
        if kind != "toy" or type(length) is not int or not 1 <= length < 1000:
            raise DataError(f"no toy level {name.locator!r}")
        return ToyLevel(f"toy/{length}", length)


class ArraySimulator(ToySimulator):
    """The same game, seen as a writable array inside a dict."""

    def begin(self, level: ToyLevel) -> tuple[ToyState, Any]:
        state, _ = super().begin(level)
        return state, self._seen(state)

    def step(self, level: ToyLevel, state: ToyState, action: str) -> Transition:
        done = super().step(level, state, action)
        return done._replace(feedback=self._seen(done.state))

    def _seen(self, state: ToyState) -> Any:
        return {"place": np.array([state.position, len(state.coins)], np.int64)}


class ArrayToyEnv(ToyEnv):
    name = "array-toy"
    simulator = ArraySimulator()

    def __init__(self, max_turns: int = 12) -> None:
        super().__init__(max_turns=max_turns)
        self.observation_space = spaces.Dict({"place": spaces.Box(-5, 1000, (2,), np.int64)})
