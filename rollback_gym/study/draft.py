"""A data set on its way: the lines that there are, and how far it is, so that making it can go on after any stop."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from rollback_gym.core.errors import RunMismatch
from rollback_gym.core.files import write_whole
from rollback_gym.play import shapes
from rollback_gym.play.locking import lock


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


class _Noted(NamedTuple):
    """What the note beside a draft says."""

    recipe: dict[str, Any]
    standing: Standing


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
        self._file.flush()
        _part(self._out).replace(self._out)
        _note(self._out).unlink(missing_ok=True)

    def discard(self) -> None:
        """Give it up: nothing of it is left."""
        _part(self._out).unlink()
        _note(self._out).unlink(missing_ok=True)

    def _note(self, standing: Standing) -> None:
        self.standing = standing
        write_whole(_note(self._out), json.dumps({"recipe": self._recipe, "standing": standing._asdict()}))


@contextmanager
def draft(out: Path, recipe: Mapping[str, Any]) -> Iterator[Draft]:
    """The draft of `out`, begun or to be continued. It stays where it is until it is finished.

    Raises:
        RunMismatch: if it was begun by another recipe (plain values, as they come out of JSON), is being written by
            another process, or cannot be continued.
    """
    recipe = json.loads(json.dumps(recipe))
    with open(_part(out), "ab") as file:
        lock(file, out)
        if not _part(out).exists() or not os.path.samestat(os.fstat(file.fileno()), os.stat(_part(out))):
            raise RunMismatch(f"{out} has just been finished by another run: look at it, or name another file.")
        standing = _continued(out, recipe)
        file.truncate(standing.bytes)
        yield Draft(out, recipe, standing, file)


def _continued(out: Path, recipe: Mapping[str, Any]) -> Standing:
    """How far the draft is; not at all where it is empty, or there is no note of it."""
    note, part = _note(out), _part(out)
    if not note.exists() or not part.stat().st_size:
        return Standing()
    anew = f"delete {part} to begin anew"
    try:
        noted: _Noted = shapes.from_json(json.loads(note.read_bytes()), _Noted)
    except (ValueError, RecursionError) as error:
        raise RunMismatch(f"{note} does not tell how far {out} is ({error}): {anew}.") from None
    there = json.loads(json.dumps(noted.recipe))
    if others := [name for name in {**there, **recipe} if there.get(name) != recipe.get(name)]:
        told = ", ".join(f"{name}={there.get(name)!r:.60}" for name in others)
        raise RunMismatch(
            f"{out} was begun with other settings ({told}) and is not finished. Go on with those, or {anew}."
        )
    if min(noted.standing) < 0 or part.stat().st_size < noted.standing.bytes:
        raise RunMismatch(f"{part} holds less than its note says, so {out} cannot go on: {anew}.")
    return noted.standing


def _part(out: Path) -> Path:
    return out.with_name(f".{out.name}.part")


def _note(out: Path) -> Path:
    return out.with_name(f".{out.name}.part.json")
