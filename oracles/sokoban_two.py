"""Exact L(s) in Sokoban for two: the fewest turns until every box is on a target, if both players do their best.

All states of a room are solved at once, in arrays, by rounds: a state is k turns from the end if a turn leads from it
to one that is k - 1 turns from it, and it is not known yet. What no round comes to cannot be won.
"""

import math
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from rollback_gym.core.bits import numbers
from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.envs.sokoban.types import Level as Room
from rollback_gym.envs.sokoban.types import State as Alone
from rollback_gym.envs.sokoban.types import bits
from rollback_gym.envs.sokoban_two.rules import moved
from rollback_gym.envs.sokoban_two.types import WORDS, Joint, Level, State
from rollback_gym.oracles import sokoban
from rollback_gym.oracles.sokoban_table import useful

MOST_ENTRIES = 1 << 20
"""A table may have as many entries: the ways to place boxes on cells that are good for anything, by floor squared."""

_MOST_CELLS = 62
_JOINT: tuple[Joint, ...] = tuple((first, second) for first in ("stay", *WORDS[:4]) for second in ("stay", *WORDS[:4]))
"""What two can do in a turn; who has nothing to do stays, in plans."""


def distance(level: Level, state: State) -> float:
    """L(s): the fewest turns until the game is won; math.inf where it never can be.

    Raises:
        OracleBudgetExceeded: if the room is too large.
    """
    return _table(level.room.floor, level.room.targets, level.room.width, level.room.height).distance(state)


def optimal_actions(level: Level, state: State) -> tuple[Joint, ...]:
    """Every first joint action of a shortest solution; empty where there is none, or nothing left to do.

    Raises as above.
    """
    here = distance(level, state)
    if here == 0 or math.isinf(here):
        return ()
    return tuple([words for words in _JOINT if distance(level, moved(level, state, words)) < here])


def plan(level: Level, state: State) -> tuple[Joint, ...]:
    """One shortest solution; empty as above. Raises as above."""
    turns: list[Joint] = []
    while first := optimal_actions(level, state)[:1]:
        turns += first
        state = moved(level, state, first[0])
    return tuple(turns)


def alone(level: Level, state: State, player: int) -> float:
    """The fewest moves with which this player (0 or 1) would win if the other one were not in the room."""
    room = level.room
    here = Alone(state.seen_by(player)[0], state.boxes)
    return sokoban.distance(Room(room.id, (), room.height, room.width, room.floor, room.targets, here), here)


def needs_both(level: Level, state: State) -> bool:
    """Whether the two can win from here, but neither could without the other in the room. Raises as above."""
    return not math.isinf(distance(level, state)) and all(math.isinf(alone(level, state, who)) for who in (0, 1))


# --- The table -----------------------------------------------------------------------------------------------------

Ints = np.ndarray[Any, np.dtype[np.int32]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


class Table:
    """How far every state of a room is from the end.

    Floor cells are numbered 0 to F-1, placements of boxes 0 to C-1; entry (c, p, q) is the state with placement c and
    the players on p and q.
    """

    def __init__(self, floor: int, targets: int, width: int, height: int) -> None:
        cells = numbers(floor)
        room = Room("", (), height, width, floor, targets, Alone(cells[0], targets))
        homes = numbers(useful(room))
        count = math.comb(len(homes), targets.bit_count()) * len(cells) ** 2
        if len(cells) > _MOST_CELLS or count > MOST_ENTRIES:
            raise OracleBudgetExceeded(
                f"L is not known in this room: {len(cells)} cells of floor and {targets.bit_count()} boxes make "
                f"{count:,} states, more than {MOST_ENTRIES:,} (and at most {_MOST_CELLS} cells). Exact answers need a "
                "smaller room or fewer boxes."
            )
        self._cell = {cell: number for number, cell in enumerate(cells)}
        self._placement = {bits(where): c for c, where in enumerate(combinations(homes, targets.bit_count()))}
        steps = np.array([[self._cell.get(cell + offset, -1) for cell in cells] for offset in room.offsets.values()])
        self._distances = _rounds(self._boxes(), steps, self._placement[targets])

    def distance(self, state: State) -> float:
        """L of the state."""
        placement = self._placement.get(state.boxes)
        if placement is None:
            return math.inf
        turns = int(self._distances[placement, self._cell[state.first], self._cell[state.second]])
        return math.inf if turns < 0 else float(turns)

    def _boxes(self) -> Flags:
        """(C, F) whether a box stands on a cell."""
        boxes = np.zeros((len(self._placement), len(self._cell)), np.bool_)
        for placed, c in self._placement.items():
            boxes[c, [self._cell[cell] for cell in numbers(placed)]] = True
        return boxes


@lru_cache(maxsize=64)
def _table(floor: int, targets: int, width: int, height: int) -> Table:
    return Table(floor, targets, width, height)


def _rounds(boxes: Flags, steps: Any, solved: int) -> Any:
    """(C, F, F) int16: turns to the end, -1 for never.

    Args:
        boxes: (C, F) whether a box stands on a cell.
        steps: (4, F) the cell next to each, -1 for wall.
        solved: The placement that wins.
    """
    placements, floor = boxes.shape
    free = ~boxes
    standing = free[:, :, None] & free[:, None, :] & ~np.eye(floor, dtype=np.bool_)
    distances = np.full(placements * floor * floor + 1, -1, np.int16)  # the last stands for what is lost
    nearest = np.zeros(len(distances), np.bool_)
    ended = np.flatnonzero(standing[solved].ravel()) + solved * floor * floor
    distances[ended], nearest[ended] = 0, True
    standing[solved] = False
    states = np.flatnonzero(standing.ravel())
    leads_to = _leads_to(boxes, steps, states)
    turns = 0
    while nearest.any():
        turns += 1
        found = nearest[leads_to].any(axis=0)
        nearest[:] = False
        nearest[states[found]] = True
        distances[states[found]] = turns
        states, leads_to = states[~found], leads_to[:, ~found]
    return distances[:-1].reshape(placements, floor, floor)


def _leads_to(boxes: Flags, steps: Any, states: Any) -> Ints:
    """(24, N) where each joint action but to stay, both, leads from `states`, (N,)."""
    placements, floor = boxes.shape
    pushed = _pushed(boxes, steps)
    c, first, second = np.unravel_index(states, (placements, floor, floor))
    moves = [_move(boxes, steps, c, first, second, direction) for direction in range(5)]
    others = [_move(boxes, steps, c, second, first, direction) for direction in range(5)]
    lost = placements * floor * floor
    leads_to = []
    for direction, (there, taken, pushes) in enumerate(moves):
        for other, (beside, also_taken, also_pushes) in enumerate(others):
            if direction == other == 4:
                continue
            apart = (taken & also_taken) == 0
            after = np.where(pushes & apart, pushed[c, there, direction % 4], c)
            after = np.where(also_pushes & apart, pushed[after, beside, other % 4], after)
            p, q = np.where(apart, there, first), np.where(apart, beside, second)
            ids = (after * floor + p) * floor + q
            leads_to.append(np.where(after == placements, lost, ids).astype(np.int32))
    return np.stack(leads_to)


def _move(boxes: Flags, steps: Any, c: Any, cell: Any, other: Any, direction: int) -> tuple[Any, Any, Any]:
    """Where a player gets, the cells that the move takes up, as bits, and whether it pushes; direction 4 is to stay."""
    if direction == 4:
        return cell, np.zeros(len(cell), np.int64), np.zeros(len(cell), np.bool_)
    there = steps[direction, cell]
    beyond = np.where(there >= 0, steps[direction, there], -1)
    open_there = (there >= 0) & (there != other)
    pushes = open_there & boxes[c, there] & (beyond >= 0) & (beyond != other) & ~boxes[c, beyond]
    moves = pushes | (open_there & ~boxes[c, there])
    one = np.int64(1)
    taken = np.where(moves, one << np.maximum(there, 0), 0) | np.where(pushes, one << np.maximum(beyond, 0), 0)
    return np.where(moves, there, cell), taken, pushes


def _pushed(boxes: Flags, steps: Any) -> Ints:
    """(C + 1, F, 4) the placement after a push of the box on a cell; C where a box is lost, or none can be pushed."""
    placements, floor = boxes.shape
    weights = np.int64(1) << np.arange(floor, dtype=np.int64)
    masks = boxes @ weights
    order = np.argsort(masks)
    pushed = np.full((placements + 1, floor, 4), placements, np.int32)
    for direction in range(4):
        for cell in range(floor):
            beyond = steps[direction, cell]
            if beyond < 0:
                continue
            can = np.flatnonzero(boxes[:, cell] & ~boxes[:, beyond])
            after = masks[can] ^ weights[cell] ^ weights[beyond]
            places = np.minimum(np.searchsorted(masks, after, sorter=order), placements - 1)
            found = order[places]
            pushed[can, cell, direction] = np.where(masks[found] == after, found, placements)
    return pushed
