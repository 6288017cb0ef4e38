"""What MineSweeper says, and how actions are read from text."""

import re

from rollback_gym.envs.minesweeper.grid import CLOSED, EMPTY, FLAG, MINE, Grid
from rollback_gym.envs.minesweeper.types import Layout

_ACTION = re.compile(r"(?:(flag\b)\s*)?\(\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*\)", re.IGNORECASE)
_MOST_DIGITS = 1000
"""Of a row or column; with more, Python refuses to read a number, and the original fails."""
_LOOSE = re.compile(r"\(( *\d+) *, *(\d+) *\)")


def board(layout: Layout, opened: int, flags: int, hit: int) -> str:
    """The board as the player sees it: a line a row, such as `Row 1: . 1 ?`; `hit` is a cell, or negative."""
    grid = layout.grid
    difference = layout.difference
    if difference is None:
        difference = layout.difference = _difference(layout)
    mask = 0
    for first, every, letters, place in grid.runs:  # as in `grid.letters`; the call would cost a tenth of all this
        mask |= letters[opened >> first & every] << place
    page = grid.blank ^ (difference & mask)
    if flags:
        page ^= grid.patterns[FLAG] & grid.letters(flags)
    if hit >= 0:
        page ^= (ord(MINE) ^ ord(CLOSED)) << grid.places[hit]
    return page.to_bytes(grid.length, "little").decode("ascii")


def _difference(layout: Layout) -> int:
    grid, difference = layout.grid, 0
    for letter, cells in zip((EMPTY, *"12345678"), layout.counts, strict=True):
        if cells:
            difference |= grid.patterns[letter] & grid.letters(cells)
    return difference


def strict(action: str) -> tuple[bool, int, int] | None:
    """Whether to flag, row and column, where `action` is one as a whole, such as `(3, 4)` or `flag (3, 4)`.

    Case and spaces do not matter; rows and columns may be off the board.
    """
    match = _ACTION.fullmatch(action.strip())
    return (match[1] is not None, int(match[2]), int(match[3])) if match else None


def loose(sentence: str) -> str:
    """The click that RetroAgent's projection reads from an agent's sentence; `(-1, -1)` where it finds none.

    It is the first pair of numbers in brackets between the first `<action>` and the first `</action>`.
    """
    start, end = sentence.find("<action>"), sentence.find("</action>")
    if start == -1 or end == -1:
        return "(-1, -1)"
    match = _LOOSE.search(sentence[start + len("<action>") : end].strip())
    if match is None or max(len(match[1]), len(match[2])) > _MOST_DIGITS:
        return "(-1, -1)"
    return f"({int(match[1])}, {int(match[2])})"


def click(grid: Grid, row: int, column: int) -> int | None:
    """The cell at `row` and `column`, counted from 1; None off the board."""
    if 1 <= row <= grid.rows and 1 <= column <= grid.columns:
        return (row - 1) * grid.columns + column - 1
    return None
