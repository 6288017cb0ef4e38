"""What a MineSweeper player can know: the exact probability of a mine in each cell, and how good a click was.

Every layout of the mines that fits the open numbers is equally likely: so the generator draws. Cells that the same
numbers touch are alike and form a block. Numbers that share blocks form a component, whose solutions are counted block
by block, keeping only what its numbers still need; cells that no open number touches are counted by a binomial.

Counts are generating functions in the number of mines, each held in one large integer: its coefficients stand side by
side, `width` bits each, so that integer products are products of polynomials.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property, lru_cache
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np

from rollback_gym.core.bits import numbers
from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.grid import CLOSED, EMPTY, FLAG, MINE, Grid, grid
from rollback_gym.envs.minesweeper.types import FirstClick, Level, State

_FIELD = 4
"""Bits for what a number still needs, at most 8."""
_CHOICES = tuple(tuple(comb(size, mines) for mines in range(size + 1)) for size in range(9))
"""How many ways there are to lay so many mines in a block of so many cells, at most the eight around a number."""
MOST_WAYS = 500_000
"""How many ways to lay the mines of blocks may be followed; where counts are long, as many fewer."""
MOST_BITS = 10_000_000
"""How long a generating function may be. Boards of 16 by 30 cells stay far below either."""
_IMPOSSIBLE = "No layout of the mines fits these numbers."


class Click(StrEnum):
    """How good a click was, given what the player could know."""

    SAFE = "safe"
    """It could hit no mine."""
    FORCED_GUESS = "forced guess"
    """No cell was provably safe, and none less risky."""
    BAD_GUESS = "bad guess"
    """No cell was provably safe, but one less risky."""
    MISTAKE = "mistake"
    """It could hit a mine, and another cell was provably safe."""


class View(NamedTuple):
    """What the player sees. Sets of cells are bitmasks over the cells of `grid`."""

    grid: Grid
    mines: int
    """How many there are."""
    counts: tuple[int, ...]
    """(9,) the open cells that show 0, 1 ... 8."""
    hit: int = 0
    """The mines that lie open."""


class Belief:
    """What follows from a view. Never changes."""

    def __init__(self, grid: Grid, layouts: int, groups: tuple[tuple[int, int], ...]) -> None:
        self.grid = grid
        self.layouts = layouts
        """How many layouts of the mines fit what is seen."""
        self.groups = groups
        """The closed cells, as sets that are alike: the set, and in how many layouts each of its cells is a mine."""

    @cached_property
    def probability(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(rows, columns) float64: the probability of a mine in each cell; 0 for open ones."""
        chances = [0.0] * self.grid.cells
        for cells, mined in self.groups:
            for cell in numbers(cells):
                chances[cell] = mined / self.layouts
        return np.array(chances).reshape(self.grid.rows, self.grid.columns)

    @property
    def safe(self) -> tuple[str, ...]:
        """The clicks that provably hit no mine, row by row."""
        return self.grid.clicks_on(_union(cells for cells, mined in self.groups if not mined))

    @property
    def least_risky(self) -> tuple[str, ...]:
        """The clicks that hit a mine with the least probability, row by row."""
        least = min((mined for _, mined in self.groups), default=0)
        return self.grid.clicks_on(_union(cells for cells, mined in self.groups if mined == least))

    def judge(self, cell: int) -> Click | None:
        """How good a click on `cell` is; None where it is open."""
        mined = next((mined for cells, mined in self.groups if cells >> cell & 1), None)
        if mined is None:
            return None
        least = min(mined for _, mined in self.groups)
        if mined == 0:
            return Click.SAFE
        if least == 0:
            return Click.MISTAKE
        return Click.FORCED_GUESS if mined == least else Click.BAD_GUESS


def belief(level: Level, state: State) -> Belief:
    """What the player can know in `state`: nothing else of `level` is looked at than what the board shows.

    Before a first click that is promised to hit no mine, no cell is one that a click could hit.
    """
    if not state.opened and level.first_click is not FirstClick.ANY:
        cells, mines = level.grid.full, level.mines.bit_count()
        return Belief(level.grid, comb(level.grid.cells, mines), ((cells, 0),))
    return posterior(view(level, state))


def judge(level: Level, state: State, action: str) -> Click | None:
    """How good `action` is in `state`; None where it is not a click that can be made."""
    code = level.grid.codes.get(action)
    if code is None or code >= level.grid.cells or action not in rules.actions(level, state):
        return None
    return belief(level, state).judge(code)


def view(level: Level, state: State) -> View:
    """What the player sees of `state`."""
    counts = tuple([cells & state.opened for cells in level.layout_of(state).counts])
    return View(level.grid, level.mines.bit_count(), counts, 1 << state.hit if state.hit >= 0 else 0)


def read_view(board: str, mines: int) -> View:
    """What the player sees on a board given as text, of which there are `mines` mines.

    >>> posterior(read_view("Row 1: ? 1 ?\\nRow 2: ? ? ?", mines=1)).probability.round(2).tolist()
    [[0.2, 0.0, 0.2], [0.2, 0.2, 0.2]]

    Raises:
        ValueError: if `board` is no board.
    """
    rows = [line.partition(":")[2].split() for line in board.strip().split("\n")]
    letters = [letter for row in rows for letter in row]
    if (
        not letters
        or len({len(row) for row in rows}) != 1
        or not set(letters) <= {CLOSED, FLAG, MINE, EMPTY, *"12345678"}
    ):
        raise ValueError(f"Expected a board such as 'Row 1: . 1 ?', of rows of the same length, got {board!r}.")
    shown = {letter: sum(1 << cell for cell, found in enumerate(letters) if found == letter) for letter in set(letters)}
    counts = tuple(shown.get(letter, 0) for letter in (EMPTY, *"12345678"))
    return View(grid(len(rows), len(rows[0])), mines, counts, shown.get(MINE, 0))


@lru_cache(maxsize=4096)
def posterior(view: View) -> Belief:
    """What follows from `view`.

    Raises:
        ValueError: if no layout of the mines fits it.
        OracleBudgetExceeded: if so many numbers hang together, or the board is so large, that it would take too long.
    """
    board, mines, counts, hit = view
    closed = board.full & ~(_union(counts) | hit)
    clues, safe, mined = _clues(board, closed, counts, hit)
    frontier = _union(cells for cells, _ in clues)
    sea = closed & ~(frontier | safe | mined)
    left = mines - (mined | hit).bit_count()
    width = closed.bit_count() + _FIELD
    components = _components(clues)
    solved = [_solved(*component, width) for component in components]
    if left < 0:
        raise ValueError("More mines are certain than there are.")

    low = (1 << width) - 1
    parts = [(solutions, cells.bit_count()) for (cells, _), (solutions, _) in zip(components, solved, strict=True)]
    degree = sum([most for _, most in parts])
    if width * degree > MOST_BITS:
        raise OracleBudgetExceeded(
            f"{closed.bit_count()} closed cells, {degree} of them at open numbers, are too many to count how the mines "
            "may lie. Exact answers need a smaller board."
        )
    # Of the mines that are left, no more than `degree` can be at open numbers.
    apart = _binomials(sea.bit_count(), left - degree, left, width)
    rests = _rests(parts, degree, apart, width) if parts else []
    layouts = (parts[0][0] * rests[0] >> width * parts[0][1] if parts else apart) & low
    if not layouts:
        raise ValueError(_IMPOSSIBLE)

    groups = [(hit, layouts)] if hit else []
    if safe:
        groups.append((safe, 0))
    if mined:
        groups.append((mined, layouts))
    for (_, blocks), (_, most), rest in zip(solved, parts, rests, strict=True):
        at = width * most
        for cells, size, weighted in blocks:
            groups.append((cells, (weighted * rest >> at & low) // size))
    if sea:
        # Each cell of the sea is as good as any other: the mines left over in all layouts, shared out.
        in_frontier = sum(cells.bit_count() * mined for cells, mined in groups) - (mined | hit).bit_count() * layouts
        groups.append((sea, (left * layouts - in_frontier) // sea.bit_count()))
    return Belief(board, layouts, tuple(groups))


_Clue = tuple[int, int]
"""Closed cells of which nothing is known, and how many of them are mines."""


def _clues(board: Grid, closed: int, counts: tuple[int, ...], hit: int) -> tuple[list[_Clue], int, int]:
    """What the numbers say beyond the cells that are plainly safe and the closed cells that are plainly mines."""
    around, edge = board.around, board.spread(closed | hit)
    safe = board.spread(counts[0])
    if safe & hit or _union(counts[1:]) & ~edge:
        raise ValueError(_IMPOSSIBLE)
    safe &= closed
    mined = 0
    clues: list[_Clue] = []
    for need, cells in enumerate(counts):
        cells &= edge
        while need and cells:
            lowest = cells & -cells
            touched = around[lowest.bit_length() - 1]
            clues.append((touched & closed, need - (touched & hit).bit_count() if hit else need))
            cells ^= lowest
    known = -1
    while known != safe | mined:
        known = safe | mined
        remaining = []
        for touched, need in clues:
            if touched & known:
                need -= (touched & mined).bit_count()
                touched &= ~(safe | mined)
            if need == 0:
                safe |= touched
            elif need == touched.bit_count():
                mined |= touched
            elif 0 < need < touched.bit_count():
                remaining.append((touched, need))
            else:
                raise ValueError(_IMPOSSIBLE)
        clues = remaining
    return list(dict.fromkeys(clues)), safe, mined


def _components(clues: list[_Clue]) -> list[tuple[int, list[_Clue]]]:
    """The clues in sets that share no cells, each with the cells of the set."""
    components: list[tuple[int, list[_Clue]]] = []
    for clue in clues:
        cells, members = clue[0], [clue]
        apart = []
        for component in components:
            if component[0] & cells:
                cells |= component[0]
                members = component[1] + members
            else:
                apart.append(component)
        components = [*apart, (cells, members)]
    return components


_Part = tuple[int, int]
"""A generating function, and the highest power in it, or more."""


def _rests(parts: list[_Part], degree: int, rest: int, width: int) -> list[int]:
    """For each part, the product of `rest` and all other parts, cut to what matters.

    The powers of `rest` end with `degree`, the sum of those of the parts. Only what gives this power together with
    the part matters: as many powers as the part has. They are counted from the lowest of them.
    """
    if len(parts) < 2:
        return [rest]
    middle = len(parts) // 2
    found = []
    for these, others in ((parts[:middle], parts[middle:]), (parts[middle:], parts[:middle])):
        most = sum([highest for _, highest in these])
        product = rest * prod([solutions for solutions, _ in others])
        cut = product >> width * (degree - most) & (1 << width * (most + 1)) - 1
        found += _rests(these, most, cut, width)
    return found


_Block = tuple[int, int, int]
"""Cells, how many, and their mines added up over all solutions, as a generating function."""


def _solved(cells: int, clues: list[_Clue], width: int) -> tuple[int, list[_Block]]:
    """As `_solve`, in numbers no longer than this component needs, as far as that is worth it."""
    narrow = cells.bit_count() + _FIELD
    if width < 8 * narrow:
        return _solve(cells, clues, width)
    solutions, blocks = _solve(cells, clues, narrow)

    def widened(function: int) -> int:
        every = (1 << narrow) - 1
        return sum([(function >> narrow * power & every) << width * power for power in range(narrow)])

    return widened(solutions), [(block, size, widened(weighted)) for block, size, weighted in blocks]


def _solve(cells: int, clues: list[_Clue], width: int) -> tuple[int, list[_Block]]:
    """The solutions of a component as a generating function, and its blocks."""
    blocks = _in_order(_blocks(cells, clues), clues)
    room = [0] * len(clues)
    plan = []
    for block in reversed(blocks):
        size, touches, fields = block.bit_count(), 0, []
        for index, (touched, _) in enumerate(clues):
            if touched & block:
                touches |= 1 << _FIELD * index
                fields.append((_FIELD * index, room[index]))
                room[index] += size
        plan.append((size, touches, fields))
    plan.reverse()

    start = sum([need << _FIELD * index for index, (_, need) in enumerate(clues)])
    ways = {start: 1}
    steps = []
    followed = laid = 0
    for size, touches, fields in plan:
        laid += size
        followed += len(ways) * (size + 1) * (1 + (width * laid >> 12))
        if followed > MOST_WAYS:
            raise OracleBudgetExceeded(
                f"{len(clues)} open numbers hang together by the closed cells that they touch: too many to follow what "
                "they leave open. Exact answers need a smaller board, or one where more is open."
            )
        moves: list[tuple[int, int, int]] = []
        after: dict[int, int] = {}
        for needs, count in ways.items():
            least, most = 0, size
            for shift, later in fields:
                need = needs >> shift & 15
                if need < most:
                    most = need
                if need - later > least:
                    least = need - later
            for mines in range(least, most + 1):
                to = needs - mines * touches
                moves.append((needs, mines, to))
                after[to] = after.get(to, 0) + (count * _CHOICES[size][mines] << width * mines)
        steps.append((ways, moves))
        ways = after

    found, onward = [], {0: 1}
    for block, (size, _, _), (ways, moves) in zip(reversed(blocks), reversed(plan), reversed(steps), strict=True):
        weighted = 0
        before: dict[int, int] = {}
        for needs, mines, to in moves:
            if to in onward:
                term = onward[to] * _CHOICES[size][mines] << width * mines
                before[needs] = before.get(needs, 0) + term
                if mines:
                    weighted += ways[needs] * term * mines
        found.append((block, size, weighted))
        onward = before
    return onward.get(start, 0), found


def _blocks(cells: int, clues: list[_Clue]) -> list[int]:
    """The cells in sets that are touched by the same clues."""
    blocks = [cells]
    for touched, _ in clues:
        blocks = [part for block in blocks for part in (block & touched, block & ~touched) if part]
    return blocks


def _in_order(blocks: list[int], clues: list[_Clue]) -> list[int]:
    """The blocks so that few clues are begun and not finished at any time: next is what finishes one soonest."""
    if len(blocks) <= 6:
        return blocks
    members = [[block for block in blocks if block & touched] for touched, _ in clues]
    open_blocks, order, begun = set(blocks), [], 0
    while open_blocks:
        pending = [[block for block in parts if block in open_blocks] for parts in members]
        begun_first = [parts for parts in pending if parts and begun & _union(parts)] or [p for p in pending if p]
        for block in min(begun_first, key=len):
            order.append(block)
            open_blocks.remove(block)
            begun |= _union(touched for touched, _ in clues if touched & block)
    return order


@lru_cache(maxsize=512)
def _binomials(cells: int, least: int, most: int, width: int) -> int:
    """(1 + x) to the power of `cells`, from the power `least` of x, which may be negative, to the power `most`."""
    powers = range(max(least, 0), min(cells, most) + 1)
    return sum([comb(cells, power) << width * (power - least) for power in powers])


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
