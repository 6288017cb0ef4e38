"""Options of the form NAME=VALUE."""

import json
from collections.abc import Sequence
from typing import Any

from rollback_gym.cli.errors import Refused

_WORDS = {"True": True, "False": False, "None": None}


def given(options: Sequence[str] | None, flag: str) -> dict[str, Any]:
    """`("max_turns=30", "preset=ragen")` as a dict.

    A value is read as JSON (`30`, `true`, `null`, `[1, 2]`), or as Python writes True, False and None; anything else
    is a text. Raises Refused where an option has no `=`, or a name comes twice.
    """
    settings: dict[str, Any] = {}
    for option in options or ():
        name, equals, value = option.partition("=")
        if not equals or not all(part.isidentifier() for part in name.split(".")):
            raise Refused(f"{flag} expects NAME=VALUE, such as {flag} max_turns=30; got {option!r}.")
        if name in settings:
            raise Refused(f"{flag} {name} is given twice.")
        settings[name] = _value(value)
    return settings


def _value(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, float) and value - value != 0 else value  # NaN and Infinity are no JSON
