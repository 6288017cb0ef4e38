"""Levels for tests: drawn by hand, or by Hypothesis."""

from typing import Any

from hypothesis import strategies as st

from rollback_gym.core.bits import numbers
from rollback_gym.core.simulator import Transition
from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.grid import grid
from rollback_gym.envs.minesweeper.types import NONE, FirstClick, Level, State
from tests.envs.minesweeper.naive import Cell, Game


def level(picture: str, opening: Cell | None = None, *, flags: bool = False) -> Level:
    """The level of a picture, `*` for a mine, with the rows apart by spaces; opened at `opening`, or closed."""
    rows = picture.split()
    mines = sum(1 << cell for cell, letter in enumerate("".join(rows)) if letter == "*")
    board = grid(len(rows), len(rows[0]))
    made = Level("test/0", (), board, mines, FirstClick.ANY, (), flags, State(0, 0, NONE, NONE))
    if opening is None:
        return made
    cell = (opening[0] - 1) * board.columns + opening[1] - 1
    start = State(rules.opening(made.layout, cell), 0, NONE, NONE)
    return Level("test/0", (), board, mines, FirstClick.ANY, (), flags, start)


@st.composite
def levels(draw: st.DrawFn, cells: int, mines: int = 99, flags: bool | None = None) -> Level:
    """Levels of at most so many cells and mines, opened somewhere; at least two cells are safe."""
    rows = draw(st.integers(1, min(5, cells // 3)))
    columns = draw(st.integers(max(1, -(-3 // rows)), max(-(-3 // rows), min(6, cells // rows))))
    order = draw(st.permutations(range(rows * columns)))
    count = draw(st.integers(1, max(1, min(mines, rows * columns - 2))))
    mined = sum(1 << cell for cell in order[:count])
    allowed = draw(st.booleans()) if flags is None else flags
    board = grid(rows, columns)
    made = Level("test/0", (), board, mined, FirstClick.ANY, (), allowed, State(0, 0, NONE, NONE))
    start = State(rules.opening(made.layout, order[-1]), 0, NONE, NONE)
    return Level("test/0", (), board, mined, FirstClick.ANY, (), allowed, start)


def game(level: Level, state: State) -> Game:
    """The same position, written plainly."""
    layout = level.layout_of(state)
    hit = cell(level, state.hit) if state.hit >= 0 else None
    sets = [frozenset(cell(level, number) for number in numbers(mask)) for mask in (layout.mines, *state[:2])]
    return Game(level.grid.rows, level.grid.columns, *sets, hit)


def cell(level: Level, number: int) -> Cell:
    row, column = divmod(number, level.grid.columns)
    return row + 1, column + 1


def play(level: Level, *actions: str) -> Transition:
    """What the last of `actions` did."""
    state: Any = level.start
    for action in actions:
        done = rules.step(level, state, action)
        state = done.state
    return done
