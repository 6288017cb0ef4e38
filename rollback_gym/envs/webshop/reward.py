"""What a purchase is worth, to the letter as in the original (`get_reward`).

    reward = (attributes matched + options matched + price kept) / (attributes + options + 1) * type

A purchase is measured against the goal alone: any product may reach 1.0, not only the one that the goal came from.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rollback_gym.envs.webshop.similarity import alike
from rollback_gym.envs.webshop.types import Catalogue, Goal, GoalOption, Level, Product

_COLORS = """
    alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo
    caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream crystal
    dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather indigo ivory
    ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor
    mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand
    sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut
    wheat white wine yellow
"""
COLORS = tuple(_COLORS.split())
"""The colors of WebShop's `normalize.py`, alphabetical; "standard" counts as "tan", since that is found in it first."""

_CATEGORY_SEPARATOR = "\u203a"
_NO_NOUNS_SCORE = 0.2

LEAST_TITLE_SCORE = 0.1
"""A product that shares fewer of the nouns is of another type altogether."""


class Worth(NamedTuple):
    """What a purchase is worth, and why; the parts have the original's names."""

    reward: float
    r_type: float
    """1.0 for the right type of product, else 0.5, 0.1 or 0.0."""
    r_att: float
    """The share of the goal's attributes that the product has."""
    r_option: float | None
    """The share of the goal's options that were chosen; None where it asks for none."""
    r_price: bool
    """Whether the price is within the limit."""
    query_match: bool
    category_match: bool
    title_score: float
    """The share of the nouns in the goal's title that the product's title has."""

    def details(self) -> dict[str, Any]:
        """As a dict, without what does not apply."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def worth(level: Level, product: Product, chosen: Iterable[str]) -> Worth:
    """What buying `product` with these option values is worth for the level's goal."""
    goal = level.goal
    type_part = type_factor(level.shop.catalogue, product, goal)
    within = level.shop.prices[product.asin] <= goal.price_upper
    attributes = matched_attributes(product, goal.attributes)
    options = matched_options(chosen, goal.options)
    asked = len(goal.attributes) + len(goal.options) + 1
    return Worth(
        (attributes + options + within) / asked * type_part.factor,
        type_part.factor,
        attributes / len(goal.attributes),
        options / len(goal.options) if goal.options else None,
        within,
        *type_part[1:],
    )


class TypeFactor(NamedTuple):
    """The factor for the type of product, and what it rests on."""

    factor: float
    query_match: bool
    category_match: bool
    title_score: float


def type_factor(catalogue: Catalogue, product: Product, goal: Goal) -> TypeFactor:
    """How far `product` is the type of thing that was asked for."""
    query_match = product.query == goal.query
    category_match = len(_parts(product.product_category) & _parts(goal.product_category)) >= 2
    wanted = nouns(catalogue, goal.title)
    common = len(set(nouns(catalogue, product.title)) & set(wanted))
    title_score = common / len(wanted) if wanted else _NO_NOUNS_SCORE
    factor = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    if title_score < LEAST_TITLE_SCORE:
        factor = 0.1 if title_score else 0.0
    return TypeFactor(factor, query_match, category_match, title_score)


def matched_attributes(product: Product, wanted: Sequence[str]) -> int:
    """How many of the attributes `product` has, in its own list or anywhere in its title, bullets or description."""
    return sum([has_attribute(product, attribute) for attribute in wanted])


def has_attribute(product: Product, wanted: str) -> bool:
    """See `matched_attributes`. Only the product's texts are taken in lower case, not what is wanted."""
    return (
        any(alike(attribute, wanted) for attribute in product.attributes)
        or wanted in product.title.lower()
        or wanted in " ".join(product.bullets).lower()
        or wanted in product.description.lower()
    )


def matched_options(chosen: Iterable[str], wanted: Sequence[GoalOption]) -> int:
    """How many of the wanted options one of the chosen values matches; one value may match several."""
    values = [color_of(value) for value in chosen]
    return sum([any(alike(value, option) for value in values) for option in map(option_text, wanted)])


def option_text(option: GoalOption) -> str:
    """What a chosen value is compared with.

    A synthetic goal's option is a (name, value), and the original compares the text of that pair: so a value that
    looks like the option's name matches too, and only a name or value that is a color as a whole stands for one.
    """
    if isinstance(option, str):
        return color_of(option)
    return next((color for color in COLORS if color in option), None) or str(option)


def color_of(text: str) -> str:
    """The first color in `text`, in the order of COLORS; `text` itself where there is none."""
    return next((color for color in COLORS if color in text), text)


def nouns(catalogue: Catalogue, title: str) -> tuple[str, ...]:
    """The nouns of a title, remembered."""
    known: dict[str, tuple[str, ...]] = catalogue.memo.setdefault("nouns", {})
    found = known.get(title)
    if found is None:
        found = known[title] = catalogue.nouns(title)
    return found


def _parts(product_category: str) -> set[str]:
    return {part.strip() for part in product_category.split(_CATEGORY_SEPARATOR)}
