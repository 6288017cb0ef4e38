"""Words for the generated catalogue: what products can be, and how sellers put it.

All made up for it. The attributes are in `attributes.txt`: one line an entry, its parts between bars.
"""

from typing import Literal, NamedTuple, cast

from rollback_gym.envs.webshop.goods import lines

Place = Literal["is", "with", "for"]
"""How an attribute stands in a sentence: `an ATTRIBUTE lamp`, `a lamp with ATTRIBUTE`, `a lamp for ATTRIBUTE`."""


class Attribute(NamedTuple):
    """Something that can be true of a product."""

    name: str
    place: Place
    title: str
    """How a title says it."""
    bullets: tuple[str, ...]
    """How a bullet says it; `{it}` stands for the product."""


ATTRIBUTES = {
    name: Attribute(name, cast(Place, place), title, tuple(bullets.split(";")))
    for place, name, title, bullets in (line.split("|") for line in lines("attributes.txt"))
}

BRANDS = (
    "Velmora", "Nordleaf", "KAIPINE", "Ostrella", "Brightfen", "Tamsin & Co", "LUMOVA", "Harrowby", "Pelikora",
    "Mirewood", "Juniperly", "ZENTRIK", "Solvane", "Cobalt Creek", "Aurelio Home", "Wrenfield", "DOKARA", "Fennmark",
    "Marisolle", "Tidewren", "OAKHAVEN", "Quillon", "Besoro", "Lindqvarn", "Sundry Fox", "VOLTEEK", "Plumbright",
    "Hollisande", "Cascara Lane", "Emberlyn", "NIMBRO", "Rosaveil", "Thornbury", "Yarrowell", "Kestrelle",
    "Amberjack", "Petalune", "GRANDOR", "Silvanto", "Meadowmere", "Orchidea", "Fjellby", "Copperwick", "Lazuline",
    "Birchwell", "TREKOVA", "Saffrona", "Mooncove", "Willowmint", "Drakensea",
)  # fmt: skip

STORIES = (
    "{brand} began in a garage with two people and one idea: a {it} that does what it says.",
    "At {brand} every {it} is looked at twice before it leaves the house.",
    "We are a small team, and we answer every message within a day.",
    "Thousands of customers have made this {it} part of their day.",
    "Not happy? Write to us and we find a solution, no questions asked.",
    "A thoughtful present for birthdays, holidays and new homes.",
    "Colors may look slightly different on your screen.",
)
"""What sellers add to a description."""

PRAISE = (
    "{noun}: the {it} we wanted ourselves and could not find",
    "{brand} has made this {it} for people who look twice",
    "simple, pretty, and everything that you expect of a {it}: {noun} by {brand}",
    "you will wonder how you got along without this {it}",
    "{noun} that friends will ask you about",
)

PROMISES = {
    "any": (
        "SATISFACTION GUARANTEED - if anything is wrong with your {it}, we replace it",
        "A great gift for mother, father, friend or colleague",
        "Buy with confidence: {brand} stands behind every {it}",
    ),
    "beauty": (
        "How to use: try a little on the inside of your arm first",
        "Tested by our own families before it goes to yours",
    ),
    "electronics": (
        "What you get: one {it}, our 12-month warranty and friendly customer service",
        "Package includes: 1 x {it}, 1 x user guide",
    ),
    "fashion": (
        "Please check the size chart in the pictures before you order",
        "Designed in our own studio and made by people who are paid fairly",
    ),
    "garden": (
        "Please allow a small difference in size due to manual measurement",
        "What you get: one {it}, all tools and instructions with pictures",
    ),
    "grocery": (
        "Store in a cool and dry place and use within two weeks of opening",
        "Packed fresh every week in small batches",
    ),
}
"""What sellers add as a last bullet, by category."""

HEADINGS = (
    "【{0}】{1}",
    "{0}: {1}",
    "★{0}★ {1}",
    "✔ {0} - {1}",
    "{1}",
    "{1}.",
    "{0} \N{EN DASH} {1}",
    "{1} ",
)
"""How a bullet (1) is set under its heading (0)."""
