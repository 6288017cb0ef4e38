"""What the generated catalogue sells: kinds of products, and what can be chosen of them.

The tables, made up for it, are `kinds.txt` and `choices.txt`: one line an entry, its parts between bars in the order
of the fields of `Kind` and `Choice`.
"""

from importlib import resources
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of product."""

    category: str
    query: str
    """What shoppers look for it with, as the real shop names its departments."""
    path: str
    """Where it stands in the shop, under the department."""
    nouns: tuple[str, ...]
    """What titles call it."""
    it: str
    """What sentences call one of it."""
    asked: str
    """What shoppers call it, with the article."""
    styles: tuple[str, ...]
    price: tuple[float, float]
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    """Keys of CHOICES."""


DEPARTMENTS = {
    "beauty": "Beauty & Personal Care",
    "electronics": "Electronics",
    "fashion": "Clothing, Shoes & Jewelry",
    "garden": "Home & Kitchen",
    "grocery": "Grocery & Gourmet Food",
}


def lines(table: str) -> list[str]:
    """The lines of a table of the generator."""
    return resources.files(__package__).joinpath(table).read_text(encoding="utf-8").splitlines()


def _kind(line: str) -> Kind:
    category, query, path, nouns, it, asked, styles, price, attributes, options = line.split("|")
    low, high = price.split("-")
    return Kind(
        category,
        query,
        f"{DEPARTMENTS[category]} \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} {path}",
        tuple(nouns.split(";")),
        it,
        asked,
        tuple(styles.split(";")),
        (float(low), float(high)),
        tuple(attributes.split(",")),
        tuple(options.split(",")),
    )


KINDS = tuple(map(_kind, lines("kinds.txt")))


class Choice(NamedTuple):
    """Something to choose of a product: the name of the option, and what it can be."""

    name: str
    values: tuple[str, ...]
    ordered: bool
    """Whether a product has neighbouring values, as with sizes, rather than any."""
    fewest: int
    most: int


def _choice(line: str) -> tuple[str, Choice]:
    key, name, values, order, count = line.split("|")
    fewest, most = count.split("-")
    return key, Choice(name, tuple(values.split(";")), order == "ordered", int(fewest), int(most))


CHOICES = dict(map(_choice, lines("choices.txt")))
