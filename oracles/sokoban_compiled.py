"""The search of `sokoban_table`, compiled by numba (the extra `fast`) for levels of many states.

The table is dense: a row for each way to put the boxes on useful cells, numbered by its combinatorial rank (the sum of
binomial(cell, place) over the sorted cells), and a column for each cell of the floor that the player may be on.
"""

import math
from typing import Any

import numpy as np
from numba import njit

from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.types import Level
from rollback_gym.oracles.sokoban_table import useful

_UNSEEN = -1
_REMEMBERED = 4096
"""Ranks kept."""


class DenseTable:
    """How far every state is from the solution."""

    def __init__(self, level: Level) -> None:
        size, boxes = level.height * level.width, level.targets.bit_count()
        floor, spots = numbers(level.floor), numbers(useful(level))
        self._column = np.full(size, -1, np.int32)
        self._column[floor] = range(len(floor))
        self._spot = np.full(size, -1, np.int32)
        self._spot[spots] = range(len(spots))
        self._columns = len(floor)
        rows = math.comb(len(spots), boxes)
        # No rank needs a larger one than there are rows, and between few rows and many boxes lie huge ones.
        self._binomials = [[min(math.comb(n, k), rows) for n in range(len(spots) + 1)] for k in range(boxes + 1)]
        offsets = np.array([-level.width, level.width, -1, 1], np.int32)
        targets = np.array(numbers(level.targets), np.int32)
        binomials = np.array(self._binomials, np.int64)
        self._table: Any = _search(
            np.array(floor, np.int32),
            np.array(spots, np.int32),
            self._column,
            self._spot,
            targets,
            offsets,
            binomials,
            rows,
        )
        self._rows: dict[int, int] = {}
        self.bytes = self._table.nbytes
        """About how much memory this takes."""

    def distance(self, player: int, boxes: int) -> float:
        """L of the state."""
        row = self._rows.get(boxes)
        if row is None:
            row = self._remember(boxes)
        if row < 0:
            return math.inf
        distance = self._table[row + self._column[player]]
        return math.inf if distance == _UNSEEN else float(distance)

    def _remember(self, boxes: int) -> int:
        """Where the row of these boxes begins; -1 where one of them is on a useless cell."""
        row = 0
        for place, cell in enumerate(numbers(boxes), start=1):
            spot = int(self._spot[cell])
            if spot < 0:
                row = -1
                break
            row += self._binomials[place][spot] * self._columns
        if len(self._rows) >= _REMEMBERED:
            self._rows.clear()
        self._rows[boxes] = row
        return row


@njit(cache=True)  # type: ignore[untyped-decorator]
def _search(
    floor: Any, spots: Any, column: Any, spot: Any, targets: Any, offsets: Any, binomials: Any, rows: int
) -> Any:
    """(rows * columns,) int32: the distances."""
    columns, count = len(floor), len(targets)
    table = np.full(rows * columns, _UNSEEN, np.int32)
    placements = _placements(len(spots), count, rows)
    has_box = np.zeros(len(column), np.bool_)

    solved = 0
    for place in range(count):
        solved += binomials[place + 1, spot[targets[place]]]
        has_box[targets[place]] = True
    nearest = np.empty(rows * columns, np.int64)
    length = 0
    for cell in floor:
        if not has_box[cell]:
            table[solved * columns + column[cell]] = 0
            nearest[length] = solved * columns + column[cell]
            length += 1
    has_box[targets] = False

    first = 0
    moved = np.zeros(count, np.int32)
    while first < length:
        index = nearest[first]
        first += 1
        row = index // columns
        player = floor[index % columns]
        further = table[index] + 1
        boxes = placements[row]
        for place in range(count):
            has_box[spots[boxes[place]]] = True
        for offset in offsets:
            before, pushed = player - offset, player + offset
            if column[before] < 0 or has_box[before]:
                continue
            there = row * columns + column[before]
            if table[there] == _UNSEEN:
                table[there] = further
                nearest[length] = there
                length += 1
            if has_box[pushed]:
                rank = _rank_of_moved(boxes, spot[pushed], spot[player], binomials, moved)
                there = rank * columns + column[before]
                if table[there] == _UNSEEN:
                    table[there] = further
                    nearest[length] = there
                    length += 1
        for place in range(count):
            has_box[spots[boxes[place]]] = False
    return table


@njit(cache=True)  # type: ignore[untyped-decorator]
def _placements(spots: int, count: int, rows: int) -> Any:
    """(rows, count) the sorted spots of each placement, in the order of their ranks."""
    placements = np.empty((rows, count), np.int16)
    now = np.arange(count)
    for row in range(rows):
        placements[row] = now
        place = 0
        while place < count - 1 and now[place] + 1 == now[place + 1]:
            now[place] = place
            place += 1
        now[place] += 1
    return placements


@njit(cache=True)  # type: ignore[untyped-decorator]
def _rank_of_moved(boxes: Any, away: int, to: int, binomials: Any, moved: Any) -> int:
    """The rank of the placement `boxes` with the box at spot `away` at spot `to` instead."""
    count = len(boxes)
    length = 0
    for place in range(count):
        if boxes[place] != away:
            moved[length] = boxes[place]
            length += 1
    place = count - 1
    while place > 0 and moved[place - 1] > to:
        moved[place] = moved[place - 1]
        place -= 1
    moved[place] = to
    rank = 0
    for place in range(count):
        rank += binomials[place + 1, moved[place]]
    return rank
