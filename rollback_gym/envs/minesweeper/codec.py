"""States as plain tuples of ints, and back."""

from typing import Any

from rollback_gym.envs.minesweeper.types import BURIED, NONE, FirstClick, Layout, Level, State


def encode(level: Level, state: State) -> tuple[int, ...]:
    """`state` as a tuple of ints. A mask has as many bits as the board has cells, which may be more than 64."""
    return tuple(state)


def decode(level: Level, data: Any) -> State:
    """The state that `encode` wrote. Raises ValueError where `data` is no state that `level` can be in."""
    _require(isinstance(data, tuple) and len(data) == len(State._fields), "expected four entries")
    _require(all(type(value) is int for value in data), "expected whole numbers")
    state = State(*data)
    opened, flags, hit, yielded = state
    start, full = level.start, level.grid.full
    if start.hit == BURIED:
        _require(state == start, "the game was lost before it began")
        return state
    _require(0 <= opened <= full and 0 <= flags <= full, "opened, flags: a cell off the board")
    _require(not start.opened & ~opened, "opened: what is open stays open")
    _require(not flags & opened, "flags: on an open cell")
    _require(not flags or (level.flags and opened != 0), "flags: where none can be")
    _require(yielded == NONE or _yields(level, opened, yielded), "yielded: no first click that mines make way for")
    layout = level.layout_of(state)
    _require(not opened & layout.mines, "opened: a mine")
    hits = hit == NONE or (0 <= hit < level.grid.cells and layout.mines & ~flags & 1 << hit != 0)
    _require(hits, "hit: no mine that can be clicked")
    _require(hit == NONE or opened != 0 or level.first_click is FirstClick.ANY, "hit: the first click hits no mine")
    _require(level.flags or _whole(layout, opened), "opened: a part of what opens at once")
    return state


def _yields(level: Level, opened: int, cell: int) -> bool:
    on_board = 0 <= cell < level.grid.cells
    return on_board and opened >> cell & 1 != 0 and level.mines & level.cleared(cell) != 0


def _whole(layout: Layout, opened: int) -> bool:
    return all(not region & opened or not opens & ~opened for region, opens in layout.regions)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"not a state of this MineSweeper level: {otherwise}")
