"""The pages of the shop as the original shows them to a text agent, character for character.

The original renders HTML, parses it again, and joins the texts that would be visible. Here a page is the list of those
texts from the start. Two habits of its parser survive: a text of nothing but spaces becomes one space or, where it
holds a line break, one line break, and a text that is one line break is left out. Inside `pre` spaces stay.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from rollback_gym.envs.webshop.types import Product

SEPARATOR = " [SEP] "

BACK_TO_SEARCH, NEXT, PREVIOUS, BUY_NOW, SEARCH = "Back to Search", "Next >", "< Prev", "Buy Now", "Search"
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")

_SPACES = "\x20\x0a\x09\x0c\x0d"
_UNSEEN = ("", "\n")
_LEAD = {"option": "  ", "product": "\n"}


class Piece(NamedTuple):
    """One text of a page."""

    text: str
    kind: Literal["text", "button", "option", "product"] = "text"


def search_page(instruction: str) -> Iterator[Piece]:
    """Where a search begins."""
    yield Piece("WebShop")
    yield Piece("Instruction: ")
    yield from _shown(instruction)
    yield Piece(SEARCH, "button")


def head(instruction: str) -> Iterator[Piece]:
    """What results, item and sub-pages begin with."""
    yield Piece("Instruction:")
    yield from _shown(instruction)


def results_page(products: Iterable[Product], page: int, total: int) -> Iterator[Piece]:
    """A page of `total` hits, without its head; `products` are the ones on it."""
    yield Piece(BACK_TO_SEARCH, "button")
    yield Piece(f"Page {page} (Total results: {total})")
    if page > 1:
        yield Piece(PREVIOUS, "button")
    yield Piece(NEXT, "button")
    for product in products:
        yield from _shown(product.asin, "product")
        yield from _shown(product.title)
        yield from _shown(product.price_text)


def item_page(product: Product, show_attributes: bool) -> Iterator[Piece]:
    """A product, without the page's head."""
    yield Piece(BACK_TO_SEARCH, "button")
    yield Piece(PREVIOUS, "button")
    for name, values in product.options:
        yield from _shown(name)
        for value in values:
            yield from _shown(value, "option")
    yield from _shown(product.title)
    yield Piece(f"Price: {product.price_text}")
    yield Piece("Rating: N.A.")
    for sub_page in sub_pages(show_attributes):
        yield Piece(sub_page, "button")
    yield Piece(BUY_NOW, "button")


def sub_pages(show_attributes: bool) -> tuple[str, ...]:
    """The sub-pages that an item page links to; the one for attributes only where it is asked for."""
    return SUB_PAGES if show_attributes else SUB_PAGES[:3]


def sub_page(product: Product, name: str) -> Iterator[Piece]:
    """One of a product's sub-pages, without its head. There are never reviews."""
    yield Piece(BACK_TO_SEARCH, "button")
    yield Piece(PREVIOUS, "button")
    if name == "Description":
        yield from _shown(product.description)
    elif name == "Features":
        for bullet in product.bullets:
            yield from _shown(f" {bullet}")
    elif name == "Attributes":
        for attribute in product.attributes:
            yield from _shown(f" {attribute}")
        yield from _shown(product.category)
        yield from _shown(product.query)
        yield from _shown(product.product_category)


def done_page(asin: str, options: Sequence[tuple[str, str]], reward: float) -> Iterator[Piece]:
    """What follows Buy Now. The original leaves most of it unfilled."""
    yield from map(Piece, ("Thank you for shopping with us!", "Your code: ", "None"))
    yield Piece(" (Paste it in your MTurk interface.)")
    yield from map(Piece, ("Purchased", "asin"))
    yield from _shown_as_is(asin)
    yield Piece("options")
    yield Piece(_html_safe(json.dumps(dict(options), sort_keys=True)))
    for name in ("attrs", "category", "query", "product category"):
        yield from map(Piece, (name, "None"))
    yield from map(Piece, ("Target", "asin", "options", "attrs", "price upper", "instuction text", "category"))
    yield from map(Piece, ("product category", "query", "Goal ", "None", "Reward"))
    yield from map(Piece, ("Your score (min 0.0, max 1.0)", str(reward), "Reward Details ", "None"))


def simple(pieces: Iterable[Piece]) -> str:
    """Observation mode `text`: the texts, stripped, between separators. What was chosen cannot be seen."""
    return SEPARATOR.join([piece.text.strip() for piece in pieces])


def rich(pieces: Iterable[Piece], was_clicked: Callable[[Piece], bool]) -> tuple[str, str]:
    """Observation mode `text_rich`: a line a text, with buttons marked, and those that were clicked.

    Returns what stands at the very top, the options that were clicked, and the rest.
    """
    lines, clicked = [], []
    for piece in pieces:
        text, kind = piece
        if kind == "text":
            lines.append(f"{text}\n")
        elif kind == "button":
            lines.append(f"[button] {text} [button_]\n")
        elif was_clicked(piece):
            lines.append(f"{_LEAD[kind]}[clicked button] {text} [clicked button_]\n")
            if kind == "option":
                clicked.append(f"You have clicked {text}.\n")
        else:
            lines.append(f"{_LEAD[kind]}[button] {text} [button_]\n")
    return "".join(reversed(clicked)), "".join(lines)


def collapsed(text: str) -> str:
    """What the original's parser makes of a text outside `pre`."""
    if text.strip(_SPACES) or not text:
        return text
    return "\n" if "\n" in text else " "


def _shown(text: str, kind: Literal["text", "option", "product"] = "text") -> Iterator[Piece]:
    text = collapsed(text)
    if text not in _UNSEEN:
        yield Piece(text, kind)


def _shown_as_is(text: str) -> Iterator[Piece]:
    if text not in _UNSEEN:
        yield Piece(text)


def _html_safe(text: str) -> str:
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
