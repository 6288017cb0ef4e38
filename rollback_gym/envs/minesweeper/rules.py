"""MineSweeper's rules, as pure functions on `Level` and `State`: the simulator of `core.simulator`.

`Arrays` is the same game, told in arrays.
"""

from typing import Any

import numpy as np

from rollback_gym.core.simulator import Transition
from rollback_gym.envs.minesweeper import text
from rollback_gym.envs.minesweeper.codec import decode, encode
from rollback_gym.envs.minesweeper.types import BURIED, NONE, Layout, Level, State

__all__ = ["ARRAYS", "actions", "begin", "decode", "encode", "opening", "step", "won"]

ONE, MANY, WIN, LOSS, NOTHING = 0.5, 2.0, 10.0, -0.1, -1.0
"""Rewards: one cell changed, more than one, the win, a mine, and a turn on which nothing could be done."""
CHANNELS = ("closed", *"012345678", "flag", "mine")
"""The last axis of an array: a digit is an open cell with so many mines around it, `mine` the one that was hit."""

_SAID = 80
"""Letters of an action that are repeated."""

_new: Any = tuple.__new__  # a NamedTuple's own constructor takes twice as long
Board = np.ndarray[Any, np.dtype[np.uint8]]


def begin(level: Level) -> tuple[State, str]:
    """The state that `level` starts in, and the board."""
    return level.start, describe(level, level.start)


def describe(level: Level, state: State) -> str:
    """The board as the player sees it."""
    return text.board(level.layout_of(state), state.opened, state.flags, state.hit)


def step(level: Level, state: State, action: str) -> Transition:
    """What `action` does in `state`: `(3, 4)` opens a cell, `flag (3, 4)` puts a flag on it or takes it off.

    The reward is 0.5 where one cell changes, 2.0 where more do, 10.0 for the win, -0.1 for a mine, and -1.0 for an
    action that cannot be done, which changes nothing. Raises TypeError for an action that is no str.
    """
    state, reward, over, won, invalid = _act(level, state, action)
    opened, flags, hit, yielded = state
    layout = level.layout if yielded == NONE else level.yielded(yielded)
    return _new(Transition, (state, reward, over, text.board(layout, opened, flags, hit), won, invalid))  # type: ignore[no-any-return]


def actions(level: Level, state: State) -> tuple[str, ...]:
    """The cells that can be opened, row by row, and where flags may be put, the cells that can be flagged."""
    opened, flags, hit, yielded = state
    grid = level.grid
    if hit == BURIED:
        return grid.clicks
    layout = level.layout if yielded == NONE else level.yielded(yielded)
    if hit != NONE or opened == layout.safe or flags == layout.mines:
        return ()
    closed = grid.full & ~opened
    clicks = grid.clicks_on(closed & ~flags)
    if not level.flags or not opened:
        return clicks
    return clicks + tuple([name for cell, name in enumerate(grid.flaggings) if closed >> cell & 1])


def won(level: Level, state: State) -> bool:
    """Whether every safe cell is open, or the flags are exactly on the mines."""
    layout = level.layout_of(state)
    return state.hit == NONE and (state.opened == layout.safe or state.flags == layout.mines)


def opening(layout: Layout, cell: int) -> int:
    """What a click on `cell`, which must be safe, opens on a board that is closed altogether."""
    return _opened(layout, 0, 0, 1 << cell)


class Arrays:
    """The same rules with boards as arrays: (rows, columns, 12) uint8, exactly one of `CHANNELS` 1 at each cell."""

    encode = staticmethod(encode)
    decode = staticmethod(decode)
    actions = staticmethod(actions)

    @staticmethod
    def begin(level: Level) -> tuple[State, Board]:
        """The state that `level` starts in, and the board."""
        return level.start, array(level, level.start)

    @staticmethod
    def step(level: Level, state: State, action: str) -> Transition:
        """See `step`."""
        state, reward, over, won, invalid = _act(level, state, action)
        return Transition(state, reward, over, array(level, state), won, invalid)


ARRAYS = Arrays()


def array(level: Level, state: State) -> Board:
    """(rows, columns, 12) uint8: the board as the player sees it. Cannot be written to: a history holds it."""
    opened, flags, hit, _ = state
    grid = level.grid
    mine = 1 << hit if hit >= 0 else 0
    counts = [cells & opened for cells in level.layout_of(state).counts]
    planes = (grid.full & ~(opened | flags | mine), *counts, flags, mine)
    size = (grid.cells + 7) // 8
    data = np.frombuffer(b"".join([plane.to_bytes(size, "little") for plane in planes]), np.uint8)
    bits = np.unpackbits(data.reshape(len(planes), size), axis=1, count=grid.cells, bitorder="little")
    board = np.ascontiguousarray(bits.T).reshape(grid.rows, grid.columns, len(planes))
    board.flags.writeable = False
    return board


Outcome = tuple[State, float, bool, bool, str | None]
"""The state, the reward, whether the game is over and whether won, and why the action was inadmissible."""


def _act(level: Level, state: State, action: str) -> Outcome:
    opened, flags, hit, yielded = state
    grid = level.grid
    try:
        code = grid.codes[action]
    except (KeyError, TypeError):  # not written as offered, or no str
        read = _code(level, action)
        if isinstance(read, str):
            return state, NOTHING, False, False, read
        code = read
    if hit != NONE:
        return _after_a_mine(level, state, code)
    if not opened and code < grid.cells:
        layout, yielded = _yielding(level, code)
    else:
        layout = level.layout if yielded == NONE else level.yielded(yielded)
    if code >= grid.cells:
        return _flag(level, layout, state, code - grid.cells)
    bit = 1 << code
    if (opened | flags) & bit:
        return state, NOTHING, False, False, f"{grid.clicks[code]} is {'flagged' if flags & bit else 'open already'}"
    if layout.mines & bit:
        return _new(State, (opened, flags, code, yielded)), LOSS, True, False, None
    if layout.numbered & bit:
        after = opened | bit
        reward = ONE
    else:
        after = _opened(layout, opened, flags, bit)
        reward = MANY if (after ^ opened).bit_count() > 1 else ONE
    state = _new(State, (after, flags, hit, yielded))
    if after == layout.safe:
        return state, WIN, True, True, None
    return state, reward, False, False, None


def _opened(layout: Layout, opened: int, flags: int, bit: int) -> int:
    """What is open after a click on the safe cell `bit`: flags, and what is open already, stop the cascade."""
    if layout.numbered & bit:
        return opened | bit
    for region, opens in layout.regions:
        if region & bit:
            if not (flags or region & opened):
                return opened | opens
            free = region & ~(flags | opened)
            reached, more = 0, bit
            while more != reached:
                reached, more = more, layout.grid.spread(more) & free
            return opened | layout.grid.spread(reached) & ~flags
    raise AssertionError("a cell that is no mine has a number or is in a region")


def _flag(level: Level, layout: Layout, state: State, cell: int) -> Outcome:
    opened, flags, hit, yielded = state
    name, bit = level.grid.clicks[cell], 1 << cell
    if not level.flags:
        return state, NOTHING, False, False, "this game is played without flags; make it with flags=True"
    if not opened:
        return state, NOTHING, False, False, "the game begins by opening a cell, not by a flag"
    if opened & bit:
        return state, NOTHING, False, False, f"{name} is open already and takes no flag"
    flags ^= bit
    state = _new(State, (opened, flags, hit, yielded))
    if flags == layout.mines:
        return state, WIN, True, True, None
    return state, ONE, False, False, None


def _yielding(level: Level, cell: int) -> tuple[Layout, int]:
    """The mines after the player's first click on `cell`, and whom they yielded to."""
    if level.mines & level.cleared(cell):
        return level.yielded(cell), cell
    return level.layout, NONE


def _after_a_mine(level: Level, state: State, code: int) -> Outcome:
    if state.hit == BURIED and (code < level.grid.cells or level.flags):
        return state, LOSS, True, False, None
    return state, NOTHING, False, False, "the game is lost"


def _code(level: Level, action: str) -> int | str:
    """The number of an action that is not written as offered, or what is wrong with it."""
    if not isinstance(action, str):
        raise TypeError(f"A MineSweeper action is a str such as '(3, 4)', got {type(action).__name__}.")
    form = "'(row, column)'" + (" or 'flag (row, column)'" if level.flags else "")
    read = text.strict(action)
    if read is None:
        said = action.strip()
        return f"{said if len(said) <= _SAID else f'{said[:_SAID]}...'!r} is not of the form {form}"
    flag, row, column = read
    grid = level.grid
    cell = text.click(grid, row, column)
    if cell is None:
        return f"there is no cell ({row}, {column}); rows go from 1 to {grid.rows}, columns to {grid.columns}"
    return cell + flag * grid.cells
