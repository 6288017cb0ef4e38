"""A catalogue of our own in the original's format: about a thousand products with what people ask for.

Nothing is random but through one seed, so that the catalogue is the same on every machine. Products of a kind share
words, attributes and brands, and differ in what matters, so that a search finds many and few of them will do. As in
the real shop, some have no description, a price range or no price, no options, or a name that says nearly everything.
"""

import hashlib
import random
from collections.abc import Sequence
from importlib import resources
from typing import Any, NamedTuple, TypeVar

from rollback_gym.envs.webshop.goods import CHOICES, KINDS, Choice, Kind
from rollback_gym.envs.webshop.wording import ATTRIBUTES, BRANDS, HEADINGS, PRAISE, PROMISES, STORIES, Attribute

VERSION = 1
"""Goes up with every change to what is generated."""

SIZE = 1000

_SEED = 20220704
_ASIN_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_T = TypeVar("_T")


class Records(NamedTuple):
    """What the original reads from its three files."""

    products: list[dict[str, Any]]
    """`items_shuffle*.json`."""
    annotations: dict[str, dict[str, Any]]
    """`items_ins_v2*.json`: by asin, `attributes`, and for some `instruction` and `instruction_attributes`."""
    instructions: dict[str, list[dict[str, Any]]]
    """`items_human_ins.json`: by asin, what somebody asked for."""


class _Dice:
    """Draws that are the same in every version of Python: only `random()` is promised to be."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def number(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        return low + int(self._random() * (high - low + 1))

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self._random()

    def one(self, things: Sequence[_T]) -> _T:
        return things[int(self._random() * len(things))]

    def some(self, things: Sequence[_T], count: int) -> list[_T]:
        """`count` different ones, or all, in a random order."""
        left = list(things)
        return [left.pop(int(self._random() * len(left))) for _ in range(min(count, len(left)))]


class _Draft(NamedTuple):
    """A product while it is made up."""

    kind: Kind
    brand: str
    noun: str
    style: str
    attributes: tuple[Attribute, ...]
    options: dict[str, list[str]]


def fingerprint() -> str:
    """Changes whenever something else may be generated."""
    names = ("generator.py", "goods.py", "wording.py", "kinds.txt", "choices.txt", "attributes.txt")
    sources = [resources.files(__package__).joinpath(name).read_bytes() for name in names]
    return hashlib.blake2b(b"\0".join(sources), digest_size=16).hexdigest()


def generate() -> Records:
    """The catalogue's records, SIZE of them; new objects with every call."""
    dice = _Dice(_SEED)
    records = Records([], {}, {})
    kinds = dice.some([KINDS[number % len(KINDS)] for number in range(SIZE)], SIZE)
    used: set[str] = set()
    for kind in kinds:
        asin = _new_asin(dice, used)
        draft = _draft(dice, kind)
        records.products.append(_product(dice, asin, draft))
        records.annotations[asin] = _annotation(dice, draft)
        asked = [_asked(dice, asin, draft) for _ in range(dice.number(1, 4))]
        if dice.chance(0.85):
            records.instructions[asin] = asked
    return records


def _new_asin(dice: _Dice, used: set[str]) -> str:
    while True:
        asin = "B0" + "".join([dice.one(_ASIN_LETTERS) for _ in range(8)])
        if asin not in used:
            used.add(asin)
            return asin


def _draft(dice: _Dice, kind: Kind) -> _Draft:
    attributes = [ATTRIBUTES[name] for name in dice.some(kind.attributes, dice.number(2, 6))]
    options: dict[str, list[str]] = {}
    for key in kind.options:
        if dice.chance(0.88):
            options[CHOICES[key].name] = _values(dice, CHOICES[key])
    noun = dice.one(kind.nouns)
    style = dice.one([style for style in kind.styles if style not in noun] or [""])
    return _Draft(kind, dice.one(BRANDS), noun, style, tuple(attributes), options)


def _values(dice: _Dice, choice: Choice) -> list[str]:
    count = dice.number(choice.fewest, choice.most)
    if not choice.ordered:
        return dice.some(choice.values, count)
    first = dice.number(0, max(len(choice.values) - count, 0))
    return list(choice.values[first : first + count])


# What sellers write.


def _product(dice: _Dice, asin: str, draft: _Draft) -> dict[str, Any]:
    kind = draft.kind
    chosen = {name: dice.one(values) for name, values in draft.options.items()}
    contents: Any = {
        name: [_option(value, value == chosen[name]) for value in values] for name, values in draft.options.items()
    }
    if not contents:
        contents = ""
    elif dice.chance(0.02):
        contents.setdefault("Style", None)
    return {
        "name": _title(dice, draft, chosen),
        "brand": f"Visit the {draft.brand} Store" if dice.chance(0.5) else f"Brand: {draft.brand}",
        "full_description": _description(dice, draft),
        "pricing": _pricing(dice, kind),
        "availability_status": "In Stock.",
        "images": ["https://example.com/no-image.jpg"],
        "product_category": kind.path if dice.chance(0.96) else "",
        "average_rating": "",
        "small_description": _bullets(dice, draft),
        "customization_options": contents,
        "asin": asin,
        "category": kind.category,
        "query": kind.query,
    }


def _option(value: str, selected: bool) -> dict[str, Any]:
    return {"is_selected": selected, "is_available": True, "value": value, "image": None}


def _title(dice: _Dice, draft: _Draft, chosen: dict[str, str]) -> str:
    kind, noun = draft.kind, draft.noun
    if kind.category == "fashion":
        whose = kind.query.split(" ")[0]
        person = whose.removesuffix("'s")
        name = dice.one([f"{whose} {draft.style} {noun}", f"{draft.style} {noun} for {person}"])
    else:
        name = f"{draft.style} {noun}"
    told = dice.some(draft.attributes, dice.number(1, 4))
    before = [attribute.title for attribute in told if attribute.place == "is"][:1]
    after = [attribute.title for attribute in told if attribute.title not in before]
    if dice.chance(0.35):
        after.append(dice.one([other for other in kind.nouns if other != noun] or [noun]))
    parts = [" ".join([draft.brand, *before, name]), *after]
    title = dice.one([", ", ", ", " - ", " | "]).join(parts) if dice.chance(0.3) else ", ".join(parts)
    size = next((value for name, value in chosen.items() if name not in ("Color", "Fit Type")), "")
    if size and dice.chance(0.4):
        title += dice.one([" ({})", ", {}"]).format(size)
    if "Color" in chosen and dice.chance(0.25):
        title += dice.one([" ({})", ", {}", " (Color : {})"]).format(chosen["Color"])
    return title


def _bullets(dice: _Dice, draft: _Draft) -> list[str]:
    bullets = []
    for attribute in draft.attributes:
        # Some of what is true of a product stands nowhere but among its attributes.
        if dice.chance(0.8):
            text = dice.one(attribute.bullets).format(it=draft.kind.it)
            bullets.append(dice.one(HEADINGS).format(attribute.title.upper(), text))
    noun, style = draft.noun.lower(), draft.style.lower()
    praise = dice.one(PRAISE).format(noun=f"{style} {noun}", brand=draft.brand, it=draft.kind.it)
    bullets.append(praise[0].upper() + praise[1:])
    promises = PROMISES[draft.kind.category] if dice.chance(0.5) else PROMISES["any"]
    bullets.append(dice.one(promises).format(brand=draft.brand, it=draft.kind.it))
    return dice.some(bullets, 6)


def _description(dice: _Dice, draft: _Draft) -> str:
    if dice.chance(0.3):
        return ""
    about = [dice.one(attribute.bullets).format(it=draft.kind.it) for attribute in draft.attributes if dice.chance(0.5)]
    stories = [story.format(brand=draft.brand, it=draft.kind.it) for story in dice.some(STORIES, dice.number(1, 3))]
    opening = f"{draft.brand} {draft.style} {draft.noun}."
    return " ".join([opening, *[f"{text}." for text in about], *stories])


def _pricing(dice: _Dice, kind: Kind) -> str:
    low, high = kind.price
    # Cheap things are more common than dear ones.
    price = low + (high - low) * dice.between(0, 1) ** 2
    shown = f"${int(price)}{dice.one(['.99', '.99', '.95', '.50', '.00', '.49'])}"
    if dice.chance(0.03):
        return ""
    if dice.chance(0.15):
        return f"{shown}${int(price * dice.between(1.1, 1.7)) + 1}.99"
    return shown


# What shoppers ask for.


def _annotation(dice: _Dice, draft: _Draft) -> dict[str, Any]:
    names = [attribute.name for attribute in draft.attributes]
    annotation: dict[str, Any] = {"attributes": names}
    if dice.chance(0.55):
        wanted = [attribute for attribute in draft.attributes if dice.chance(0.75)] or [draft.attributes[0]]
        parts = [f"Find me {_listed('', wanted, 'is')} {draft.kind.query.lower()}".replace("  ", " ")]
        parts += [part for part in (_listed("with ", wanted, "with"), _listed("for ", wanted, "for")) if part]
        annotation["instruction"] = " ".join(parts)
        annotation["instruction_attributes"] = [attribute.name for attribute in wanted]
    return annotation


def _listed(before: str, wanted: Sequence[Attribute], place: str) -> str:
    names = [attribute.name for attribute in wanted if attribute.place == place]
    return before + ", ".join(names) if names else ""


_WISHES = (
    "i need {thing}",
    "i want {thing}",
    "i am looking for {thing}",
    "i'm looking for {thing}",
    "i would like to buy {thing}",
    "find me {thing}",
    "looking for {thing}",
    "please help me find {thing}",
    "can you find {thing} for me?",
)

_PHRASES = {
    "Color": (" in {}", ". i want it in {}", ". the color should be {}", ", and i prefer {}"),
    "Size": (" in size {}", ". i need size {}", ", size {}", ". make it {}"),
    "Flavor Name": (" in {} flavor", ". i would like the {} one", ", {} flavored"),
    "Scent": (" with {} scent", ". i like the smell of {}", ", scented with {}"),
    "Style": (" in the {} version", ". it should be the {}", ", style {}"),
    "Fit Type": (" for {}", ", {} fit", ". it is for {}"),
}


def _asked(dice: _Dice, asin: str, draft: _Draft) -> dict[str, Any]:
    wanted = dice.some(draft.attributes, dice.number(1, 3))
    options = {name: dice.one(values) for name, values in draft.options.items() if dice.chance(0.8)}
    text = dice.one(_WISHES).format(thing=_thing(dice, draft, wanted))
    for name, value in options.items():
        # After a question, what follows begins anew.
        fitting = [phrase for phrase in _PHRASES[name] if phrase.startswith(".") or not text.endswith("?")]
        text += dice.one(fitting).format(value.lower()).removeprefix("." if text.endswith("?") else "")
    return {
        "asin": asin,
        "instruction": text if text.endswith("?") else f"{text}.",
        "attributes": [attribute.name for attribute in draft.attributes],
        "options": [f"{name.lower()}: {value.lower()}" for name, value in options.items()],
        "instruction_attributes": [attribute.name for attribute in wanted],
        # The original compares them with what item pages show.
        "instruction_options": [value.strip().replace("/", " | ").lower() for value in options.values()],
        "assignment_id": "",
        "worker_id": "",
    }


def _thing(dice: _Dice, draft: _Draft, wanted: Sequence[Attribute]) -> str:
    """Such as `a long lasting candle with soy wax that is lead free`."""
    what = draft.kind.asked if dice.chance(0.6) else _with_article(draft.noun.lower())
    plural = _is_plural(what)
    qualities = [attribute.name for attribute in wanted if attribute.place == "is"]
    if qualities and dice.chance(0.5):
        article, _, rest = what.partition(" ")
        first = qualities.pop(0)
        what = _with_article(f"{first} {rest}") if article in ("a", "an") else f"{first} {what.removeprefix('some ')}"
    what += "".join([f" {part}" for part in (_listed("with ", wanted, "with"), _listed("for ", wanted, "for")) if part])
    return what + (f" that {'are' if plural else 'is'} {' and '.join(qualities)}" if qualities else "")


def _with_article(noun: str) -> str:
    return noun if _is_plural(noun) else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _is_plural(noun: str) -> bool:
    """Of what has no article."""
    return noun.endswith("s") and not noun.startswith(("a ", "an ")) and not noun.endswith(("ss", "glass"))
