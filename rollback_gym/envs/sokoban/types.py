"""The values Sokoban is made of: what a level is, and what changes in it.

Cells are numbered row by row (cell = row * width + column), and every set of cells is a bitmask over those numbers
(bit i stands for cell i). Floor never touches the edge of the board, so a step in any direction, an offset added to
a cell, stays on it.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

WORDS = ("up", "down", "left", "right")
"""The four actions, in the order in which every original numbers them."""
MOST_CELLS = 8_000
"""Of a room: a set of cells fits into the integers that snapshots are written with."""


class State(NamedTuple):
    """Everything that changes in a game."""

    player: int
    """The player's cell."""
    boxes: int
    """Bits over the cells: where the boxes are."""


@dataclass(frozen=True, eq=False)
class Level:
    """One room. Immutable but for what `text` remembers in `memo`, which never changes an answer."""

    task: ClassVar[str] = "Push every box onto a target."

    id: str
    """`train/17` for the room of seed 17; for a room from a file its path and its number there: `medium/000.txt#3`."""
    locator: tuple[Any, ...]
    """How to find the level again (nested tuples of plain values); not part of its content."""
    height: int
    width: int
    floor: int
    """Bits: every cell that is no wall, targets included."""
    targets: int
    """Bits: as many as there are boxes."""
    start: State
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)
    offsets: dict[str, int] = field(init=False, repr=False)
    """What each action adds to a cell."""

    def __post_init__(self) -> None:
        offsets = dict(zip(WORDS, (-self.width, self.width, -1, 1), strict=True))
        object.__setattr__(self, "offsets", offsets)  # a cached_property would be read at half the speed

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: equal for levels that play identically, in every process and on every machine."""
        content = ["sokoban 1", self.height, self.width, self.floor, self.targets, self.start]
        return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return Level, (self.id, self.locator, self.height, self.width, self.floor, self.targets, self.start)

    def __copy__(self) -> "Level":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Level":
        return self


def bits(cells: Iterable[int]) -> int:
    """The mask with the bits of these cells."""
    mask = 0
    for cell in cells:
        mask |= 1 << cell
    return mask
