"""What each of the two players sees: the same room, and itself in it."""

from typing import Any

import numpy as np
from gymnasium import spaces

from rollback_gym.core.spaces import AnyText
from rollback_gym.envs.sokoban import channels
from rollback_gym.envs.sokoban.text import LAYOUTS
from rollback_gym.envs.sokoban.types import State as Alone
from rollback_gym.envs.sokoban_two.types import AGENTS, Level, State

OTHER, OTHER_ON_TARGET = "Q", "R"
"""The other player, beside the symbols of `sokoban.text`: `P` and `S` are the one who looks."""
CHANNELS = (*channels.CHANNELS, "other")
"""The last axis; `player` is the one who looks."""

Array = np.ndarray[Any, np.dtype[np.uint8]]
_PLAIN = LAYOUTS["plain"]


class Text:
    """The room as text, one row a line."""

    space: spaces.Space[Any] = AnyText()

    def describe(self, level: Level, state: State) -> dict[str, str]:
        """What each player sees."""
        return {agent: self._seen(level, state, player) for player, agent in enumerate(AGENTS)}

    def _seen(self, level: Level, state: State, player: int) -> str:
        me, other = state.seen_by(player)
        text = _PLAIN.describe(level.room, Alone(me, state.boxes))
        place = other + other // level.room.width  # a line break after each row
        symbol = OTHER_ON_TARGET if level.room.targets >> other & 1 else OTHER
        return text[:place] + symbol + text[place + 1 :]


class Channels:
    """Rooms of `height` by `width` cells as zeros and ones."""

    def __init__(self, height: int, width: int) -> None:
        self._alone = channels.Channels(height, width)
        self.space: spaces.Space[Any] = spaces.Box(0, 1, (height, width, len(CHANNELS)), np.uint8)
        """(height, width, 5) uint8."""

    def describe(self, level: Level, state: State) -> dict[str, Array]:
        """What each player sees."""
        return {agent: self._seen(level, state, player) for player, agent in enumerate(AGENTS)}

    def _seen(self, level: Level, state: State, player: int) -> Array:
        me, other = state.seen_by(player)
        room = self._alone.describe(level.room, Alone(me, state.boxes))
        beside = np.zeros((*room.shape[:2], 1), np.uint8)
        beside[other // level.room.width, other % level.room.width] = 1
        return np.concatenate([room, beside], axis=2)
