"""What the comparisons of all environments with their originals report, game by game."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """The first thing in a game that the two disagree on."""

    turn: int
    """0 for the start."""
    command: str
    """The action, as text; empty at the start."""
    what: str
    """Such as `observation`, `reward` or `won`."""
    ours: Any
    theirs: Any


class Comparison(NamedTuple):
    """One game, played side by side."""

    id: str
    steps: int
    """Actions that were compared."""
    won: bool
    """Whether the game was won on the way."""
    counts: Counter[str]
    """How often each kind of action was compared; and in brackets, how often special situations came up."""
    difference: Difference | None


def first_difference(turn: int, command: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Difference | None:
    """The first of the things named by `ours` in which the two are not equal."""
    for what, value in ours.items():
        if value != theirs[what]:
            return Difference(turn, command, what, value, theirs[what])
    return None
