"""Pickles for this process alone: what cannot or need not be copied is a reference.

Beyond what pickle does, arrays that show the same memory go on doing so, weak references go on referring, and what is
in the stack itself, or above it, stays the object that it is.
"""

import io
import pickle
import types
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rollback_gym.core import kinds
from rollback_gym.core.members import members, set_members

Array = np.ndarray[Any, Any]
_REDUCED: dict[type, Any] = {}
"""The answers of `_reducer` given so far."""
_WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary)


class Writer(pickle.Pickler):
    """Pickles members; what is not to be copied becomes a reference.

    Args:
        file: Where to.
        stack: The objects whose members are taken.
        outside: Objects that these may refer to, but that are none of the matter.
        common: The ids of buffers that several arrays show, as far as that is known; see `shown`.
    """

    def __init__(
        self, file: io.BytesIO, stack: Sequence[Any], outside: Sequence[Any], common: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(file, protocol=5)
        self.refs: list[Any] = [*stack, *outside]
        self.inside: list[Any] = list(stack)
        self.native: list[int] = []
        self.shown: Counter[int] = Counter()
        """How many arrays show a buffer, by its id."""
        self._common = common
        self._given = (stack[0], *outside)
        self._kinds = {type(obj) for obj in self.refs}
        self._pids = {
            id(obj): (kinds.INSIDE if place < len(stack) else kinds.SHARED, place)
            for place, obj in enumerate(self.refs)
        }

    def persistent_id(self, obj: Any) -> tuple[str, int] | None:
        """A reference, for what is not copied."""
        kind = type(obj)
        how = kinds.HOW[kind]
        if how is kinds.COPIED and kind not in self._kinds:
            if kind is bytearray:
                self.shown[id(obj)] += 1
            return None
        pid = self._pids.get(id(obj))
        if pid is not None or how is kinds.COPIED:
            return pid
        if how is kinds.JUDGED:
            how = kinds.how(obj)
            if how is kinds.COPIED:
                return None
        if how is kinds.INSIDE and self._is_above(obj):
            how = kinds.SHARED
        pid = self._pids[id(obj)] = (how, len(self.refs))
        self.refs.append(obj)
        if how is kinds.INSIDE:
            self.inside.append(obj)
        elif how is kinds.NATIVE:
            self.native.append(pid[1])
        return pid

    def reducer_override(self, obj: Any) -> Any:
        """How the objects are copied that pickle copies otherwise than they are."""
        kind = type(obj)
        if kind not in _REDUCED:
            _REDUCED[kind] = _reducer(kind)
        reduced = _REDUCED[kind]
        return NotImplemented if reduced is None else reduced(self, obj)

    def _is_above(self, env: Any) -> bool:
        """Whether `env` is a wrapper around the stack."""
        while isinstance(env, gym.Wrapper):
            env = env.env
            if any(env is given for given in self._given):
                return True
        return False

    def array(self, array: Array) -> Any:
        """An array, as one that shows a buffer if others show that too."""
        buffer = _buffer(array)
        if buffer is None:
            self.shown[id(array)] += 1
            return NotImplemented
        self.shown[id(buffer)] += 1
        common, known = id(buffer) in self._common, isinstance(buffer, np.ndarray | bytearray | bytes)
        if not known and (common or _is_elsewhere(buffer)) and array.flags.writeable:
            raise pickle.PicklingError(f"an array over memory of {type(buffer).__name__}, which cannot be copied")
        if not common or not known:
            return NotImplemented
        offset = array.__array_interface__["data"][0] - _address(buffer)
        how = (offset, array.shape, array.strides, array.dtype, array.flags.writeable)
        made = (_array_of, (type(array), buffer, *how))
        return made if type(array) is np.ndarray else (*made, vars(array), None, None, _with_attributes)


class Reader(pickle.Unpickler):
    """Reads what `Writer` wrote in this process, with `refs` for the references."""

    def __init__(self, file: io.BytesIO, refs: Sequence[Any], size: int) -> None:
        super().__init__(file)
        self.refs = refs
        self.inside: list[int] = list(range(size))
        """The places of what has members of its own to read, as met; the stack of `size` objects first."""
        self._met = set(self.inside)

    def persistent_load(self, pid: tuple[str, int]) -> Any:
        """The object for a reference."""
        how, place = pid
        if how == kinds.INSIDE and place not in self._met:
            self._met.add(place)
            self.inside.append(place)
        return self.refs[place]


def _reducer(kind: type) -> Callable[[Writer, Any], Any] | None:
    """How objects of this kind are copied; None for pickle's own way."""
    if issubclass(kind, np.ndarray):
        return Writer.array
    if issubclass(kind, weakref.ref):
        return lambda writer, ref: (_dead, ()) if ref() is None else (weakref.ref, (ref(),))
    if issubclass(kind, _WEAK):
        return lambda writer, obj: (kind, (dict(obj),))
    if issubclass(kind, types.MethodType):
        return lambda writer, method: (types.MethodType, (method.__func__, method.__self__))
    if _leaves_out(kind):
        return lambda writer, obj: (object.__new__, (kind,), members(obj), None, None, set_members)
    return None


def _leaves_out(kind: Any) -> bool:
    """Whether objects of this kind say themselves what of them is pickled, which may not be all, though all can be."""
    if kind.__getstate__ is object.__getstate__ or kind.__reduce_ex__ is not object.__reduce_ex__:
        return False
    if kind.__reduce__ is not object.__reduce__:
        return False
    try:
        object.__new__(kind)
    except TypeError:  # it is more than its attributes
        return False
    return True


def _buffer(array: Array) -> Any:
    """What holds the memory that `array` shows; None where that is the array itself."""
    buffer: Any = array.base
    deeper = buffer
    while deeper is not None:
        buffer = deeper
        deeper = buffer.obj if isinstance(buffer, memoryview) else getattr(buffer, "base", None)
    return buffer


def _is_elsewhere(buffer: Any) -> bool:
    """Whether it is memory of an engine, another process or a file, and no array's own."""
    return type(buffer).__name__ in ("PyCapsule", "mmap") or any(
        base.__module__ == "_ctypes" for base in type(buffer).__mro__
    )


def _address(buffer: Any) -> int:
    array: Array = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
    address: int = array.__array_interface__["data"][0]
    return address


def _array_of(
    kind: type[Array],
    buffer: Any,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    writeable: bool,
) -> Array:
    """An array of this kind that shows a part of `buffer`."""
    if isinstance(buffer, np.ndarray):
        flat = buffer.ravel(order="K")
        if dtype.hasobject:
            start = flat[offset // dtype.itemsize :]
            array: Array = np.lib.stride_tricks.as_strided(start, shape, strides)
        else:
            array = np.ndarray(shape, dtype, flat, offset, strides)
    else:
        array = np.ndarray(shape, dtype, buffer, offset, strides)
    if not writeable:
        array.flags.writeable = False
    return array if kind is np.ndarray else array.view(kind)


def _with_attributes(array: Array, attributes: dict[str, Any]) -> None:
    vars(array).update(attributes)


class _Nothing:
    pass


def _dead() -> weakref.ref[Any]:
    """A weak reference to what is gone."""
    return weakref.ref(_Nothing())
