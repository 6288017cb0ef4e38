"""What a tar archive holds, read front to back so that no archive can do harm.

A member's name is only ever a name, never a path that is opened or written; sizes are checked before anything is
read; links and devices are passed over. The standard library's `tarfile` keeps every member, takes names of any
size into memory and calls itself once for each chained header, so hostile bytes reach `RecursionError` and
`MemoryError`; it is also half as fast on the official archive, whose nine thousand members are small.
"""

import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, Protocol

from rollback_gym.core.errors import DataError

GAME_SUFFIX = ".tw-pddl"
MAX_GAME_BYTES = 4 << 20
"""The largest game file that is read; ALFWorld's have 140 KB at most."""
MAX_MEMBERS = 200_000
MAX_UNPACKED_BYTES = 4 << 30

_MAX_DECODER_BYTES = 512 << 20  # `xz -9` asks for 65 MB; packs of many like files are made with up to 200 MB
_MAX_HEADER_BYTES = 1 << 16
_MAX_NAME = 1024
_PIECE = 1 << 20
_BLOCK = 512
_XZ, _GZIP = b"\xfd7zXZ\0", b"\x1f\x8b"


def safe_name(name: str) -> str | None:
    """`name` with plain slashes, or None where it is absolute, climbs out, or cannot be printed."""
    name = name.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    unsafe = (
        not parts
        or name.startswith("/")
        or ".." in parts
        or parts[0].endswith(":")
        or len(name) > _MAX_NAME
        or not name.isprintable()
    )
    return None if unsafe else "/".join(parts)


@dataclass
class Tally:
    """What was seen beside games, for the message where there is none."""

    files: int = 0
    trajectories: int = 0
    """`traj_data.json` files: ALFRED's recordings, from which games are made."""
    unsafe: int = 0
    """Members whose name no game may have."""

    def sees_game(self, name: str | None) -> bool:
        """Counts the file `name`, and tells whether it is a game."""
        self.files += 1
        if name is None:
            self.unsafe += 1
            return False
        self.trajectories += name.endswith("traj_data.json")
        return name.endswith(GAME_SUFFIX)

    def __str__(self) -> str:
        parts = [f"{self.files:,} files were seen"]
        if self.trajectories:
            parts.append(
                f"{self.trajectories:,} are traj_data.json, the recordings that games are made from: the games "
                "themselves come with alfworld-download of alfworld 0.4 or later, or alfworld-generate"
            )
        if self.unsafe:
            parts.append(f"{self.unsafe:,} were ignored for an absolute, climbing or unprintable name")
        return "; ".join(parts)


class Stream:
    """The bytes of a file from front to back, decompressed where it is .xz or .gz."""

    def __init__(self, file: BinaryIO, where: str) -> None:
        self.where = where
        self.position = 0
        self._file = file
        self._piece = memoryview(b"")
        start = file.read(len(_XZ))
        file.seek(0)
        self._plain = not start.startswith((_XZ, _GZIP))
        self._pieces = (
            iter(lambda: file.read(_BLOCK * 8), b"")
            if self._plain
            else _decompressed(file, _new_xz if start.startswith(_XZ) else _new_gzip)
        )

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end of the file."""
        parts: list[memoryview] = []
        while size:
            part = self._advance(size)
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def skip_to(self, position: int) -> None:
        """Passes over everything before `position`; the end of the file shows at the next read."""
        if self._plain and position > self.position + len(self._piece):
            self._piece = memoryview(b"")
            self._file.seek(position)
            self.position = position
        while self.position < position and self._advance(position - self.position):
            pass

    def drain(self) -> None:
        """Reads to the end, where checksums stand."""
        while self._advance(_PIECE):
            pass

    def _advance(self, size: int) -> memoryview:
        while not self._piece and (piece := self._next_piece()) is not None:
            self._piece = memoryview(piece)
        part, self._piece = self._piece[:size], self._piece[size:]
        self.position += len(part)
        if self.position > MAX_UNPACKED_BYTES:
            raise DataError(f"{self.where} unpacks to more than {MAX_UNPACKED_BYTES:,} bytes. Unpack it yourself "
                            "and pass the folder as data=.")  # fmt: skip
        return part

    def _next_piece(self) -> bytes | None:
        try:
            return next(self._pieces, None)
        except (lzma.LZMAError, zlib.error, EOFError, OSError, MemoryError) as error:
            raise DataError(
                f"{self.where} is damaged or cut short: decompressing fails after {self.position:,} bytes, at byte "
                f"{self._file.tell():,} of the file or a little before ({error or type(error).__name__}). "
                "Download or copy it again."
            ) from error


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _new_xz() -> _Decoder:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_DECODER_BYTES)


def _new_gzip() -> _Decoder:
    return zlib.decompressobj(wbits=31)


def _decompressed(file: BinaryIO, new_decoder: Callable[[], _Decoder]) -> Iterator[bytes]:
    """At most `_PIECE` bytes at a time, over all the streams in the file."""
    pending = b""
    while pending := (pending or file.read(_PIECE)).lstrip(b"\0"):
        decoder = new_decoder()
        while not decoder.eof:
            # The xz decoder keeps input that it has no room to unpack; the gzip decoder hands it back.
            data = pending or (file.read(_PIECE) if getattr(decoder, "needs_input", True) else b"")
            piece = decoder.decompress(data, _PIECE)
            if not (data or piece or decoder.eof):
                raise EOFError("the file ends in the middle of the compressed data")
            yield piece
            pending = getattr(decoder, "unconsumed_tail", b"")
        pending = decoder.unused_data


class Member(NamedTuple):
    """A regular file in a tar archive."""

    name: str | None
    """None where the name is not a safe one (see `safe_name`)."""
    size: int
    offset: int
    """Where its content begins in the unpacked archive."""


def tar_members(stream: Stream) -> Iterator[Member]:
    """The regular files, in order. While one is current, its content may be read from `stream`.

    The format is POSIX ustar with pax headers, and GNU tar's long names.

    Raises:
        DataError: if this is no whole tar archive, or one beyond the limits of this module.
    """
    long_name: bytes | None = None
    long_size: int | None = None
    for count in range(1, MAX_MEMBERS + 2):
        at = stream.position
        header = stream.read(_BLOCK)
        if not any(header) and len(header) == _BLOCK:
            return
        if len(header) < _BLOCK:
            raise _damaged(stream, at, "it ends here without an end mark, so it is cut short")
        if count > MAX_MEMBERS:
            break
        if not is_tar_header(header):
            raise _damaged(stream, at, "this is no tar header")
        kind, size = header[156:157], long_size if long_size is not None else _number(stream, at, header[124:136])
        if kind in b"123456":  # links, devices, folders and pipes have no content, whatever size they state
            size = 0
        body = stream.position
        end = body + -(-size // _BLOCK) * _BLOCK
        if end > MAX_UNPACKED_BYTES:
            raise _damaged(stream, at, f"a member claims {size:,} bytes; {MAX_UNPACKED_BYTES:,} in all are allowed")
        if kind in b"LxX":
            if size > _MAX_HEADER_BYTES:
                raise _damaged(stream, at, f"a name of {size:,} bytes; {_MAX_HEADER_BYTES:,} are allowed")
            content = stream.read(size)
            if kind == b"L":
                long_name = content.rstrip(b"\0")
            else:
                long_name, long_size = _pax(stream, at, content, long_name)
        elif kind in b"Kg":
            pass
        elif kind == b"S":
            raise _damaged(stream, at, "a sparse member: pack the archive again without --sparse")
        else:
            raw = _name(header) if long_name is None else long_name
            long_name = long_size = None
            if kind in (b"0", b"\0", b"7") and not raw.endswith(b"/"):
                yield Member(_decoded(raw), size, body)
        stream.skip_to(end)
    raise DataError(f"{stream.where} holds more than {MAX_MEMBERS:,} members: is it ALFWorld's data? "
                    "Unpack what you need and pass the folder as data=.")  # fmt: skip


def is_tar_header(header: bytes) -> bool:
    """Whether this is a whole tar header with the right checksum."""
    field = header[148:156].strip(b"\0 ")
    if len(header) < _BLOCK or not field.isdigit():
        return False
    return f"{sum(header) - sum(header[148:156]) + 8 * 32:o}".encode() == field.lstrip(b"0")


def read_whole(stream: Stream, member: Member) -> bytes:
    """The content of the current member, a game.

    Raises:
        DataError: if it is too large, or the archive ends within it.
    """
    if member.size > MAX_GAME_BYTES:
        raise DataError(f"{stream.where}: {member.name} has {member.size:,} bytes; a game has at most "
                        f"{MAX_GAME_BYTES:,}.")  # fmt: skip
    content = stream.read(member.size)
    if len(content) < member.size:
        raise _damaged(stream, member.offset, f"it ends within {member.name}, after {len(content):,} of "
                       f"{member.size:,} bytes")  # fmt: skip
    return content


def _damaged(stream: Stream, at: int, what: str) -> DataError:
    return DataError(f"{stream.where} is no whole tar archive: {what} (byte {at:,} of the unpacked data). "
                     "Download, copy or pack it again.")  # fmt: skip


def _number(stream: Stream, at: int, field: bytes) -> int:
    if field[0] & 0x80:  # GNU's binary form, for 8 GiB and more
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b"\0 ") or b"0"
    if not digits.isdigit() or set(digits) & set(b"89"):
        raise _damaged(stream, at, f"the size {field!r} is no octal number")
    return int(digits, 8)


def _name(header: bytes) -> bytes:
    name, prefix = (header[i:j].split(b"\0", 1)[0] for i, j in ((0, 100), (345, 500)))
    # GNU tar's own format keeps other things where POSIX has the prefix.
    return prefix + b"/" + name if prefix and header[257:263] == b"ustar\0" else name


def _pax(stream: Stream, at: int, content: bytes, name: bytes | None) -> tuple[bytes | None, int | None]:
    """The name and size that pax records (`<length> <key>=<value>` and a line feed) give the next member."""
    size = None
    while content:
        digits = content.partition(b" ")[0]
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        key, equals, value = content[len(digits) + 1 : length - 1].partition(b"=")
        if not equals or content[length - 1 : length] != b"\n":
            raise _damaged(stream, at, "a pax header that does not follow its format")
        if key == b"path":
            name = value
        elif key == b"size" and value.isdigit() and len(value) < 20:
            size = int(value)
        elif key.startswith(b"GNU.sparse"):
            raise _damaged(stream, at, "a sparse member: pack the archive again without --sparse")
        content = content[length:]
    return name, size


def _decoded(raw: bytes) -> str | None:
    try:
        return safe_name(raw.decode())
    except UnicodeDecodeError:
        return None
