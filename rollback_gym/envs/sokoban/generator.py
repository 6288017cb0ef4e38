"""Rooms from seeds: the ones that RAGEN's generator makes, which verl-agent and RetroAgent use, and gym-sokoban's.

Both walk at random through rock, stamping out floor; put the player and boxes on targets on it; and play backwards
from there. Both draw from two generators: Python's for the walk, NumPy's legacy one for the places.
"""

import random
import threading
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from rollback_gym.core.bits import numbers
from rollback_gym.core.errors import DataError
from rollback_gym.envs.sokoban.hashing import string_hash
from rollback_gym.envs.sokoban.types import MOST_CELLS, State
from rollback_gym.envs.sokoban.unplay import Placement, Way, unplay

Method = Literal["ragen", "gym-sokoban"]

_TURN = 0.35
"""How likely the walk turns at a step."""
_TRIES = 4
"""How many floors are tried before a seed counts as failed."""
_STAMPS = (
    ((0, -1), (0, 0), (0, 1)),
    ((-1, 0), (0, 0), (1, 0)),
    ((0, -1), (0, 0), (1, 0)),
    ((0, -1), (0, 0), (1, -1), (1, 0)),
    ((0, 0), (0, 1), (1, 0)),
)
"""The shapes of floor that the walk stamps out: rows and columns around where it is."""

_MOST_STEPS = 1_000_000
"""Of a walk."""
_WORK = 3_000
"""What an attempt may cost on average, in placements explored and steps walked: far more than small rooms take, but
without it an attempt may take ten seconds, and a thousand of them hours."""


class Recipe(NamedTuple):
    """Everything but the seed that decides a room."""

    method: Method
    height: int
    width: int
    boxes: int
    steps: int
    """Of the walk."""
    depth: int
    """Of the search that plays backwards; see `Way`."""
    hash_seed: int = 0
    """RAGEN goes on from a failed seed with `hash(str(seed))`: this is the PYTHONHASHSEED that it ran under."""


class Board(NamedTuple):
    """A room without a name."""

    floor: int
    targets: int
    start: State


def check(recipe: Recipe) -> None:
    """Raise ValueError where no seed can make such a room."""
    height, width, boxes = recipe.height, recipe.width, recipe.boxes
    if min(height, width) < 3 or height * width > MOST_CELLS:
        raise ValueError(f"size must be at least 3 each way and {MOST_CELLS} cells in all, got {height}x{width}.")
    inside = (height - 2) * (width - 2)
    if inside <= boxes + 1:
        raise ValueError(
            f"A {height}x{width} room has at most {inside} cells of floor: too few for {boxes} boxes, the player and a "
            "place to go. Ask for fewer boxes or a larger size."
        )
    if recipe.steps > _MOST_STEPS:
        raise ValueError(f"generation_steps must be at most {_MOST_STEPS:,}, got {recipe.steps:,}.")
    if not 0 <= recipe.hash_seed < 2**32:
        raise ValueError(f"hash_seed must be a PYTHONHASHSEED, 0 to {2**32 - 1}, got {recipe.hash_seed}.")


def make_board(recipe: Recipe, seed: int, attempts: int) -> Board:
    """The room of `seed`.

    Raises:
        DataError: if `attempts` attempts gave none, or would take far too long.
    """
    make = _ragen if recipe.method == "ragen" else _gym_sokoban
    board, tried = make(recipe, seed, attempts)
    if board is None:
        long = "" if tried == attempts else ", and more of such long ones would take too much time"
        raise DataError(
            f"No {recipe.height}x{recipe.width} room with {recipe.boxes} boxes came of seed {seed} in {tried} attempts"
            f"{long}. Ask for fewer boxes, a larger size or more generation_steps, or allow more max_attempts."
        )
    return board


def _ragen(recipe: Recipe, seed: int, attempts: int) -> tuple[Board | None, int]:
    """The room of RAGEN's generator: a seed that fails passes the task on to another one. And how many were tried."""
    way = Way(recipe.depth, walks=False, every_pull=False)
    work = tried = 0
    while tried < attempts and work < _WORK * attempts:
        tried += 1
        draws, places = random.Random(seed), _seeded(seed)
        made, cost = _attempt(recipe, way, draws, places)
        if made is not None:
            floor, targets, placement = made
            player = _stroll(floor, placement, recipe.width, draws)
            return Board(floor, targets, State(player, placement.boxes)), tried
        seed = abs(string_hash(str(seed), recipe.hash_seed)) % 2**32
        work += cost
    return None, tried


def _gym_sokoban(recipe: Recipe, seed: int, attempts: int) -> tuple[Board | None, int]:
    """The room of gym-sokoban after `random.seed(seed); numpy.random.seed(seed)`: an attempt that fails draws on."""
    way = Way(recipe.depth, walks=True, every_pull=True)
    draws, places = random.Random(seed), _seeded(seed)
    work = tried = 0
    while tried < attempts and work < _WORK * attempts:
        tried += 1
        made, cost = _attempt(recipe, way, draws, places)
        if made is not None:
            floor, targets, placement = made
            return Board(floor, targets, State(placement.player, placement.boxes)), tried
        work += cost
    return None, tried


def _attempt(
    recipe: Recipe, way: Way, draws: random.Random, places: np.random.MT19937
) -> tuple[tuple[int, int, Placement] | None, int]:
    """Floor, targets and where things start; None where there is no room, or no box was moved on any of the floors.

    And what that cost: see `_WORK`.
    """
    work = 0
    for _ in range(_TRIES):
        floor = _dig(recipe, draws)
        work += recipe.steps
        free = numbers(floor)
        if len(free) <= recipe.boxes + 1:
            return None, work
        player = free.pop(_randint(places, len(free)))
        targets = 0
        for _ in range(recipe.boxes):
            targets |= 1 << free.pop(_randint(places, len(free)))
        placement = unplay(floor, targets, player, recipe.width, way)
        if placement.apart > 0:
            return (floor, targets, placement), work
        work += placement.explored
    return None, work


def _dig(recipe: Recipe, draws: random.Random) -> int:
    """The floor that a random walk stamps out of a room of rock."""
    height, width = recipe.height, recipe.width
    onwards, stamps, inside = _tables(height, width)
    chance = draws.random
    direction = _below(draws, 4)
    row = 1 + _below(draws, height - 1)
    cell = row * width + 1 + _below(draws, width - 1)
    floor = 0
    for _ in range(recipe.steps):
        if chance() < _TURN:
            direction = _below(draws, 4)
        cell = onwards[direction][cell]
        floor |= stamps[_below(draws, 5)] << cell - width - 1
    return floor & inside


@cache
def _tables(height: int, width: int) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], int]:
    """Of the walk: the cell after each cell, by direction; the stamps around row 1 and column 1, as bits; and the bits
    of all cells but the outermost, which the walk never leaves."""
    onwards = []
    for down, right in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        rows = [max(min(row + down, height - 2), 1) for row in range(height)]
        columns = [max(min(column + right, width - 2), 1) for column in range(width)]
        onwards.append(tuple([row * width + column for row in rows for column in columns]))
    stamps = tuple([sum(1 << (1 + down) * width + 1 + right for down, right in stamp) for stamp in _STAMPS])
    inside = sum((1 << width - 1) - 2 << row * width for row in range(1, height - 1))
    return tuple(onwards), stamps, inside


def _stroll(floor: int, placement: Placement, width: int, draws: random.Random) -> int:
    """Where the player is after RAGEN's walk of up to three steps, which never comes back to a cell."""
    player = placement.player
    if draws.random() > (0.8 if placement.apart == 1 else 0.5):
        return player
    free = floor & ~placement.boxes
    for step in range(3):
        free &= ~(1 << player)
        ways = [player + offset for offset in (-width, width, -1, 1) if free >> player + offset & 1]
        if not ways:
            break
        player = ways[_below(draws, len(ways))]
        if step == 2 or draws.random() > 0.5:
            break
    return player


def _below(draws: random.Random, n: int) -> int:
    """A number under `n`, drawn as `random.choice`, `sample` and `randint` draw it."""
    bits = n.bit_length()
    number = draws.getrandbits(bits)
    while number >= n:
        number = draws.getrandbits(bits)
    return number


class _Places(threading.local):
    """NumPy's legacy generator, of which each thread keeps one: making one takes far longer than seeding it."""

    def __init__(self) -> None:
        self.bits = np.random.MT19937()
        self.legacy = np.random.RandomState(self.bits)


_PLACES = _Places()


def _seeded(seed: int) -> np.random.MT19937:
    """The bits that `numpy.random` draws from after `numpy.random.seed(seed)`."""
    _PLACES.legacy.seed(seed)
    return _PLACES.bits


def _randint(places: np.random.MT19937, n: int) -> int:
    """A number under `n`, drawn as `numpy.random.randint` draws it."""
    if n == 1:
        return 0
    mask = (1 << (n - 1).bit_length()) - 1
    number = places.random_raw() & mask
    while number >= n:
        number = places.random_raw() & mask
    return number
