"""One turn on the screen: what was done, what was seen, and what it did to L(s)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rollback_gym.cli.theme import Glyphs, bar, glyphs, number, trend

_NARROW = 66
"""Below this width what the oracle knows stands under the observation, not beside it."""
_BAR = 12


class Verdict(NamedTuple):
    """What the oracle says of a turn, for the screen."""

    distance: float
    previous: float | None
    label: str
    """In words, such as `pivotal mistake, setback`."""
    style: str


def verdict(info: dict[str, Any]) -> Verdict | None:
    """What `info["oracle"]` says; None without an oracle."""
    note = info.get("oracle")
    if note is None:
        return None
    distance, previous = note["distance"], note.get("previous")
    if "rollback" in info:
        return Verdict(distance, previous, _worth(distance, previous), "rollback")
    if info["won"]:
        return Verdict(distance, previous, "won", "won")
    if note.get("pivotal"):
        return Verdict(distance, previous, f"pivotal mistake: {note['grade']}", "pivotal")
    if previous is None:
        return Verdict(distance, None, "turns needed from here", "index")
    return Verdict(distance, previous, note.get("grade", "out of reach"), trend(previous, distance))


def _worth(distance: float, previous: float | None) -> str:
    """Whether going back paid: with its own turn it takes 1 + L(target), and going on would have taken L(here)."""
    if previous is None or math.isinf(distance):
        return "the goal is out of reach"
    if math.isinf(previous):
        return "saves the episode"
    saved = previous - (1 + distance)
    if saved == 0:
        return f"even: 1 + {distance:.0f} = {previous:.0f} turns"
    plural = "" if abs(saved) == 1 else "s"
    if saved > 0:
        return f"saves {saved:.0f} turn{plural}: 1 + {distance:.0f} < {previous:.0f}"
    return f"costs {-saved:.0f} turn{plural}: 1 + {distance:.0f} > {previous:.0f}"


@dataclass(frozen=True)
class Turn:
    """A turn, drawn for whatever width the console has."""

    index: int
    """The action index."""
    turn: int
    action: str
    """Empty for the start."""
    observation: str
    verdict: Verdict | None
    scale: float
    """The L that fills the bar."""
    went_back: bool = False
    remark: str = ""
    """Why an action was refused, or what else is to be said."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Draw it."""
        signs = glyphs(options.ascii_only)
        told = self._told(signs)
        gutter = Text(f"[{self.index}]", "index")
        if self.index:
            gutter.append(f"\nturn {self.turn}", "quiet")
        grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
        grid.add_column(width=8, justify="right", no_wrap=True)
        grid.add_column(ratio=1, overflow="fold")
        if self.verdict is None:
            grid.add_row(gutter, told)
        elif options.max_width >= _NARROW:
            grid.add_column(width=27, no_wrap=True)
            grid.add_row(gutter, told, Text("\n").join(self._judged(signs)))
        else:
            grid.add_row(gutter, Text("\n").join([told, *self._judged(signs)]))
        yield Padding(grid, (0, 0, 1, 0))

    def _told(self, signs: Glyphs) -> Text:
        told = Text()
        if self.action:
            told.append(*((f"{signs.back} {self.action}", "rollback") if self.went_back else (self.action, "action")))
            told.append("\n")
        told.append("\n".join(line for line in self.observation.splitlines() if line.strip()))
        if self.remark:
            told.append(f"\n{self.remark}", "flat")
        return told

    def _judged(self, signs: Glyphs) -> tuple[Text, Text]:
        assert self.verdict is not None
        distance, previous, label, style = self.verdict
        sign = {"falling": signs.down, "flat": signs.flat, "rising": signs.up}.get(trend(previous, distance), " ")
        first = Text.assemble(
            bar(distance, self.scale, _BAR, style, signs),
            (f"  L {number(distance, signs):<2} ", style),
            (sign, trend(previous, distance)),
            (f" from {number(previous, signs)}" if previous is not None and previous != distance else "", "quiet"),
        )
        return first, Text(label, style)
