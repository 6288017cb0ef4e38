"""Exact L(s) in Sokoban: the fewest moves until every box is on a target.

All states of a level are solved at once, the first time that one is asked for, and looked up from then on. Where that
table would be too large, single states are searched for, within a budget.
"""

import math
from collections import OrderedDict
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import Any, Protocol

from rollback_gym.envs.sokoban.rules import moved
from rollback_gym.envs.sokoban.types import WORDS, Level, State
from rollback_gym.oracles.sokoban_search import Searches
from rollback_gym.oracles.sokoban_table import Table, entries

MOST_ENTRIES = 1 << 23
"""A table may have as many entries: the ways to place boxes on cells that are good for anything, times floor cells."""

CACHE_BYTES = 1 << 28
"""What all tables that are kept may take together, about; those not used for longest are forgotten first."""

_FEW_ENTRIES = 20_000
"""Up to here compiled code is not worth loading."""


class Solution(Protocol):
    """What is known of a level."""

    bytes: int

    def distance(self, player: int, boxes: int) -> float:
        """L of a state."""


def distance(level: Level, state: State) -> float:
    """L(s): the fewest moves until the game is won; math.inf where it never can be.

    Raises:
        OracleBudgetExceeded: if the level is too large for a table, and a search of this state too long.
    """
    known, solution = _last
    if known is not level or solution is None:
        solution = _solution(level)
    player, boxes = state
    return solution.distance(player, boxes)


def optimal_actions(level: Level, state: State) -> tuple[str, ...]:
    """Every first move of a shortest solution; empty where there is none, or nothing left to do. Raises as above."""
    here = distance(level, state)
    if here == 0 or math.isinf(here):
        return ()
    return tuple([word for word in WORDS if distance(level, moved(level, state, level.offsets[word])) < here])


def plan(level: Level, state: State) -> tuple[str, ...]:
    """One shortest solution; empty as above. Raises as above."""
    moves: list[str] = []
    while first := optimal_actions(level, state)[:1]:
        moves += first
        state = moved(level, state, level.offsets[first[0]])
    return tuple(moves)


def solve(level: Level) -> Solution:
    """All of a level's states solved, or ready to be searched for. Not kept: `distance` keeps what it solves."""
    size = entries(level)
    if size > MOST_ENTRIES:
        return Searches(level)
    dense = _compiled() if size > _FEW_ENTRIES else None
    return Table(level) if dense is None else dense(level)


@cache
def _compiled() -> Any:
    """The compiled table, where numba is installed."""
    if find_spec("numba") is None:
        return None
    from rollback_gym.oracles.sokoban_compiled import DenseTable

    return DenseTable


# --- What is kept --------------------------------------------------------------------------------------------------

_kept: OrderedDict[str, Solution] = OrderedDict()
_kept_bytes = 0
_lock = Lock()
_last: tuple[Level | None, Solution | None] = (None, None)
"""The level asked for last and its solution: most questions are about it."""


def _solution(level: Level) -> Solution:
    global _last, _kept_bytes
    with _lock:
        solution = _kept.get(level.digest)
        if solution is not None:
            _kept.move_to_end(level.digest)
    if solution is None:
        solution = solve(level)
        with _lock:
            if level.digest not in _kept:
                _kept[level.digest] = solution
                _kept_bytes += solution.bytes
            while _kept_bytes > CACHE_BYTES and len(_kept) > 1:
                _kept_bytes -= _kept.popitem(last=False)[1].bytes
    _last = (level, solution)
    return solution
