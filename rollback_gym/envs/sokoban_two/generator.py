"""Rooms for two from seeds: caves of random floor, and a start that the oracle finds worth playing."""

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rollback_gym.core.bits import numbers
from rollback_gym.core.errors import DataError
from rollback_gym.envs.sokoban.seeds import SPLITS, Ids
from rollback_gym.envs.sokoban.types import Level as Room
from rollback_gym.envs.sokoban.types import State as Alone
from rollback_gym.envs.sokoban.types import bits
from rollback_gym.envs.sokoban_two.types import Level

_OPEN = 0.75
"""How much of a room's inside is floor, before what is cut off is filled up."""
_STARTS = 60
"""How many starts are tried on one floor."""
_FLOORS = 2_000
"""How many floors are tried for one seed, before that is an error."""


class Recipe(NamedTuple):
    """Everything but the seed that decides a room."""

    height: int
    width: int
    boxes: int
    needs_both: bool
    """Neither player could win without the other in the room."""
    least: int
    """Turns that the room needs at least."""
    most: int | None
    """Turns that it needs at most; None for no limit."""


def check(recipe: Recipe) -> None:
    """Raise ValueError where no seed can make such a room."""
    height, width, boxes = recipe.height, recipe.width, recipe.boxes
    inside = (height - 2) * (width - 2)
    if min(height, width) < 4 or height * width > 64:
        raise ValueError(f"size must be at least 4 each way and 64 cells in all, got {height}x{width}.")
    if not 1 <= boxes <= 3:
        raise ValueError(f"boxes must be 1 to 3, got {boxes}: what two players need is not known for more.")
    if inside < 2 * boxes + 4:
        raise ValueError(f"A {height}x{width} room is too small for {boxes} boxes and two players.")
    if recipe.least < 1 or (recipe.most is not None and recipe.most < recipe.least):
        raise ValueError(f"expected 1 <= min_distance <= max_distance, got {recipe.least} and {recipe.most}.")


def ids(split: str | None = None) -> Ids:
    """The ids of the rooms, as in Sokoban: the split and the seed. `train`, unless `split` says otherwise."""
    return Ids(split or "train")


@lru_cache(maxsize=256)
def make_level(recipe: Recipe, id: str) -> Level:
    """The room of this id.

    Raises:
        DataError: if there is none, or its seed gave none that the recipe allows.
    """
    split, _, digits = id.partition("/")
    if split not in SPLITS or id not in Ids(split):
        raise DataError(
            f"There is no room {id!r}. Rooms are named by split and seed: "
            + ", ".join(f"'{name}/{seeds[0]}' to '{name}/{seeds[-1]}'" for name, seeds in SPLITS.items())
            + "."
        )
    rng = random.Random(int(digits))
    for _ in range(_FLOORS):
        for level in _starts(recipe, id, rng):
            if _worth_playing(recipe, level):
                return level
    raise DataError(
        f"No room of {id!r} needs {recipe.least} to {recipe.most or 'any number of'} turns, on {_FLOORS} floors. Widen "
        "min_distance and max_distance, or make larger rooms."
    )


def _starts(recipe: Recipe, id: str, rng: random.Random) -> Iterator[Level]:
    """Starts on one floor with the same targets; none where the floor is too small."""
    floor = _cave(recipe, rng)
    free = numbers(floor)
    if len(free) < 2 * recipe.boxes + 4:
        return
    targets = bits(_drawn(free, recipe.boxes, rng))
    for _ in range(_STARTS):
        *boxes, first, second = _drawn(free, recipe.boxes + 2, rng)
        start = Alone(first, bits(boxes))
        yield Level(Room(id, tuple(recipe), recipe.height, recipe.width, floor, targets, start), second)


def _worth_playing(recipe: Recipe, level: Level) -> bool:
    """Imported here: only this filter asks a solver, and no simulator does."""
    from rollback_gym.oracles import sokoban_two

    turns = sokoban_two.distance(level, level.start)
    if not recipe.least <= turns <= (recipe.most or 10**6):
        return False
    return not recipe.needs_both or sokoban_two.needs_both(level, level.start)


def _cave(recipe: Recipe, rng: random.Random) -> int:
    """Bits: the largest connected piece of random floor."""
    height, width = recipe.height, recipe.width
    inside = [row * width + column for row in range(1, height - 1) for column in range(1, width - 1)]
    rest = bits(cell for cell in inside if rng.random() < _OPEN)
    largest = 0
    while rest:
        piece, grown = rest & -rest, 0
        while piece != grown:
            grown = piece
            piece |= (piece << 1 | piece >> 1 | piece << width | piece >> width) & rest
        rest &= ~piece
        largest = max(largest, piece, key=int.bit_count)
    return largest


def _drawn(cells: list[int], count: int, rng: random.Random) -> list[int]:
    """Different ones of `cells`, by numbers that every release of Python draws alike."""
    left, drawn = list(cells), []
    for _ in range(count):
        drawn.append(left.pop(int(rng.random() * len(left))))
    return drawn
