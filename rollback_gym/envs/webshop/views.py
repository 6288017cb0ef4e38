"""What a page shows and what can be clicked on it, worked out once a catalogue and remembered there.

A view knows nothing of the instruction, so that all goals share it; the rules put the instruction before it.
"""

import json
import random
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeVar

from rollback_gym.envs.webshop import text
from rollback_gym.envs.webshop.actions import mended
from rollback_gym.envs.webshop.search import hits
from rollback_gym.envs.webshop.text import Piece
from rollback_gym.envs.webshop.types import Catalogue, Product, State

PAGE_SIZE = 10
RANDOM_HITS = 50

_REMEMBERED, _BYTES = 20_000, 1 << 25
T = TypeVar("T")


class Memory(dict[Any, T]):
    """What was worked out already. When it grows too large, all of it is forgotten."""

    size = 0
    """So much is remembered, in bytes or so."""

    def remember(self, key: Any, value: T, size: int) -> T:
        """`value`, or what another thread has remembered in its place."""
        if len(self) >= _REMEMBERED or self.size + size > _BYTES:
            self.clear()
            self.size = 0
        self.size += size
        return self.setdefault(key, value)


class NoSearch(ValueError):
    """A search that the original does not carry out either; it stops with an error."""


class Element(NamedTuple):
    """Something that can be clicked."""

    kind: Literal["button", "product", "option"]
    name: str
    """A product's asin, an option's name; empty for a button."""


class View(NamedTuple):
    """A page without its instruction."""

    front: str
    """What stands before the instruction: in `text_rich`, what was clicked."""
    body: str
    """What stands after it."""
    elements: dict[str, Element]
    """By what is written on them, in lower case. Where that is the same the last one counts, in the first's place."""
    clickables: tuple[str, ...]
    """What is written on them, as the original lists them."""
    clicks: tuple[str, ...]
    """The same as actions."""


class Dialect(NamedTuple):
    """What decides how pages look and which clicks are offered."""

    rich: bool
    """Whether the observation mode is `text_rich`."""
    show_attributes: bool
    original: bool
    """Whether clicks are offered that the original cannot carry out."""


class Views:
    """The views of one catalogue in one dialect. Remembers; never changes an answer."""

    def __init__(self, catalogue: Catalogue, dialect: Dialect) -> None:
        self.catalogue = catalogue
        self.dialect = dialect
        self._views: Memory[View] = Memory()
        self._hits: Memory[tuple[int, ...]] = catalogue.memo.setdefault("hits", Memory())

    def of(self, state: State) -> View:
        """The view of any page but the first and the last."""
        kind, query, page, asin, sub_page, _, seen, _ = state
        assert query is not None
        key: tuple[Any, ...]
        if kind == "search_results":
            key = (query, page, seen) if self.dialect.rich else (query, page)
            return self._views.get(key) or self._new(key, self._results(query, page, seen))
        assert asin is not None
        if kind == "item_sub_page":
            key = (asin, sub_page, None, None)
            return self._views.get(key) or self._new(key, self._sub_page(asin, sub_page))
        address = self._address(state) if self.dialect.rich else ""
        key = (asin, address)
        return self._views.get(key) or self._new(key, self._item(asin, address))

    def _new(self, key: tuple[Any, ...], view: View) -> View:
        size = sum([len(part) for part in key if isinstance(part, str)]) + len(view.front) + len(view.body)
        return self._views.remember(key, view, size)

    def hits(self, query: str) -> tuple[int, ...]:
        """The numbers of the products that a search finds, best first. Raises NoSearch where it cannot search."""
        found = self._hits.get(query)
        if found is None:
            found = find(self.catalogue, query)
            self._hits.remember(query, found, len(query) + 8 * len(found))
        return found

    def _results(self, query: str, page: int, seen: tuple[str, ...]) -> View:
        found = self.hits(query)
        products = [self.catalogue.products[number] for number in found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]]
        buttons = [text.BACK_TO_SEARCH, *([text.PREVIOUS] if page > 1 else []), text.NEXT]
        links = [(text.collapsed(product.asin).lower(), Element("product", product.asin)) for product in products]
        pieces = text.results_page(products, page, len(found))
        return self._view(pieces, buttons, links, lambda piece: piece.text in seen)

    def _item(self, asin: str, address: str) -> View:
        product = self._product(asin)
        subs = text.sub_pages(self.dialect.show_attributes)
        buttons = [text.BACK_TO_SEARCH, text.PREVIOUS, *subs, text.BUY_NOW]
        radios = [(value, Element("option", name)) for name, values in product.options for value in values]
        pieces = text.item_page(product, self.dialect.show_attributes)
        return self._view(pieces, buttons, radios, lambda piece: f'"{piece.text}"' in address)

    def _sub_page(self, asin: str, name: str) -> View:
        pieces = text.sub_page(self._product(asin), name)
        return self._view(pieces, [text.BACK_TO_SEARCH, text.PREVIOUS], (), lambda piece: False)

    def _view(
        self,
        pieces: Iterable[Piece],
        buttons: Iterable[str],
        others: Iterable[tuple[str, Element]],
        was_clicked: Callable[[Piece], bool],
    ) -> View:
        named = [(button.lower(), Element("button", "")) for button in buttons]
        elements = dict(chain(named, others))
        front, body = written(pieces, self.dialect.rich, was_clicked)
        offered = elements if self.dialect.original else filter(_can_be_clicked, elements)
        return View(front, body, elements, tuple(elements), tuple([f"click[{name}]" for name in offered]))

    def _product(self, asin: str) -> Product:
        return self.catalogue.products[self.catalogue.numbers[asin]]

    @staticmethod
    def _address(state: State) -> str:
        """The part of the page's address in which the original looks for what was clicked, in quotes."""
        query = state.query or ""
        if not state.options and '"' not in query:
            return ""
        return f"{query.replace(' ', '+')}/{state.page}/{json.dumps(dict(state.options))}"


def written(pieces: Iterable[Piece], is_rich: bool, was_clicked: Callable[[Piece], bool]) -> tuple[str, str]:
    """What stands before an instruction, and what after it."""
    return text.rich(pieces, was_clicked) if is_rich else ("", text.simple(pieces))


def find(catalogue: Catalogue, query: str) -> tuple[int, ...]:
    """The numbers of the products that a search finds, best first.

    Beside the ranking, the original understands `<q> ...` and `<c> ...` (all products of exactly that query, or
    category) and `<r>` (50 drawn at random: there anew each time, here once and for all).

    Raises:
        NoSearch: where the original stops with an error.
    """
    check_query(catalogue, query)
    words, products = query.split(" "), catalogue.products
    if words[0] == "<r>":
        return tuple(random.Random(0).sample(range(len(products)), RANDOM_HITS))
    if words[0] == "<c>":
        category = words[1].strip()
        return tuple([number for number, product in enumerate(products) if product.category == category])
    if words[0] == "<q>":
        wanted = " ".join(words[1:]).strip()
        return tuple([number for number, product in enumerate(products) if product.query == wanted])
    return tuple(hits(catalogue, query))


def check_query(catalogue: Catalogue, query: str) -> None:
    """Raise NoSearch where `find` does."""
    first, *others = query.split(" ", 1)
    if first == "<r>" and len(catalogue.products) < RANDOM_HITS:
        raise NoSearch(f"<r> shows {RANDOM_HITS} products, and there are {len(catalogue.products)}")
    if first == "<a>":
        raise NoSearch("<a> is not carried out")
    if first == "<c>" and not others:
        raise NoSearch("<c> needs a category")


def _can_be_clicked(name: str) -> bool:
    return mended(f"click[{name}]", {name: None}) == ("click", name)
