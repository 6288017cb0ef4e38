"""What a stack of foreign objects holds, taken and put back in place.

The attributes of every object in the stack are taken together, so that what they share stays shared, and are put back
into the same objects: whoever holds a reference to the environment still holds the right one, and no constructor runs
(an environment that pickles by its constructor's arguments, gymnasium's `EzPickle`, would start anew). What cannot be
copied, and has hooks (`register_native`), is asked for its own state: an emulator, a physics engine. What only draws,
and what never changes, is left where it is.
"""

import copy
import io
import logging
import pickle
import types
import weakref
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import EzPickle

from rollback_gym.core.errors import SnapshotMismatch


class Native(NamedTuple):
    """How an object that cannot be copied gives its state, and takes it back in place."""

    take: Callable[[Any], Any]
    """The state, a value that nobody changes any more."""
    put: Callable[[Any, Any], None]
    """Put such a value back into the object, exactly."""
    clone: Callable[[Any], Any] | None = None
    """Another object like this one; None where only its environment can make one."""


class NotCopyable(TypeError):
    """Something in an environment can be neither copied nor asked for its state."""


class Attributes:
    """The attributes of a stack of objects at one moment. Immutable."""

    __slots__ = ("data", "owner", "refs", "states")

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


_NATIVE: dict[str, Native] = {}
_FIXED: dict[str, frozenset[str]] = {}
_FIXED_OF: dict[type, frozenset[str]] = {}
"""The same for a class and its bases together, as far as it was asked."""
_SHARED = (
    gym.Space,
    EnvSpec,
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    logging.Logger,
    weakref.ref,
)
_DRAWING = ("pygame", "pyglet", "glfw", "OpenGL", "matplotlib", "cv2", "gymnasium.envs.mujoco.mujoco_rendering")
_PLAYING = ("pygame.rect.", "pygame.math.", "pygame.sprite.")
"""What games hold their state in, though it comes with a library that draws."""
_COPIED = (type(None), bool, int, float, str, bytes, list, tuple, dict, set, np.ndarray)
_HOW: dict[type, str] = dict.fromkeys(_COPIED, "")
"""What becomes of objects of a kind, as far as it was asked; "" for a copy."""


def register_native(
    kind: str,
    take: Callable[[Any], Any],
    put: Callable[[Any, Any], None],
    clone: Callable[[Any], Any] | None = None,
) -> None:
    """Teach snapshots of foreign environments about a kind of object that cannot be copied.

    Args:
        kind: The full name of the class, `"package.module.Class"`, so that nothing need be imported for it.
        take: Returns the whole state of such an object, random state included, as a value of its own.
        put: Puts a state back into an object of that kind.
        clone: Makes another such object in the same state; without it a copy of the environment is made by `gym.make`.
    """
    _NATIVE[kind] = Native(take, put, clone)
    for known in [known for known in _HOW if _full_name(known) == kind]:
        del _HOW[known]


def register_fixed(kind: str, *names: str) -> None:
    """Say that some attributes never change once an object of this kind is made, so that nothing need copy them.

    Args:
        kind: The full name of the class, `"package.module.Class"`; it holds for derived classes too.
        names: The attributes, such as a table of transitions.
    """
    _FIXED[kind] = _FIXED.get(kind, frozenset()) | frozenset(names)
    _FIXED_OF.clear()


def take(stack: Sequence[Any], outside: Sequence[Any] = ()) -> Attributes:
    """What the objects of `stack` hold now.

    Args:
        stack: At least one object.
        outside: Objects that these may refer to, but whose attributes are none of the matter.

    Raises:
        NotCopyable: naming what stands in the way.
    """
    file = io.BytesIO()
    writer = _Writer(file, stack, outside)
    try:
        for obj in writer.inside:  # grows while it is read
            fixed = _fixed(type(obj))
            writer.dump({name: value for name, value in vars(obj).items() if name not in fixed} if fixed else vars(obj))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise NotCopyable(f"{type(stack[0]).__name__} holds what cannot be copied: {error}") from error
    states = tuple([(place, native.take(writer.refs[place])) for place, native in writer.native])
    return Attributes(file.getvalue(), tuple(writer.refs), states, weakref.ref(stack[0]))


def put(attributes: Attributes, stack: Sequence[Any], outside: Sequence[Any] = ()) -> None:
    """Put `attributes` back into `stack`, the objects that they were taken from or others of the same kinds.

    `outside` is as it was in `take`.

    Raises:
        SnapshotMismatch: if the stack is of another shape; it is left as it was.
    """
    refs = attributes.refs
    own = attributes.owner() is stack[0]
    if not own:
        refs = _matched(attributes, stack, outside)
    _fill(attributes, refs, len(stack))


def clone(attributes: Attributes, size: int) -> tuple[Any, ...]:
    """New objects with these attributes, like the stack of `size` objects that they were taken from.

    Raises:
        NotCopyable: if something in them can be asked for its state, but not made anew.
    """
    refs = list(attributes.refs)
    for place, ref in enumerate(refs):
        if place < size or _how(type(ref)) == "inside":
            refs[place] = new = object.__new__(type(ref))
            vars(new).update({name: vars(ref)[name] for name in _fixed(type(ref)) if name in vars(ref)})
    for place, _ in attributes.states:
        name = _full_name(type(refs[place]))
        make = _NATIVE[name].clone
        if make is None:
            raise NotCopyable(f"{name} cannot be made anew, only put back.")
        refs[place] = make(refs[place])
    _fill(attributes, refs, size)
    return tuple(refs[:size])


def _fill(attributes: Attributes, refs: Sequence[Any], size: int) -> None:
    reader = _Reader(io.BytesIO(attributes.data), refs)
    reader.inside.extend(range(size))
    held = [(refs[place], reader.load()) for place in reader.inside]  # which grows while it is read
    for obj, values in held:
        namespace = vars(obj)
        fixed = _fixed(type(obj))
        values.update((name, namespace[name]) for name in fixed if name in namespace)
        namespace.clear()
        namespace.update(values)
    for place, state in attributes.states:
        _NATIVE[_full_name(type(refs[place]))].put(refs[place], state)


def has_native(attributes: Attributes) -> bool:
    """Whether something in the stack was asked for its state, random generators aside."""
    return any(not isinstance(attributes.refs[place], np.random.Generator) for place, _ in attributes.states)


class _Writer(pickle.Pickler):
    """Pickles attributes; what is not to be copied becomes a reference."""

    def __init__(self, file: io.BytesIO, stack: Sequence[Any], outside: Sequence[Any]) -> None:
        super().__init__(file, protocol=5)
        self.refs: list[Any] = [*stack, *outside]
        self.inside: list[Any] = list(stack)
        self.native: list[tuple[int, Native]] = []
        self._kinds = {type(obj) for obj in self.refs}
        self._places = {id(obj): place for place, obj in enumerate(self.refs)}
        self._outside = range(len(stack), len(self.refs))

    def persistent_id(self, obj: Any) -> tuple[str, int] | None:
        kind = type(obj)
        how = _HOW.get(kind)
        if how is None:
            how = _HOW[kind] = _how(kind)
        if not how:
            if kind not in self._kinds or id(obj) not in self._places:
                return None
            how = "inside"
        place = self._places.get(id(obj))
        if place is None:
            place = self._places[id(obj)] = len(self.refs)
            self.refs.append(obj)
            if how == "inside":
                self.inside.append(obj)
            elif how == "native":
                self.native.append((place, _NATIVE[_full_name(kind)]))
        return "outside" if place in self._outside else how, place


class _Reader(pickle.Unpickler):
    """Reads what `_Writer` wrote in this process, with the objects of the stack that it is put into."""

    def __init__(self, file: io.BytesIO, refs: Sequence[Any]) -> None:
        super().__init__(file)
        self.refs = refs
        self.inside: list[int] = []

    def persistent_load(self, pid: tuple[str, int]) -> Any:
        how, place = pid
        if how == "inside" and place not in self.inside:
            self.inside.append(place)
        return self.refs[place]


def _how(kind: type) -> str:
    """What becomes of objects of this kind: "" for a copy."""
    name = _full_name(kind)
    if name in _NATIVE:
        return "native"
    if issubclass(kind, gym.Env | EzPickle):
        return "inside"
    draws = name.startswith(tuple(f"{module}." for module in _DRAWING)) and not name.startswith(_PLAYING)
    if draws or issubclass(kind, _SHARED):
        return "shared"
    return ""


def _fixed(kind: type) -> frozenset[str]:
    if kind not in _FIXED_OF:
        _FIXED_OF[kind] = frozenset().union(*(_FIXED.get(_full_name(base), frozenset()) for base in kind.__mro__))
    return _FIXED_OF[kind]


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _matched(attributes: Attributes, stack: Sequence[Any], outside: Sequence[Any]) -> tuple[Any, ...]:
    """The refs of `attributes`, with what belongs to their own stack replaced by what `stack` has in its place."""
    given = len(stack) + len(outside)
    other = take(stack, outside)
    mine, theirs = _own(attributes, given), _own(other, given)
    if [type(ref) for ref in mine] != [type(ref) for ref in theirs]:
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
        if place < given or place in asked or _how(type(ref)) == "inside"
    ]


def _take_random(generator: np.random.Generator) -> Any:
    return generator.bit_generator.state


def _put_random(generator: np.random.Generator, state: Any) -> None:
    generator.bit_generator.state = state


register_native("numpy.random._generator.Generator", _take_random, _put_random, copy.deepcopy)
