"""Where lessons are kept on disk: an SQLite file that a killed process leaves whole, and that one process writes.

Reading is open to all, also while a trainer writes. Writers hold a lock beside the file, so that two trainers never
share a memory without knowing.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rollback_gym.core.errors import RollbackGymError
from rollback_gym.trainer.encoders import Vectors
from rollback_gym.trainer.lessons import Lesson

_VERSION = "2"
_TABLES = """
create table if not exists about (name text primary key, value text not null);
create table if not exists lessons (
    id integer primary key, task text not null, text text not null, trajectory text not null, outcome text not null,
    utility real not null, uses integer not null, progress real not null, given integer not null,
    task_vector blob not null, text_vector blob not null
);
"""
_INSERT = "insert into lessons values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_JUDGE = "update lessons set utility = ?, uses = ?, given = ? where id = ?"
_COLUMNS = ", ".join(Lesson._fields)


class Worth(NamedTuple):
    """What changes of a lesson; see `Lesson`."""

    id: int
    utility: float
    uses: int
    given: int


class MemoryInUse(RollbackGymError, RuntimeError):
    """Another process writes to this memory."""


class MemoryReadOnly(RollbackGymError, RuntimeError):
    """The memory was opened only to be read, or is closed."""


class MemoryMismatch(RollbackGymError, ValueError):
    """The file is no memory, or one that was filled by another encoder or release."""


class Shelf:
    """The lessons in a file.

    Args:
        path: The file; made, with the folders around it, unless it is only read.
        encoder: The name of the encoder whose vectors it holds.
        write: Whether this process is the one that writes.

    Raises:
        MemoryInUse: if another process writes to it, or could under another name that the file has.
        MemoryMismatch: if it is no memory, or another encoder filled it.
    """

    def __init__(self, path: Path, encoder: str | None, *, write: bool) -> None:
        self.path = path = path.resolve()
        self._lock: int | None = None
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(path)
        elif not path.is_file():
            raise MemoryMismatch(f"There is no memory {path}.")
        try:
            self._db = _opened(path, write)
            about = self._about()
            if write and not about:
                self.note(version=_VERSION, encoder=encoder or "")
                about = self._about()
        except sqlite3.DatabaseError as error:
            self.close()
            raise MemoryMismatch(f"{path} is no memory: {error}.") from error
        self.encoder = about.get("encoder", "")
        if about.get("version") != _VERSION:
            self.close()
            raise MemoryMismatch(f"{path} has format {about.get('version')!r}; this release reads format {_VERSION}.")
        if encoder is not None and encoder != self.encoder:
            self.close()
            raise MemoryMismatch(
                f"{path} was filled with the encoder {self.encoder!r}; here it is {encoder!r}. Use the same, or "
                "another file."
            )

    def read(self) -> tuple[list[Lesson], Vectors, Vectors]:
        """Every lesson, with the vectors of their tasks and texts, by id."""
        rows = self._db.execute(f"select {_COLUMNS}, task_vector, text_vector from lessons order by id").fetchall()
        lessons = [Lesson(*row[:-2]) for row in rows]
        vectors = [_stacked([row[column] for row in rows]) for column in (-2, -1)]
        return lessons, vectors[0], vectors[1]

    def check_writes(self) -> None:
        """Raise MemoryReadOnly unless this process writes to it."""
        if self._lock is None:
            raise MemoryReadOnly(f"{self.path} was opened only to be read, or is closed. Open it with write=True.")

    def put(self, lesson: Lesson, task_vector: Any, text_vector: Any) -> None:
        """Write a new lesson."""
        with self._db:
            self._db.execute(_INSERT, _row(lesson, task_vector, text_vector))

    def replace(self, lessons: Sequence[Lesson], tasks: Vectors, texts: Vectors, **about: str) -> None:
        """Hold these lessons and no others, and note something, all or nothing."""
        with self._db:
            self._db.execute("delete from lessons")
            self._db.executemany(_INSERT, map(_row, lessons, tasks, texts))
            self._db.executemany("insert or replace into about values (?, ?)", about.items())

    def judge(self, worth: Iterable[Worth]) -> None:
        """Write what became of the worth of lessons, all or nothing."""
        with self._db:
            self._db.executemany(_JUDGE, [(*of[1:], of.id) for of in worth])

    def drop(self, ids: Iterable[int], worth: Iterable[Worth] = (), **about: str) -> None:
        """Take lessons out, judge others and note something, all or nothing."""
        with self._db:
            self._db.executemany("delete from lessons where id = ?", [(id_,) for id_ in ids])
            self._db.executemany(_JUDGE, [(*of[1:], of.id) for of in worth])
            self._db.executemany("insert or replace into about values (?, ?)", about.items())

    def note(self, **about: str) -> None:
        """Write something about the memory itself."""
        with self._db:
            self._db.executemany("insert or replace into about values (?, ?)", about.items())

    def noted(self, name: str) -> str | None:
        """What was noted."""
        return self._about().get(name)

    def close(self) -> None:
        """Let go of the file; others may write to it then."""
        with contextlib.suppress(AttributeError):
            self._db.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _about(self) -> dict[str, str]:
        return dict(self._db.execute("select name, value from about"))


def _row(lesson: Lesson, task_vector: Any, text_vector: Any) -> tuple[Any, ...]:
    return (*lesson, np.float32(task_vector).tobytes(), np.float32(text_vector).tobytes())


def _opened(path: Path, write: bool) -> sqlite3.Connection:
    db = sqlite3.connect(path if write else f"{path.absolute().as_uri()}?mode=ro", uri=not write, timeout=10)
    if write:
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=normal")
        db.executescript(_TABLES)
    return db


def _locked(path: Path) -> int:
    """Lock a file that is given by the name that it really has."""
    # SQLite keeps its log beside each name, so that two writers by two names would destroy the file.
    if path.is_file() and path.stat().st_nlink > 1:
        raise MemoryInUse(
            f"{path} has another name, a hard link, under which another process may write to it. Remove that link, or "
            "write to a copy."
        )
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise MemoryInUse(
            f"Another process writes to {path}. Give each run a memory of its own, or wait until that one ends."
        ) from error
    return lock


def _stacked(blobs: list[bytes]) -> Vectors:
    if not blobs:
        return np.zeros((0, 0), np.float32)
    return np.stack(list(_vectors(blobs)))


def _vectors(blobs: list[bytes]) -> Iterator[Vectors]:
    for blob in blobs:
        yield np.frombuffer(blob, np.float32)
