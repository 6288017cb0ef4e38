"""Results on disk, whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name beside `path` for a file or folder to be written under; it takes the place of `path` when the block ends.

    Where the block fails nothing of it is left, and `path` stays as it was. A folder that is there must be gone by the
    end of the block. Raises OSError.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path`, whole or not at all. Raises OSError."""
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8")
