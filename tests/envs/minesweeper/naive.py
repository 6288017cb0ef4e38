"""MineSweeper written down plainly, to check the rules against: sets of cells, and no bit of cleverness."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

Cell = tuple[int, int]
"""Row and column, counted from 1."""


class Game(NamedTuple):
    rows: int
    columns: int
    mines: frozenset[Cell]
    opened: frozenset[Cell] = frozenset()
    flags: frozenset[Cell] = frozenset()
    hit: Cell | None = None

    @property
    def cells(self) -> list[Cell]:
        return list(product(range(1, self.rows + 1), range(1, self.columns + 1)))

    def around(self, cell: Cell) -> Iterator[Cell]:
        for down, across in product((-1, 0, 1), repeat=2):
            other = (cell[0] + down, cell[1] + across)
            if other != cell and 1 <= other[0] <= self.rows and 1 <= other[1] <= self.columns:
                yield other

    def number(self, cell: Cell) -> int:
        return sum(other in self.mines for other in self.around(cell))

    @property
    def won(self) -> bool:
        return self.hit is None and (self.opened | self.mines == set(self.cells) or self.flags == self.mines)

    def open(self, cell: Cell) -> "Game":
        if cell in self.mines:
            return self._replace(hit=cell)
        opened, waiting = set(self.opened), [cell]
        while waiting:
            next_ = waiting.pop()
            if next_ not in opened and next_ not in self.flags:
                opened.add(next_)
                if self.number(next_) == 0:
                    waiting.extend(self.around(next_))
        return self._replace(opened=frozenset(opened))

    def flag(self, cell: Cell) -> "Game":
        return self._replace(flags=self.flags ^ {cell})

    def text(self) -> str:
        return "\n".join(
            f"Row {row}: " + " ".join(self._letter((row, column)) for column in range(1, self.columns + 1))
            for row in range(1, self.rows + 1)
        )

    def _letter(self, cell: Cell) -> str:
        if cell == self.hit:
            return "*"
        if cell in self.flags:
            return "F"
        if cell not in self.opened:
            return "?"
        return ".12345678"[self.number(cell)]
