"""Arrays kept on disk between processes.

A file holds named arrays behind a header, and a checksum over everything at its end. It is mapped into memory, so
that all processes share what they read of it. It is written aside and then renamed: whoever opens it finds all of it
or nothing. Of several processes that need it, one makes it and the others wait; where a file system has no locks, each
makes it, and the last one's file stays, which is as good as any. The name holds a hash of what the content was made
from, so that no file is ever stale.
"""

import fcntl
import hashlib
import mmap
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any

import msgpack
import numpy as np
import platformdirs

Arrays = Mapping[str, "np.ndarray[Any, np.dtype[Any]]"]

_MAGIC = b"rbarray1"
_DIGEST_BYTES = 16
_ALIGNMENT = 64
_MAX_HEADER_BYTES = 1 << 16
_UNFINISHED = ".unfinished"


class _Damaged(Exception):
    """The file is not what was written; it can be made again."""


def kept(name: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays under `name` in the cache, read-only; made and stored where there are none, or damaged ones.

    The cache is the folder that ROLLBACK_GYM_CACHE names, or else the user's own. Where it cannot be written, a
    warning says so, and every process makes its own arrays.

    Args:
        name: A file name that determines the content.
        make: Makes the arrays.
    """
    path = os.path.join(_folder(), name)
    if found := _existing(path):
        return found
    with _alone(path) as alone:
        if alone:
            # Whoever had the lock before may have made it.
            if found := _existing(path, quiet=True):
                return found
            _remove_unfinished(path)
        arrays = make()
        try:
            _write(path, arrays)
            return _read(path)
        except (OSError, _Damaged) as error:
            warnings.warn(
                f"{path} cannot be kept ({error}): every process makes it anew. Set ROLLBACK_GYM_CACHE to a folder "
                "that can be written.",
                stacklevel=2,
            )
            return arrays


def _existing(path: str, quiet: bool = False) -> Arrays | None:
    try:
        return _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, _Damaged) as error:
        if not quiet:
            warnings.warn(f"{path} is damaged ({error}) and is made again.", stacklevel=3)
        return None


@contextmanager
def _alone(path: str) -> Iterator[bool]:
    """Lets one process work at a time, and gives True; where there are no locks, gives False at once."""
    with ExitStack() as stack:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            lock = stack.enter_context(open(f"{path}.lock", "wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            yield False
            return
        # Closing is not enough where a fork has copied the descriptor.
        stack.callback(fcntl.flock, lock, fcntl.LOCK_UN)
        yield True


def _remove_unfinished(path: str) -> None:
    """Removes what writers left that were killed."""
    folder, name = os.path.split(path)
    for entry in os.listdir(folder):
        if entry.startswith(f"{name}.") and entry.endswith(_UNFINISHED):
            os.remove(os.path.join(folder, entry))


def scratch() -> IO[bytes]:
    """A nameless file for what is too large for memory, where the cache is, or else where temporary files go."""
    try:
        os.makedirs(_folder(), exist_ok=True)
        return tempfile.TemporaryFile(dir=_folder())
    except OSError:
        return tempfile.TemporaryFile()


def mapped(file: IO[bytes]) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """The bytes that were written to `file`, which may be closed then."""
    file.flush()
    size = os.fstat(file.fileno()).st_size
    content: Any = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    return np.frombuffer(content, dtype=np.uint8)


def _folder() -> str:
    root = os.environ.get("ROLLBACK_GYM_CACHE") or platformdirs.user_cache_dir("rollback-gym", appauthor=False)
    return os.path.join(os.path.abspath(os.path.expanduser(root)), "webshop")


def _read(path: str) -> Arrays:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < len(_MAGIC) + 4 + _DIGEST_BYTES:
            raise _Damaged("it is too short")
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if content[: len(_MAGIC)] != _MAGIC:
        raise _Damaged("it does not begin as it should")
    if hashlib.blake2b(content[:-_DIGEST_BYTES], digest_size=_DIGEST_BYTES).digest() != content[-_DIGEST_BYTES:]:
        raise _Damaged("it does not match its checksum")
    at = len(_MAGIC)
    header_size = int.from_bytes(content[at : at + 4], "little")
    try:
        places = msgpack.unpackb(content[at + 4 : at + 4 + header_size])
        return {name: _array(content, kind, count, offset) for name, kind, count, offset in places}
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise _Damaged(f"its header is none: {error}") from error


def _array(content: memoryview, kind: str, count: int, offset: int) -> "np.ndarray[Any, np.dtype[Any]]":
    if not 0 <= count * np.dtype(kind).itemsize <= len(content) - offset - _DIGEST_BYTES or offset < _MAX_HEADER_BYTES:
        raise ValueError(f"an array of {count} at {offset}")
    return np.frombuffer(content, dtype=kind, count=count, offset=offset)


def _write(path: str, arrays: Arrays) -> None:
    places, offset = [], _MAX_HEADER_BYTES
    for name, array in arrays.items():
        places.append((name, array.dtype.str, array.size, offset))
        offset += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = msgpack.packb(places)
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    # Not `tempfile`, whose files only their owner may read: users share caches.
    unfinished = f"{path}.{os.urandom(6).hex()}{_UNFINISHED}"
    try:
        with open(unfinished, "xb") as out:
            start = _MAGIC + len(header).to_bytes(4, "little") + header
            parts = [memoryview(start.ljust(_MAX_HEADER_BYTES, b"\0"))]
            for array in arrays.values():
                parts.append(np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b""))
                parts.append(memoryview(bytes(-array.nbytes % _ALIGNMENT)))
            for part in parts:
                digest.update(part)
                out.write(part)
            out.write(digest.digest())
        os.replace(unfinished, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(unfinished)
        raise
