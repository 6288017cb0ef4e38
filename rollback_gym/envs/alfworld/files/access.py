"""Files: read at given offsets, told apart from what took their place, and refusals put in words."""

import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld.files.archive import MAX_GAME_BYTES


@contextmanager
def accessing(path: str) -> Iterator[None]:
    """Turns the operating system's refusals into a DataError that names `path`."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{error.filename or path} does not exist.") from error
    except PermissionError as error:
        raise DataError(f"{error.filename or path} may not be read by this user: check its permissions.") from error
    except OSError as error:
        raise DataError(f"{error.filename or path} cannot be read: {error.strerror or error}.") from error


class RandomAccess:
    """A file that is read at given offsets. It stays open, so replacing the file does not disturb readers."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._fd).st_size
        weakref.finalize(self, os.close, self._fd)

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes from `offset` on; fewer only at the end of the file."""
        parts = []
        while size > 0 and 0 <= offset < self.size and (part := os.pread(self._fd, size, offset)):
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return b"".join(parts)


def read_file(path: str) -> bytes:
    """The content of a game file. Raises DataError for anything but a regular file of at most MAX_GAME_BYTES."""
    # A pipe that took the file's place would block for ever.
    with accessing(path), open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise DataError(f"{path} is not a regular file.")
        content = file.read(MAX_GAME_BYTES + 1)
    if len(content) > MAX_GAME_BYTES:
        raise DataError(f"{path} is larger than a game can be ({MAX_GAME_BYTES:,} bytes).")
    return content


def identity(path: str) -> object:
    """Changes when the file does, or when a folder gains or loses entries in its two upper levels."""
    with accessing(path):
        own = os.stat(path)
        if not stat.S_ISDIR(own.st_mode):
            return own.st_dev, own.st_ino, own.st_size, own.st_mtime_ns
        official = os.path.join(path, "json_2.1.1")
        with os.scandir(official if os.path.isdir(official) else path) as entries:
            below = sorted((entry.name, entry.stat(follow_symlinks=False).st_mtime_ns) for entry in entries)
        return own.st_dev, own.st_ino, own.st_mtime_ns, tuple(below)
