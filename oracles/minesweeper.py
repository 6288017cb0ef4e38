"""The MineSweeper oracle: exact L(s) with the mines known, mostly without search.

Without flags a click opens a connected region of cells without mines around them, or a number that touches no such
region that is still closed; nothing opens two of these, and together they are the board. So L is how many of them are
closed. With flags the game is also won by flagging exactly the mines; wrong flags must be taken off on either way, one
turn each.
"""

import math
from typing import Any

from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.types import NONE, FirstClick, Layout, Level, State

_BEFORE = "L before the first click"
_MOST_CELLS = 2_500
"""Of a board where every first click is tried: some five seconds."""


def distance(level: Level, state: State) -> float:
    """L(s): the fewest turns until the game is won; math.inf once a mine was hit.

    Raises:
        OracleBudgetExceeded: before the player's first click on a very large board, if that click decides where the
            mines go: each would have to be tried.
    """
    opened, flags, hit, yielded = state
    if hit != NONE:
        return math.inf
    if not opened and (level.flags or level.first_click is not FirstClick.ANY):
        return _before_the_first_click(level, state)
    layout = level.layout if yielded == NONE else level.yielded(yielded)
    if not level.flags:
        return float((layout.needed & ~opened).bit_count())
    if opened == layout.safe:
        return 0.0
    wrong = flags & ~layout.mines
    return float(wrong.bit_count() + min(_clicks(layout, opened), (layout.mines & ~flags).bit_count()))


def optimal_actions(level: Level, state: State) -> tuple[str, ...]:
    """Every first action of a shortest solution, in the order of the admissible actions."""
    if not level.flags and state.opened:
        if state.hit != NONE:
            return ()
        return level.grid.clicks_on(_useful(level.layout_of(state), state.opened))
    here = distance(level, state)
    if math.isinf(here):
        return ()
    return tuple([a for a in rules.actions(level, state) if distance(level, _after(level, state, a)) == here - 1])


def plan(level: Level, state: State) -> tuple[str, ...]:
    """One shortest solution: always the first of the optimal actions."""
    actions = []
    while best := optimal_actions(level, state):
        actions.append(best[0])
        state = _after(level, state, best[0])
    return tuple(actions)


def _clicks(layout: Layout, opened: int) -> int:
    """The fewest clicks that open every safe cell, once no safe cell is flagged."""
    closed = layout.safe & ~opened
    zeros = closed & layout.counts[0]
    count = (closed & ~layout.grid.spread(zeros)).bit_count()
    while zeros:
        region, grown = 0, zeros & -zeros
        while grown != region:
            region, grown = grown, layout.grid.spread(grown) & zeros
        zeros &= ~region
        count += 1
    return count


def _useful(layout: Layout, opened: int) -> int:
    """The cells whose click is one of the fewest."""
    closed = layout.safe & ~opened
    zeros = closed & layout.counts[0]
    return zeros | closed & ~layout.grid.spread(zeros)


def _before_the_first_click(level: Level, state: State) -> float:
    """The first click decides where the mines go, or must be made before there can be flags: try each."""
    known: float | None = level.memo.get(_BEFORE)
    if known is None:
        if level.grid.cells > _MOST_CELLS:
            raise OracleBudgetExceeded(
                f"L before the first click is not known: on {level.grid.cells:,} cells, too many clicks would have to "
                f"be tried. Ask after the first click, or on a board of at most {_MOST_CELLS:,} cells."
            )
        after: list[Any] = [_after(level, state, action) for action in level.grid.clicks]
        known = level.memo[_BEFORE] = 1.0 + min(distance(level, state) for state in after)
    return known


def _after(level: Level, state: State, action: str) -> State:
    after: State = rules.step(level, state, action).state
    return after
