"""`rollback-gym list`: what can be played."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import asked_for, polite
from rollback_gym.cli.rooms import COMMON_OPTIONS, ROOMS
from rollback_gym.cli.theme import console
from rollback_gym.core.errors import DataError, RollbackGymError
from rollback_gym.registration import levels


@polite
def list_(
    env: Annotated[str | None, typer.Argument(metavar="[ID]", help="Only this environment.")] = None,
    data: options.Data = None,
    split: options.Split = None,
    ids: Annotated[bool, typer.Option("--levels", help="Print the ids of all levels, one a line.")] = False,
) -> None:
    """Show the environments, their splits, and how many levels there are."""
    wanted = [env.removeprefix("rollback_gym:")] if env else list(ROOMS)
    found = _found(wanted, data, split)
    if ids:
        for of_one in found.values():
            for level in of_one:
                typer.echo(level)
        return
    table = Table(box=box.SIMPLE_HEAD, expand=True)
    table.add_column("environment, what it is, its options", ratio=1, overflow="fold")
    table.add_column("split", no_wrap=True)
    table.add_column("levels", justify="right", style="cyan", no_wrap=True)
    for id, of_one in found.items():
        count = {split: len(of_one)} if split else _counts(id, data, len(of_one))
        about = Text.assemble((id, "bold"), "\n", ROOMS[id].about, "\n", (ROOMS[id].options, "quiet"), "\n")
        table.add_row(about, "\n".join(count), "\n".join(f"{number:,}" for number in count.values()))
    out = console()
    out.print(table)
    out.print(Text.assemble(("Options of all: ", "quiet"), COMMON_OPTIONS))
    example = next(iter(found.values()))[0]
    out.print(Text.assemble(("A level's id:   ", "quiet"), example), soft_wrap=True)


def _found(wanted: list[str], data: str | None, split: str | None) -> dict[str, Sequence[str]]:
    """The levels of each environment. Where `data` or `split` is given, those that have none such are left out."""
    found: dict[str, Sequence[str]] = {}
    refusals = []
    for id in wanted:
        try:
            with asked_for():
                found[id] = levels(id, split=split, data=data)
        except RollbackGymError as error:
            refusals.append(error)
    if refusals and not (found and (data or split)):
        raise refusals[0]
    return found


def _counts(id: str, data: str | None, total: int) -> dict[str, int]:
    """How many levels each split has."""
    count = {}
    for split in ROOMS[id].splits:
        try:
            count[split] = len(levels(id, split=split, data=data))
        except DataError:
            continue  # this data has no such split
    # An environment may play one split unless told otherwise: then `total` is of that one.
    return count if sum(count.values()) >= total else {"": total}
