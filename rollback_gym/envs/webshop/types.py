"""The values WebShop is made of: what a shop sells, what is asked for, and what changes while shopping."""

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

PageKind = Literal["search", "search_results", "item_page", "item_sub_page", "done"]
"""The pages by the original's names; the original has none for the first."""

Options = tuple[tuple[str, tuple[str, ...]], ...]
"""(name, values) of each thing to be chosen, such as `("color", ("red", "dark navy"))`; names are unique."""

GoalOption = str | tuple[str, str]
"""What a human instruction asks for is a value; what a synthetic one asks for is a (name, value)."""


class HumanInstruction(NamedTuple):
    """What a person wrote for a product (`items_human_ins.json`)."""

    text: str
    attributes: tuple[str, ...]
    options: tuple[GoalOption, ...]


class Product(NamedTuple):
    """A product as the original reads it from its files; see `parse`."""

    asin: str
    """At most ten characters; unique in a catalogue."""
    title: str
    description: str
    bullets: tuple[str, ...]
    category: str
    query: str
    """What the product was found with on the real shop: lower case, stripped."""
    product_category: str
    """A path whose parts stand between U+203A, from the general to the particular."""
    pricing: tuple[float, ...]
    """In dollars: one price, or two between which the price is drawn; the first may be the larger."""
    price_text: str
    """What the pages show, such as `$42.8` or `$10.0 to $20.5`."""
    options: Options
    attributes: tuple[str, ...]
    instruction: str | None = None
    """What a synthetic goal begins with; None where there is none."""
    instruction_attributes: tuple[str, ...] = ()
    human_instructions: tuple[HumanInstruction, ...] = ()


class Nouns(Protocol):
    """Knows the nouns of titles, which decide the reward's part for the type of product."""

    name: str
    """Which table or tagger this is, version included; part of the catalogue's content."""

    def __call__(self, title: str) -> tuple[str, ...]:
        """The nouns and proper nouns that stand in `title`, lower case, in order, repeated ones as often as there."""


class Source(Protocol):
    """Where a catalogue came from. Picklable."""

    @property
    def locator(self) -> tuple[Any, ...]:
        """The same as nested tuples of plain values."""

    def open(self) -> "Catalogue":
        """The catalogue, the same object for every caller in a process. Raises DataError where it is gone."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What a shop sells. Immutable but for what is remembered in `memo`, which never changes an answer.

    One object serves all environments of a process: search index, pages and hit lists are worked out once and kept
    in `memo`. Pickled, a catalogue with a source is a few bytes.
    """

    products: Sequence[Product]
    """In the order of the file."""
    nouns: Nouns
    source: Source | None = None
    """None for one made by hand, which is pickled whole."""
    known_digest: str = ""
    """The digest, where whoever made the catalogue knows it already."""
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: equal for catalogues that play identically, in every process."""
        return self.known_digest or digest_of(self.products, self.nouns)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each product in `products`, by asin."""
        return {product.asin: number for number, product in enumerate(self.products)}

    @property
    def locator(self) -> tuple[Any, ...]:
        """How to find the catalogue again, as plain values; empty for one made by hand."""
        return () if self.source is None else self.source.locator

    def __reduce__(self) -> tuple[Any, ...]:
        if self.source is not None:
            return _reopened, (self.source, self.digest)
        return Catalogue, (tuple(self.products), self.nouns, None, self.digest)

    def __copy__(self) -> "Catalogue":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Catalogue":
        return self


def digest_of(products: Iterable[Product], nouns: Nouns) -> str:
    """See `Catalogue.digest`."""
    content = hashlib.sha256(b"webshop 1")
    content.update(nouns.name.encode())
    for product in products:
        content.update(json.dumps(product, separators=(",", ":")).encode())
    return content.hexdigest()


def _reopened(source: Source, digest: str) -> Catalogue:
    catalogue = source.open()
    if catalogue.digest != digest:
        raise ValueError(
            f"The catalogue at {source.locator!r} has other content ({catalogue.digest[:12]}) than when it was "
            f"pickled ({digest[:12]}). Use the same data, and the same tagger of nouns."
        )
    return catalogue


class Goal(NamedTuple):
    """What is asked for, and what a purchase is measured by."""

    asin: str
    """The product the goal was made from; others may do as well."""
    title: str
    category: str
    query: str
    product_category: str
    text: str
    """The instruction, with the price."""
    attributes: tuple[str, ...]
    options: tuple[GoalOption, ...]
    price_upper: float


@dataclass(frozen=True, eq=False)
class Shop:
    """A catalogue with every price fixed: where it gives a range, the price is drawn from `seed`."""

    catalogue: Catalogue
    seed: int = 0

    @cached_property
    def prices(self) -> Mapping[str, float]:
        """What each product costs, by asin."""
        return self._drawn[0]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of catalogue and prices, the same in every process."""
        prices = json.dumps([self.catalogue.digest, list(self.prices.values())], separators=(",", ":"))
        return hashlib.sha256(prices.encode()).hexdigest()

    def random_after_prices(self) -> random.Random:
        """The generator as it is when every price is drawn; the original goes on with it to draw price limits."""
        generator = random.Random()
        generator.setstate(self._drawn[1])
        return generator

    @cached_property
    def _drawn(self) -> tuple[Mapping[str, float], tuple[Any, ...]]:
        generator = random.Random(self.seed)
        prices = {
            product.asin: product.pricing[0] if len(product.pricing) == 1 else generator.uniform(*product.pricing)
            for product in self.catalogue.products
        }
        return prices, generator.getstate()

    def __reduce__(self) -> tuple[Any, ...]:
        return open_shop, (self.catalogue, self.seed)

    def __copy__(self) -> "Shop":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Shop":
        return self


def open_shop(catalogue: Catalogue, seed: int) -> Shop:
    """The shop, the same object for every caller in a process."""
    key = ("shop", seed)
    shop: Shop = catalogue.memo.get(key) or catalogue.memo.setdefault(key, Shop(catalogue, seed))
    return shop


@dataclass(frozen=True, eq=False)
class Level:
    """One episode's task: a goal in a shop."""

    id: str
    """`synthetic/17` or `human/17`: the goal's number."""
    locator: tuple[Any, ...]
    """How to find the level again; not part of its content."""
    shop: Shop
    goal: Goal
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What is remembered of this goal; it never changes an answer."""

    @property
    def task(self) -> str:
        """The instruction."""
        return self.goal.text

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, the same in every process: catalogue, prices and goal."""
        content = json.dumps([self.shop.digest, self.goal], separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return Level, (self.id, self.locator, self.shop, self.goal)

    def __copy__(self) -> "Level":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Level":
        return self


class State(NamedTuple):
    """Everything that changes while shopping."""

    kind: PageKind
    """The page that is shown."""
    query: str | None
    """What was searched for, lower case; None before the first search and after Back to Search."""
    page: int
    """The page of the results, from 1; the original's defects reach 0. 0 where `query` is None."""
    asin: str | None
    """The product looked at; None where there is none."""
    sub_page: str
    """`Description`, `Features`, `Reviews` or `Attributes`; empty but on an `item_sub_page`."""
    options: tuple[tuple[str, str], ...]
    """The (name, value) of what was chosen for this product, sorted by name."""
    seen: tuple[str, ...]
    """The asins that were opened since the start or Back to Search, sorted; `text_rich` marks them."""
    reward: float | None
    """What the purchase was worth; None before it."""


START = State("search", None, 0, None, "", (), (), None)
"""Where every episode starts."""
