"""One writer a file."""

from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from rollback_gym.core.errors import RunMismatch


def lock(file: IO[Any], path: Path) -> None:
    """Keep others from locking `file`, which is open, until it is closed. Raises RunMismatch if somebody else has.

    Args:
        file: What is locked.
        path: What it is called in the message.
    """
    with suppress(ImportError):  # Windows has none
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunMismatch(f"{path} is being written by another run: wait, or name another file.") from None
