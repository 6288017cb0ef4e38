"""Sokoban written down plainly: sets of places instead of bits, and searches that try everything."""

import math
from collections import deque

from hypothesis import strategies as st

from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.types import Level, State, bits

MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}

Place = tuple[int, int]
Position = tuple[Place, frozenset[Place]]
"""The player, and the boxes."""


def places(level: Level, mask: int) -> frozenset[Place]:
    return frozenset(divmod(cell, level.width) for cell in numbers(mask))


def position(level: Level, state: State) -> Position:
    return divmod(state.player, level.width), places(level, state.boxes)


def state(level: Level, position: Position) -> State:
    (row, column), boxes = position
    return State(row * level.width + column, bits(r * level.width + c for r, c in boxes))


def moved(floor: frozenset[Place], here: Position, word: str) -> Position:
    (row, column), boxes = here
    down, right = MOVES[word]
    there, beyond = (row + down, column + right), (row + 2 * down, column + 2 * right)
    if there not in floor:
        return here
    if there not in boxes:
        return there, boxes
    if beyond not in floor or beyond in boxes:
        return here
    return there, boxes - {there} | {beyond}


def all_positions(level: Level, start: Position) -> dict[Position, list[Position]]:
    """Every position that can be played to from `start`, and where its moves lead."""
    floor = places(level, level.floor)
    found: dict[Position, list[Position]] = {}
    pending = deque([start])
    while pending:
        here = pending.popleft()
        if here not in found:
            found[here] = [moved(floor, here, word) for word in MOVES]
            pending += found[here]
    return found


def distances(level: Level, start: Position) -> dict[Position, float]:
    """L of every position that can be played to from `start`: how many rounds of looking one move on it takes."""
    leads_to = all_positions(level, start)
    targets = places(level, level.targets)
    known = {here: 0.0 if here[1] == targets else math.inf for here in leads_to}
    changed = True
    while changed:
        changed = False
        for here, after in leads_to.items():
            better = min(known[here], 1 + min(known[there] for there in after))
            if better < known[here]:
                known[here], changed = better, True
    return known


@st.composite
def levels(draw: st.DrawFn, most_boxes: int = 3, most_inside: int = 4) -> Level:
    """Small rooms with floor, boxes and targets anywhere, so that many cannot be won."""
    height = 2 + draw(st.integers(1, most_inside))
    width = 2 + draw(st.integers(2 if height > 3 else 3, most_inside))
    inside = [row * width + column for row in range(1, height - 1) for column in range(1, width - 1)]
    walls = draw(st.sets(st.sampled_from(inside), max_size=len(inside) // 3))
    free = [cell for cell in inside if cell not in walls]
    if len(free) < 3:
        free = inside
    boxes = draw(st.integers(1, min(most_boxes, len(free) - 1)))
    standing = draw(st.permutations(free))
    targets = draw(st.permutations(free))[:boxes]
    start = State(standing[boxes], bits(standing[:boxes]))
    return Level("drawn", (), height, width, bits(free), bits(targets), start)
