"""`rollback-gym fidelity`: plays ours and the original side by side, and shows where they part."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.differences import plain, side_by_side
from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.sources import SOURCES, Source
from rollback_gym.cli.theme import console
from rollback_gym.core.files import write_whole


class Played(NamedTuple):
    """One finished game, as it stands in a file of results."""

    id: str
    sha256: str
    """Of the game's file."""
    asked: dict[str, int]
    """The steps and the seed that were asked for."""
    steps: int
    won: bool
    counts: dict[str, int]
    difference: dict[str, Any] | None
    """turn, command, what, ours, theirs."""


@polite
def fidelity(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {', '.join(SOURCES)}.")],
    data: options.Data = None,
    split: options.Split = None,
    games: Annotated[int, typer.Option(min=1, metavar="N", help="How many games, drawn by the seed.")] = 20,
    steps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Actions in each game, at most; by default as published.")
    ] = None,
    seed: options.Seed = 0,
    original: options.Original = None,
    first: Annotated[int, typer.Option("--from", min=0, metavar="N", help="Leave out the first N of the games.")] = 0,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write each finished game as a line; a rerun skips what is there."),
    ] = None,
) -> None:
    """Play ours and the original side by side. Exit code 1 if they ever differ."""
    if name not in SOURCES:
        raise Refused(f"There is no comparison for {name!r}; there are {', '.join(SOURCES)}.")
    with asked_for():
        source = SOURCES[name](data, split, original)
    drawn = random.Random(f"fidelity {seed}").sample(source.ids, min(games, len(source.ids)))[first:]
    if not drawn:
        raise Refused(f"--from {first} leaves no game of {min(games, len(source.ids))}; take a smaller number.")
    asked = {"steps": steps or source.steps, "seed": seed}
    done = _finished(json_file, asked) if json_file is not None else {}
    out, played = console(), list[Played]()
    try:
        for one in _play(source, drawn, asked, done, json_file):
            played.append(one)
    except KeyboardInterrupt:
        again = "; run it again to go on" if json_file is not None else ""
        out.print(Text(f"Interrupted after {len(played)} of {len(drawn)} games{again}.", "flat"))
    differing = [one for one in played if one.difference is not None]
    out.print(_counts(played))
    if differing:
        _show(differing[0], out)
    total = sum(one.steps for one in played)
    line = f"games {len(played)} steps {total} differences {len(differing)}"
    out.print(Text(line, "pivotal" if differing else "won"), soft_wrap=True)
    if len(played) < len(drawn):
        raise typer.Exit(130)
    if differing:
        raise typer.Exit(1)


def _play(
    source: Source, ids: list[str], asked: dict[str, int], done: Mapping[tuple[str, str], Played], file: Path | None
) -> Iterator[Played]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # The original's translator plays with sys.stdout; rich must not wrap it.
    progress = Progress(*columns, console=console(stderr=True), redirect_stdout=False, redirect_stderr=False)
    with progress:
        task = progress.add_task("games", total=len(ids))
        differences = 0
        for id in ids:
            content = source.read(id)
            digest = sha256(content).hexdigest()
            one = done.get((id, digest))
            if one is None:
                result = source.compare(id, content, asked["steps"], asked["seed"])
                difference = None if result.difference is None else plain(result.difference)
                counts = dict(sorted(result.counts.items()))
                one = Played(id, digest, asked, result.steps, result.won, counts, difference)
                if file is not None:
                    _append(file, one)
            differences += one.difference is not None
            progress.update(task, advance=1, description=f"{differences} differences" if differences else "games")
            yield one


# --- The file of results: a line a game, so that a long comparison can be interrupted -------------------------------


def _append(file: Path, one: Played) -> None:
    with asked_for(), file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(one._asdict()) + "\n")


def _finished(file: Path, asked: dict[str, int]) -> dict[tuple[str, str], Played]:
    """The games in `file`. A last line that was cut off is taken away, and played again."""
    with asked_for():
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        whole, _, cut = text.rpartition("\n")
        if cut:
            write_whole(file, whole + "\n" if whole else "")
    finished = {}
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            one = Played(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise Refused(
                f"{file}, line {number}: no result of this command ({error}); choose another file."
            ) from error
        if one.asked != asked:
            made = " ".join(f"--{name} {value}" for name, value in one.asked.items())
            raise Refused(f"{file} holds games played with {made}; ask for the same, or choose another file.")
        finished[one.id, one.sha256] = one
    return finished


# --- What is shown ------------------------------------------------------------------------------------------------


def _counts(played: list[Played]) -> Table:
    counts: Counter[str] = Counter()
    for one in played:
        counts.update(one.counts)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("compared")
    table.add_column("times", justify="right", style="cyan")
    for kind in sorted(counts, key=lambda kind: (kind.startswith("("), kind)):
        table.add_row(Text(kind, "quiet" if kind.startswith("(") else ""), f"{counts[kind]:,}")
    table.add_section()
    table.add_row(Text("games won on the way", "quiet"), f"{sum(one.won for one in played):,}")
    return table


def _show(one: Played, out: Console) -> None:
    """The first difference."""
    assert one.difference is not None
    turn, command = one.difference["turn"], one.difference["command"]
    at = f"turn {turn}, {command!r}" if turn else "the start"
    what = one.difference["what"]
    out.print(Text.assemble(("The first difference: ", "pivotal"), f"{what} at {at}\n", (one.id, "quiet")))
    out.print(side_by_side(one.difference["ours"], one.difference["theirs"]))
