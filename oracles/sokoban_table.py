"""L(s) of every state of a Sokoban level at once, by one search backwards from all solutions.

Backwards, a move is a walk away or a pull. The search goes by breadth, and what it never comes to cannot be won: so
dead corners and boxes that freeze each other need no rule of their own. Players are searched in bulk: all that are
equally far with the same boxes are the bits of one number, and a step of all of them is a shift of it.
"""

import math

from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.types import Level

Layers = list[tuple[float, int]]


class Table:
    """How far every state is from the solution, by its boxes."""

    def __init__(self, level: Level) -> None:
        self._layers = _search(level)
        self.bytes = 100 * sum(2 + len(layers) for layers in self._layers.values())
        """About how much memory this takes."""

    def distance(self, player: int, boxes: int) -> float:
        """L of the state."""
        bit = 1 << player
        for distance, players in self._layers.get(boxes, ()):
            if players & bit:
                return distance
        return math.inf


def _search(level: Level) -> dict[int, Layers]:
    """For each placement of boxes: distances, and the players, as bits, from which it is just as far."""
    floor, width = level.floor, level.width
    solved = floor & ~level.targets
    layers: dict[int, Layers] = {level.targets: [(0.0, solved)]}
    seen = {level.targets: solved}
    nearest = {level.targets: solved}
    distance = 0.0
    while nearest:
        distance += 1
        further: dict[int, int] = {}
        for boxes, players in nearest.items():
            free = floor & ~boxes
            walked = (players << 1 | players >> 1 | players << width | players >> width) & free & ~seen[boxes]
            if walked:
                seen[boxes] |= walked
                further[boxes] = further.get(boxes, 0) | walked
            for step in (1, width):
                pulling = players & boxes >> step & free << step
                while pulling:
                    player = pulling & -pulling
                    pulling ^= player
                    _reach(boxes ^ player ^ player << step, player >> step, seen, further)
                pulling = players & boxes << step & free >> step
                while pulling:
                    player = pulling & -pulling
                    pulling ^= player
                    _reach(boxes ^ player ^ player >> step, player << step, seen, further)
        for boxes, players in further.items():
            layers.setdefault(boxes, []).append((distance, players))
        nearest = further
    return layers


def _reach(boxes: int, player: int, seen: dict[int, int], further: dict[int, int]) -> None:
    before = seen.get(boxes, 0)
    if not before & player:
        seen[boxes] = before | player
        further[boxes] = further.get(boxes, 0) | player


def useful(level: Level) -> int:
    """Bits: the cells from which a box, alone in the room, can be pushed onto some target."""
    found, pending = level.targets, numbers(level.targets)
    while pending:
        cell = pending.pop()
        for offset in (-level.width, level.width, -1, 1):
            pulled, player = cell + offset, cell + 2 * offset
            if player >= 0 and level.floor >> pulled & level.floor >> player & ~found >> pulled & 1:
                found |= 1 << pulled
                pending.append(pulled)
    return found


def entries(level: Level) -> int:
    """How many states there are at most that can be won."""
    boxes = level.targets.bit_count()
    return math.comb(useful(level).bit_count(), boxes) * level.floor.bit_count()
