"""Hand-made shops: a plain one of a few products, hostile ones, and a part of the generated catalogue, kept in a file
so that what was recorded with it stays true when the generator changes."""

import json
import lzma
import random
from functools import cache
from pathlib import Path

from rollback_gym.envs.webshop.goals import Goals, open_goals
from rollback_gym.envs.webshop.original import annotations_of, as_record, instructions_of
from rollback_gym.envs.webshop.parse import parse_product
from rollback_gym.envs.webshop.types import Catalogue, HumanInstruction, Options, Product

GOLDEN = Path(__file__).parent / "golden"
_KEPT = GOLDEN / "shop.json.xz"


class LongWords:
    """Calls every long word of a title a noun."""

    name = "long words"

    def __call__(self, title: str) -> tuple[str, ...]:
        return tuple(word for word in title.lower().split() if len(word) > 3)


def product(asin: str, title: str = "Plain Shirt", *, options: Options = (), **other: object) -> Product:
    """A product of which only what matters need be said."""
    fields: dict[str, object] = {
        "description": "A shirt.",
        "bullets": ("Soft.",),
        "category": "fashion",
        "query": "women's shirts",
        "product_category": "Clothing \u203a Women \u203a Shirts",
        "pricing": (25.0,),
        "price_text": "$25.0",
        "attributes": ("soft",),
    }
    return Product(asin, title, options=options, **{**fields, **other})  # type: ignore[arg-type]


@cache
def plain() -> Catalogue:
    """Shirts, dresses and a lamp."""
    sizes = ("size", ("small", "large", "x-large"))
    colors = ("color", ("red", "dark navy", "standard"))
    return Catalogue(
        (
            product(
                "B000000001",
                "Soft Cotton Shirt",
                options=(sizes, colors),
                instruction="Find me a soft shirt",
                instruction_attributes=("soft",),
                attributes=("soft", "machine washable"),
            ),
            product("B000000002", "Cotton Dress", pricing=(10.0, 60.0), price_text="$10.0 to $60.0"),
            product(
                "B000000003",
                "Silk Dress",
                options=(("style", ("multi [2 pack]", "plain")),),
                instruction="Find me a dress",
                instruction_attributes=("silk", "hand wash"),
                attributes=("silk", "hand wash only"),
                human_instructions=(
                    HumanInstruction("i want a silk dress.", ("silk",), ("plain",)),
                    HumanInstruction("nothing to measure by", (), ()),
                ),
            ),
            product(
                "B000000004",
                "Brass Lamp",
                query="lamps",
                product_category="Home \u203a Lamps",
                description="",
                bullets=("", "Bright."),
                attributes=(),
                pricing=(985.0,),
                price_text="$985.0",
                instruction="Find me a lamp",
                instruction_attributes=("bright",),
            ),
        ),
        LongWords(),
    )


@cache
def plain_goals() -> Goals:
    """The goals of the plain shop."""
    return open_goals(plain())


class KnownNouns:
    """The nouns of some titles."""

    name = "known"

    def __init__(self, known: dict[str, tuple[str, ...]]) -> None:
        self.known = known

    def __call__(self, title: str) -> tuple[str, ...]:
        return self.known[title]


def keep(catalogue: Catalogue) -> None:
    """Write every third product of `catalogue` for `kept`."""
    part = Catalogue(tuple(catalogue.products)[::3], catalogue.nouns)
    contents = {
        "products": list(map(as_record, part.products)),
        "annotations": annotations_of(part),
        "instructions": instructions_of(part),
        "nouns": {one.title: part.nouns(one.title) for one in part.products},
    }
    GOLDEN.mkdir(exist_ok=True)
    _KEPT.write_bytes(lzma.compress(json.dumps(contents).encode(), preset=9 | lzma.PRESET_EXTREME))


@cache
def kept() -> Catalogue:
    """What `keep` wrote."""
    contents = json.loads(lzma.decompress(_KEPT.read_bytes()))
    annotations, instructions = contents["annotations"], contents["instructions"]
    products = [
        parse_product(record, annotations[record["asin"]], instructions.get(record["asin"], ()))
        for record in contents["products"]
    ]
    nouns = {title: tuple(found) for title, found in contents["nouns"].items()}
    return Catalogue(tuple(products), KnownNouns(nouns))


def goal_number(goals: Goals, asin: str, *values: str) -> int:
    """The number of the goal that was made from that product with those values."""
    found = [n for n, goal in enumerate(goals) if goal.asin == asin and {v for _, v in goal.options} >= set(values)]
    return found[0]


_TEXTS = (
    *("", " ", "\n", " \n ", "\t", "plain text", "Title with <b>tags</b> & \"quotes\" 'single'", "line\nbreak"),
    *(
        "  padded  ",
        "\u00a0nbsp\u00a0",
        "\u00e9t\u00e9 \u2605 \u2603",
        "a [SEP] b",
        "[button] x [button_]",
        "{{ x }} {% raw %}",
    ),
    *("&lt;escaped&gt; &#39;", "<!-- comment -->", "</h2></div>", "Soft cotton shirt for women", "soft COTTON Red"),
    *("\x0b\x0c", "\r\n", "search_results", "large"),
)
_VALUES = (
    *(
        "red",
        "dark red",
        "standard",
        "x-large",
        "large",
        "multi [2 pack]",
        "2 pack]",
        "[a",
        "a]b",
        "",
        "back to search",
    ),
    *("< prev", "next >", "buy now", "features", "description", "attributes", "reviews", "search", "search_results"),
    *("item_page", "item_sub_page", "done", 'he said "hi"', "back\\slash", "\u00e9t\u00e9", "\u2605 star", "a & b"),
    *("<b>bold<", "it's", "{{ 7*7 }}", "&amp;", "a\nb", "tab\there", "1 | 2", "color", "size", "-->"),
    *("washed denim", "\u2603", "b000000001", "\uff46\uff55\uff4c\uff4c"),
)
_NAMES = (
    "color",
    "size",
    "style",
    "multi [2]",
    "",
    "search_results",
    "item_page",
    'qu"ote',
    "\u00e9t\u00e9",
    "next >",
    "x",
)
_ASINS = {3: "FEATURES", 4: "NEXT >", 5: "BUY NOW", 6: "< PREV", 7: "A&<B"}
_PRICES = (
    ((42.8,), "$42.8"),
    ((100.0,), "$100.0"),
    ((985.0,), "$985.0"),
    ((10.0, 20.5), "$10.0 to $20.5"),
    ((30.0, 5.0), "$30.0 to $5.0"),
)


@cache
def hostile(seed: int) -> Catalogue:
    """60 products of whatever may upset a parser, a template or a URL; every fifth has asins in small letters."""
    rng = random.Random(f"hostile {seed}")
    return Catalogue(tuple(_hostile_product(rng, number, seed % 5 == 0) for number in range(60)), LongWords())


def _hostile_product(rng: random.Random, number: int, small: bool) -> Product:
    names = rng.sample(_NAMES, rng.randint(0, 4))
    options = tuple(
        (name, tuple(rng.choices(_VALUES, k=rng.randint(0 if rng.random() < 0.1 else 1, 6)))) for name in names
    )
    asin = _ASINS.get(number, f"B{number:09}")
    pricing, price_text = rng.choice(_PRICES)
    return Product(
        asin=asin.lower() if small and rng.random() < 0.1 else asin,
        title=rng.choice(_TEXTS) + rng.choice(("", "", " Dress", " shirt cotton")),
        description=rng.choice(_TEXTS),
        bullets=tuple(rng.choices(_TEXTS, k=rng.randint(1, 4))),
        category=rng.choice(("beauty", "fashion", "", " ")),
        query=rng.choice(("women's shirt", "shoes", "", "a\u00a0b")),
        product_category=rng.choice(("A \u203a B \u203a C", "A\u203aB", "", "X")),
        pricing=pricing,
        price_text=price_text,
        options=options,
        attributes=tuple(rng.sample(("soft", "cotton", "machine washable", "red", "\u00e9t\u00e9"), rng.randint(0, 3))),
        instruction=rng.choice((f"Find me {rng.choice(_TEXTS)}", None, "")),
        instruction_attributes=tuple(rng.sample(("soft", "cotton", "washable machine", "Red"), rng.randint(1, 3))),
        human_instructions=tuple(
            HumanInstruction(
                f"{rng.choice(_TEXTS)}.",
                tuple(rng.sample(("soft", "x"), rng.randint(0, 2))),
                tuple(rng.sample(_VALUES, rng.randint(0, 2))),
            )
            for _ in range(rng.randint(0, 2))
        ),
    )
