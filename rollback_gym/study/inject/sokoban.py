"""Mistakes in Sokoban."""

from collections.abc import Iterator

from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.rules import moved
from rollback_gym.envs.sokoban.types import WORDS, Level, State
from rollback_gym.study.inject.types import Kind, Lapse, Step

_OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}


def lapses(level: Level, state: State, path: tuple[Step, ...], plan: tuple[str, ...], kind: Kind) -> Iterator[Lapse]:
    """See `inject.types.Lapses`."""
    match kind:
        case Kind.INTENT:
            return _misread(level, state)
        case Kind.WRONG_ARGUMENT:
            return _misdirected(plan)
        case Kind.FORGOTTEN_CONTEXT:
            return _forgotten(path)
        case Kind.FAILED_CALL:
            return _refused(level, state, plan)


def _misread(level: Level, state: State) -> Iterator[Lapse]:
    """Push a box as far as it goes, whether or not a target lies there."""
    for box in numbers(state.boxes):
        for word in WORDS:
            offset = level.offsets[word]
            way = _walk(level, state, box - offset)
            if way is None:
                continue
            pushes, cell = 0, box + offset
            while level.floor & ~(state.boxes ^ 1 << box) & 1 << cell:
                pushes, cell = pushes + 1, cell + offset
            if pushes:
                yield Lapse(Kind.INTENT, f"box at {box} {word}", (*way, *[word] * pushes))


def _walk(level: Level, state: State, target: int) -> tuple[str, ...] | None:
    """A shortest way of the player to a cell without pushing anything; None where there is none."""
    free = level.floor & ~state.boxes
    if not free & 1 << target:
        return None
    ways: dict[int, tuple[str, ...]] = {state.player: ()}
    waiting = [state.player]
    for cell in waiting:
        if cell == target:
            return ways[cell]
        for word in WORDS:
            there = cell + level.offsets[word]
            if there not in ways and free & 1 << there:
                ways[there] = (*ways[cell], word)
                waiting.append(there)
    return None


def _misdirected(plan: tuple[str, ...]) -> Iterator[Lapse]:
    """Another direction than planned, then on with the plan as if the move had been the right one."""
    for word in WORDS:
        if plan and word != plan[0]:
            yield Lapse(Kind.WRONG_ARGUMENT, word, (word, *plan[1:]))


def _forgotten(path: tuple[Step, ...]) -> Iterator[Lapse]:
    """Walk back the way that was come, or make the last moves once more."""
    if not path:
        return
    back = tuple([_OPPOSITE[step.action] for step in reversed(path) if step.action in _OPPOSITE])
    if back:
        yield Lapse(Kind.FORGOTTEN_CONTEXT, "walk back", back)
    for number in range(len(path) - 1, -1, -1):
        again = tuple([step.action for step in path[number:]])
        yield Lapse(Kind.FORGOTTEN_CONTEXT, f"repeat from {number}", again)


def _refused(level: Level, state: State, plan: tuple[str, ...]) -> Iterator[Lapse]:
    """A word that is none, or a move that is blocked, then on with the plan as if the planned move had been made."""
    if len(plan) < 2:
        return
    blocked = [word for word in WORDS if moved(level, state, level.offsets[word]) is state]
    for call in (f"push {plan[0]}", f"move {plan[0]}", *blocked):
        yield Lapse(Kind.FAILED_CALL, call, (call, *plan[1:]))
