"""The command line `rollback-gym`."""

import sys
from typing import Annotated

import typer

import rollback_gym
from rollback_gym.cli import export, memory, reproduce, retro, train
from rollback_gym.cli.bench import bench
from rollback_gym.cli.check import check
from rollback_gym.cli.dataset import dataset
from rollback_gym.cli.demo import demo
from rollback_gym.cli.diagnose import diagnose
from rollback_gym.cli.fidelity import fidelity
from rollback_gym.cli.listing import list_
from rollback_gym.cli.play import play
from rollback_gym.cli.replay import replay, schema
from rollback_gym.cli.report import report
from rollback_gym.cli.run import run

app = typer.Typer(
    help="Environments in which an agent can go back, and an oracle that knows what every action was worth.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(list_)
app.command()(demo)
app.command()(play)
app.command()(run)
app.command()(replay)
app.command()(schema)
app.command()(diagnose)
app.command()(dataset)
app.command()(report)
app.command()(fidelity)
app.command()(bench)
app.command()(check)
app.add_typer(export.app, name="export")
train.app.command("retroagent")(retro.retroagent)
app.add_typer(train.app, name="train")
app.command("eval")(train.evaluate)
app.add_typer(memory.app, name="memory")
app.add_typer(reproduce.app, name="reproduce")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rollback-gym {rollback_gym.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an observation may hold what the terminal cannot show
    app()
