"""What a stack of foreign objects holds, taken and put back in place.

The attributes of every object in the stack are taken together, so that what they share stays shared, and are put back
into the same objects: whoever holds a reference to the environment still holds the right one, and no constructor runs
(an environment that pickles by its constructor's arguments, gymnasium's `EzPickle`, would start anew). What becomes of
everything else is said in core/kinds.py.
"""

import copy
import io
import types
import weakref
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import gymnasium as gym
import numpy as np

from rollback_gym.core import kinds
from rollback_gym.core.copying import Reader, Writer
from rollback_gym.core.errors import SnapshotMismatch
from rollback_gym.core.kinds import Native, register_fixed, register_native, register_renderer
from rollback_gym.core.members import empty, members, set_members

__all__ = [
    "Attributes",
    "Native",
    "NotCopyable",
    "clone",
    "has_native",
    "put",
    "register_fixed",
    "register_native",
    "register_renderer",
    "take",
]


_CONTAINERS = (list, tuple, dict)
_NESTED = 2


class NotCopyable(TypeError):
    """Something in an environment can be neither copied nor asked for its state."""


class Attributes:
    """The attributes of a stack of objects at one moment. Immutable."""

    __slots__ = ("__weakref__", "data", "owner", "refs", "states")

    def __init__(self, data: bytes, refs: tuple[Any, ...], states: tuple[tuple[int, Any], ...], owner: Any) -> None:
        self.data = data
        """The pickled attributes, one after another; never leaves the process."""
        self.refs = refs
        """What the pickles refer to: the objects of the stack first, then what is shared or asked, as met."""
        self.states = states
        """What the objects with hooks said, by their place in `refs`."""
        self.owner = owner
        """A weak reference to the first object of the stack."""

    @property
    def key(self) -> bytes:
        """A hash of what was copied. Equal hashes mean equal attributes; the reverse is mostly so."""
        return blake2b(self.data, digest_size=16).digest()

    def __copy__(self) -> "Attributes":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Attributes":
        return self


def take(stack: Sequence[Any], outside: Sequence[Any] = ()) -> Attributes:
    """What the objects of `stack` hold now.

    Args:
        stack: At least one object.
        outside: Objects that these may refer to, but whose attributes are none of the matter.

    Raises:
        NotCopyable: naming what stands in the way.
    """
    try:
        file, writer = _written(stack, outside, frozenset())
        common = frozenset(buffer for buffer, arrays in writer.shown.items() if arrays > 1)
        if common:
            file, writer = _written(stack, outside, common)
        refs = writer.refs
        states = tuple([(place, kinds.native(type(refs[place])).take(refs[place])) for place in writer.native])
    except Exception as error:  # whatever objects of others raise where they are to be pickled
        raise NotCopyable(f"{type(stack[0]).__name__} holds what cannot be copied: {error}") from error
    return Attributes(file.getvalue(), tuple(refs), states, weakref.ref(stack[0]))


def put(attributes: Attributes, stack: Sequence[Any], outside: Sequence[Any] = ()) -> None:
    """Put `attributes` back into `stack`, the objects that they were taken from or others of the same kinds.

    `outside` is as it was in `take`. What draws stays what it is here.

    Raises:
        SnapshotMismatch: if the stack is of another shape; it is left as it was.
        NotCopyable: if what was copied cannot be read again; it is left as it was.
    """
    own = attributes.owner() is stack[0]
    refs = attributes.refs if own else _matched(attributes, stack, outside)
    _fill(attributes, refs, len(stack), own)


def clone(attributes: Attributes, size: int) -> tuple[Any, ...]:
    """New objects with these attributes, like the stack of `size` objects that they were taken from.

    Raises:
        NotCopyable: if something in them can be asked for its state, but not made anew.
    """
    refs = list(attributes.refs)
    places = [place for place, ref in enumerate(refs) if place < size or kinds.how(ref) == kinds.INSIDE]
    cells = {id(refs[place]): types.CellType() for place in places if isinstance(refs[place], types.CellType)}
    for place in places:
        ref = refs[place]
        refs[place] = cells[id(ref)] if isinstance(ref, types.CellType) else empty(ref, cells)
        if not isinstance(ref, types.FunctionType | types.CellType):
            set_members(refs[place], _left_in_copy(ref))
    for place, _ in attributes.states:
        make = kinds.native(type(refs[place])).clone
        if make is None:
            raise NotCopyable(f"{kinds.full_name(type(refs[place]))} cannot be made anew, only put back.")
        refs[place] = make(refs[place])
    _fill(attributes, refs, size, own=True)
    return tuple(refs[:size])


def has_native(attributes: Attributes) -> bool:
    """Whether something in the stack was asked for its state, random generators aside."""
    return any(not isinstance(attributes.refs[place], _RANDOM) for place, _ in attributes.states)


def _written(stack: Sequence[Any], outside: Sequence[Any], common: frozenset[int]) -> tuple[io.BytesIO, Writer]:
    file = io.BytesIO()
    writer = Writer(file, stack, outside, common)
    done = 0
    while done < len(writer.inside):  # what is met inside comes next
        batch = []
        for obj in writer.inside[done:]:
            held = members(obj)
            for name in _left(obj, held):
                held.pop(name, None)
            batch.append(held)
        done += len(batch)
        writer.dump(batch)
    return file, writer


def _fill(attributes: Attributes, refs: Sequence[Any], size: int, own: bool) -> None:
    reader = Reader(io.BytesIO(attributes.data), refs, size)
    try:
        read: list[dict[str, Any]] = []
        while len(read) < len(reader.inside):
            read.extend(reader.load())
    except Exception as error:  # whatever objects of others raise where they are to be read
        raise NotCopyable(f"{type(refs[0]).__name__} holds what cannot be copied: {error}") from error
    for place, held in zip(reader.inside, read, strict=True):
        obj = refs[place]
        set_members(obj, _merged(obj, members(obj), held, own))
    for place, state in attributes.states:
        kinds.native(type(refs[place])).put(refs[place], state)


def _merged(obj: Any, now: dict[str, Any], held: dict[str, Any], own: bool) -> dict[str, Any]:
    """`held`, but for what is left as it is `now`: what never changes, and what draws."""
    merged = dict(held)
    for name in _drawing(held) + _drawing(now):
        if name in now:
            merged[name] = now[name]
        elif not own:
            merged.pop(name, None)
    merged.update((name, now[name]) for name in _left(obj, now) if name in now)
    if isinstance(obj, gym.Env) and "render_mode" in now:
        merged["render_mode"] = now["render_mode"]
    return merged


def _drawing(held: dict[str, Any]) -> list[str]:
    """The names of what draws, such as a window or a list of pictures."""
    how, drawing = kinds.HOW, kinds.DRAWING
    return [
        name
        for name, value in held.items()
        if how[type(value)] is drawing or (type(value) in _CONTAINERS and _is_all_drawing(value, _NESTED))
    ]


def _is_all_drawing(value: Any, nesting: int) -> bool:
    """Whether it draws, or holds nothing else and is nested at most so deep."""
    if type(value) not in _CONTAINERS:
        return kinds.HOW[type(value)] is kinds.DRAWING
    items = value.values() if type(value) is dict else value
    return nesting > 0 and bool(items) and all(_is_all_drawing(item, nesting - 1) for item in items)


def _left(obj: Any, held: dict[str, Any]) -> frozenset[str]:
    """The names of what is neither taken nor put back."""
    if isinstance(obj, kinds.RECORDING):
        return frozenset(held.keys() - {"env"})
    kind: Any = type(obj)
    return kinds.fixed(kind).union(kinds.renderer(kind))


def _left_in_copy(obj: Any) -> dict[str, Any]:
    """What a new object like `obj` holds under these names."""
    kind: Any = type(obj)
    held, fresh = members(obj), kinds.renderer(kind)
    left = {name: fresh[name]() if name in fresh else held[name] for name in _left(obj, held) if name in held}
    return {name: list(value) if isinstance(value, list) else value for name, value in left.items()}


def _matched(attributes: Attributes, stack: Sequence[Any], outside: Sequence[Any]) -> tuple[Any, ...]:
    """The refs of `attributes`, with what belongs to their own stack replaced by what `stack` has in its place."""
    given = len(stack) + len(outside)
    other = take(stack, outside)
    mine, theirs = _own(attributes, given), _own(other, given)
    if [_shape(ref) for ref in mine] != [_shape(ref) for ref in theirs]:
        raise SnapshotMismatch(
            f"The snapshot was taken of {', '.join(type(ref).__name__ for ref in mine)}; here are "
            f"{', '.join(type(ref).__name__ for ref in theirs)}. Make the environment with the same wrappers."
        )
    there = {id(old): new for old, new in zip(mine, theirs, strict=True)}
    return tuple(there.get(id(ref), ref) for ref in attributes.refs)


def _own(attributes: Attributes, given: int) -> list[Any]:
    """What belongs to one stack and no other: the objects given, those found inside, and those asked."""
    asked = {place for place, _ in attributes.states}
    return [
        ref
        for place, ref in enumerate(attributes.refs)
        if place < given or place in asked or kinds.how(ref) == kinds.INSIDE
    ]


def _shape(ref: Any) -> Any:
    return ref.__code__ if isinstance(ref, types.FunctionType) else type(ref)


# Random generators are asked, and not copied: an environment and its wrappers draw from one.

_BITS = ("_pcg64.PCG64", "_pcg64.PCG64DXSM", "_mt19937.MT19937", "_philox.Philox", "_sfc64.SFC64")
_RANDOM = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)


def _take_generator(generator: np.random.Generator) -> Any:
    return generator.bit_generator.state, _seeds(generator)


def _put_generator(generator: np.random.Generator, taken: Any) -> None:
    state, seeds = taken
    if seeds is not None and seeds != _seeds(generator):
        # What was spawned cannot be taken back from a sequence of seeds: the generator gets another one.
        entropy, key, size, spawned = seeds
        again = np.random.SeedSequence(entropy, spawn_key=key, pool_size=size, n_children_spawned=spawned)
        kind: Any = type(generator.bit_generator)
        np.random.Generator.__init__(generator, kind(again))
    generator.bit_generator.state = state


def _seeds(generator: np.random.Generator) -> Any:
    """What decides which generators this one spawns."""
    seeds = generator.bit_generator.seed_seq
    if not isinstance(seeds, np.random.SeedSequence):
        return None
    return seeds.entropy, seeds.spawn_key, seeds.pool_size, seeds.n_children_spawned


def _take_bits(bits: Any) -> Any:
    return bits.state


def _put_bits(bits: Any, state: Any) -> None:
    bits.state = state


def _take_legacy(random: np.random.RandomState) -> Any:
    return random.get_state(legacy=False)


def _put_legacy(random: np.random.RandomState, state: Any) -> None:
    random.set_state(state)


register_native("numpy.random._generator.Generator", _take_generator, _put_generator, copy.deepcopy)
register_native("numpy.random.mtrand.RandomState", _take_legacy, _put_legacy, copy.deepcopy)
for _bits in _BITS:
    register_native(f"numpy.random.{_bits}", _take_bits, _put_bits)  # a copy would leave its generator behind
