"""Products packed into bytes: how a catalogue lies in the cache, and how a large one is read piece by piece."""

import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import msgpack
import numpy as np

from rollback_gym.envs.webshop.stored import Arrays, mapped, scratch
from rollback_gym.envs.webshop.types import HumanInstruction, Nouns, Product, digest_of

EAGER = 20_000
"""A catalogue of more products is unpacked product by product, when they are asked for."""

_REMEMBERED = 4096
_CODE = ("packed.py", "parse.py", "types.py")


def pack(products: Iterable[Product], nouns: Nouns) -> dict[str, "np.ndarray[Any, Any]"]:
    """The arrays that hold `products`, which are looked at once and never held together, and their digest."""
    ends = array("q", [0])
    with scratch() as file:

        def written() -> Iterator[Product]:
            for product in products:
                packed = msgpack.packb(product, unicode_errors="surrogatepass")
                file.write(packed)
                ends.append(ends[-1] + len(packed))
                yield product

        digest = digest_of(written(), nouns)
        content = mapped(file)
    return {
        "content": content,
        "ends": np.frombuffer(ends, dtype=np.int64),
        "digest": np.frombuffer(digest.encode(), dtype=np.uint8),
    }


def unpack(arrays: Arrays) -> tuple[Sequence[Product], str]:
    """What `pack` has packed: the products, and their digest."""
    products = PackedProducts(arrays)
    digest = arrays["digest"].tobytes().decode()
    return (products if len(products) > EAGER else tuple(products)), digest


def fingerprint() -> str:
    """Changes whenever other products may come out of the same records."""
    code = hashlib.blake2b(digest_size=8)
    for name in _CODE:
        with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
            code.update(file.read())
    return code.hexdigest()


class PackedProducts(Sequence[Product]):
    """Products that are unpacked when they are asked for; those asked for last are remembered."""

    def __init__(self, arrays: Arrays) -> None:
        self._content = arrays["content"].data
        self._ends = arrays["ends"].data
        self._known: dict[int, Product] = {}

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> Product: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Product, ...]: ...
    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return tuple([self[each] for each in range(*number.indices(len(self)))])
        number = range(len(self))[number]
        found = self._known.get(number)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            found = self._known[number] = self._unpacked(number)
        return found

    def __iter__(self) -> Iterator[Product]:
        return map(self._unpacked, range(len(self)))

    def _unpacked(self, number: int) -> Product:
        packed = self._content[self._ends[number] : self._ends[number + 1]]
        *fields, instructions = msgpack.unpackb(packed, use_list=False, unicode_errors="surrogatepass")
        return Product._make((*fields, tuple([HumanInstruction(*instruction) for instruction in instructions])))
