"""The search of `unplay`, compiled by numba (the extra `fast`) for rooms that need many placements."""

from typing import Any

import numpy as np
from numba import njit

from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.types import bits
from rollback_gym.envs.sokoban.unplay import Way

_OCCUPIED = np.uint64(1 << 63)
_SLOTS = 1 << 13
"""Of the hash table at first: a power of two."""


def search(floor: int, targets: int, player: int, width: int, way: Way, most: int) -> tuple[int, int, int, int]:
    """The best placement; see `unplay.unplay` and `Placement`."""
    is_floor = np.array([floor >> cell & 1 for cell in range(floor.bit_length() + width)], np.uint8)
    homes = np.array(numbers(targets), np.int32)
    player, where, apart, explored = _search(is_floor, homes, player, width, *way, most)
    return int(player), bits(where.tolist()), int(apart), int(explored)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _search(
    floor: Any, homes: Any, player: int, width: int, depth: int, walks: bool, every_pull: bool, most: int
) -> tuple[int, Any, int, int]:
    count, size = len(homes), len(floor)
    is_target = np.zeros(size, np.bool_)
    is_target[homes] = True
    box_at = np.full(size, -1, np.int32)
    backwards = np.array([1, -1, width, -width], np.int32)

    # The hash set of explored placements: one word of flags, player and untouched boxes, and a bit for each cell.
    words = (size + 63) // 64 + 1
    table = np.zeros((_SLOTS, words), np.uint64)
    key = np.zeros(words, np.uint64)
    explored = 0

    # A row of the stack: player, untouched boxes, times taken, last box, apart, left, and where the boxes are.
    stack = np.zeros((8 * max(depth, 1) + 8, 6 + count), np.int32)
    stack[0, :6] = (player, (1 << count) - 1, 0, -1, 0, depth - 1)
    stack[0, 6:] = homes
    height = 1
    here = np.zeros(6 + count, np.int32)
    best_player, best_where, best_apart, best_score = player, homes.copy(), 0, 0

    while height > 0:
        height -= 1
        here[:] = stack[height]
        player, fresh, taken, last, apart, left = here[0], here[1], here[2], here[3], here[4], here[5]
        where = here[6:]
        key[:] = 0
        key[0] = _OCCUPIED | np.uint64(fresh) << np.uint64(24) | np.uint64(player)
        for box in range(count):
            key[1 + where[box] // 64] |= np.uint64(1) << np.uint64(where[box] % 64)
        slot = _slot(table, key)
        if table[slot, 0] != 0:
            continue
        if explored >= most:
            break
        table[slot] = key
        explored += 1
        if 2 * explored > len(table):
            table = _doubled(table)

        if taken * apart > best_score:
            clear = not is_target[player]
            for box in range(count):
                clear = clear and not is_target[where[box]]
            if clear:
                best_player, best_apart, best_score = player, apart, taken * apart
                best_where[:] = where
        left -= 1
        if left <= 0:
            continue

        for box in range(count):
            box_at[where[box]] = box
        for walk in (True, False):
            if walk and not walks:
                continue
            for offset in backwards:
                there, behind = player + offset, player - offset
                if not floor[there] or box_at[there] >= 0:
                    continue
                box = -1 if walk else box_at[behind]
                if walk and box_at[behind] < 0:
                    continue
                row = stack[height]
                height += 1
                row[:] = here
                row[0], row[5] = there, left
                if box >= 0:
                    row[1] = fresh & ~(1 << box)
                    row[2] = taken if box == last and not every_pull else taken + 1
                    row[3] = box
                    row[4] = apart - _distance(behind, homes[box], width) + _distance(player, homes[box], width)
                    row[6 + box] = player
        for box in range(count):
            box_at[where[box]] = -1
    return best_player, best_where, best_apart, explored


@njit(cache=True)  # type: ignore[untyped-decorator]
def _slot(table: Any, key: Any) -> Any:
    """Where `key` is in the table, or may be put."""
    code = np.uint64(0x9E3779B97F4A7C15)
    for word in key:
        code = (code ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        code ^= code >> np.uint64(32)
    last = len(table) - 1
    slot = np.int64(code & np.uint64(last))
    while table[slot, 0] != 0:
        equal = True
        for word in range(len(key)):
            equal = equal and table[slot, word] == key[word]
        if equal:
            break
        slot = (slot + 1) & last
    return slot


@njit(cache=True)  # type: ignore[untyped-decorator]
def _doubled(table: Any) -> Any:
    larger = np.zeros((2 * len(table), table.shape[1]), np.uint64)
    for key in table:
        if key[0] != 0:
            larger[_slot(larger, key)] = key
    return larger


@njit(cache=True)  # type: ignore[untyped-decorator]
def _distance(cell: int, other: int, width: int) -> int:
    return abs(cell // width - other // width) + abs(cell % width - other % width)
