"""Catalogues: the generated one, or the original's official files from wherever they lie.

The official files are one of products (`items_shuffle_1000.json`, or all 1.2 million in `items_shuffle.json`), one of
attributes and synthetic instructions (`items_ins_v2_1000.json`, `items_ins_v2.json`), and one of what people asked for
(`items_human_ins.json`, which may be missing). The file of products is read record by record and never held whole.

A record that the original could not have read is left out and named in a warning, or with `strict` refused; of what
people wrote, only what is unreadable. Like the original, records whose asin is `nan` or too long, and all but the first
of the same asin, are passed over in silence.
"""

import hashlib
import json
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack
import numpy as np

from rollback_gym.core.errors import DataError
from rollback_gym.envs.webshop import generator
from rollback_gym.envs.webshop.nouns import SpacyNouns, TableNouns
from rollback_gym.envs.webshop.packed import fingerprint, pack, unpack
from rollback_gym.envs.webshop.parse import is_skipped, parse_instructions, parse_product
from rollback_gym.envs.webshop.stored import Arrays, kept
from rollback_gym.envs.webshop.stream import elements, members
from rollback_gym.envs.webshop.types import Catalogue, Nouns, Product

VARIABLE = "WEBSHOP_DATA"
"""The environment variable that names the folder of the official files, or the one of products."""

SMALL, FULL = "items_shuffle_1000.json", "items_shuffle.json"
"""The two official files of products."""

_ATTRIBUTES = ("items_ins_v2_1000.json", "items_ins_v2.json")
_HUMAN = "items_human_ins.json"
_SMALL_SIZE = 1000
_NAMED = 5
_LONGEST_REASON = 200
_HOW_TO_GET = (
    "WebShop's setup.sh says where to download its files; without data= the environment brings a catalogue of its own."
)


class Malformed(NamedTuple):
    """A record that was left out, or something that a person wrote for it."""

    number: int
    """Its place in the file, from 0."""
    asin: str
    """Empty where there is none."""
    reason: str

    def __str__(self) -> str:
        return f"record {self.number} ({self.asin or 'no asin'}): {self.reason}"


@dataclass(frozen=True)
class Generated:
    """The generated catalogue, or its first products."""

    products: int | None = None

    @property
    def locator(self) -> tuple[Any, ...]:
        """See `Source`."""
        return ("generated", generator.VERSION, self.products)

    def open(self) -> Catalogue:
        """See `Source`."""
        return _opened(self, self._read)

    def _read(self) -> Catalogue:
        every, digest = unpack(kept(f"{generator.fingerprint()}.{fingerprint()}.catalogue", _generated))
        nouns = TableNouns([product.title for product in every])
        if self.products is None or self.products >= len(every):
            return Catalogue(every, nouns, self, digest)
        return Catalogue(every[: self.products], nouns, self)


def _generated() -> Arrays:
    records = generator.generate()
    products = [
        parse_product(record, records.annotations[record["asin"]], records.instructions.get(record["asin"], ()))
        for record in records.products
    ]
    return pack(products, TableNouns([product.title for product in products]))


@dataclass(frozen=True)
class Files:
    """The official files, or files like them."""

    products_file: str
    attributes_file: str
    human_file: str | None
    products: int | None = None
    strict: bool = False

    @property
    def locator(self) -> tuple[Any, ...]:
        """See `Source`."""
        return ("files", self.products_file, self.attributes_file, self.human_file, self.products)

    def open(self) -> Catalogue:
        """See `Source`."""
        return _opened((self, tuple(map(_identity, self._paths))), self._read)

    @property
    def _paths(self) -> tuple[str, ...]:
        named = (self.products_file, self.attributes_file, self.human_file)
        return tuple(path for path in named if path is not None)

    def _read(self) -> Catalogue:
        nouns = SpacyNouns()

        def make() -> Arrays:
            malformed: list[Malformed] = []
            arrays = pack(_products(self, malformed), nouns)
            return {**arrays, "malformed": np.frombuffer(msgpack.packb(malformed), dtype=np.uint8)}

        arrays = kept(f"{self._content_key(nouns)}.catalogue", make)
        products, digest = unpack(arrays)
        malformed = [Malformed(*each) for each in msgpack.unpackb(arrays["malformed"])]
        if malformed and (self.strict or not products):
            raise DataError(
                f"{self.products_file} has {len(malformed):,} entries that the original cannot read, and "
                f"{len(products):,} products that it can: {_named(malformed)}. strict=False leaves the former out."
            )
        if not products:
            raise DataError(f"{self.products_file} holds no products.")
        if malformed:
            warnings.warn(
                f"{self.products_file}: {len(malformed):,} entries are left out, since the original cannot read them: "
                f"{_named(malformed)}.",
                stacklevel=2,
            )
        return Catalogue(products, nouns, self, digest)

    def _content_key(self, nouns: Nouns) -> str:
        key = hashlib.blake2b(f"{fingerprint()} {nouns.name} {self.products}".encode(), digest_size=20)
        for path in self._paths:
            with _reading(path), open(path, "rb") as file:
                key.update(hashlib.file_digest(file, "blake2b").digest())
        return key.hexdigest()


def open_catalogue(
    data: str | os.PathLike[str] | None = None, products: int | None = None, *, strict: bool = False
) -> Catalogue:
    """The catalogue at `data`; the same object for every caller in a process, until a file changes.

    Args:
        data: A folder that holds the official files, or the file of products with the others beside it. None stands
            for `WEBSHOP_DATA`, or where that is not set for the generated catalogue. In a folder with both files of
            products, the small one is taken, unless `products` asks for more than it has.
        products: So many records from the start of the file only; None for all.
        strict: Refuse files with a record that the original could not have read, instead of leaving it out.

    Raises:
        DataError: if there are no such files, or they hold no products.
        MissingExtra: if spaCy or its model is missing, which the official data needs; see `nouns`.
    """
    if products is not None:
        if isinstance(products, bool) or not isinstance(products, int | np.integer) or products < 1:
            raise DataError(f"products={products!r} is no number of products; give 1 or more, or None for all.")
        products = int(products)
    given = os.environ.get(VARIABLE) if data is None else os.fsdecode(data)
    if data is None and not given:
        return Generated(products).open()
    if not given or "\0" in given:
        raise DataError(f"data={given!r} is no path. {_HOW_TO_GET}")
    path = os.path.abspath(os.path.expanduser(given))
    try:
        return find(path, products, strict).open()
    except DataError as error:
        if data is not None:
            raise
        raise DataError(f"{error} (The path comes from the environment variable {VARIABLE}.)") from error


def find(path: str, products: int | None = None, strict: bool = False) -> Files:
    """The files that belong together at `path`; see `open_catalogue`. Raises DataError."""
    if os.path.isdir(path):
        folder = next((place for place in (path, os.path.join(path, "data")) if _has_products(place)), None)
        if folder is None:
            raise DataError(f"{path} holds neither {SMALL} nor {FULL}. {_HOW_TO_GET}")
        wanted = (FULL, SMALL) if (products or 0) > _SMALL_SIZE else (SMALL, FULL)
        file = next(name for name in wanted if os.path.exists(os.path.join(folder, name)))
    elif os.path.exists(path):
        folder, file = os.path.split(path)
    else:
        raise DataError(f"{path} does not exist. {_HOW_TO_GET}")
    small, full = _ATTRIBUTES
    preferred = (small, full) if "_1000" in file else (full, small)
    attributes = next((name for name in preferred if os.path.exists(os.path.join(folder, name))), None)
    if attributes is None:
        raise DataError(f"{folder} holds {file}, but neither {small} nor {full}, which the goals are made of.")
    human = os.path.join(folder, _HUMAN)
    return Files(
        os.path.join(folder, file),
        os.path.join(folder, attributes),
        human if os.path.exists(human) else None,
        products,
        strict,
    )


def read_products(files: Files) -> tuple[tuple[Product, ...], tuple[Malformed, ...]]:
    """The products of `files` in their order, and what was left out. Raises DataError if a file is not readable."""
    malformed: list[Malformed] = []
    return tuple(_products(files, malformed)), tuple(malformed)


def _products(files: Files, malformed: list[Malformed]) -> Iterator[Product]:
    """One product at a time; appends what is left out to `malformed`."""
    # In bytes, the annotations of 1.2 million products take a third of a gigabyte; as objects, several.
    annotations = {asin: json.dumps(value).encode() for asin, value in members(files.attributes_file)}
    instructions: dict[str, Any] = dict(members(files.human_file)) if files.human_file else {}
    seen: set[str] = set()

    def leave_out(number: int, asin: str, reason: str) -> None:
        malformed.append(Malformed(number, _printable(asin), _printable(reason)))

    for number, record in enumerate(elements(files.products_file)):
        if number == files.products:
            return
        asin = record.get("asin") if isinstance(record, dict) else None
        asin = asin if isinstance(asin, str) else ""
        try:
            if not isinstance(record, dict):
                raise ValueError(f"expected an object, got {type(record).__name__}")
            if is_skipped(record) or asin in seen:
                continue
            seen.add(asin)
            written = annotations.get(asin)
            product = parse_product(record, None if written is None else json.loads(written))
            if not product.bullets:
                raise ValueError("small_description is empty: expected at least one text")
        except ValueError as error:
            leave_out(number, asin, str(error))
            continue
        asked, unread = parse_instructions(instructions.get(asin, []))
        for reason in unread:
            leave_out(number, asin, reason)
        yield product._replace(human_instructions=asked)


def _printable(text: str) -> str:
    """`text` for a message: not too long, and without what no terminal can show."""
    short = text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
    return short.encode("utf-8", "backslashreplace").decode()


def _named(malformed: Sequence[Malformed]) -> str:
    more = len(malformed) - _NAMED
    return "; ".join(map(str, malformed[:_NAMED])) + (f"; and {more:,} more: see read_products" if more > 0 else "")


def _has_products(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in (SMALL, FULL))


def _identity(path: str) -> tuple[int, ...]:
    with _reading(path):
        found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


_catalogues: dict[Any, Catalogue] = {}
_lock = threading.Lock()


def _opened(key: Any, read: Any) -> Catalogue:
    with _lock:
        found = _catalogues.get(key)
        if found is None:
            found = _catalogues[key] = read()
        return found


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


# Another thread may have held it at the time of the fork, and will not release the child's copy.
os.register_at_fork(after_in_child=_new_lock)
