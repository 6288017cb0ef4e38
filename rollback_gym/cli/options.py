"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Seed = Annotated[int, typer.Option(min=0, metavar="N", help="The same seed, the same levels and choices.")]
Data = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Games: a folder, archive or file. By default, worlds that are made here."),
]
Split = Annotated[str | None, typer.Option(metavar="NAME", help="Only levels of this split.")]
Level = Annotated[str | None, typer.Option(metavar="ID", help="Play this level; `list --levels` has them.")]
MaxTurns = Annotated[int | None, typer.Option(min=1, metavar="N", help="The turn that cuts an episode off.")]
Original = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="The original, to compare with: a checkout of RetroAgent, or of WebShop."),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Run what the file names: policies that are code of yours or endpoints, own modules."),
]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the results to this file, too.")]
