"""How far a run is, on the terminal: the numbers that matter, the last decisions, the last alarm.

A view is fed with what `runs.run` tells. On a terminal it is one panel that changes; elsewhere a line now and then.
"""

import time
from collections import deque
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

_EVERY = 20.0
"""Seconds between lines where there is no terminal."""
_WIDTH = 20


class Progress:
    """Shows a run.

    Args:
        console: Where.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=2, transient=True) if console.is_terminal else None
        self._stage, self._last, self._began = "", 0.0, time.monotonic()
        self._now: dict[str, Any] = {}
        self._evaluation: dict[str, Any] = {}
        self._said: deque[Text] = deque(maxlen=4)

    def __enter__(self) -> "Progress":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._live is not None:
            self._live.stop()

    def tell(self, told: dict[str, Any]) -> None:
        """One more thing."""
        if told["stage"] != self._stage:
            self._stage, self._now, self._last = told["stage"], {}, 0.0
        what = told.get("what")
        if what == "evaluation":
            self._evaluation = told
        elif what == "decision":
            if told["kind"] != "hold":
                self._say(f"step {told['step']}: {told['kind']} - {told['why']}", "bold")
        elif what == "alarm":
            self._say(f"step {told['step']}: {told['saw']}. Try this: {told['do']}.", "yellow")
        else:
            self._now.update(told)
        if self._live is not None:
            self._live.update(self.panel())
        elif what != "step" or time.monotonic() - self._last > _EVERY:
            self._last = time.monotonic()
            if what not in ("decision", "alarm"):
                self._console.print(self._line(), soft_wrap=True)

    def _say(self, words: str, style: str) -> None:
        self._said.append(Text(words, style))
        if self._live is None:
            self._console.print(Text(words, style), soft_wrap=True)

    def _line(self) -> Text:
        return Text(f"{self._stage}: {'; '.join(f'{name} {value}' for name, value in self._rows())}")

    def panel(self) -> Group:
        """What is shown."""
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="cyan")
        table.add_column()
        seconds = time.monotonic() - self._began
        table.add_row(self._stage, f"{int(seconds) // 60}:{int(seconds) % 60:02d} min")
        for name, value in self._rows():
            table.add_row(name, value)
        return Group(table, *self._said)

    def _rows(self) -> list[tuple[str, str]]:
        now, rows = self._now, []
        done = now.get("step", now.get("done"))
        if done is not None and isinstance(now.get("of"), int | float):
            filled = round(_WIDTH * min(1.0, done / max(1, now["of"])))
            rows.append(("done", f"{'#' * filled}{'.' * (_WIDTH - filled)} {done:g} of {now['of']:g}"))
        for name, label, form in _SHOWN:
            if isinstance(now.get(name), int | float):
                rows.append((label, form.format(now[name])))
        if "shares" in now:
            rows.append(("levels", ", ".join(f"{n}: {share:.0%}" for n, share in enumerate(now["shares"], 1) if share)))
        if self._stage == "rl" and self._evaluation:
            rows += _evaluated(self._evaluation)
        return rows


_SHOWN = (
    ("loss", "loss", "{:.4f}"),
    ("return", "return", "{:+.2f}"),
    ("won", "won", "{:.0%}"),
    ("rollbacks", "rollbacks an episode", "{:.2f}"),
    ("kl", "KL", "{:.4f}"),
    ("step_time", "seconds a step", "{:.1f}"),
)


def _evaluated(line: dict[str, Any]) -> list[tuple[str, str]]:
    won = ", ".join(f"{name}: {share:.0%}" for name, share in line["success"].items() if share is not None)
    rows = [(f"evaluated at {line['step']}", f"won {won}")]
    for name, label in (("noticed", "errors gone back from"), ("exact", "exact targets"), ("needless", "needless")):
        if line.get(name) is not None:
            rows.append((label, f"{line[name]:.0%}"))
    return rows
