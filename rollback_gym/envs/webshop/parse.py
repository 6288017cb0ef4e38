"""Products from the records of WebShop's files, read exactly as the original reads them.

Nothing is repaired: where the original would stop with an error, or a page or a reward could not be made of what it
read, `ValueError` says what is wrong with the record.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from rollback_gym.envs.webshop.types import GoalOption, HumanInstruction, Options, Product

DUMMY_ATTRIBUTE = "DUMMY_ATTR"
"""What the original gives a product that no attributes are known of."""

MAX_ASIN = 10

_NO_PRICE = 100.0
_NOT_A_PRICE = re.compile(r"[^\d.]")


def is_skipped(record: Mapping[str, Any]) -> bool:
    """Whether the original passes over `record` in silence: an asin that is `nan` or too long."""
    asin = _text(record, "asin")
    return asin == "nan" or len(asin) > MAX_ASIN


def parse_product(
    record: Mapping[str, Any],
    annotation: Mapping[str, Any] | None = None,
    instructions: Sequence[Mapping[str, Any]] = (),
) -> Product:
    """The product of `record`, an entry of `items_shuffle*.json`.

    Args:
        record: The entry.
        annotation: What `items_ins_v2*.json` has for its asin; None where it has nothing.
        instructions: What `items_human_ins.json` has for its asin.

    Raises:
        ValueError: if the original could not read it.
    """
    bullets = record.get("small_description")
    bullets = bullets if isinstance(bullets, list) else [bullets]
    pricing, price_text = parse_price(record.get("pricing"))
    attributes = _attributes(annotation)
    instruction, instruction_attributes = _synthetic(annotation)
    asked, unread = parse_instructions(instructions)
    if unread:
        raise ValueError(unread[0])
    return Product(
        asin=_text(record, "asin"),
        title=_text(record, "name"),
        description=_text(record, "full_description"),
        bullets=_texts(bullets, "small_description"),
        category=_text(record, "category"),
        query=_text(record, "query").lower().strip(),
        product_category=_text(record, "product_category"),
        pricing=pricing,
        price_text=price_text,
        options=parse_options(record.get("customization_options")),
        attributes=attributes,
        instruction=instruction,
        instruction_attributes=instruction_attributes,
        human_instructions=asked,
    )


def parse_instructions(instructions: Any) -> tuple[tuple[HumanInstruction, ...], list[str]]:
    """What `items_human_ins.json` has for a product, and why some of it is left out; the original stops there."""
    if not isinstance(instructions, list | tuple):
        return (), [f"human instructions must be a list, got {type(instructions).__name__}"]
    asked, unread = [], []
    for number, instruction in enumerate(instructions):
        try:
            asked.append(_human(instruction))
        except ValueError as error:
            unread.append(f"human instruction {number}: {error}")
    return tuple(asked), unread


def parse_price(text: Any) -> tuple[tuple[float, ...], str]:
    """The prices in a text such as `$10.00 - $20.50`, and what the pages show for it.

    No price at all means 100 dollars. Of more than two prices the first two count.

    >>> parse_price("$10.00 - $20.50")
    ((10.0, 20.5), '$10.0 to $20.5')
    >>> parse_price("")
    ((100.0,), '$100.0')
    """
    if not text:
        return (_NO_PRICE,), f"${_NO_PRICE}"
    if not isinstance(text, str):
        raise ValueError(f"pricing must be a text, got {type(text).__name__}")
    try:
        prices = [float(Decimal(_NOT_A_PRICE.sub("", part))) for part in text.split("$")[1:]]
    except InvalidOperation as error:
        raise ValueError(f"pricing {text!r} holds something after a $ that is no number") from error
    if not prices:
        raise ValueError(f"pricing {text!r} has no price: expected $ before a number")
    if len(prices) == 1:
        return (prices[0],), f"${prices[0]}"
    return (prices[0], prices[1]), f"${prices[0]} to ${prices[1]}"


def parse_options(contents: Any) -> Options:
    """The options in `customization_options`: a mapping of names to lists of `{"value": ...}`, or nothing.

    A name without a list is left out; one with an empty list stays, and has nothing to choose.
    """
    if not contents:
        return ()
    if not isinstance(contents, Mapping):
        raise ValueError(f"customization_options must be a mapping, got {type(contents).__name__}")
    options: dict[str, tuple[str, ...]] = {}
    for name, values in contents.items():
        if values is None:
            continue
        if not isinstance(values, list) or not all(isinstance(value, Mapping) for value in values):
            raise ValueError(f"option {name!r} must be a list of values, each with a 'value'")
        # Two names may be one in lower case: the later one then replaces the values, in the first one's place.
        options[name.lower()] = tuple([_option_value(value) for value in values])
    return tuple(options.items())


def _option_value(content: Mapping[str, Any]) -> str:
    return _text(content, "value").strip().replace("/", " | ").lower()


def _attributes(annotation: Mapping[str, Any] | None) -> tuple[str, ...]:
    if annotation is None:
        return (DUMMY_ATTRIBUTE,)
    if not isinstance(annotation, Mapping):
        raise ValueError(f"attributes must stand in a mapping, got {type(annotation).__name__}")
    if "attributes" not in annotation:
        return (DUMMY_ATTRIBUTE,)
    return _texts(annotation["attributes"], "attributes")


def _synthetic(annotation: Mapping[str, Any] | None) -> tuple[str | None, tuple[str, ...]]:
    if annotation is None or annotation.get("instruction") is None:
        return None, ()
    return _text(annotation, "instruction"), _texts(annotation.get("instruction_attributes"), "instruction_attributes")


def _human(instruction: Mapping[str, Any]) -> HumanInstruction:
    if not isinstance(instruction, Mapping):
        raise ValueError(f"a human instruction must be a mapping, got {type(instruction).__name__}")
    options = instruction.get("instruction_options")
    wanted: tuple[GoalOption, ...]
    if isinstance(options, Mapping):
        wanted = tuple([(name, _text(options, name)) for name in options])
    else:
        wanted = _texts(options, "instruction_options")
    attributes = _texts(instruction.get("instruction_attributes"), "instruction_attributes")
    return HumanInstruction(_text(instruction, "instruction"), attributes, wanted)


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a text, got {'nothing' if value is None else type(value).__name__}")
    return value


def _texts(values: Any, key: str) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{key} must be a list of texts")
    return tuple(values)
