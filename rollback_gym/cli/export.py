"""`rollback-gym export`: worlds that are made here, as files that other programs play."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.theme import console

app = typer.Typer(no_args_is_help=True, help="Write a world that is made here as a file of the original's format.")


@app.callback()
def _group() -> None:
    """Keeps `alfworld` a word of its own while it is the only one."""


@app.command()
@polite
def alfworld(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write; its name ends in .tw-pddl.")],
    seed: options.Seed = 0,
    split: Annotated[str, typer.Option(help="train, valid_seen or valid_unseen.")] = "train",
    task_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="One of ALFWorld's six; by default the seed chooses.")
    ] = None,
    difficulty: Annotated[
        float, typer.Option(metavar="X", help="0.25 to 2: how large the room is; 1 as in the official games.")
    ] = 1.0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a game that TextWorld, ALFWorld and this package play alike."""
    from rollback_gym.envs.alfworld.export import export
    from rollback_gym.envs.alfworld.generator import generate

    if out.is_file() and not force:
        raise Refused(f"{out} exists already; choose another name, or pass --force to overwrite it.")
    with asked_for():
        game = generate(seed, split, task_type, difficulty)
        written = export(game, out, overwrite=force)
    console().print(
        Text.assemble(
            (f"{written}", "bold"),
            (f"  {written.stat().st_size:,} bytes\n", "quiet"),
            game.task,
            (f"\nsolved in {len(game.walkthrough)} turns: ", "quiet"),
            ", ".join(game.walkthrough),
        )
    )
