"""Results in files."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path`, whole or not at all. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
