"""`rollback-gym replay` and `rollback-gym schema`: records checked against the environments, and their shape."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import polite
from rollback_gym.cli.theme import console
from rollback_gym.core.errors import RecordCutOff


@polite
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The records, as `rollback-gym run` writes them.")],
    oracle: Annotated[bool, typer.Option("--oracle", help="Compare L(s), grades and pivotal mistakes, too.")] = False,
    trust: options.Trust = False,
) -> None:
    """Play every record again, and verify that it comes out the same, word for word."""
    from rollback_gym.play.records import read_with_ends
    from rollback_gym.play.replay import replay as play_again
    from rollback_gym.play.trust import made_again
    from rollback_gym.progress import progress

    envs: dict[str, Any] = {}
    count = actions = 0
    out = console()
    cut_off: RecordCutOff | None = None
    with progress(file.stat().st_size, "replaying") as advance:
        try:
            for episode, end in read_with_ends(file):
                key = json.dumps(episode.made)
                if key not in envs:
                    envs[key] = made_again(episode.made, trusted=trust)
                difference = play_again(episode, envs[key], oracle=oracle)
                if difference is not None:
                    out.print(Text(f"Not the same: {difference}.", "rising"), soft_wrap=True)
                    raise typer.Exit(1)
                count, actions = count + 1, actions + len(episode.acts)
                advance(end)
        except RecordCutOff as problem:
            cut_off = problem
    out.print(Text(f"The same, word for word: {count:,} episodes, {actions:,} actions.", "won"))
    if cut_off is not None:
        out.print(Text(f"Left out: {cut_off}", "flat"), soft_wrap=True)


def schema(
    dataset: Annotated[bool, typer.Option("--dataset", help="Of a line of a data set instead.")] = False,
) -> None:
    """Print the JSON Schema of a line of a run's file."""
    from rollback_gym.play import records
    from rollback_gym.study import fields

    typer.echo(json.dumps(fields.schema() if dataset else records.schema(), indent=2))
