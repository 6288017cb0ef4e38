"""Boards by their size alone: cells, neighbours, and where each cell stands in the text.

Cells are numbered row by row from 0, and every set of cells is a bitmask over those numbers (bit i stands for cell
i). The text of a board is one large integer, a byte a letter, so that opening cells is a handful of operations
on integers.
"""

from functools import lru_cache
from typing import Any

CLOSED, EMPTY, FLAG, MINE = "?", ".", "F", "*"

_Run = tuple[int, int, tuple[int, ...], int]
"""A run of cells: the first, a mask for as many, a table from the cells chosen to a mask over the text that begins at
the first one's letter, and where that letter begins."""


class Grid:
    """What all boards of `rows` times `columns` cells have in common. Never changes."""

    __slots__ = (
        "_clickable",
        "_not_first",
        "_not_last",
        "around",
        "blank",
        "cells",
        "clicks",
        "codes",
        "columns",
        "flaggings",
        "full",
        "length",
        "patterns",
        "places",
        "rows",
        "runs",
    )

    def __init__(self, rows: int, columns: int) -> None:
        self.rows = rows
        self.columns = columns
        self.cells = rows * columns
        self.full = (1 << self.cells) - 1
        first_column = sum(1 << row * columns for row in range(rows))
        self._not_first = self.full ^ first_column
        self._not_last = self.full ^ first_column << columns - 1
        self.around: tuple[int, ...] = tuple(self.spread(1 << cell) ^ 1 << cell for cell in range(self.cells))
        """(cells,) the neighbours of each cell, diagonal ones too."""

        where = [(row, column) for row in range(1, rows + 1) for column in range(1, columns + 1)]
        self.clicks = tuple(f"({row}, {column})" for row, column in where)
        """(cells,) the action that opens each cell."""
        self.flaggings = tuple(f"flag {click}" for click in self.clicks)
        """(cells,) the action that puts a flag on each cell, or takes it off."""
        self.codes = {name: code for code, name in enumerate((*self.clicks, *self.flaggings))}
        """The number of each action: the cell to open, or `cells` plus the cell to flag."""

        lines = [f"Row {row}: " + " ".join([CLOSED] * columns) for row in range(1, rows + 1)]
        text = "\n".join(lines)
        self.length = len(text)
        """Letters in the text of a board."""
        self.blank = int.from_bytes(text.encode("ascii"), "little")
        """The text of a board that is closed altogether."""
        self.places = tuple(8 * at for at, letter in enumerate(text) if letter == CLOSED)
        """(cells,) the bit at which each cell's letter begins."""
        width = 12 if self.cells <= 64 else 8  # a table has two to the power of this many entries
        runs = [range(first, min(first + width, self.cells)) for first in range(0, self.cells, width)]
        self.runs: tuple[_Run, ...] = tuple(
            (
                run[0],
                (1 << len(run)) - 1,
                _sums(0, [0xFF << self.places[cell] - self.places[run[0]] for cell in run]),
                self.places[run[0]],
            )
            for run in runs
        )
        self._clickable = tuple(
            (run[0], (1 << len(run)) - 1, _sums((), [(self.clicks[cell],) for cell in run])) for run in runs
        )
        ones = sum(1 << place for place in self.places)
        letters = (EMPTY, *"12345678", FLAG, MINE)
        self.patterns = {letter: ones * (ord(letter) ^ ord(CLOSED)) for letter in letters}
        """What turns a closed cell's letter into another one, at every cell."""

    def spread(self, cells: int) -> int:
        """`cells` and all their neighbours."""
        wide = cells | (cells & self._not_last) << 1 | (cells & self._not_first) >> 1
        return (wide | wide << self.columns | wide >> self.columns) & self.full

    def letters(self, cells: int) -> int:
        """The letters of `cells` as a mask over the text."""
        mask = 0
        for first, every, letters, place in self.runs:
            mask |= letters[cells >> first & every] << place
        return mask

    def clicks_on(self, cells: int) -> tuple[str, ...]:
        """The actions that open each of `cells`, row by row."""
        names: tuple[str, ...] = ()
        for first, every, clicks in self._clickable:
            names += clicks[cells >> first & every]
        return names

    def __reduce__(self) -> tuple[Any, ...]:
        return grid, (self.rows, self.columns)

    def __repr__(self) -> str:
        return f"Grid({self.rows}, {self.columns})"


@lru_cache(maxsize=32)
def grid(rows: int, columns: int) -> Grid:
    """The grid of that size."""
    return Grid(rows, columns)


def _sums(nothing: Any, parts: list[Any]) -> tuple[Any, ...]:
    """The sum of every choice of `parts`; bit i of the index chooses part i."""
    table = [nothing]
    for part in parts:
        table += [chosen + part for chosen in table]
    return tuple(table)
