"""The values that Sokoban for two is made of: a room of Sokoban, and a second player in it."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from rollback_gym.envs.sokoban import types as sokoban

WORDS = (*sokoban.WORDS, "stay")
"""The five actions of each player."""
AGENTS = ("player_0", "player_1")

Joint = tuple[str, str]
"""What the two do in the same turn."""


class State(NamedTuple):
    """Everything that changes in a game."""

    first: int
    """The cell of `player_0`."""
    second: int
    """The cell of `player_1`."""
    boxes: int
    """Bits over the cells: where the boxes are."""

    def seen_by(self, player: int) -> tuple[int, int]:
        """The cells of this player (0 or 1) and of the other one."""
        return (self.second, self.first) if player else (self.first, self.second)


@dataclass(frozen=True, eq=False)
class Level:
    """One room. Immutable, as the room in it is."""

    task: ClassVar[str] = "Push every box onto a target, together. You are P; the other player is Q."

    room: sokoban.Level
    """Floor, targets and boxes; its player is `player_0`."""
    second: int
    """Where `player_1` starts."""

    @property
    def id(self) -> str:
        """The room's name: `train/17` for the one of seed 17."""
        return self.room.id

    @property
    def locator(self) -> tuple[Any, ...]:
        """How to find the level again; not part of its content."""
        return self.room.locator

    @cached_property
    def start(self) -> State:
        """The state before the first turn."""
        return State(self.room.start.player, self.second, self.room.start.boxes)

    @cached_property
    def offsets(self) -> dict[str, int]:
        """What each action adds to a cell."""
        return {**self.room.offsets, "stay": 0}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: equal for levels that play identically, in every process and on every machine."""
        room = self.room
        content = ["sokoban-two 1", room.height, room.width, room.floor, room.targets, self.start]
        return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return Level, (self.room, self.second)

    def __copy__(self) -> "Level":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Level":
        return self
