"""Boards from seeds: the original's, and the same ones without its defects.

The original (RetroAgent's `MineSweeper`) seeds NumPy's legacy generator, draws a number per cell, and lays the mines
in the cells with the smallest ones, leaving out the opening cell. So does this, board for board. The original draws
the opening cell *before* it seeds, from the global generator; here it comes from the seed, or is given. To get a
board of the original: `np.random.seed(seed); np.random.rand(rows, columns); env.reset(seed)`.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rollback_gym.core.errors import DataError
from rollback_gym.envs.minesweeper.grid import Grid, grid
from rollback_gym.envs.minesweeper.rules import opening as opened_by
from rollback_gym.envs.minesweeper.types import BURIED, NONE, FirstClick, Layout, Level, State

VERSION = 1
"""Of this generator: another number where the same seed gives another board."""
SPLITS = {"train": range(65_535), "valid": range(65_536, 2**32 - 1)}
"""The seeds that the published runs draw from."""
MOST_CELLS = 8_000
"""A set of cells fits into the integers that snapshots are written with."""
RECLICKS = 1000
"""How often the original clicks again on a board that its opening wins."""

Opening = tuple[int, int] | Literal["drawn", "player"]
"""A row and a column, counted from 1; a cell drawn from the seed; or none, since the player makes the first click."""

_ID = re.compile(r"(?:train|valid)/(0|[1-9][0-9]{0,9})(?:@([0-9]{1,4}),([0-9]{1,4}))?")
_here = threading.local()


@dataclass(frozen=True)
class Setup:
    """What boards are made, but for the seed. Raises ValueError where there can be none such."""

    rows: int = 6
    columns: int = 6
    mines: int = 3
    first_click: FirstClick = FirstClick.SAFE
    opening: Opening = "drawn"
    flags: bool = False
    original: bool = False
    """Keep the original's defect: where its opening wins, it clicks again without keeping that cell free."""
    max_attempts: int = RECLICKS
    """How many boards may be drawn until one is not won by its opening."""

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "mines", "max_attempts"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
            object.__setattr__(self, name, int(value))
        if self.rows * self.columns > MOST_CELLS:
            raise ValueError(f"A board may have {MOST_CELLS:,} cells, got {self.rows} rows and {self.columns} columns.")
        self._check_opening()
        cells, most = self.rows * self.columns, max(self._most_mines(), 0)
        if self.mines > most:
            raise ValueError(
                f"{self.mines} mines are too many for {self.rows} rows and {self.columns} columns ({cells} cells): "
                f"with first_click={str(self.first_click)!r} and opening={self.opening!r} there may be {most}."
            )

    def _check_opening(self) -> None:
        if self.opening in ("drawn", "player"):
            if self.opening == "drawn" and self.first_click is FirstClick.ANY:
                raise ValueError(
                    "first_click='any' lets the opening hit a mine before the first turn. Use opening='player', or "
                    "first_click='safe'."
                )
        else:
            check_opening(self.opening, self.rows, self.columns)
            if self.first_click is FirstClick.ANY:
                raise ValueError("first_click='any' has no use where the opening is given. Use first_click='safe'.")
        if self.original and (self.opening == "player" or self.first_click is not FirstClick.SAFE):
            raise ValueError("compat='original' opens a safe cell itself: use first_click='safe', and no 'player'.")

    def _most_mines(self) -> int:
        """The most mines that leave a game to play."""
        cells, rows, columns = self.rows * self.columns, self.rows, self.columns
        if self.original or self.opening == "player":
            kept = min(rows, 3) * min(columns, 3) if self.first_click is FirstClick.EMPTY else 1
            return cells - kept
        if self.first_click is FirstClick.EMPTY:
            return cells - 1 - min(rows, 2) * min(columns, 2)
        return cells - 2


def check_opening(opening: Any, rows: int, columns: int) -> None:
    """Raise ValueError unless `opening` is the row and column of a cell, counted from 1."""
    pair = isinstance(opening, tuple | list) and len(opening) == 2
    whole = pair and all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in opening)
    if not whole or not (1 <= opening[0] <= rows and 1 <= opening[1] <= columns):
        raise ValueError(
            f"An opening is (row, column), from (1, 1) to ({rows}, {columns}); or in the environment's options 'drawn' "
            f"or 'player'. Got {opening!r}."
        )


def level_id(seed: int, opening: tuple[int, int] | None = None) -> str:
    """The id of a board, such as `train/42`, or `train/42@3,4` where its opening is given."""
    at = "" if opening is None else f"@{opening[0]},{opening[1]}"
    return f"{'valid' if seed >= SPLITS['valid'].start else 'train'}/{seed}{at}"


def read_id(id: str) -> tuple[int, tuple[int, int] | None]:
    """The seed and the given opening in a level's id. Raises DataError where it is none."""
    if not isinstance(id, str):
        raise TypeError(f"A level is named by its id, a str such as 'train/42', got {type(id).__name__}.")
    match = _ID.fullmatch(id)
    seed = -1 if match is None else int(match[1])
    if match is None or seed >= 2**32 or not id.startswith(level_id(seed)):
        raise DataError(
            f"There is no level {id!r}; there are {level_id(0)!r} to {level_id(2**32 - 1)!r}, with '@row,column' after "
            "it to say where the board is opened."
        )
    return seed, None if match[2] is None else (int(match[2]), int(match[3]))


class LevelIds(Sequence[str]):
    """The ids of a split's levels, made when asked for: there are billions."""

    def __init__(self, split: str | None = None) -> None:
        if split is not None and split not in SPLITS:
            raise DataError(f"There is no split {split!r}; there are {', '.join(SPLITS)}.")
        self._seeds = [SPLITS[split]] if split else list(SPLITS.values())

    def __len__(self) -> int:
        return sum(map(len, self._seeds))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        for seeds in self._seeds:
            if 0 <= at < len(seeds):
                return level_id(seeds[at])
            at -= len(seeds)
        raise IndexError(f"no level {index}; there are {len(self)}")

    def __contains__(self, id: object) -> bool:
        try:
            seed, opening = read_id(str(id))
        except DataError:
            return False
        return opening is None and any(seed in seeds for seeds in self._seeds)

    def __iter__(self) -> Iterator[str]:
        return (level_id(seed) for seeds in self._seeds for seed in seeds)


class _Stream:
    """NumPy's legacy generator."""

    def __init__(self) -> None:
        self._bits = np.random.MT19937(0)
        legacy = np.random.RandomState(self._bits)
        self.seed = legacy.seed
        self.rand = legacy.rand

    def below(self, end: int) -> int:
        """What `randint(0, end)` would draw, in a fifth of its time: as many bits as it needs, until they are less."""
        mask = (1 << (end - 1).bit_length()) - 1
        while mask:
            number: int = self._bits.random_raw() & mask
            if number < end:
                return number
        return 0


def generate(setup: Setup, seed: int, opening: tuple[int, int] | None = None) -> Level:
    """The board of `seed`, opened at `opening` (row, column, from 1) or else as `setup` says.

    Raises:
        ValueError: if `opening` is no cell.
        DataError: if every board drawn is won by its opening.
    """
    if opening is not None:
        check_opening(opening, setup.rows, setup.columns)
    given = opening or (setup.opening if isinstance(setup.opening, tuple) else None)
    board = grid(setup.rows, setup.columns)
    stream = _stream(seed)
    locator = (VERSION, seed, opening)
    id = level_id(seed, opening)
    if setup.opening == "player" and opening is None:
        order = _order(stream, board)
        mines, reserve = order[: setup.mines], tuple(order[setup.mines :])
        if setup.first_click is FirstClick.ANY:
            reserve = ()
        return Level(id, locator, board, _mask(mines), setup.first_click, reserve, setup.flags, State(0, 0, NONE, NONE))
    layout, start = (_original if setup.original else _mended)(setup, board, stream, given)
    level = Level(id, locator, board, layout.mines, FirstClick.ANY, (), setup.flags, start)
    level.__dict__["layout"] = layout
    return level


def _mended(setup: Setup, board: Grid, stream: _Stream, given: tuple[int, int] | None) -> tuple[Layout, State]:
    """A board that its opening does not win: another is drawn until there is one."""
    for _ in range(setup.max_attempts):
        order = _order(stream, board)
        cell = _cell(board, given) if given else _drawn(stream, board)
        free = 1 << cell
        if setup.first_click is FirstClick.EMPTY:
            free |= board.around[cell]
            if board.cells - free.bit_count() <= setup.mines:
                continue
        layout = Layout(board, _dealt(order, setup.mines, free))
        opened = opened_by(layout, cell)
        if opened != layout.safe:
            return layout, State(opened, 0, NONE, NONE)
    raise DataError(
        f"Of {setup.max_attempts} boards drawn, each was won by its opening. Ask for more mines, another opening or a "
        "larger board, or raise max_attempts."
    )


def _original(setup: Setup, board: Grid, stream: _Stream, given: tuple[int, int] | None) -> tuple[Layout, State]:
    """The original's board: where the opening wins, it closes the board and clicks anew, on a mine too."""
    order = _order(stream, board)
    first = None if given else _drawn(stream, board)
    cell = _cell(board, given) if given else first
    assert cell is not None
    layout = Layout(board, _dealt(order, setup.mines, 1 << cell))
    opened = opened_by(layout, cell)
    for _ in range(RECLICKS - 1):
        if opened != layout.safe:
            break
        # The original seeds after its first draw, so what we drew from the seeded stream is its second.
        cell, first = (_drawn(stream, board), None) if first is None else (first, None)
        if layout.mines >> cell & 1:
            return layout, State(0, 0, BURIED, NONE)
        opened = opened_by(layout, cell)
    return layout, State(opened, 0, NONE, NONE)


def _stream(seed: int) -> _Stream:
    """A generator, seeded; one a thread, since making one costs more than everything else here."""
    stream: _Stream | None = getattr(_here, "stream", None)
    if stream is None:
        stream = _here.stream = _Stream()
    stream.seed(seed)
    return stream


def _order(stream: _Stream, board: Grid) -> list[int]:
    """The cells in the order in which they get mines."""
    drawn = stream.rand(board.cells).tolist()
    return sorted(range(board.cells), key=drawn.__getitem__)


def _drawn(stream: _Stream, board: Grid) -> int:
    row = stream.below(board.rows)
    return row * board.columns + stream.below(board.columns)


def _cell(board: Grid, opening: tuple[int, int]) -> int:
    return (opening[0] - 1) * board.columns + opening[1] - 1


def _dealt(order: list[int], mines: int, free: int) -> int:
    """The first `mines` cells of `order` that are not in `free`, as a mask."""
    mask, left = 0, mines
    for cell in order:
        if not free >> cell & 1:
            mask |= 1 << cell
            left -= 1
            if not left:
                break
    return mask


def _mask(cells: Sequence[int]) -> int:
    return sum(1 << cell for cell in cells)
