"""`rollback-gym memory`: what a memory of lessons holds, also while a trainer writes to it."""

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from rollback_gym.cli.errors import Refused, polite
from rollback_gym.cli.theme import console
from rollback_gym.core.files import write_whole

if TYPE_CHECKING:
    from rollback_gym.trainer.lessons import Lesson
    from rollback_gym.trainer.memory import Memory

app = typer.Typer(no_args_is_help=True, help="Look into a memory of lessons.")
File = Annotated[Path, typer.Argument(metavar="FILE", help="The memory, as a training run keeps it.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many lessons, at most.")]


@app.command()
@polite
def show(
    file: File,
    limit: Limit = 20,
    by: Annotated[
        str, typer.Option(metavar="WHAT", help="utility, given (how often), or age (the newest first).")
    ] = "utility",
) -> None:
    """The lessons, the most useful first."""
    orders = {
        "utility": lambda lesson: (-lesson.utility, lesson.id),
        "given": lambda lesson: (-lesson.given, lesson.id),
        "age": lambda lesson: -lesson.id,
    }
    if by not in orders:
        raise Refused(f"--by is one of {', '.join(orders)}, got {by!r}.")
    from rollback_gym.trainer.lessons import spread

    encoder, found = _read(file)
    lessons, out = sorted(found, key=orders[by]), console()
    evenly = spread([lesson.given for lesson in lessons])
    told = "none was given to an agent yet" if evenly is None else f"spread of what was given {evenly:.2f}"
    out.print(f"{len(lessons):,} lessons, encoder {encoder}, {told}")
    out.print(_table(((lesson, ()) for lesson in lessons[:limit]), ranked=False))


@app.command()
@polite
def search(
    file: File,
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="An instruction, word for word. In Sokoban and MineSweeper, where all levels have the same one, it is "
            "followed by a line break and the board at the start: such as export writes as task.",
        ),
    ],
    limit: Limit = 3,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="As in evaluation: without the bonus for rare lessons.")
    ] = False,
) -> None:
    """The lessons that an agent with this task would be given now, ranked as by the run that wrote the memory."""
    memory = _opened(file)
    found = memory.retrieve(task, limit, ranking=memory.ranking.greedy() if greedy else None)
    if not found:
        console().print("No lesson is similar enough.")
        return
    console().print(_table(((hit.lesson, (hit.similarity, hit.score)) for hit in found), ranked=True))


@app.command()
@polite
def export(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to, as JSON Lines.")],
) -> None:
    """Write all lessons as JSON Lines."""
    _, lessons = _read(file)
    write_whole(out, "".join(json.dumps(lesson._asdict()) + "\n" for lesson in lessons))
    console(stderr=True).print(f"{len(lessons):,} lessons in {out}")


def _read(file: Path) -> tuple[str, list["Lesson"]]:
    """The encoder's name and all lessons, which needs no encoder."""
    from rollback_gym.trainer.shelf import Shelf

    with closing(Shelf(file, None, write=False)) as shelf:
        return shelf.encoder, shelf.read()[0]


def _opened(file: Path) -> "Memory":
    from rollback_gym.trainer.encoders import encoder
    from rollback_gym.trainer.memory import Memory
    from rollback_gym.trainer.shelf import Shelf

    shelf = Shelf(file, None, write=False)
    shelf.close()
    kind, _, name = shelf.encoder.partition("-")
    if kind == "hashing":
        from rollback_gym.trainer.encoders import HashingEncoder

        return Memory(HashingEncoder(int(name)), file, write=False)
    return Memory(encoder("sentence" if name == "all-MiniLM-L6-v2" else name), file, write=False)


def _table(rows: Any, *, ranked: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True)
    table.add_column("id", justify="right", style="index", no_wrap=True)
    table.add_column("lesson", ratio=3, overflow="fold")
    table.add_column("task", ratio=2, overflow="fold", style="quiet")
    for name in ("learnt when", "utility", "given"):
        table.add_column(name, justify="right", no_wrap=True)
    if ranked:
        table.add_column("similarity", justify="right", no_wrap=True)
        table.add_column("score", justify="right", no_wrap=True)
    for lesson, ranks in rows:
        cells = [Text(str(lesson.id)), Text(lesson.text), Text(lesson.task), Text(lesson.outcome)]
        cells += [Text(f"{lesson.utility:.2f}"), Text(str(lesson.given))]
        cells += [Text(f"{rank:.2f}") for rank in ranks]
        table.add_row(*cells)
    return table
