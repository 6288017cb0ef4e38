"""Actions as text: `search[red shoes]`, `click[buy now]`."""

import re
from collections.abc import Container

_ACTION = re.compile(r"(.+)\[(.+)\]")
_CLICK = "click["


def read(action: str) -> tuple[str, str]:
    """The name and the argument of an action, as the original reads them; both empty where it is none.

    The name is what stands before the *last* bracket, and no dot in the pattern matches a line break: so what holds a
    bracket itself can be neither searched for nor clicked. What follows the last closing bracket is ignored.
    """
    match = _ACTION.match(action)
    return (match[1], match[2].lower()) if match else ("", "")


def mended(action: str, clickables: Container[str]) -> tuple[str, str]:
    """The same, but whatever is among the clickables can be clicked."""
    name, argument = read(action)
    if name not in ("click", "search") and action.startswith(_CLICK) and "]" in action:
        written = action[len(_CLICK) : action.rindex("]")].lower()
        if written in clickables:
            return "click", written
    return name, argument
