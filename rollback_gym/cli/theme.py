"""How things look on the terminal: consoles, colours, and the bar that shows L(s)."""

import math
import os
from typing import NamedTuple

from rich.console import Console
from rich.text import Text
from rich.theme import Theme

THEME = Theme(
    {
        "index": "cyan",
        "action": "bold",
        "quiet": "bright_black",
        "falling": "green",
        "flat": "yellow",
        "rising": "red",
        "pivotal": "bold red",
        "rollback": "bold magenta",
        "won": "bold green",
        "abandoned": "bright_black strike",
    }
)


class Glyphs(NamedTuple):
    """The signs that are drawn with."""

    full: str
    empty: str
    up: str
    down: str
    flat: str
    back: str
    won: str
    wrong: str
    infinity: str
    prompt: str
    steps: str
    """A sparkline's heights, lowest first."""


_UNICODE = Glyphs("█", "·", "▲", "▼", "=", "↶", "✓", "✗", "∞", ">", "▁▂▃▄▅▆▇█")
_ASCII = Glyphs("#", ".", "^", "v", "=", "<-", "*", "x", "inf", ">", "_.-=+*#@")


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr, as wide as the terminal is at the time of each print."""
    # Some terminals of CI report a width of 0, which would show nothing at all.
    known = {name: value for name, value in os.environ.items() if name != "COLUMNS" or value.strip() not in ("", "0")}
    return Console(theme=THEME, highlight=False, stderr=stderr, _environ=known)


def glyphs(ascii_only: bool) -> Glyphs:
    """The signs for a terminal that shows only ASCII, or any."""
    return _ASCII if ascii_only else _UNICODE


def number(length: float, signs: Glyphs) -> str:
    """L as it is written: a whole number or infinity."""
    return signs.infinity if math.isinf(length) else f"{length:.0f}"


def trend(previous: float | None, distance: float) -> str:
    """The style for a change of L."""
    if previous is None or distance == previous:
        return "flat" if previous is not None else "index"
    return "falling" if distance < previous else "rising"


def bar(distance: float, scale: float, width: int, style: str, signs: Glyphs) -> Text:
    """L as a bar that is full at `scale`, or where L is infinite."""
    share = 1.0 if math.isinf(distance) or scale == 0 else min(1.0, distance / scale)
    filled = max(round(width * share), 1 if distance else 0)
    return Text.assemble((signs.full * filled, style), (signs.empty * (width - filled), "quiet"))


def sparkline(lengths: list[float], signs: Glyphs) -> Text:
    """The course of L, a sign a turn, coloured by whether it fell or rose."""
    finite = [length for length in lengths if not math.isinf(length)]
    highest = max(finite, default=0) or 1
    line = Text()
    for turn, length in enumerate(lengths):
        share = 1.0 if math.isinf(length) else length / highest
        height = signs.steps[math.ceil(share * (len(signs.steps) - 1))]
        line.append(height, trend(lengths[turn - 1] if turn else None, length))
    return line
