"""`rollback-gym check`: does going back keep its laws in an environment, whoever wrote it?"""

import importlib
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.settings import given
from rollback_gym.cli.theme import console


@polite
def check(
    env: Annotated[str, typer.Argument(metavar="ID", help="A registered id, such as CartPole-v1 or module:MyGame-v0.")],
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="For gym.make; may be repeated.")
    ] = None,
    turns: Annotated[int, typer.Option(min=1, metavar="N", help="How long the random episodes are at most.")] = 60,
    import_: Annotated[
        list[str] | None, typer.Option("--import", metavar="MODULE", help="Import this first: it registers the id.")
    ] = None,
) -> None:
    """Try every law of going back on an environment; exit code 1 if it breaks one."""
    import gymnasium as gym

    from rollback_gym.testing import check_rollback_env

    with asked_for():
        for module in import_ or ():
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise Refused(f"--import {module}: {error}.") from error
        gym.make(env, **given(option, "--option")).close()
    err = Console(stderr=True)
    with err.status("making it") as status:
        report = check_rollback_env(
            env,
            turns=turns,
            raise_on_failure=False,
            progress=lambda name: status.update(f"trying {name}"),
            **given(option, "--option"),
        )
    out = console()
    for name in report.passed:
        out.print(Text.assemble(("kept     ", "won"), name))
    for name, why in report.skipped.items():
        out.print(Text.assemble(("skipped  ", "flat"), name, (f"  {why}", "quiet")))
    for name, what in report.failed.items():
        out.print(Text.assemble(("broken   ", "pivotal"), name, f"  {what}"))
    if report.failed:
        raise typer.Exit(1)
