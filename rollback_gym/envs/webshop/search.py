"""The shop's search: BM25 as the original's engine computes it, in the same order to the last place.

The original asks Lucene 8 (through Pyserini 0.17) with k1 = 0.9 and b = 0.4 for the 50 best products. What decides the
order: `analysis` makes the terms; a document's length is kept in one byte, so that long documents share a length;
every term's part is computed in 32-bit floats, as a sum that is exact in 64 bits and rounded once; products of equal
score come by ascending asin. A term that a query repeats counts as often.
"""

import os
import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rollback_gym.envs.webshop.analysis import terms
from rollback_gym.envs.webshop.stored import Arrays, kept, scratch
from rollback_gym.envs.webshop.types import Catalogue, Product
from rollback_gym.progress import progress

MOST_HITS = 50
"""So many products a search finds at most."""

K1, B = 0.9, 0.4

_VERSION = 2
"""Goes up with every change to what an index holds."""

_Floats = npt.NDArray[np.float32]


class Index:
    """A search index. Immutable; safe to share between threads and with forked processes.

    Documents are numbered by their asins' order, so that of two equal scores the smaller number comes first.

    Args:
        arrays: As `build` makes them, in memory or mapped from a file.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._products = arrays["products"]
        # Python reads single elements of bytes and memoryviews several times faster than those of arrays.
        self._letters = arrays["letters"].tobytes()
        self._term_starts = arrays["term_starts"].data
        self._starts = arrays["starts"].data
        self._weights = arrays["weights"]
        self._documents = arrays["documents"]
        self._saturations = arrays["saturations"]

    def __len__(self) -> int:
        """How many products can be found."""
        return len(self._products)

    def search(self, query: str, limit: int = MOST_HITS) -> tuple[int, ...]:
        """The numbers of the products that `query` finds, the best first.

        Lucene refuses queries of more than 1,024 different terms with an error; here they are searched for.
        """
        scores = self.scores(query)
        found = np.flatnonzero(scores)
        if len(found) > limit:
            found = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
        best = found[np.argsort(-scores[found], kind="stable")[:limit]]
        return tuple(self._products[best].tolist())

    def scores(self, query: str) -> _Floats:
        """(D,) what every document is worth for `query`, in the order of the asins; 0 where it has no term of it."""
        # The parts have 24 bits each and lie close together: their sum in 53 bits is exact in any order.
        total = np.zeros(len(self._products))
        for term, count in Counter(terms(query)).items():
            number = self._find(term.encode("utf-8", "surrogatepass"))
            if number is not None:
                first, last = self._starts[number], self._starts[number + 1]
                weight = np.float32(count) * self._weights[number]
                total[self._documents[first:last]] += weight - weight / self._saturations[first:last]
        return total.astype(np.float32)

    def _find(self, term: bytes) -> int | None:
        count = len(self._weights)
        number = bisect_left(range(count), term, key=self._term)
        return number if number < count and self._term(number) == term else None

    def _term(self, number: int) -> bytes:
        return self._letters[self._term_starts[number] : self._term_starts[number + 1]]


def build(documents: Iterable[tuple[str, str]]) -> Arrays:
    """The arrays of an index over D documents with T different terms and P pairs of a document with a term of it.

    In memory are the terms, and a piece of the pairs at a time; all pairs lie in files, where they are many.

    Args:
        documents: (asin, text) of each product, in the catalogue's order.

    Returns:
        products: (D,) the product's number in the catalogue, for each document in the order of the asins.
        letters, term_starts: all terms in sorted order, and (T + 1,) where each one starts, and the last one ends.
        starts: (T + 1,) where each term's pairs start, and the last one's end.
        weights: (T,) how much a term is worth, its idf.
        documents, saturations: (P,) the pairs term by term; 1 + f / norm, f being how often the term is in the
            document and norm growing with the document's length.
    """
    numbers: dict[str, int] = {}
    asins: list[str] = []
    lengths = array("q")
    pairs: list[_Pairs] = []
    terms_of, counts_of, sizes = array("i"), array("i"), array("i")

    def close_piece() -> None:
        pairs.append(_Pairs(len(asins) - len(sizes), *map(_put, (sizes, terms_of, counts_of))))
        for piece in (sizes, terms_of, counts_of):
            del piece[:]

    for asin, text in documents:
        found = terms(text)
        counts = Counter(found)
        asins.append(asin)
        lengths.append(len(found))
        sizes.append(len(counts))
        terms_of.extend([numbers.setdefault(term, len(numbers)) for term in counts])
        counts_of.extend(counts.values())
        if len(terms_of) >= _PIECE:
            close_piece()
    close_piece()

    products = np.array(sorted(range(len(asins)), key=asins.__getitem__), dtype=np.int32)
    ranks = np.empty_like(products)
    ranks[products] = np.arange(len(products), dtype=np.int32)
    encoded = sorted((term.encode("utf-8", "surrogatepass"), number) for term, number in numbers.items())
    places = np.empty(len(encoded), dtype=np.int32)
    places[[number for _, number in encoded]] = np.arange(len(encoded), dtype=np.int32)
    frequencies = np.zeros(len(encoded), dtype=np.int64)
    for piece in pairs:
        frequencies += np.bincount(places[piece.terms], minlength=len(encoded))
    starts = np.concatenate(([0], np.cumsum(frequencies))).astype(np.int64)

    of_documents, saturations = _empty(int(starts[-1]), np.int32), _empty(int(starts[-1]), np.float32)
    inverse_norms = _inverse_norms(np.frombuffer(lengths, dtype=np.int64))
    free = starts[:-1].copy()
    for piece in pairs:
        term_of = places[piece.terms]
        document_of = np.repeat(np.arange(piece.first, piece.first + len(piece.sizes), dtype=np.int32), piece.sizes)
        order = np.argsort(term_of, kind="stable")
        sizes_here = np.bincount(term_of, minlength=len(encoded))
        before = np.cumsum(sizes_here) - sizes_here
        target = np.arange(len(order)) + (free - before)[term_of[order]]
        of_documents[target] = ranks[document_of][order]
        saturations[target] = (np.float32(1) + piece.counts.astype(np.float32) * inverse_norms[document_of])[order]
        free += sizes_here
    return {
        "products": products,
        "letters": np.frombuffer(b"".join(term for term, _ in encoded), dtype=np.uint8),
        "term_starts": np.cumsum([0, *(len(term) for term, _ in encoded)], dtype=np.int64),
        "starts": starts,
        "weights": _weights(frequencies, sum(length > 0 for length in lengths)),
        "documents": of_documents,
        "saturations": saturations,
    }


_PIECE = 1 << 22


class _Pairs(NamedTuple):
    """Pairs of documents, from the `first` on, with terms that they have."""

    first: int
    sizes: npt.NDArray[np.int32]
    """How many pairs each document has."""
    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    """How often a document has the term."""


def _empty(size: int, kind: type[np.generic]) -> npt.NDArray[Any]:
    """Room for `size` numbers, in a file where it is much."""
    if size < _PIECE:
        return np.empty(size, dtype=kind)
    with scratch() as file:
        return np.memmap(file, dtype=kind, mode="w+", shape=(size,))


def _put(numbers: "array[int]") -> npt.NDArray[np.int32]:
    kept_numbers = _empty(len(numbers), np.int32)
    kept_numbers[:] = numbers
    return kept_numbers


def _weights(frequencies: npt.NDArray[np.int64], documents: int) -> _Floats:
    weights: _Floats = np.log(1 + (documents - frequencies + 0.5) / (frequencies + 0.5)).astype(np.float32)
    return weights


def _inverse_norms(lengths: npt.NDArray[np.int64]) -> _Floats:
    """(D,) 1 / (k1 (1 - b + b length / average)), in Lucene's arithmetic."""
    written = lengths[lengths > 0]  # what has no term does not count
    average = np.float32(written.sum() / len(written)) if len(written) else np.float32(1)
    kept_lengths = np.array([_kept_length(length) for length in lengths.tolist()], dtype=np.float32)
    k1, b, one = np.float32(K1), np.float32(B), np.float32(1)
    norms: _Floats = one / (k1 * ((one - b) + b * kept_lengths / average))
    return norms


_EXACT_BELOW = 24


def _kept_length(length: int) -> int:
    """What one byte keeps of a document's length: four bits from its highest one on, and all of short ones.

    Lucene writes a length below 24 as it is, and of a longer one keeps what it is longer by in this way.
    """
    if length < _EXACT_BELOW:
        return length
    beyond = length - _EXACT_BELOW
    dropped = max(beyond.bit_length() - 4, 0)
    return _EXACT_BELOW + (beyond >> dropped << dropped)


def searched_text(product: Product) -> str:
    """What of a product is searched: title, description, first bullet and options, in lower case.

    Raises:
        ValueError: if it has no bullet; the original stops there.
    """
    if not product.bullets:
        raise ValueError(f"{product.asin} has no bullet: expected at least one, if an empty one")
    options = ", and ".join([f"{name}: {', '.join(values)}" for name, values in product.options])
    return " ".join([product.title, product.description, product.bullets[0], options]).lower()


def hits(catalogue: Catalogue, query: str) -> tuple[int, ...]:
    """The numbers of the products that `query` finds in `catalogue`, the best first, 50 at most."""
    return open_index(catalogue).search(query)


def open_index(catalogue: Catalogue) -> Index:
    """The catalogue's index, the same object for every caller in a process; see `stored.kept` for the cache."""
    found: Any = catalogue.memo.get(_MEMO)
    if found is None:
        with _lock:
            found = catalogue.memo.get(_MEMO)
            if found is None:
                found = catalogue.memo[_MEMO] = _open_index(catalogue)
    index: Index = found
    return index


def _open_index(catalogue: Catalogue) -> Index:
    def texts() -> Iterator[tuple[str, str]]:
        with progress(len(catalogue.products), "Indexing the products (once)") as advance:
            for number, product in enumerate(catalogue.products):
                yield product.asin, searched_text(product)
                advance(number + 1)

    def make() -> Arrays:
        return build(texts())

    if catalogue.source is None:  # made by hand: nothing would ever ask for it again
        return Index(make())
    return Index(kept(f"{catalogue.digest[:40]}.{_VERSION}.index", make))


_MEMO = "search index"
_lock = threading.Lock()


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


# Another thread may have held it at the time of the fork, and will not release the child's copy.
os.register_at_fork(after_in_child=_new_lock)
