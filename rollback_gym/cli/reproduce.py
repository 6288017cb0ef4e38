"""`rollback-gym reproduce`: what the methods do to tiny models, on a CPU, over several seeds."""

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown

from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.settings import given
from rollback_gym.cli.theme import console
from rollback_gym.cli.train import check_installed, quiet

_INTERRUPTED = 130

app = typer.Typer(help="Small studies of the methods, on a CPU: checks of a mechanism.", no_args_is_help=True)


_Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where everything goes.")]
_Config = Annotated[str, typer.Option("--config", "-c", metavar="NAME", help="tiny is the only one.")]
_Seeds = Annotated[int | None, typer.Option(min=1, metavar="N", help="How many, for every arm.")]
_Arm = Annotated[list[str] | None, typer.Option("--arm", metavar="NAME", help="Only this arm; may be repeated.")]
_Workers = Annotated[
    int | None, typer.Option("--workers", "-w", min=1, metavar="W", help="How many are trained at a time: one a core.")
]
_Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another size, such as steps=12.")]


@app.command("retroagent")
@polite
def retroagent(
    out: _Out,
    config: _Config = "tiny",
    seeds: _Seeds = None,
    arm: _Arm = None,
    workers: _Workers = None,
    set_: _Set = None,
) -> None:
    """RetroAgent: GRPO, with its reward, its memory, both, and who looks back.

    The same command again goes on where it was stopped.
    """
    _study("retro_study", out, config, seeds, arm, workers, set_)


@app.command("recovery")
@polite
def recovery(
    out: _Out,
    config: _Config = "tiny",
    seeds: _Seeds = None,
    arm: _Arm = None,
    workers: _Workers = None,
    set_: _Set = None,
) -> None:
    """PivotOPD: from the same pivotal mistakes on, with prevention, with recovery, with both, and with neither.

    The same command again goes on where it was stopped.
    """
    _study("pivot_study", out, config, seeds, arm, workers, set_)


def _study(
    module: str,
    out: Path,
    config: str,
    seeds: int | None,
    arm: list[str] | None,
    workers: int | None,
    set_: list[str] | None,
) -> None:
    """Do what is left of the study in a module of the trainer, and show its table."""
    if config != "tiny":
        raise Refused(f"--config is tiny, got {config!r}.")
    check_installed()
    quiet()
    from rollback_gym.trainer.checking import build

    study_of = import_module(f"rollback_gym.trainer.{module}")
    unknown = [name for name in arm or () if name not in study_of.EVERY]
    if unknown:
        raise Refused(f"--arm is one of {', '.join(study_of.EVERY)}; got {unknown[0]!r}.")
    progress = console(stderr=True)
    try:
        with asked_for():
            study = build(study_of.Study, {**given(set_, "--set"), **({} if seeds is None else {"seeds": seeds})})
            names = tuple(arm or study_of.ARMS)
            told = partial(progress.print, markup=False)
            table = study_of.reproduce(study, out, told, names, workers)
    except KeyboardInterrupt:
        progress.print("Interrupted. The same command goes on.")
        raise typer.Exit(_INTERRUPTED) from None
    console().print(Markdown(table))
