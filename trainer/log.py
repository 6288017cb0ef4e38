"""The log of a run, a line of JSON for everything that was measured and decided."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rollback_gym.core.files import write_whole

Line = dict[str, Any]
"""A line of the log: `step`, `what` (step, evaluation, decision or alarm), and what there is to say."""


class Log:
    """Lines of JSON, written as they come.

    Args:
        path: The file; begun anew.
        show: Is told every line, too.
        quiet: Writes nothing: of several processes one writes.
    """

    def __init__(self, path: Path, show: Callable[[Line], None] = lambda line: None, quiet: bool = False) -> None:
        self.quiet = quiet
        self._path, self._show = path, show

    def add(self, line: Line) -> None:
        """One more line."""
        self._show(line)
        if not self.quiet:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{json.dumps(line)}\n")

    def cut(self, step: int) -> None:
        """Forget what came after a step."""
        kept = [line for line in read_log(self._path) if line["step"] <= step]
        for line in kept:
            self._show(line)
        if not self.quiet:
            write_whole(self._path, "".join(f"{json.dumps(line)}\n" for line in kept))


def read_log(path: Path) -> list[Line]:
    """The lines of a log; a last one that was cut off is left out."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(text))
        except ValueError:
            break
    return lines
