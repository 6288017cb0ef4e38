"""`rollback-gym replay` and `rollback-gym schema`: records checked against the environments, and their shape."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from rollback_gym.cli.errors import asked_for, polite
from rollback_gym.cli.theme import console


@polite
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The records, as `rollback-gym run` writes them.")],
    oracle: Annotated[bool, typer.Option("--oracle", help="Compare L(s), grades and pivotal mistakes, too.")] = False,
) -> None:
    """Play every record again, and verify that it comes out the same, word for word."""
    from rollback_gym.play.records import read_with_ends
    from rollback_gym.play.replay import replay as play_again
    from rollback_gym.play.run import make_env
    from rollback_gym.progress import progress

    envs: dict[str, Any] = {}
    count = actions = 0
    out = console()
    with progress(file.stat().st_size, "replaying") as advance:
        for episode, end in read_with_ends(file):
            key = json.dumps(episode.made)
            if key not in envs:
                with asked_for():
                    envs[key] = make_env(episode.made)
            difference = play_again(episode, envs[key], oracle=oracle)
            if difference is not None:
                out.print(Text(f"Not the same: {difference}.", "rising"), soft_wrap=True)
                raise typer.Exit(1)
            count, actions = count + 1, actions + len(episode.acts)
            advance(end)
    out.print(Text(f"The same, word for word: {count:,} episodes, {actions:,} actions.", "won"))


def schema() -> None:
    """Print the JSON Schema of a line of a run's file."""
    from rollback_gym.play import records

    typer.echo(json.dumps(records.schema(), indent=2))
