"""A progress bar for what takes long the first time."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(total: int, title: str) -> Iterator[Callable[[int], None]]:
    """Gives a function of the amount done, which shows a bar after half a second if someone is at the terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(title, total=total)
    began = time.monotonic()

    def advance(done: int) -> None:
        bar.update(task, completed=done)
        if not bar.live.is_started and time.monotonic() - began > 0.5:
            bar.start()

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
