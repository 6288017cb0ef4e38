"""Random draws of the generator: the same for the same key, in every process, on every machine and Python."""

from collections.abc import Sequence
from math import floor
from random import Random
from typing import TypeVar

VERSION = 1
"""Of the generator: raised whenever the same parameters would give another game."""

_T = TypeVar("_T")


def stream(*key: str | int | float) -> Random:
    """Random numbers that depend on `key` and the generator's version alone.

    Draw with the functions below: of all methods of `Random`, Python promises of `random` alone never to change.
    """
    return Random("/".join(map(str, ("rollback-gym alfworld", VERSION, *key))))


def whole(rng: Random, low: int, high: int) -> int:
    """A whole number from `low` to `high`, both included."""
    return low + int(rng.random() * (high - low + 1))


def pick(rng: Random, items: Sequence[_T]) -> _T:
    """One of the items, all equally likely."""
    return items[int(rng.random() * len(items))]


def weighted(rng: Random, items: Sequence[tuple[_T, int]]) -> _T:
    """One of the items, given with their weights."""
    left = rng.random() * sum(weight for _, weight in items)
    for item, weight in items:
        left -= weight
        if left < 0:
            return item
    return items[-1][0]


def scaled(count: int, factor: float, threshold: float) -> int:
    """About `count` times `factor`; never falls as `factor` grows. `threshold`, in [0, 1), decides the rounding."""
    return floor(count * factor + threshold)
