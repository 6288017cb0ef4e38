"""`rollback-gym reproduce`: what the methods do to tiny models, on a CPU, over several seeds."""

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


@app.callback()
def _reproduce() -> None:
    """A name of its own for each study, also while there is only one."""


@app.command("retroagent")
@polite
def retroagent(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where everything goes.")],
    config: Annotated[str, typer.Option("--config", "-c", metavar="NAME", help="tiny is the only one.")] = "tiny",
    seeds: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many, for every arm.")] = None,
    arm: Annotated[
        list[str] | None, typer.Option("--arm", metavar="NAME", help="Only this arm; may be repeated.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another size, such as steps=12.")
    ] = None,
) -> None:
    """RetroAgent: GRPO, with its reward, its memory, both, and who looks back.

    The same command again goes on where it was stopped.
    """
    if config != "tiny":
        raise Refused(f"--config is tiny, got {config!r}.")
    check_installed()
    quiet()
    from rollback_gym.trainer.checking import build
    from rollback_gym.trainer.retro_study import ARMS, Study, reproduce

    unknown = [name for name in arm or () if name not in ARMS]
    if unknown:
        raise Refused(f"--arm is one of {', '.join(ARMS)}; got {unknown[0]!r}.")
    progress = console(stderr=True)
    try:
        with asked_for():
            study = build(Study, {**given(set_, "--set"), **({} if seeds is None else {"seeds": seeds})})
            table = reproduce(study, out, lambda line: progress.print(line, markup=False), tuple(arm or ARMS))
    except KeyboardInterrupt:
        progress.print("Interrupted. The same command goes on.")
        raise typer.Exit(_INTERRUPTED) from None
    console().print(Markdown(table))
