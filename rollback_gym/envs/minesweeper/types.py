"""The values MineSweeper is made of: what a level is, and what changes in it."""

import hashlib
import json
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from rollback_gym.core.bits import numbers
from rollback_gym.envs.minesweeper.grid import Grid

NONE = -1
"""No cell, in `State.hit` and `State.yielded`."""
BURIED = -2
"""`State.hit` of a game that was lost before its first turn, on a board that shows nothing (`compat="original"`)."""


class FirstClick(StrEnum):
    """What the first click of a game is promised."""

    SAFE = "safe"
    """It hits no mine."""
    EMPTY = "empty"
    """There is no mine around it either, so it opens an area."""
    ANY = "any"
    """Nothing."""


class State(NamedTuple):
    """Everything that changes in a game. The first two are bitmasks over the cells."""

    opened: int
    flags: int
    hit: int
    """The mine that ended the game, NONE, or BURIED."""
    yielded: int
    """The first click, where mines moved out of its way; else NONE."""


class Layout:
    """Where the mines lie, and what follows from that. Remembers its text, which never changes an answer."""

    __slots__ = ("counts", "difference", "grid", "mines", "needed", "numbered", "regions", "safe")

    def __init__(self, grid: Grid, mines: int) -> None:
        self.grid = grid
        self.mines = mines
        self.safe = safe = grid.full & ~mines
        self.counts: tuple[int, ...] = _counts(grid, mines)
        """(9,) the safe cells with 0, 1 ... 8 mines around them."""
        zeros = self.counts[0]
        self.numbered = safe & ~zeros
        regions = []
        needed = safe
        while zeros:
            lowest = zeros & -zeros
            region, more = 0, lowest
            while more != region:
                region, opens = more, grid.spread(more)
                more = opens & zeros
            regions.append((region, opens))
            needed &= ~opens | lowest
            zeros ^= region
        self.regions: tuple[tuple[int, int], ...] = tuple(regions)
        """Each connected region of cells without mines around them, and what a click in it opens."""
        self.needed = needed
        """Cells that open all the others, one of each region and every number that touches none: the least set."""
        self.difference: int | None = None
        """The text of the open board against the closed one; see `text`."""


def _counts(grid: Grid, mines: int) -> tuple[int, ...]:
    """Adds up, for all cells at once, how many mines they touch: a counter with a mask for each binary digit."""
    around, safe = grid.around, grid.full & ~mines
    ones = twos = fours = eights = 0
    for mine in numbers(mines):
        carry = around[mine]
        ones, carry = ones ^ carry, ones & carry
        if carry:
            twos, carry = twos ^ carry, twos & carry
            if carry:
                fours, carry = fours ^ carry, fours & carry
                eights |= carry
    counts = []
    for high, low in ((~fours, ~twos), (~fours, twos), (fours, ~twos), (fours, twos)):
        both = high & low & safe
        counts.append(both & ~ones & ~eights)
        counts.append(both & ones)
    return (*counts, safe & eights)


@dataclass(frozen=True, eq=False)
class Level:
    """One board. Immutable but for what it remembers in `memo`, which never changes an answer."""

    id: str
    """Split and seed, such as `train/42`; `train/42@3,4` where the opening was asked for."""
    locator: tuple[Any, ...]
    """How to find the level again (nested tuples of plain values); not part of its content."""
    grid: Grid
    mines: int
    """The cells that hold a mine, as drawn."""
    first_click: FirstClick
    """What the player's first click is promised. ANY where the environment opened the first cell."""
    reserve: tuple[int, ...]
    """The cells that mines move to, in this order, if they are in the way of the first click."""
    flags: bool
    """Whether flags may be put."""
    start: State
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def layout(self) -> Layout:
        """The mines as drawn."""
        return Layout(self.grid, self.mines)

    def layout_of(self, state: State) -> Layout:
        """The mines as they lie in `state`."""
        return self.layout if state.yielded == NONE else self.yielded(state.yielded)

    def yielded(self, cell: int) -> Layout:
        """The mines after they moved out of the way of a first click on `cell`."""
        layout: Layout | None = self.memo.get(cell)
        if layout is None:
            layout = self.memo[cell] = self._yielded(cell)
        return layout

    def _yielded(self, cell: int) -> Layout:
        free = self.cleared(cell)
        mines, moving = self.mines & ~free, (self.mines & free).bit_count()
        for other in self.reserve:
            if moving and not free >> other & 1:
                mines |= 1 << other
                moving -= 1
        return Layout(self.grid, mines)

    def cleared(self, cell: int) -> int:
        """The cells that a first click on `cell` is promised to find without mines."""
        if self.first_click is FirstClick.ANY:
            return 0
        return 1 << cell | (self.grid.around[cell] if self.first_click is FirstClick.EMPTY else 0)

    @cached_property
    def task(self) -> str:
        """The instruction."""
        return _task(self.grid.rows, self.grid.columns, self.mines.bit_count(), self.flags)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: equal for levels that play identically, in every process and on every machine.

        Id, locator and memo are not content.
        """
        size = [self.grid.rows, self.grid.columns]
        content = ["minesweeper 1", size, self.mines, self.first_click, self.reserve, self.flags, self.start]
        return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return Level, tuple(getattr(self, f.name) for f in fields(self) if f.name != "memo")

    def __copy__(self) -> "Level":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Level":
        return self


@lru_cache(maxsize=64)
def _task(rows: int, columns: int, mines: int, flags: bool) -> str:
    board = f"a board of {rows} rows and {columns} columns that hides {mines} mine{'s' if mines > 1 else ''}"
    goal = f"Open every cell without a mine on {board}."
    return f"{goal} Flags on exactly the mines win, too." if flags else goal
