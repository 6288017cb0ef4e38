"""States as plain nested tuples of ints, and back.

Only what differs from the level's start is written for the three tuples of masks, so a history of states stays small.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rollback_gym.envs.alfworld.types import NOTHING, Level, State, bits, visible

_MEMO = "codec"


def encode(level: Level, state: State) -> tuple[Any, ...]:
    """`state` as nested tuples of ints: its eight numbers, then `(index, mask, ...)` for each of the three tuples.

    A mask can have as many bits as the level has objects, which may be more than 64.
    """
    *scalars, contents, located, stale = state
    start = level.start
    return (
        *scalars,
        _changes(contents, start.contents),
        _changes(located, start.located),
        _changes(stale, start.stale),
    )


def decode(level: Level, data: Any) -> State:
    """The state that `encode` wrote. Raises ValueError where `data` is no state that `level` can be in."""
    start, things = level.start, level.things
    _require(isinstance(data, tuple) and len(data) == len(start), f"expected {len(start)} entries")
    location, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale = data
    _require(all(type(value) is int for value in data[:8]), "expected whole numbers")
    state = State(
        location,
        held,
        opened,
        clean,
        hot,
        cool,
        sliced,
        toggled,
        _restored(contents, start.contents, "contents"),
        _restored(located, start.located, "located"),
        _restored(stale, start.stale, "stale"),
    )
    _require(0 <= state.location < len(level.at), f"no location {state.location}")
    _require(NOTHING <= state.held < len(things), f"no object {state.held}")

    can = level.memo.get(_MEMO) or level.memo.setdefault(_MEMO, _possible(level))
    _check_flag(start.opened, state.opened, can.open, can.open, "opened")
    _check_flag(start.clean, state.clean, can.clean, 0, "clean")
    _check_flag(start.hot, state.hot, can.heat, can.cool, "hot")
    _check_flag(start.cool, state.cool, can.cool, can.heat, "cool")
    _check_flag(start.sliced, state.sliced, can.slice, 0, "sliced")
    _check_flag(start.toggled, state.toggled, can.toggle, 0, "toggled")
    _require(not state.hot & state.cool & ~(start.hot & start.cool), "an object is hot and cool")
    _require(not (start.hot | start.cool) & ~(state.hot | state.cool), "an object is neither hot nor cool any more")
    _check_places(level, state, can)
    return state


class _Possible(NamedTuple):
    """What can ever change in a level. Bits over O, but for `open`."""

    open: int
    """Bits over R."""
    move: int
    clean: int
    heat: int
    cool: int
    slice: int
    toggle: int
    fits: tuple[int, ...]
    """(R,) what can be put in or on each receptacle."""
    alone: tuple[bool, ...]
    """(R,) whether a receptacle shares its location with no other."""
    seen: tuple[int, ...]
    """(L,) the bits that `State.located` keeps."""


def _possible(level: Level) -> _Possible:
    things = level.things
    movable = bits(thing.pickupable for thing in things)
    return _Possible(
        open=bits(receptacle.openable for receptacle in level.receptacles),
        move=movable,
        clean=movable & bits(thing.cleanable for thing in things),
        heat=movable & bits(thing.heatable for thing in things),
        cool=movable & bits(thing.coolable for thing in things),
        slice=bits(thing.sliceable for thing in things),
        toggle=bits(thing.toggleable for thing in things),
        fits=tuple(
            movable & bits(bool(mask >> r & 1) for mask in level.accepts) for r in range(len(level.receptacles))
        ),
        alone=tuple(len(level.at[receptacle.location]) == 1 for receptacle in level.receptacles),
        seen=tuple(movable & seen for seen in visible(things, level.at)),
    )


def _check_flag(before: int, after: int, can_begin: int, can_end: int, name: str) -> None:
    _require(after >= 0 and not after & ~(before | can_begin), f"{name}: a bit that can never be set")
    _require(not before & ~after & ~can_end, f"{name}: a bit is missing that can never be cleared")


def _check_places(level: Level, state: State, can: _Possible) -> None:
    start = level.start
    held = 0 if state.held == NOTHING else 1 << state.held
    _require(not held & ~can.move, "held: an object that cannot be picked up")
    for r, (before, after) in enumerate(zip(start.contents, state.contents, strict=True)):
        if before == after and not state.stale[r]:
            continue
        _check_flag(before, after, can.fits[r], can.move, "contents")
        _check_flag(0, state.stale[r], 0 if can.alone[r] else can.move & ~after, can.move, "stale")
    for before, after, seen in zip(start.located, state.located, can.seen, strict=True):
        _check_flag(before, after, seen, can.move, "located")
    lost = _union(start.contents) & ~_union(state.contents) & ~held
    _require(not lost, "contents: an object is in no receptacle and in no hand")


def _union(masks: Sequence[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _changes(now: Sequence[int], before: Sequence[int]) -> tuple[int, ...]:
    if now == before:
        return ()
    pairs = [(index, mask) for index, mask in enumerate(now) if mask != before[index]]
    return tuple([value for pair in pairs for value in pair])


def _restored(changes: Any, before: tuple[int, ...], name: str) -> tuple[int, ...]:
    _require(isinstance(changes, tuple) and len(changes) % 2 == 0, f"{name}: expected pairs of index and mask")
    _require(all(type(value) is int for value in changes), f"{name}: expected whole numbers")
    masks, last = list(before), -1
    for index, mask in zip(changes[::2], changes[1::2], strict=True):
        _require(last < index < len(masks), f"{name}: index {index} is out of order or range")
        _require(mask >= 0 and mask != before[index], f"{name}: mask {mask} is negative or no change")
        masks[index], last = mask, index
    return tuple(masks)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"not a state of this ALFWorld level: {otherwise}")
