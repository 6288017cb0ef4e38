"""`rollback-gym list`: what can be played."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.rooms import COMMON_OPTIONS, ROOMS
from rollback_gym.cli.theme import console
from rollback_gym.core.errors import RollbackGymError
from rollback_gym.registration import levels


@polite
def list_(
    env: Annotated[str | None, typer.Argument(metavar="[ID]", help="Only this environment.")] = None,
    data: options.Data = None,
    split: options.Split = None,
    ids: Annotated[bool, typer.Option("--levels", help="Print the ids of the levels, one a line.")] = False,
) -> None:
    """Show the environments, their splits, and how many levels there are."""
    wanted = [env.removeprefix("rollback_gym:")] if env else list(ROOMS)
    found = _found(wanted, data, split)
    if ids:
        for of_one in found.values():
            for level in of_one:
                typer.echo(level)
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), expand=False)
    table.add_column("environment", style="bold", overflow="fold")
    table.add_column("split")
    table.add_column("levels", justify="right", style="cyan")
    table.add_column("what it is, and its options")
    for id, of_one in found.items():
        count = Counter(level.partition("/")[0] if "/" in level else "" for level in of_one)
        room = ROOMS.get(id)
        about = Text.assemble(room.about, "\n", (room.options, "quiet")) if room else Text()
        splits, numbers = "\n".join(count), "\n".join(f"{number:,}" for number in count.values())
        table.add_row(id, splits, numbers, about, end_section=True)
    out = console()
    out.print(table)
    out.print(Text.assemble(("Options of all: ", "quiet"), COMMON_OPTIONS))
    example = next(iter(next(iter(found.values()))))
    out.print(Text.assemble(("A level's id:   ", "quiet"), example, ("  (all of them: --levels)", "quiet")))


def _found(wanted: list[str], data: str | None, split: str | None) -> dict[str, Sequence[str]]:
    """The levels of each environment. Where several are asked, those that the data is not for are left out."""
    found: dict[str, Sequence[str]] = {}
    refusal: RollbackGymError | None = None
    for id in wanted:
        try:
            with asked_for():
                found[id] = levels(id, split=split, data=data)
        except RollbackGymError as error:
            refusal = error
    if not found:
        raise refusal or Refused("There are no environments.")
    return found
