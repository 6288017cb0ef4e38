"""Plain values to bytes and back, canonically and without pickle.

Plain values are None, bool, int of any size, float, str, bytes, tuple, list, dict with str keys, and numpy
arrays and scalars without objects. MessagePack carries them; four extension types carry what it lacks. Equal
values of equal types give equal bytes in every process.
"""

from typing import Any

import msgpack
import numpy as np

from rollback_gym.core.errors import SnapshotNotPortable

_INT, _LIST, _DICT, _ARRAY, _SCALAR = 1, 2, 3, 4, 5
_WORD = range(-(2**63), 2**64)
_MAX_INT_BYTES = 1024
_MAX_NESTING = 64


def pack(value: Any) -> bytes:
    """`value` as bytes.

    Raises:
        SnapshotNotPortable: if `value` holds something that is not a plain value.
    """
    return _packed(_lower(value, 0))


def unpack(data: bytes) -> Any:
    """The value that `pack` made `data` from.

    Raises:
        ValueError: if `data` is anything else, whoever wrote it.
    """
    return _unpack(data, 0)


def _packed(value: Any) -> bytes:
    # Lone surrogates too: an agent may have said anything.
    packed: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
    return packed


def _lower(value: Any, nesting: int) -> Any:
    if nesting > _MAX_NESTING:
        raise SnapshotNotPortable(f"Values nested more than {_MAX_NESTING} deep cannot be written as bytes.")
    if value is None or isinstance(value, bool | float | str | bytes):
        return value
    if isinstance(value, int):
        if value in _WORD:
            return value
        if value.bit_length() // 8 >= _MAX_INT_BYTES:
            raise SnapshotNotPortable(f"Integers of more than {_MAX_INT_BYTES} bytes cannot be written as bytes.")
        return msgpack.ExtType(_INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    if isinstance(value, tuple):
        return [_lower(item, nesting + 1) for item in value]
    if isinstance(value, list):
        return msgpack.ExtType(_LIST, _packed([_lower(item, nesting + 1) for item in value]))
    if isinstance(value, dict):
        pairs = sorted((key, _lower(item, nesting + 1)) for key, item in value.items() if isinstance(key, str))
        if len(pairs) == len(value):
            return msgpack.ExtType(_DICT, _packed(pairs))
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        kind = _ARRAY if isinstance(value, np.ndarray) else _SCALAR
        return msgpack.ExtType(kind, _packed([value.dtype.str, list(value.shape), value.tobytes()]))
    raise SnapshotNotPortable(
        f"{type(value).__name__} cannot be written as bytes: plain values and numpy arrays can. "
        "Keep this snapshot inside the process, or leave the part that holds it out."
    )


def _unpack(data: bytes, nesting: int) -> Any:
    if nesting > _MAX_NESTING:
        raise ValueError(f"nested more than {_MAX_NESTING} deep")

    def raised(kind: int, payload: bytes) -> Any:
        if kind == _INT:
            if len(payload) > _MAX_INT_BYTES:
                raise ValueError("an integer is too large")
            return int.from_bytes(payload, "big", signed=True)
        if kind not in (_LIST, _DICT, _ARRAY, _SCALAR):
            raise ValueError(f"unknown kind of value {kind}")
        items = _unpack(payload, nesting + 1)
        if not isinstance(items, tuple):
            raise ValueError("expected a sequence")
        if kind == _LIST:
            return list(items)
        if kind == _DICT:
            return _dict(items)
        array = _array(items)
        return array[()] if kind == _SCALAR else array

    try:
        return msgpack.unpackb(
            data, use_list=False, ext_hook=raised, strict_map_key=True, unicode_errors="surrogatepass"
        )
    except (msgpack.UnpackException, TypeError, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _dict(items: tuple[Any, ...]) -> dict[str, Any]:
    for pair in items:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
            raise ValueError("expected pairs of a name and a value")
    return dict(items)


def _array(items: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    if len(items) != 3 or not isinstance(items[0], str) or not isinstance(items[2], bytes):
        raise ValueError("expected an array's type, shape and data")
    dtype = np.dtype(items[0])
    if dtype.hasobject:
        raise ValueError("arrays of objects are not read")
    shape = tuple(_length(size) for size in items[1])
    return np.frombuffer(items[2], dtype=dtype).reshape(shape).copy()


def _length(size: Any) -> int:
    if type(size) is not int or size < 0:
        raise ValueError("expected a non-negative length")
    return size
