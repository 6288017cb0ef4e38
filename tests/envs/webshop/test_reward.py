import pytest

from rollback_gym.envs.webshop import reward
from rollback_gym.envs.webshop.reward import TypeFactor, color_of, matched_attributes, matched_options, worth
from rollback_gym.envs.webshop.similarity import alike, words
from rollback_gym.envs.webshop.types import Catalogue, Goal, GoalOption, Level, Product, Shop
from tests.envs.webshop.shops import LongWords, goal_number, plain_goals, product


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("soft", "soft", True),
        ("machine washable", "washable", True),  # one's words are all the other's
        ("washable machine", "Machine  Washable!", True),
        ("large", "x-large", True),
        ("x-large", "xx-large", True),  # 93
        ("large", "larger", True),  # 91
        ("medium", "x-small", False),
        ("easy to clean", "easy clean", True),
        ("long lasting", "long lasting battery life", True),
        ("stainless steel", "stainless steal", True),
        ("", "soft", False),
        ("", "", False),
        ("!!!", "???", False),
        ("\u00e9", "\u00e9", False),  # nothing is left of either
        ("caf\u00e9", "caf", True),  # and of this one, what is ASCII
        ("\u2603", "\u2603", False),  # no letter
        ("\u65e5\u672c", "\u65e5\u672c", True),
        ("abcdefg", "abcdefh", True),  # 86
        ("abcdef", "abcdeg", False),  # 83
    ],
)
def test_alike(first: str, second: str, expected: bool) -> None:
    assert alike(first, second) is expected


def test_words() -> None:
    assert words("It's  a RED-hot caf\u00e9_1") == {"it", "s", "a", "red", "hot", "caf_1"}


@pytest.mark.parametrize(
    ("text", "color"),
    [
        ("red", "red"),
        ("standard", "tan"),
        ("washed denim", "ash"),
        ("dark navy", "dark"),
        ("large", "large"),
        ("Red", "Red"),
        ("", ""),
        ("multicolored", "multicolor"),
    ],
)
def test_the_first_color_in_a_value_stands_for_it(text: str, color: str) -> None:
    assert color_of(text) == color


@pytest.mark.parametrize(
    ("chosen", "wanted", "count"),
    [
        ((), (), 0),
        ((), (("size", "large"),), 0),
        (("large",), (("size", "large"),), 1),
        (("x-large",), (("size", "large"),), 0),
        (("dark red",), (("color", "red"),), 0),  # dark, and not red
        (("dark red",), (("color", "dark navy"),), 1),  # dark is a word of the pair's text
        (("dark red",), (("color", "navy"),), 0),
        (("dark red",), ("dark navy",), 1),  # of a human goal both are dark
        (("red",), (("color", "red"), ("trim", "red")), 2),
        (("size",), (("size", "large"),), 1),  # the option's name
        (("large",), ("x-large", "xx-large"), 2),
        (("\\",), (("x", "\\"),), 0),
        (("5",), (("size", "5 feet"),), 1),
    ],
)
def test_options(chosen: tuple[str, ...], wanted: tuple[GoalOption, ...], count: int) -> None:
    assert matched_options(chosen, wanted) == count


@pytest.mark.parametrize(
    ("sold", "wanted", "count"),
    [
        (product("B1", attributes=("soft",)), ("soft", "soft"), 2),
        (product("B1", attributes=(), description="very SOFT"), ("soft",), 1),
        (product("B1", attributes=(), title="A softer one"), ("soft",), 1),
        (product("B1", attributes=(), bullets=("so", "ft")), ("soft",), 0),
        (product("B1", attributes=(), bullets=("so", "ft")), ("so ft",), 1),
        (product("B1", attributes=(), title="Soft"), ("Soft",), 0),  # what is wanted is not put in lower case
        (product("B1", attributes=("hand washable",)), ("hand wash",), 0),
    ],
)
def test_attributes(sold: Product, wanted: tuple[str, ...], count: int) -> None:
    assert matched_attributes(sold, wanted) == count


def goal_of(sold: Product, **other: object) -> Goal:
    fields: dict[str, object] = {"attributes": ("soft",), "options": (), "price_upper": 30.0, **other}
    return Goal(  # type: ignore[arg-type]
        sold.asin, sold.title, sold.category, sold.query, sold.product_category, "Find one", **fields
    )


@pytest.mark.parametrize(
    ("sold", "wanted", "expected"),
    [
        ({}, {}, TypeFactor(1.0, True, True, 1.0)),
        ({"query": "x", "product_category": "x", "title": "Plain Lamp Desk"}, {}, TypeFactor(1.0, False, False, 0.5)),
        ({"query": "x", "product_category": "x", "title": "Lamp"}, {}, TypeFactor(0.0, False, False, 0.0)),
        ({"title": "Lamp"}, {}, TypeFactor(0.0, True, True, 0.0)),  # no noun in common: nothing helps
        ({"query": "x", "product_category": "Women \u203a Clothing"}, {}, TypeFactor(1.0, False, True, 1.0)),
        ({"title": "Lamp"}, {"title": "a b"}, TypeFactor(1.0, True, True, 0.2)),  # a goal without nouns
        ({"title": "Lamp", "query": "x", "product_category": ""}, {"title": "a b"}, TypeFactor(0.5, False, False, 0.2)),
        (
            {"title": "eleven", "query": "x", "product_category": ""},
            {"title": "eleven other nouns that only share their first word with other titles sold"},
            TypeFactor(0.1, False, False, 1 / 13),
        ),
        # A noun that the goal's title repeats counts as often there.
        ({"title": "word"}, {"title": "word word some"}, TypeFactor(1.0, True, True, 1 / 3)),
    ],
)
def test_type(sold: dict[str, str], wanted: dict[str, str], expected: TypeFactor) -> None:
    catalogue = Catalogue((), LongWords())
    goal = goal_of(product("B1", **wanted))  # type: ignore[arg-type]
    assert reward.type_factor(catalogue, product("B2", **sold), goal) == expected  # type: ignore[arg-type]


def test_the_whole() -> None:
    goals = plain_goals()
    level = goals.level(goal_number(goals, "B000000001", "large", "red"))
    products = {sold.asin: sold for sold in level.shop.catalogue.products}
    best = worth(level, products["B000000001"], ["large", "red"])
    assert best.reward == 1.0
    assert best.details() == {
        "reward": 1.0,
        "r_type": 1.0,
        "r_att": 1.0,
        "r_option": 1.0,
        "r_price": True,
        "query_match": True,
        "category_match": True,
        "title_score": 1.0,
    }
    assert worth(level, products["B000000004"], []).reward == 0.0


@pytest.mark.parametrize(("price", "within"), [(29.99, True), (30.0, True), (30.01, False)])
def test_price(price: float, within: bool) -> None:
    sold = product("B1", pricing=(price,))
    shop = Shop(Catalogue((sold,), LongWords()))
    level = Level("by hand", (), shop, goal_of(sold))
    assert worth(level, sold, []).r_price is within
    assert worth(level, sold, []).reward == (1.0 if within else 0.5)
    assert "r_option" not in worth(level, sold, []).details()
