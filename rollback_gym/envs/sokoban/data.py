"""Rooms from level files: Boxoban's `.txt`, and collections in the `.xsb` and `.sok` notations.

A room is a run of lines of board characters: `#` wall, `@` player, `+` player on a target, `$` box, `*` box on a
target, `.` target, and space, `-` or `_` floor; `p P b B o` are other names for `@ + $ * .`. A number before a
character repeats it, and `|` ends a row within a line. Any other line ends the room, such as a title, a comment or an
empty line.
"""

import os
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from rollback_gym.core.errors import DataError
from rollback_gym.envs.sokoban.types import MOST_CELLS, Level, State, bits

SUFFIXES = (".txt", ".xsb", ".sok")

_OTHER_NAMES = str.maketrans("pPbBo-_", "@+$*.  ")
_ROW = re.compile(r"[#@+$*.pPbBo \t_|0-9-]+")
_REPEATED = re.compile(r"(\d{1,3})([^\d|])")
_MOST_REPEATED = 2 * MOST_CELLS
"""Characters that a line may spell out; a file of a megabyte could spell out hundreds otherwise."""
_MOST_DIGITS = 9
"""Of a room's number."""


class Collection:
    """The rooms of a file, or of all files under a folder, in the order of their paths."""

    def __init__(self, data: str | os.PathLike[str]) -> None:
        self.path = Path(data)
        if not os.fspath(data):
            raise DataError(f"data is empty; expected a level file ({', '.join(SUFFIXES)}) or a folder.")
        if os.path.isfile(self.path):
            self._files = {self.path.name: self.path}
        elif os.path.isdir(self.path):
            found = (path for path in self.path.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
            self._files = {path.relative_to(self.path).as_posix(): path for path in found}
        else:
            raise DataError(f"There is no {self.path}; expected a level file ({', '.join(SUFFIXES)}) or a folder.")
        if not self._files:
            raise DataError(f"No level files are under {self.path}; expected names ending in {', '.join(SUFFIXES)}.")

    @cached_property
    def size(self) -> tuple[int, int]:
        """The height and width that all rooms fit into, but for those that are too large to be played.

        Raises:
            DataError: if that is too large.
        """
        sizes = [_size(room) for path in self._files.values() for room in _rooms(path)]
        playable = [(height, width) for height, width in sizes if height * width <= MOST_CELLS]
        height, width = (max(sides, default=0) for sides in zip(*playable, strict=True)) if playable else (1, 1)
        if height * width > MOST_CELLS:
            raise DataError(
                f"Rooms under {self.path} are up to {height} high and {width} wide: {height * width} cells, of at most "
                f"{MOST_CELLS}. Pass a smaller size, and play the rooms that fit into it."
            )
        return height, width

    def ids(self, split: str | None = None) -> tuple[str, ...]:
        """The ids of the rooms: `path#number`, numbered from 0. `split` is a folder on the path, such as `valid`.

        Raises:
            DataError: if there are none.
        """
        files = sorted(name for name in self._files if split is None or split in name.split("/")[:-1])
        if not files:
            folders = sorted({folder for name in self._files for folder in name.split("/")[:-1]})
            raise DataError(f"There is no split {split!r} under {self.path}; there are the folders {folders}.")
        ids = tuple(f"{file}#{number}" for file in files for number in range(len(_rooms(self._files[file]))))
        if not ids:
            raise DataError(f"There are no rooms in {', '.join(files[:5])}; is this Sokoban's notation?")
        return ids

    def level(self, id: str) -> Level:
        """The room of this id.

        Raises:
            DataError: if there is none, or it is no playable room.
        """
        file, _, number = id.rpartition("#")
        if file not in self._files or not (number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS):
            raise DataError(f"There is no room {id!r} under {self.path}; ids are like {self._example()!r}.")
        rooms = _rooms(self._files[file])
        if int(number) >= len(rooms):
            raise DataError(f"There is no room {id!r}: {file} has {len(rooms)}, numbered from 0.")
        return parse(rooms[int(number)], id)

    def _example(self) -> str:
        return f"{min(self._files)}#0"


@lru_cache(maxsize=64)
def _rooms(path: Path) -> tuple[tuple[str, ...], ...]:
    """The rooms of a file, as their rows."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    if "\0" in text:
        raise DataError(f"{path} is no text; expected a level file ({', '.join(SUFFIXES)}), unpacked.")
    lines = text.splitlines()
    rooms: list[tuple[str, ...]] = []
    rows: list[str] = []
    for line in [*lines, ""]:
        if "#" in line and _ROW.fullmatch(line):
            rows += _spelled_out(line)
        elif rows:
            rooms.append(tuple(rows))
            rows = []
    return tuple(rooms)


def _spelled_out(line: str) -> Sequence[str]:
    if sum(int(count) for count, _ in _REPEATED.findall(line)) > _MOST_REPEATED:
        return [line]  # which is no room
    line = _REPEATED.sub(lambda match: int(match[1]) * match[2], line)
    return [row.rstrip() for row in line.translate(_OTHER_NAMES).replace("\t", "    ").split("|")]


def _size(rows: Sequence[str]) -> tuple[int, int]:
    """Height and width."""
    return len(rows), max(map(len, rows))


def parse(rows: Sequence[str], id: str) -> Level:
    """The level of these rows. Whatever is outside its walls becomes wall.

    Raises:
        DataError: if it is not enclosed, has not one player, or not as many boxes as targets; or is solved.
    """
    height, width = _size(rows)
    if height * width > MOST_CELLS:
        raise DataError(f"Room {id!r} has {height * width} cells; at most {MOST_CELLS} are read.")
    symbols = "".join(row.ljust(width) for row in rows)
    strange = set(symbols) - set("#@+$*. ")
    if strange:
        raise DataError(f"Room {id!r} has characters of no meaning: {sorted(strange)}.")

    def where(kinds: str) -> list[int]:
        return [cell for cell, symbol in enumerate(symbols) if symbol in kinds]

    players, boxes, targets = where("@+"), bits(where("$*")), bits(where(".*+"))
    inside = bits(where("@+$*. ")) & ~_outside(symbols, height, width)
    if len(players) != 1:
        raise DataError(f"Room {id!r} has {len(players)} players; expected one.")
    if not boxes or boxes.bit_count() != targets.bit_count():
        raise DataError(
            f"Room {id!r} has {boxes.bit_count()} boxes and {targets.bit_count()} targets; expected as many, and one."
        )
    if (1 << players[0] | boxes | targets) & ~inside:
        raise DataError(f"Room {id!r} is not enclosed: the player, a box or a target can be reached from outside.")
    if boxes == targets:
        raise DataError(f"Room {id!r} is solved already.")
    return Level(id, (), height, width, inside, targets, State(players[0], boxes))


def _outside(symbols: str, height: int, width: int) -> int:
    """The cells from which no wall keeps the edge of the board."""
    edge = [
        cell for cell in range(height * width) if cell // width in (0, height - 1) or cell % width in (0, width - 1)
    ]
    found: set[int] = set()
    pending = [cell for cell in edge if symbols[cell] != "#"]
    while pending:
        cell = pending.pop()
        if cell in found:
            continue
        found.add(cell)
        row, column = divmod(cell, width)
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if 0 <= r < height and 0 <= c < width and symbols[r * width + c] != "#":
                pending.append(r * width + c)
    return bits(found)
