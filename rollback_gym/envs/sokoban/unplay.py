"""Playing Sokoban backwards from its solution, which is how gym-sokoban and RAGEN make a room.

A depth-first search walks and pulls. The room is the placement on its way with the largest product of how often a box
was taken up and how far the boxes are from home, among those that leave every target free. The order of the search
decides which one is found first, so it is that of the originals, limits included.
"""

from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from rollback_gym.core.bits import numbers

MOST_EXPLORED = 300_000
"""Placements after which the originals stop searching."""

_SLOWLY = 2_000
"""Placements after which a compiled search takes over, where there is one."""
_COMPILED_BOXES = 30
"""More than these it cannot tell apart."""


class Way(NamedTuple):
    """What the originals do differently."""

    depth: int
    """A placement is explored if fewer than `depth` - 1 actions led to it."""
    walks: bool
    """The player can also walk away from a box without pulling it (gym-sokoban)."""
    every_pull: bool
    """Every pull counts (gym-sokoban), not only that of another box than the last one (RAGEN)."""


class Placement(NamedTuple):
    """Where a search ended."""

    player: int
    boxes: int
    apart: int
    """The sum of the boxes' Manhattan distances from home; 0 where nothing was found but the solution."""
    explored: int
    """How many placements were looked at."""


def unplay(floor: int, targets: int, player: int, width: int, way: Way) -> Placement:
    """The best placement found by going back from the solution with the player at `player`."""
    if way.depth > MOST_EXPLORED:  # no placement is so many actions away
        way = way._replace(depth=MOST_EXPLORED + 2)
    compiled = _compiled() if targets.bit_count() <= _COMPILED_BOXES else None
    found = _search(floor, targets, player, width, way, MOST_EXPLORED if compiled is None else _SLOWLY)
    if found is None:
        assert compiled is not None
        found = Placement(*compiled.search(floor, targets, player, width, way, MOST_EXPLORED))
    return found


@cache
def _compiled() -> Any:
    """The same search compiled, where numba is installed."""
    if find_spec("numba") is None:
        return None
    from rollback_gym.envs.sokoban import unplay_compiled

    return unplay_compiled


def _search(floor: int, targets: int, player: int, width: int, way: Way, most: int) -> Placement | None:
    """The search; None where it is not done after `most` placements, and the originals would go on."""
    depth, walks, every_pull = way
    size = floor.bit_length() + width
    homes = tuple(numbers(targets))
    apart_at = [_distances(home, size, width) for home in homes]
    around = _neighbours(floor, width)
    # The boxes, and above them a bit for each that was never pulled: such a one is another thing than one that came
    # home again.
    untouched = [1 << size + box for box in range(len(homes))]
    boxes = (1 << size) - 1
    best, best_score = (player, targets, 0), 0
    count = 0
    explored: dict[int, set[int]] = {cell: set() for cell in around}
    stack = [(player, targets | sum(untouched), homes, 0, -1, 0, depth - 1)]
    while stack:
        player, crates, where, taken, last, apart, left = stack.pop()
        here = explored[player]
        if crates in here:
            continue
        if count >= most:
            return Placement(*best, count) if most == MOST_EXPLORED else None
        here.add(crates)
        count += 1
        if taken * apart > best_score and not (crates | 1 << player) & targets:
            best, best_score = (player, crates & boxes, apart), taken * apart
        left -= 1
        if left <= 0:
            continue
        if walks:
            for there, bit, _, behind_bit in around[player]:
                if crates & behind_bit and not crates & bit and crates not in explored[there]:
                    stack.append((there, crates, where, taken, last, apart, left))
        for there, bit, behind, behind_bit in around[player]:
            if crates & bit:
                continue
            if not crates & behind_bit:
                if crates not in explored[there]:
                    stack.append((there, crates, where, taken, last, apart, left))
                continue
            box = where.index(behind)
            pulled = (crates ^ (behind_bit | 1 << player)) & ~untouched[box]
            if pulled not in explored[there]:
                moved = (*where[:box], player, *where[box + 1 :])
                further = apart + apart_at[box][player] - apart_at[box][behind]
                again = taken if box == last and not every_pull else taken + 1
                stack.append((there, pulled, moved, again, box, further, left))
    return Placement(*best, count)


def _neighbours(floor: int, width: int) -> dict[int, list[tuple[int, int, int, int]]]:
    """For each cell of the floor: the floor next to it, its bit, the cell on the other side, and that one's bit.

    In the order of right, left, down, up: what is put on a stack last comes first.
    """
    return {
        cell: [
            (cell + offset, 1 << cell + offset, cell - offset, 1 << cell - offset)
            for offset in (1, -1, width, -width)
            if floor >> cell + offset & 1
        ]
        for cell in numbers(floor)
    }


@lru_cache(maxsize=1024)
def _distances(home: int, count: int, width: int) -> tuple[int, ...]:
    """(count,) Manhattan distances of all cells from one."""
    row, column = divmod(home, width)
    return tuple([abs(cell // width - row) + abs(cell % width - column) for cell in range(count)])
