"""JSON files read piece by piece, however large they are.

A file is one array or one object. What is in memory at a time is one of its entries and a piece of the file.
"""

import codecs
import json
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from rollback_gym.core.errors import DataError
from rollback_gym.progress import progress

MAX_ENTRY = 1 << 26
"""So many characters an entry may have; no product has a thousandth of it."""

_PIECE = 1 << 20
_SPACE = " \t\n\r"
_GZIP = b"\x1f\x8b"


def elements(path: str) -> Iterator[Any]:
    """The elements of the array in the file at `path`. Raises DataError where it is no such file, or a damaged one."""
    with closing(_Reader(path)) as reader, progress(reader.size, f"Reading {os.path.basename(path)}") as advance:
        for _ in reader.entries("[", "]"):
            yield reader.value()
            advance(reader.position)


def members(path: str) -> Iterator[tuple[str, Any]]:
    """The names and values of the object in the file at `path`. Raises DataError likewise."""
    with closing(_Reader(path)) as reader, progress(reader.size, f"Reading {os.path.basename(path)}") as advance:
        for _ in reader.entries("{", "}"):
            name = reader.value()
            if not isinstance(name, str):
                raise reader.error(f"expected a name in quotes, got {name!r:.60}")
            reader.take(":")
            yield name, reader.value()
            advance(reader.position)


class _Reader:
    """A cursor over the text of a JSON file in UTF-8."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._file = open(path, "rb")  # noqa: SIM115 - closed by close()
            self.size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._ended = False
        self.position = 0
        """How many bytes of the file have been read."""

    def close(self) -> None:
        self._file.close()

    def error(self, what: str) -> DataError:
        return DataError(f"{self._path} is not the JSON that it should be: {what}, near byte {self.position:,}.")

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if self._ended:
                return ""
            self._read_more(_PIECE)

    def take(self, allowed: str) -> str:
        found = self.peek()
        if not found or found not in allowed:
            raise self.error(f"expected one of {' '.join(allowed)}, got {found or 'the end of the file'}")
        self._at += 1
        return found

    def entries(self, opening: str, closing: str) -> Iterator[None]:
        """Once an entry, each of which is to be read before the next; after the last one the file must end."""
        self.take(opening)
        if self.peek() == closing:
            self.take(closing)
        else:
            yield
            while self.take(f",{closing}") == ",":
                yield
        if found := self.peek():
            raise self.error(f"expected its end, got {found}")

    def value(self) -> Any:
        """The JSON value that comes next."""
        self.peek()
        piece = _PIECE
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise self.error(error.msg) from error
            except RecursionError as error:
                raise self.error("an entry is nested too deeply") from error
            except ValueError as error:  # what Python says to numbers of thousands of digits
                raise self.error("an entry holds a number that is too long") from error
            else:
                # A number at the end of what was read may go on.
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            if len(self._text) - self._at > MAX_ENTRY:
                raise self.error(f"an entry does not end within {MAX_ENTRY:,} characters")
            # Twice as much each time, since all of the entry is parsed anew.
            self._read_more(piece)
            piece *= 2

    def _read_more(self, size: int) -> None:
        try:
            data = self._file.read(size)
            more = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            why = "it is compressed; unpack it first" if data[:2] == _GZIP else f"it is not in UTF-8 ({error.reason})"
            raise self.error(why) from error
        except OSError as error:
            raise DataError(f"{self._path} cannot be read: {error.strerror or error}.") from error
        self.position += len(data)
        self._ended = not data
        self._text = self._text[self._at :] + more
        self._at = 0
