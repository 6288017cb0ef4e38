"""A data set on its way: the lines that there are, and how far it is, so that making it can go on after any stop."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from rollback_gym.core.errors import RunMismatch


class Standing(NamedTuple):
    """How far a data set is."""

    records: int = 0
    bytes: int = 0
    """What they take in the file; what comes after that was not finished."""
    round: int = 0
    """How often all levels were gone through."""
    jobs: int = 0
    """Of this round, how many are done."""
    at_round: int = 0
    """Records at the beginning of the round."""


class Draft:
    """The file `.NAME.part` and the note `.NAME.part.json`; see `draft`."""

    def __init__(self, out: Path, recipe: Mapping[str, Any], standing: Standing, file: IO[bytes]) -> None:
        self.standing = standing
        self._out, self._recipe, self._file = out, recipe, file

    def add(self, lines: Sequence[str], jobs: int) -> None:
        """Write lines, and note that `jobs` jobs of the round are done."""
        first, standing = self.standing.records, self.standing
        data = b"".join(
            [
                f'{{"id":{json.dumps(f"{first + place:06d}")},{line[1:]}\n'.encode("ascii")
                for place, line in enumerate(lines)
            ]
        )
        self._file.write(data)
        self._file.flush()
        self._note(standing._replace(records=first + len(lines), bytes=standing.bytes + len(data), jobs=jobs))

    def next_round(self) -> None:
        """Begin with the first level again."""
        standing = self.standing
        self._note(standing._replace(round=standing.round + 1, jobs=0, at_round=standing.records))

    def finish(self) -> None:
        """Give the file its name."""
        self._file.close()
        _part(self._out).replace(self._out)
        _note(self._out).unlink(missing_ok=True)

    def discard(self) -> None:
        """Give it up: nothing of it is left."""
        self._file.close()
        _part(self._out).unlink()
        _note(self._out).unlink(missing_ok=True)

    def _note(self, standing: Standing) -> None:
        self.standing = standing
        note = _note(self._out)
        new = note.with_name(f"{note.name}.{os.getpid()}")
        new.write_text(json.dumps({"recipe": self._recipe, "standing": standing._asdict()}), encoding="utf-8")
        new.replace(note)


@contextmanager
def draft(out: Path, recipe: Mapping[str, Any]) -> Iterator[Draft]:
    """The draft of `out`, begun or to be continued. It stays where it is until it is finished.

    Raises:
        RunMismatch: if it was begun by another recipe (plain values, as they come out of JSON).
    """
    recipe = json.loads(json.dumps(recipe))
    standing = Standing()
    if _note(out).exists() and _part(out).exists():
        noted = json.loads(_note(out).read_text(encoding="utf-8"))
        others = [name for name in recipe if noted["recipe"].get(name) != recipe[name]]
        if others:
            there = ", ".join(f"{name}={noted['recipe'].get(name)!r:.60}" for name in others)
            raise RunMismatch(
                f"{out} was begun with other settings ({there}) and is not finished. Go on with those, or delete "
                f"{_part(out)} to begin anew."
            )
        standing = Standing(**noted["standing"])
    with open(_part(out), "r+b" if standing.records else "wb") as file:
        file.truncate(standing.bytes)
        file.seek(standing.bytes)
        yield Draft(out, recipe, standing, file)


def _part(out: Path) -> Path:
    return out.with_name(f".{out.name}.part")


def _note(out: Path) -> Path:
    return out.with_name(f".{out.name}.part.json")
