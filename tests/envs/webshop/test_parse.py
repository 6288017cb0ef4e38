from typing import Any

import pytest

from rollback_gym.envs.webshop.original import annotations_of, as_record, instructions_of
from rollback_gym.envs.webshop.parse import is_skipped, parse_options, parse_price, parse_product
from rollback_gym.envs.webshop.types import HumanInstruction
from tests.envs.webshop.shops import hostile, plain

RECORD = {
    "asin": "B08R3XSC65",
    "name": "Pumps",
    "full_description": "Red.",
    "small_description": ["One.", "Two."],
    "category": "fashion",
    "query": " Women's Pumps ",
    "product_category": "Shoes \u203a Pumps",
    "pricing": "$19.99$27.99",
    "customization_options": {"Size": [{"value": " 5/6 ", "image": None}], "Color": None, "Fit": []},
    "images": [],
}


@pytest.mark.parametrize(
    ("text", "prices", "shown"),
    [
        ("", (100.0,), "$100.0"),
        (None, (100.0,), "$100.0"),
        ("$42.80", (42.8,), "$42.8"),
        ("$1,299.00", (1299.0,), "$1299.0"),
        ("$19.99$27.99", (19.99, 27.99), "$19.99 to $27.99"),
        ("$30.00 - $5.00", (30.0, 5.0), "$30.0 to $5.0"),
        ("$1 $2 $3", (1.0, 2.0), "$1.0 to $2.0"),
        ("from $7 only", (7.0,), "$7.0"),
    ],
)
def test_price(text: str | None, prices: tuple[float, ...], shown: str) -> None:
    assert parse_price(text) == (prices, shown)


@pytest.mark.parametrize("text", ["$abc", "$", "12.50", "$1.2.3", "$1 $", 12.5, ["$1"]])
def test_no_price(text: Any) -> None:
    with pytest.raises(ValueError, match="pricing"):
        parse_price(text)


def test_options() -> None:
    assert parse_options("") == ()
    assert parse_options({"Color": [{"value": "Red"}], "SIZE": None, "color": [{"value": "A/B"}]}) == (
        ("color", ("a | b",)),
    )


@pytest.mark.parametrize("contents", [["x"], {"x": "y"}, {"x": [1]}, {"x": [{}]}, {"x": [{"value": None}]}])
def test_no_options(contents: Any) -> None:
    with pytest.raises(ValueError, match=r"option|value"):
        parse_options(contents)


def test_product() -> None:
    product = parse_product(
        RECORD,
        {"attributes": ["soft"], "instruction": "Find me", "instruction_attributes": ["soft"]},
        [{"instruction": "i want", "instruction_attributes": ["soft"], "instruction_options": ["5 | 6"]}],
    )
    assert product.query == "women's pumps"
    assert product.options == (("size", ("5 | 6",)), ("fit", ()))
    assert (product.pricing, product.price_text) == ((19.99, 27.99), "$19.99 to $27.99")
    assert product.instruction == "Find me"
    assert product.human_instructions == (HumanInstruction("i want", ("soft",), ("5 | 6",)),)
    assert parse_product(RECORD).attributes == ("DUMMY_ATTR",)
    assert parse_product({**RECORD, "small_description": "One."}).bullets == ("One.",)
    assert parse_product(RECORD, {"attributes": []}).instruction is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": None},
        {"full_description": 3},
        {"small_description": None},
        {"small_description": ["a", None]},
        {"category": None},
        {"query": None},
        {"asin": 3},
        {"pricing": "$x"},
    ],
)
def test_malformed(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        parse_product({**RECORD, **wrong})


@pytest.mark.parametrize(
    ("asin", "skipped"), [("nan", True), ("B0123456789", True), ("B012345678", False), ("", False)]
)
def test_skipped(asin: str, skipped: bool) -> None:
    assert is_skipped({"asin": asin}) is skipped


@pytest.mark.parametrize("seed", range(3))
def test_records_of_products_read_back(seed: int) -> None:
    for catalogue in (plain(), hostile(seed)):
        annotations, instructions = annotations_of(catalogue), instructions_of(catalogue)
        for product in catalogue.products:
            read = parse_product(as_record(product), annotations[product.asin], instructions.get(product.asin, ()))
            assert read._replace(instruction_attributes=()) == product._replace(instruction_attributes=())
