"""`rollback-gym train retroagent`."""

from pathlib import Path
from typing import Annotated

import typer

from rollback_gym.cli.errors import asked_for, polite
from rollback_gym.cli.settings import given
from rollback_gym.cli.theme import console
from rollback_gym.cli.train import check_installed, quiet

_INTERRUPTED = 130


@polite
def retroagent(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where everything goes.")],
    config: Annotated[
        str, typer.Option("--config", "-c", metavar="NAME", help="Such as sokoban-qwen2.5-7b, or a YAML file.")
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Over the config, such as rl.steps=20; may be repeated."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check all but the model, and train nothing.")] = False,
) -> None:
    """Learn from reward, new progress, and lessons: RetroAgent, on a model that can talk.

    The same command again goes on where it was stopped.
    """
    check_installed()
    from rollback_gym.trainer import retro_config

    with asked_for():
        read = retro_config.read(config, list(given(set_, "--set").items()))
    quiet()
    from rollback_gym.trainer import retro_runs

    if dry_run:
        with asked_for():
            checked = retro_runs.dry_run(read)
        for name, value in checked.items():
            console().print(f"{name}: {value}", markup=False, highlight=False)
        return
    progress = console(stderr=True)
    try:
        with asked_for():
            retro_runs.train(read, out, lambda line: progress.print(_told(line, read.rl.steps), markup=False))
    except KeyboardInterrupt:
        progress.print("Interrupted. The same command goes on.")
        raise typer.Exit(_INTERRUPTED) from None


def _told(line: dict[str, float], steps: int) -> str:
    """A step in a line."""
    shown = {"won": "won", "retro/intrinsic": "R_int", "reflection/malformed": "malformed", "memory/lessons": "lessons"}
    parts = [f"{word} {line[name]:.2f}" for name, word in shown.items() if name in line]
    return f"step {line['step']:g} of {steps}: {', '.join(parts)}"
