"""`rollback-gym report`: a run as a page to look at."""

import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rollback_gym.cli.errors import Refused, polite
from rollback_gym.cli.theme import console
from rollback_gym.core.errors import RecordCutOff
from rollback_gym.core.files import write_whole
from rollback_gym.play.records import Episode, read


@polite
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The records of `rollback-gym run`.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page; by default beside the run, as .html.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="By default, the name of the run's file.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
) -> None:
    """Draw a run as one HTML file that needs no network: summary, list of episodes, and each of them turn by turn."""
    from rollback_gym.study.report import report as drawn

    out = run.with_suffix(".html") if out is None else out
    if out.exists() and run.exists() and out.samefile(run):
        raise Refused(f"{out} is the run itself, which the page would overwrite; choose another name with -o.")
    cut_off: list[str] = []
    page = drawn(_whole(run, cut_off), title or run.name)
    write_whole(out, page)
    note = "".join(f"\nLeft out: {problem}" for problem in cut_off)
    console().print(Text.assemble((f"{out}", "bold"), (f"  {len(page.encode()):,} bytes", "quiet"), (note, "flat")))
    if open_:
        webbrowser.open(out.resolve().as_uri())


def _whole(run: Path, cut_off: list[str]) -> Iterator[Episode]:
    """The whole episodes of a run that may still be going on; what is said of a line cut off goes to `cut_off`."""
    try:
        yield from read(run)
    except RecordCutOff as problem:
        cut_off.append(str(problem))
