"""The places that games are read from: a folder, a lone file, a zip or tar archive in place.

A store has `names` and reads any of them at any time, from any thread and after any fork: files are read at given
offsets, so nothing is shared but what never changes.
"""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import FileIO
from typing import NamedTuple, Protocol

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld.files.access import RandomAccess, accessing, read_file
from rollback_gym.envs.alfworld.files.archive import (
    MAX_GAME_BYTES,
    MAX_MEMBERS,
    Stream,
    Tally,
    is_tar_header,
    safe_name,
    tar_members,
)
from rollback_gym.envs.alfworld.files.packed import Packed

_MAX_DEPTH = 8
_MAX_ZIP_DIRECTORY = 48 << 20
_ZIP_HEADER = struct.Struct("<4s2xHH16xHH")  # signature, flags, method, and how long the name and the extra field are


class Store(Protocol):
    """Named game files."""

    @property
    def names(self) -> tuple[str, ...]:
        """Relative names with plain slashes, sorted."""

    @property
    def seen(self) -> Tally:
        """What was there beside games."""

    def read(self, name: str) -> bytes:
        """The content of one of `names`. Raises DataError where it cannot be had."""


def open_store(path: str) -> Store:
    """The games at `path`, whatever it is: the first bytes of a file tell, not its name.

    Raises:
        DataError: if it is nothing that may hold games, or damaged.
    """
    with accessing(path):
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return Folder(path)
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is neither a file nor a folder.")
        with open(path, "rb") as file:
            start = file.read(512)
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        return Zip(path)
    if start.startswith((b"\xfd7zXZ\0", b"\x1f\x8b")):
        return Packed(path)
    if is_tar_header(start):
        return Tar(path)
    if start.lstrip().startswith(b"{") and status.st_size <= MAX_GAME_BYTES:
        return LoneFile(path)
    raise DataError(
        f"{path} ({status.st_size:,} bytes, beginning with {start[:8]!r}) is no game and no archive of games: expected "
        f"a game.tw-pddl (JSON of at most {MAX_GAME_BYTES:,} bytes), or a .tar.xz, .tar.gz, .tar or .zip."
    )


class LoneFile:
    """One game file of any name."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.names = (safe_name(os.path.basename(path)) or "game.tw-pddl",)
        self.seen = Tally(files=1)

    def read(self, name: str) -> bytes:
        """The file's content, whatever `name` is."""
        return read_file(self._path)


class Folder:
    """A folder and what is below it. Links are followed: what a user links into the data belongs to it."""

    def __init__(self, path: str) -> None:
        official = os.path.join(path, "json_2.1.1")
        self.path = official if os.path.isdir(official) else path
        self.seen = Tally()
        self._entries = 0
        self.names = tuple(sorted(self._games("", 0)))

    def read(self, name: str) -> bytes:
        """The content of the file `name`."""
        return read_file(os.path.join(self.path, *name.split("/")))

    def _games(self, below: str, depth: int) -> Iterator[str]:
        path = os.path.join(self.path, below)
        with accessing(path), os.scandir(path) as entries:
            found = [(entry.name, entry.is_dir(), entry.is_file()) for entry in entries]
        games = []
        for name, _, is_file in found:
            if is_file and self.seen.sees_game(safe_name(name)):
                games.append(below + name)
        self._entries += len(found)
        if self._entries > MAX_MEMBERS:
            raise DataError(f"{self.path} holds more than {MAX_MEMBERS:,} entries: is it ALFWorld's data? Pass the "
                            "folder that contains json_2.1.1 as data=.")  # fmt: skip
        yield from games
        if not games and depth < _MAX_DEPTH:
            for name, is_folder, _ in found:
                if is_folder and safe_name(name) == name:
                    yield from self._games(f"{below}{name}/", depth + 1)


class Tar:
    """An uncompressed tar archive, in place. The format has no checksum over contents."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.seen = Tally()
        self._places: dict[str, tuple[int, int]] = {}
        with accessing(path):
            self._file = RandomAccess(path)
            with open(path, "rb", buffering=0) as file:
                for member in tar_members(Stream(file, path)):
                    if self.seen.sees_game(member.name) and member.name is not None:
                        _check_size(path, member.name, member.size)
                        self._places[member.name] = member.offset, member.size
        self.names = tuple(sorted(self._places))

    def read(self, name: str) -> bytes:
        """The content of the member `name`; of several with that name the last, as tar itself does."""
        offset, size = self._places[name]
        with accessing(self._path):
            content = self._file.read(offset, size)
        if len(content) < size:
            raise DataError(f"{self._path} became shorter while in use: {name} ends after {len(content):,} of "
                            f"{size:,} bytes.")  # fmt: skip
        return content


class _ZipPlace(NamedTuple):
    raw_name: bytes
    offset: int
    packed: int
    size: int
    crc: int
    method: int


class Zip:
    """A zip archive, in place: stored or deflated members, each with its checksum."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.seen = Tally()
        self._places: dict[str, _ZipPlace] = {}
        with accessing(path):
            self._file = RandomAccess(path)
            for info in _zip_directory(path):
                name = safe_name(info.orig_filename)
                mode = info.external_attr >> 16
                if info.orig_filename.endswith("/") or stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                    continue
                if self.seen.sees_game(name) and name is not None:
                    self._places[name] = self._place(name, info)
        self.names = tuple(sorted(self._places))

    def read(self, name: str) -> bytes:
        """The content of the member `name`; of several with that name the last, as unzip does."""
        place = self._places[name]
        with accessing(self._path):
            header = self._file.read(place.offset, _ZIP_HEADER.size)
            if len(header) < _ZIP_HEADER.size or not header.startswith(b"PK\3\4"):
                raise self._damaged(name, f"no member begins at byte {place.offset:,}")
            _, _, _, name_size, extra_size = _ZIP_HEADER.unpack(header)
            rest = self._file.read(place.offset + _ZIP_HEADER.size, name_size + extra_size + place.packed)
        packed = rest[name_size + extra_size :]
        if rest[:name_size] != place.raw_name:
            raise self._damaged(name, f"the member at byte {place.offset:,} has another name")
        content = packed if place.method == zipfile.ZIP_STORED else self._inflated(name, packed, place.size)
        if len(content) != place.size or zlib.crc32(content) != place.crc:
            raise self._damaged(name, "its content does not match its checksum")
        return content

    def _place(self, name: str, info: zipfile.ZipInfo) -> _ZipPlace:
        if info.flag_bits & 1:
            raise DataError(f"{self._path}: {name} is encrypted. Pack the archive again without a password.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{self._path}: {name} is packed with zip's method {info.compress_type}; stored (0) and "
                            "deflated (8) are read. Pack the archive again.")  # fmt: skip
        _check_size(self._path, name, max(info.file_size, info.compress_size - MAX_GAME_BYTES // 16))
        raw = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
        return _ZipPlace(raw, info.header_offset, info.compress_size, info.file_size, info.CRC, info.compress_type)

    def _inflated(self, name: str, packed: bytes, size: int) -> bytes:
        try:
            return zlib.decompressobj(wbits=-15).decompress(packed, size + 1)
        except zlib.error as error:
            raise self._damaged(name, str(error)) from error

    def _damaged(self, name: str, what: str) -> DataError:
        return DataError(f"{self._path} is damaged, or changed while in use, at {name}: {what}. Download it again.")


class _BoundedFile(FileIO):
    """`zipfile` reads a zip's whole directory at once, of whatever size the file states."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MAX_ZIP_DIRECTORY:
            raise zipfile.BadZipFile(f"a directory of {size:,} bytes; {_MAX_ZIP_DIRECTORY:,} are allowed")
        return super().read(size) or b""


def _zip_directory(path: str) -> list[zipfile.ZipInfo]:
    try:
        with _BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, struct.error, EOFError, ValueError, OverflowError) as error:
        raise DataError(f"{path} ({os.path.getsize(path):,} bytes) is no whole zip archive: {error}. "
                        "Download or copy it again.") from error  # fmt: skip
    if len(members) > MAX_MEMBERS:
        raise DataError(f"{path} holds {len(members):,} members; at most {MAX_MEMBERS:,} are read.")
    return members


def _check_size(path: str, name: str, size: int) -> None:
    if size > MAX_GAME_BYTES:
        raise DataError(f"{path}: {name} has {size:,} bytes; a game has at most {MAX_GAME_BYTES:,}.")
