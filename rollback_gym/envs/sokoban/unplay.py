"""Playing Sokoban backwards from its solution, which is how gym-sokoban and RAGEN make a room.

A depth-first search walks and pulls. The room is the placement on its way with the largest product of how often a box
was taken up and how far the boxes are from home, among those that leave every target free. The order of the search
decides which one is found first, so it is that of the originals, limits included.
"""

from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from rollback_gym.envs.sokoban.types import cells

MOST_EXPLORED = 300_000
"""Placements after which the originals stop searching."""

_SLOWLY = 2_000
"""Placements after which a compiled search takes over, where there is one."""


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


def unplay(floor: int, targets: int, player: int, width: int, way: Way) -> Placement:
    """The best placement found by going back from the solution with the player at `player`."""
    compiled = _compiled()
    found = _search(floor, targets, player, width, way, MOST_EXPLORED if compiled is None else _SLOWLY)
    if found is None:
        return Placement(*compiled.search(floor, targets, player, width, way, MOST_EXPLORED))
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
    homes = tuple(cells(targets))
    apart_at = [_distances(home, floor.bit_length(), width) for home in homes]
    backwards = (1, -1, width, -width)  # what is pushed on the stack last comes first: up, down, left, right
    best, best_score = Placement(player, targets, 0), 0
    explored: set[tuple[int, int, int]] = set()
    # A box that was never pulled counts as another thing than one that was pulled and came home.
    untouched = (1 << len(homes)) - 1
    stack = [(player, targets, untouched, homes, 0, -1, 0, depth - 1)]
    while stack:
        player, boxes, fresh, where, taken, last, apart, left = stack.pop()
        here = (player, boxes, fresh)
        if here in explored:
            continue
        if len(explored) >= most:
            return best if most == MOST_EXPLORED else None
        explored.add(here)
        if taken * apart > best_score and not (boxes | 1 << player) & targets:
            best, best_score = Placement(player, boxes, apart), taken * apart
        left -= 1
        if left <= 0:
            continue
        free = floor & ~boxes
        if walks:
            for offset in backwards:
                there = player + offset
                if free >> there & 1 and boxes >> player - offset & 1 and (there, boxes, fresh) not in explored:
                    stack.append((there, boxes, fresh, where, taken, last, apart, left))
        for offset in backwards:
            there = player + offset
            if not free >> there & 1:
                continue
            behind = player - offset
            if not boxes >> behind & 1:
                if (there, boxes, fresh) not in explored:
                    stack.append((there, boxes, fresh, where, taken, last, apart, left))
                continue
            pulled = boxes ^ (1 << behind | 1 << player)
            box = where.index(behind)
            touched = fresh & ~(1 << box)
            if (there, pulled, touched) not in explored:
                moved = (*where[:box], player, *where[box + 1 :])
                further = apart + apart_at[box][player] - apart_at[box][behind]
                again = taken if box == last and not every_pull else taken + 1
                stack.append((there, pulled, touched, moved, again, box, further, left))
    return best


@cache
def _distances(home: int, count: int, width: int) -> tuple[int, ...]:
    """(count,) Manhattan distances of all cells from one."""
    row, column = divmod(home, width)
    return tuple([abs(cell // width - row) + abs(cell % width - column) for cell in range(count)])
