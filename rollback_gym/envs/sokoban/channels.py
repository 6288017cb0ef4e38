"""A room as an array of zeros and ones."""

from typing import Any

import numpy as np
from gymnasium import spaces

from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.types import Level, State

CHANNELS = ("wall", "target", "box", "player")
"""The last axis. A box or the player may share its cell with a target."""

Array = np.ndarray[Any, np.dtype[np.uint8]]


class Channels:
    """Shows rooms of up to `height` by `width` cells; smaller ones are filled up with wall."""

    def __init__(self, height: int, width: int) -> None:
        self.height = height
        self.width = width

    @property
    def space(self) -> spaces.Box:
        """(height, width, 4) uint8, each 0 or 1."""
        return spaces.Box(0, 1, (self.height, self.width, len(CHANNELS)), np.uint8)

    def describe(self, level: Level, state: State) -> Array:
        """(height, width, 4) the room."""
        width = level.width
        empty = level.memo.get((self.height, self.width))
        room: Array = (self._empty(level) if empty is None else empty).copy()
        for cell in numbers(state.boxes):
            room[cell // width, cell % width, 2] = 1
        room[state.player // width, state.player % width, 3] = 1
        return room

    def _empty(self, level: Level) -> Array:
        """The room without boxes and player."""
        room = np.zeros((self.height, self.width, len(CHANNELS)), np.uint8)
        room[..., 0] = 1
        for channel, mask, value in ((0, level.floor, 0), (1, level.targets, 1)):
            for cell in numbers(mask):
                room[cell // level.width, cell % level.width, channel] = value
        level.memo[self.height, self.width] = room
        return room
