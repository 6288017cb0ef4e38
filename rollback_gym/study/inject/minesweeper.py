"""Mistakes in MineSweeper.

Without flags L rises only by opening a mine, which is the end. With flags a wrong one costs the turn to take it off,
and a right one taken off may cost the turn to put it back: so errors of several turns need flags. A refused call
leads to no error: what is next in the plan is as good after it as before, so there is none of that kind.
"""

from collections.abc import Iterator

from rollback_gym.core.bits import numbers
from rollback_gym.envs.minesweeper.types import NONE, Layout, Level, State
from rollback_gym.study.inject.types import Kind, Lapse, Step

_FLAGS_IN_A_CORNER = 5


def lapses(level: Level, state: State, path: tuple[Step, ...], plan: tuple[str, ...], kind: Kind) -> Iterator[Lapse]:
    """See `inject.types.Lapses`."""
    if state.hit != NONE or not state.opened:
        return iter(())  # the first click moves the mines out of its way
    match kind:
        case Kind.INTENT:
            return _misread(level, state)
        case Kind.WRONG_ARGUMENT:
            return _misplaced(level, state, plan)
        case Kind.FORGOTTEN_CONTEXT:
            return _forgotten(level, state, path)
        case Kind.FAILED_CALL:
            return _refused(level, state, plan)


def _misread(level: Level, state: State) -> Iterator[Lapse]:
    """Open what the numbers say is a mine, as if mines were to be found; or flag a corner clear, and open it."""
    grid, layout = level.grid, level.layout_of(state)
    for cell in numbers(proven(level, layout, state.opened) & ~state.flags):
        yield Lapse(Kind.INTENT, f"find {grid.clicks[cell]}", (grid.clicks[cell],))
    if not level.flags:
        return
    closed = grid.full & ~(state.opened | state.flags)
    for corner in (0, grid.columns - 1, grid.cells - grid.columns, grid.cells - 1):
        row, column = divmod(corner, grid.columns)
        near = sorted(
            numbers(closed),
            key=lambda cell: (abs(cell // grid.columns - row) + abs(cell % grid.columns - column), cell),
        )
        safe = [grid.flaggings[cell] for cell in near if layout.safe >> cell & 1][:_FLAGS_IN_A_CORNER]
        mine = [grid.clicks[cell] for cell in near if layout.mines >> cell & 1][:1]
        if safe:
            yield Lapse(Kind.INTENT, f"corner {grid.clicks[corner]}", (*safe, *mine))


def proven(level: Level, layout: Layout, opened: int) -> int:
    """The mines that a single open number proves: as many closed cells around it as it says."""
    mines = 0
    for count in range(1, 9):
        for cell in numbers(layout.counts[count] & opened):
            closed = level.grid.around[cell] & ~opened
            if closed.bit_count() == count:
                mines |= closed
    return mines


def shown(level: Level, state: State) -> tuple[int, int]:
    """What single numbers show: the closed cells that are safe, and those that are mines."""
    layout, opened = level.layout_of(state), state.opened
    mines, safe = proven(level, layout, opened), 0
    for count in range(1, 9):
        for cell in numbers(layout.counts[count] & opened):
            if (mines & level.grid.around[cell]).bit_count() == count:
                safe |= level.grid.around[cell] & ~opened & ~mines
    return safe, mines


def _misplaced(level: Level, state: State, plan: tuple[str, ...]) -> Iterator[Lapse]:
    """The planned verb on a cell next to the right one, or with row and column swapped; then on with the plan."""
    if not plan:
        return
    grid = level.grid
    flagged, cell = divmod(grid.codes[plan[0]], grid.cells)
    names = grid.flaggings if flagged else grid.clicks
    row, column = divmod(cell, grid.columns)
    swapped = [column * grid.columns + row] if column < grid.rows and row < grid.columns else []
    for other in dict.fromkeys([*swapped, *numbers(grid.around[cell])]):
        if other != cell:
            yield Lapse(Kind.WRONG_ARGUMENT, names[other], (names[other], *plan[1:]))


def _forgotten(level: Level, state: State, path: tuple[Step, ...]) -> Iterator[Lapse]:
    """Open a mine that numbers had proved before the last action; or put a flag again, which takes it off."""
    grid, layout = level.grid, level.layout_of(state)
    if not path:
        return
    known = proven(level, layout, path[-1].state.opened) if path[-1].state.opened else 0
    for cell in numbers(known & ~state.flags):
        yield Lapse(Kind.FORGOTTEN_CONTEXT, f"open {grid.clicks[cell]}", (grid.clicks[cell],))
    flags = [step.action for step in reversed(path) if step.action in grid.flaggings]
    for number, action in enumerate(flags):
        yield Lapse(Kind.FORGOTTEN_CONTEXT, f"repeat {action}", tuple(dict.fromkeys(flags[number:])))


def _refused(level: Level, state: State, plan: tuple[str, ...]) -> Iterator[Lapse]:
    """Open what is open already, then on with the plan: it never raises L, see above."""
    for cell in numbers(state.opened):
        if len(plan) > 1:
            call = level.grid.clicks[cell]
            yield Lapse(Kind.FAILED_CALL, call, (call, *plan[1:]))
