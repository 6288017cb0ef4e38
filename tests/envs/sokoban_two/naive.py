"""Sokoban for two written down plainly: sets of places, all turns tried, and no solver but looking one turn on."""

import math
from collections import deque
from itertools import product

from hypothesis import strategies as st

from rollback_gym.envs.sokoban.types import Level as Room
from rollback_gym.envs.sokoban.types import State as Alone
from rollback_gym.envs.sokoban.types import bits
from rollback_gym.envs.sokoban_two.types import WORDS, Level, State
from tests.envs.sokoban.naive import MOVES, Place, places

Position = tuple[Place, Place, frozenset[Place]]
"""Both players, and the boxes."""
TURNS = tuple(product(WORDS, repeat=2))
STEPS = {**MOVES, "stay": (0, 0)}


def position(level: Level, state: State) -> Position:
    width = level.room.width
    return divmod(state.first, width), divmod(state.second, width), places(level.room, state.boxes)


def state(level: Level, position: Position) -> State:
    width = level.room.width
    first, second, boxes = position
    cells = [row * width + column for row, column in (first, second)]
    return State(*cells, bits(row * width + column for row, column in boxes))


def wish(floor: frozenset[Place], boxes: frozenset[Place], me: Place, other: Place, word: str) -> list[Place]:
    """The places that a move takes up, in order: the one stepped onto, the one a box is pushed to."""
    down, right = STEPS[word]
    there, beyond = (me[0] + down, me[1] + right), (me[0] + 2 * down, me[1] + 2 * right)
    blocked = {other} | boxes
    if word == "stay" or there not in floor or there == other:
        return []
    if there not in boxes:
        return [there]
    return [there, beyond] if beyond in floor and beyond not in blocked else []


def moved(floor: frozenset[Place], here: Position, words: tuple[str, str]) -> Position:
    first, second, boxes = here
    one = wish(floor, boxes, first, second, words[0])
    two = wish(floor, boxes, second, first, words[1])
    if set(one) & set(two):
        return here
    for there, *beyond in filter(None, (one, two)):
        if beyond:
            boxes = boxes - {there} | set(beyond)
    return one[0] if one else first, two[0] if two else second, boxes


def distances(level: Level, start: Position) -> dict[Position, float]:
    """L of every position that can be played to from `start`: how many rounds of looking one turn on it takes."""
    floor, targets = places(level.room, level.room.floor), places(level.room, level.room.targets)
    leads_to: dict[Position, set[Position]] = {}
    pending = deque([start])
    while pending:
        here = pending.popleft()
        if here not in leads_to:
            leads_to[here] = {moved(floor, here, words) for words in TURNS}
            pending += leads_to[here]
    known = {here: 0.0 if here[2] == targets else math.inf for here in leads_to}
    changed = True
    while changed:
        changed = False
        for here, after in leads_to.items():
            better = min(known[here], 1 + min(known[there] for there in after))
            if better < known[here]:
                known[here], changed = better, True
    return known


def parse(text: str) -> Level:
    """A level from a drawing: `#` wall, `.` target, `$` box, `*` box on a target, `1` and `2` the players."""
    rows = [row.strip() for row in text.strip().splitlines()]
    width = max(map(len, rows))
    cells = {symbol: [] for symbol in "#.$*12 "}
    for row, line in enumerate(rows):
        for column, symbol in enumerate(line.ljust(width, "#")):
            cells[symbol].append(row * width + column)
    floor = [cell for symbol, found in cells.items() if symbol != "#" for cell in found]
    start = Alone(cells["1"][0], bits(cells["$"] + cells["*"]))
    room = Room("drawn", (), len(rows), width, bits(floor), bits(cells["."] + cells["*"]), start)
    return Level(room, cells["2"][0])


@st.composite
def levels(draw: st.DrawFn, most_boxes: int = 2, most_inside: int = 3) -> Level:
    """Small rooms with floor, boxes, targets and players anywhere, so that many cannot be won."""
    boxes = draw(st.integers(1, most_boxes))
    height = 2 + draw(st.integers(1, most_inside))
    width = 2 + draw(st.integers(3 if height > 3 else boxes + 3, max(most_inside, boxes + 3)))
    inside = [row * width + column for row in range(1, height - 1) for column in range(1, width - 1)]
    walls = draw(st.sets(st.sampled_from(inside), max_size=len(inside) // 3))
    free = [cell for cell in inside if cell not in walls]
    if len(free) < boxes + 2:
        free = inside
    standing = draw(st.permutations(free))
    targets = draw(st.permutations(free))[:boxes]
    start = Alone(standing[boxes], bits(standing[:boxes]))
    return Level(Room("drawn", (), height, width, bits(free), bits(targets), start), standing[boxes + 1])
