"""Random access to compressed tar archives, through a cache that is built once.

A game inside a `.tar.xz` costs a decompression of everything before it. So the games are packed once into one file
of raw deflate streams that share a dictionary: the beginning of the first game, which holds the PDDL domain and the
grammar that all games repeat. The layout is

    game, game, ...   raw deflate, in the archive's order
    index             MessagePack, deflated: dictionary, names, and where each game is, its sizes and its CRC-32
    footer            where the index begins, its packed size, its BLAKE2 hash, the magic bytes

The file is named by the hash of the archive, so a changed archive has another cache and no cache is ever stale.
"""

import fcntl
import hashlib
import os
import struct
import tempfile
import warnings
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple

import msgpack
import platformdirs

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld.files.access import RandomAccess, accessing
from rollback_gym.envs.alfworld.files.archive import Stream, Tally, read_whole, tar_members
from rollback_gym.progress import progress

_MAGIC = b"rbgames1"
_FOOTER = struct.Struct("<QQ16s8s")
_LEVEL = 3  # 23 MB for the official archive in a third of the time that level 6 needs for 19 MB
_MAX_INDEX_BYTES = 256 << 20
_DICTIONARY_BYTES = 32_000  # deflate looks back 32,768 bytes, less its longest match
_IN_FLIGHT = 16
_UNFINISHED = ".unfinished"


class _Place(NamedTuple):
    offset: int
    packed: int
    size: int
    crc: int


class _Damaged(Exception):
    """The cache is not what was written; it can be built again."""


class _Pack:
    """A whole cache file, open for reading."""

    def __init__(self, file: RandomAccess) -> None:
        self._file = file
        at = file.size - _FOOTER.size
        footer = file.read(at, _FOOTER.size)
        if len(footer) < _FOOTER.size or not footer.endswith(_MAGIC):
            raise _Damaged("it has no end mark")
        start, size, digest, _ = _FOOTER.unpack(footer)
        index = file.read(start, size) if start + size == at else b""
        if _hash(index) != digest:
            raise _Damaged("its index does not match its hash")
        self._dictionary, self.seen, self.places = _read_index(index)

    def read(self, name: str) -> bytes:
        place = self.places[name]
        decoder = zlib.decompressobj(wbits=-15, zdict=self._dictionary)
        try:
            content = decoder.decompress(self._file.read(place.offset, place.packed), place.size + 1)
        except zlib.error as error:
            raise _Damaged(f"{name}: {error}") from error
        if len(content) != place.size or zlib.crc32(content) != place.crc:
            raise _Damaged(f"{name} does not match its checksum")
        return content


class Packed:
    """A compressed tar archive (`.tar.xz`, `.tar.gz`), read through its cache."""

    def __init__(self, archive: str) -> None:
        self._archive = archive
        self._pack = _open_pack(archive)
        self.names = tuple(sorted(self._pack.places))
        self.seen = self._pack.seen

    def read(self, name: str) -> bytes:
        """The content of the member `name`. A cache that turns out damaged is built again."""
        pack = self._pack
        try:
            return pack.read(name)
        except _Damaged as error:
            _notice_damage(error)
        self._pack = pack = _open_pack(self._archive, rebuild=True)
        try:
            return pack.read(name)
        except KeyError:
            raise DataError(f"{self._archive} changed while in use and holds no {name} any more.") from None
        except _Damaged as error:
            raise DataError(
                f"The cache of {self._archive} is damaged right after it was built: {error}. Does the disk under "
                f"{_cache_folder()} work? ROLLBACK_GYM_CACHE names another place."
            ) from error


def _open_pack(archive: str, rebuild: bool = False) -> _Pack:
    with accessing(archive), open(archive, "rb") as file:
        key = hashlib.file_digest(file, "blake2b").hexdigest()[:40]
        file.seek(0)
        folder = _cache_folder()
        path = os.path.join(folder, f"{key}.games")
        try:
            if not rebuild and (pack := _existing(path)):
                return pack
            os.makedirs(folder, exist_ok=True)
            with _alone(path) as alone:
                if alone:
                    _remove_unfinished(path)
                # Whoever had the lock before may have built it.
                if not rebuild and (pack := _existing(path, quiet=True)):
                    return pack
                return _build_at(path, file, archive)
        except OSError as error:
            warnings.warn(
                f"The cache of {archive} cannot be kept in {folder} ({error.strerror or error}); it goes to a "
                "temporary file of this process, and every process builds its own. Set ROLLBACK_GYM_CACHE to a folder "
                "that can be written.",
                stacklevel=2,
            )
        return _build_aside(file, archive)


def _cache_folder() -> str:
    root = os.environ.get("ROLLBACK_GYM_CACHE") or platformdirs.user_cache_dir("rollback-gym", appauthor=False)
    return os.path.join(os.path.abspath(os.path.expanduser(root)), "alfworld")


def _existing(path: str, quiet: bool = False) -> _Pack | None:
    try:
        return _Pack(RandomAccess(path))
    except FileNotFoundError:
        return None
    except _Damaged as error:
        if not quiet:
            _notice_damage(error, path)
        return None


def _notice_damage(error: _Damaged, path: str = "") -> None:
    warnings.warn(f"The cache {path or 'of the games'} is damaged ({error}) and is built again.", stacklevel=3)


@contextmanager
def _alone(path: str) -> Iterator[bool]:
    """Lets one process build at a time, and gives True; where the file system has no locks, gives False at once."""
    with open(f"{path}.lock", "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            yield False
            return
        try:
            yield True
        finally:
            # Closing is not enough where a fork has copied the descriptor.
            fcntl.flock(lock, fcntl.LOCK_UN)


def _remove_unfinished(path: str) -> None:
    """Removes what builders left that were killed."""
    folder, name = os.path.split(path)
    for entry in os.listdir(folder):
        if entry.startswith(name) and entry.endswith(_UNFINISHED):
            os.remove(os.path.join(folder, entry))


def _build_at(path: str, source: BinaryIO, where: str) -> _Pack:
    # Not `tempfile`, whose files only their owner may read: users share caches.
    unfinished = f"{path}.{os.urandom(6).hex()}{_UNFINISHED}"
    try:
        with open(unfinished, "xb") as out:
            _build(source, out, where)
        pack = _checked(RandomAccess(unfinished))
        os.replace(unfinished, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(unfinished)
        raise
    return pack


def _build_aside(source: BinaryIO, where: str) -> _Pack:
    source.seek(0)
    try:
        descriptor, path = tempfile.mkstemp(".games", "rollback-gym-")
        try:
            with open(descriptor, "wb") as out:
                _build(source, out, where)
            return _checked(RandomAccess(path))
        finally:
            os.remove(path)  # the open descriptor keeps the content for as long as it is needed
    except OSError as error:
        raise DataError(
            f"No place for the cache of {where} (about 25 MB for ALFWorld's own data): neither {_cache_folder()} nor "
            f"{tempfile.gettempdir()} can be written ({error.strerror or error}). Set ROLLBACK_GYM_CACHE to a folder "
            "that can, or unpack the archive and pass the folder as data=."
        ) from error


def _checked(file: RandomAccess) -> _Pack:
    try:
        return _Pack(file)
    except _Damaged as error:
        raise OSError(f"what was written reads back differently: {error}") from error


def _build(source: BinaryIO, out: BinaryIO, where: str) -> None:
    """Packs the games of the archive `source` into `out`."""
    seen = Tally()
    places: dict[str, _Place] = {}
    dictionary = b""
    offset = 0
    waiting: deque[tuple[str, int, int, Future[bytes]]] = deque()

    def write_oldest() -> None:
        nonlocal offset
        name, size, crc, future = waiting.popleft()
        packed = future.result()
        out.write(packed)
        places[name] = _Place(offset, len(packed), size, crc)
        offset += len(packed)

    size = os.fstat(source.fileno()).st_size
    stream = Stream(source, where)
    # Both decompressing and compressing release the interpreter's lock, so one more thread halves the time.
    with ThreadPoolExecutor(1) as pool, progress(size, f"Indexing {os.path.basename(where)} (once)") as advance:
        for member in tar_members(stream):
            if not seen.sees_game(member.name) or member.name is None:
                continue
            content = read_whole(stream, member)
            dictionary = dictionary or content[:_DICTIONARY_BYTES]
            packing = pool.submit(_deflate, content, dictionary)
            waiting.append((member.name, len(content), zlib.crc32(content), packing))
            if len(waiting) == _IN_FLIGHT:
                write_oldest()
            advance(source.tell())
        stream.drain()
        while waiting:
            write_oldest()
    index = _write_index(dictionary, seen, places)
    out.write(index)
    out.write(_FOOTER.pack(offset, len(index), _hash(index), _MAGIC))


def _deflate(content: bytes, dictionary: bytes) -> bytes:
    packer = zlib.compressobj(_LEVEL, wbits=-15, zdict=dictionary)
    return packer.compress(content) + packer.flush()


def _hash(index: bytes) -> bytes:
    return hashlib.blake2b(index, digest_size=16).digest()


def _write_index(dictionary: bytes, seen: Tally, places: dict[str, _Place]) -> bytes:
    tally = (seen.files, seen.trajectories, seen.unsafe)
    return zlib.compress(msgpack.packb((dictionary, tally, list(places), list(zip(*places.values(), strict=True)))))


def _read_index(index: bytes) -> tuple[bytes, Tally, dict[str, _Place]]:
    try:
        plain = zlib.decompressobj().decompress(index, _MAX_INDEX_BYTES)
        dictionary, tally, names, columns = msgpack.unpackb(plain)
        places = dict(zip(names, map(_Place, *columns), strict=True)) if names else {}
        return dictionary, Tally(*tally), places
    except (zlib.error, ValueError, TypeError, msgpack.UnpackException) as error:
        raise _Damaged(f"its index cannot be read: {error}") from error
