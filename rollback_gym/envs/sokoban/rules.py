"""Sokoban's rules, as pure functions on `Level` and `State`: the simulator of `core.simulator`.

Rewards are those of gym-sokoban, which every later variant kept: a little less than nothing for a move, one more or
less where the number of boxes on targets rises or falls, and ten for a win.
"""

from collections.abc import Callable
from typing import Any

from rollback_gym.core.simulator import Transition
from rollback_gym.envs.sokoban.types import WORDS, Level, State

_MOVE = -0.1
_ON_TARGET = _MOVE + 1
_OFF_TARGET = _MOVE - 1
_WIN = _ON_TARGET + 10
_SAID = 80
"""Letters of an action that are repeated."""

_new: Any = tuple.__new__  # a NamedTuple's own constructor takes twice as long

Describe = Callable[[Level, State], Any]


class Rules:
    """Sokoban, observed through `describe`; see `text`."""

    __slots__ = ("describe",)

    def __init__(self, describe: Describe) -> None:
        self.describe = describe

    def begin(self, level: Level) -> tuple[State, Any]:
        """The state that `level` starts in, and the first observation."""
        return level.start, self.describe(level, level.start)

    def step(self, level: Level, state: State, action: str) -> Transition:
        """Move the player one cell, and push the box that stands there.

        A move against a wall, or against a box that cannot move, is admissible: it changes nothing and costs what any
        move costs. So does an action that is none of `WORDS`, of which `Transition.invalid` says why.
        """
        offset = level.offsets.get(action)
        if offset is None:
            said = action if len(action) <= _SAID else f"{action[:_SAID]}..."
            invalid = f"{said!r} is none of {', '.join(WORDS)}"
            return Transition(state, _MOVE, False, self.describe(level, state), False, invalid)
        player, boxes = state
        there = player + offset
        bit = 1 << there
        reward, won = _MOVE, False
        if bit & level.floor:
            if not bit & boxes:
                state = _new(State, (there, boxes))
            else:
                beyond = 1 << there + offset
                if beyond & level.floor and not beyond & boxes:
                    boxes ^= bit | beyond
                    state = _new(State, (there, boxes))
                    won = boxes == level.targets
                    reward = _WIN if won else _paid(level.targets, bit, beyond)
        made: Transition = _new(Transition, (state, reward, won, self.describe(level, state), won, None))
        return made

    def actions(self, level: Level, state: State) -> tuple[str, ...]:
        """The admissible actions: always all four, as the originals offer them."""
        return WORDS

    def encode(self, level: Level, state: State) -> tuple[int, int]:
        """`state` as plain values."""
        return state.player, state.boxes

    def decode(self, level: Level, data: Any) -> State:
        """The inverse of `encode`. Raises ValueError where `data` is no state that `level` can be in."""
        if not isinstance(data, tuple) or len(data) != 2 or not all(type(value) is int for value in data):
            raise ValueError("expected two whole numbers")
        player, boxes = data
        if boxes < 0 or boxes & ~level.floor or boxes.bit_count() != level.targets.bit_count():
            raise ValueError(f"expected {level.targets.bit_count()} boxes on the floor, got {boxes:#x}")
        if not 0 <= player < level.height * level.width or not level.floor & ~boxes & 1 << player:
            raise ValueError(f"expected the player on free floor, got cell {player}")
        return State(player, boxes)


def _paid(targets: int, bit: int, beyond: int) -> float:
    """The reward of a push from the cell `bit` to the cell `beyond`."""
    if bit & targets:
        return _MOVE if beyond & targets else _OFF_TARGET
    return _ON_TARGET if beyond & targets else _MOVE


def moved(level: Level, state: State, offset: int) -> State:
    """Where a move by `offset` leads; `state` itself where nothing moves."""
    player, boxes = state
    there = player + offset
    bit = 1 << there
    if bit & boxes:
        beyond = 1 << there + offset
        return State(there, boxes ^ bit ^ beyond) if beyond & level.floor & ~boxes else state
    return State(there, boxes) if bit & level.floor else state
