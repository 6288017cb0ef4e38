"""`rollback-gym train` and `rollback-gym eval`: the reference trainer."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.settings import given
from rollback_gym.cli.theme import console
from rollback_gym.core.errors import MissingExtra
from rollback_gym.core.files import write_whole

if TYPE_CHECKING:
    from rollback_gym.trainer.config import Config

_INTERRUPTED = 130
_NEEDED = ("yaml", "torch", "transformers", "trl", "accelerate", "datasets")

app = typer.Typer(help="Train a model to notice an error, go back to before it, and go on.", no_args_is_help=True)

_Config = Annotated[
    str,
    typer.Option(
        "--config", "-c", metavar="NAME", help="Such as tiny, qwen3-8b, pivotopd/qwen3-8b-webshop, or a file."
    ),
]
_Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where everything goes.")]
_Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Over the config, such as rl.steps=20; may be repeated."),
]
_Dry = Annotated[bool, typer.Option("--dry-run", help="Check all but the model, and train nothing.")]
_Seed = Annotated[int | None, typer.Option(min=0, metavar="N", help="Over the config's seed.")]


@app.command("sft")
@polite
def sft(out: _Out, config: _Config = "tiny", set_: _Set = None, seed: _Seed = None, dry_run: _Dry = False) -> None:
    """Learn from demonstrations: episodes with an error, the rollback to before it, and the way on.

    The same command again goes on where it was stopped.
    """
    _train(out, config, set_, seed, "sft", dry_run)


@app.command("rl")
@polite
def rl(out: _Out, config: _Config = "tiny", set_: _Set = None, seed: _Seed = None, dry_run: _Dry = False) -> None:
    """Learn from reward, on all levels at once. A model that is made here learns from demonstrations first.

    With a config that has pivotopd, prevention and recovery are distilled in the same updates.
    """
    _train(out, config, set_, seed, "rl", dry_run)


@app.command("curriculum")
@polite
def curriculum(
    out: _Out, config: _Config = "tiny", set_: _Set = None, seed: _Seed = None, dry_run: _Dry = False
) -> None:
    """Learn from demonstrations, then from reward, level by level.

    The same command again goes on where it was stopped.
    """
    _train(out, config, set_, seed, "curriculum", dry_run)


@app.command("report")
@polite
def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of runs; several are put together.")],
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the first run, too, as PNG.")] = None,
) -> None:
    """What came out of runs: a table with intervals."""
    from rollback_gym.trainer.report import markdown, rows, tallies

    with asked_for():
        table = rows(tallies(folders))
    console().print(Markdown(markdown(table, len(folders))))
    if plot is not None:
        _plot(folders[0], plot)


@polite
def evaluate(
    policy: Annotated[str, typer.Option(metavar="hf:PATH", help="A model of transformers, by its folder or name.")],
    config: Annotated[
        str | None,
        typer.Option(
            "--config", "-c", metavar="NAME", help="How it is asked, and what it plays; by default as trained."
        ),
    ] = None,
    set_: _Set = None,
    episodes: Annotated[int | None, typer.Option("--episodes", "-n", min=1, metavar="N", help="Of each level.")] = None,
) -> None:
    """Evaluate how a model goes back: on clean episodes, and on each level's errors."""
    kind, _, path = policy.partition(":")
    if kind != "hf" or not path:
        raise Refused(f"--policy must be hf:PATH, a model of transformers; got {policy!r}.")
    check_installed()
    overrides = list(given(set_, "--set").items())
    if episodes is not None:
        overrides.append(("evaluation.final", episodes))
    settings = _beside(path) if config is None else config
    read = _read(settings, overrides)
    quiet()
    from rollback_gym.trainer.report import markdown, rows
    from rollback_gym.trainer.runs import measured

    tally = measured(read, path)
    console().print(Markdown(markdown(rows({"sft": tally}), 1).replace("demonstrations", "share")))


def _beside(path: str) -> str:
    """The config that a model was trained by, which lies beside its weights."""
    file = Path(path) / "rollback_gym.json"
    if not file.exists():
        raise Refused(f"{path} was not trained here, so say how it is asked: --config NAME.")
    return str(file)


def _train(out: Path, named: str, set_: list[str] | None, seed: int | None, stage: Any, dry: bool) -> None:
    check_installed()
    overrides = [*given(set_, "--set").items(), *([] if seed is None else [("seed", seed)])]
    config = _read(named, overrides)
    if stage != "sft" and not dry:
        from rollback_gym.trainer.config import check_there

        check_there(config)
    quiet()
    from rollback_gym.trainer.parts import leads
    from rollback_gym.trainer.progress import Progress
    from rollback_gym.trainer.runs import dry_run, run

    if dry:
        for name, value in dry_run(config, stage).items():
            console().print(f"{name}: {value}", markup=False, highlight=False, soft_wrap=True)
        return

    try:
        with Progress(Console(stderr=True, quiet=not leads())) as progress:
            run(config, out, stage, progress.tell)
    except KeyboardInterrupt:
        console().print(Text("Interrupted. The same command goes on.", "bold"))
        raise typer.Exit(_INTERRUPTED) from None
    if leads():
        _tell(out)


def _read(named: str, overrides: list[tuple[str, Any]]) -> "Config":
    from rollback_gym.trainer import config

    read = config.read(named, overrides)
    config.check_playable(read)
    return read


def check_installed() -> None:
    """Raise MissingExtra where what training needs is not installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtra(f"Training needs {', '.join(missing)}: pip install 'rollback-gym[trainer]'.")


def quiet() -> None:
    """Without the bars and hints of the libraries below: what matters is shown once."""
    import os
    import warnings

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    warnings.filterwarnings("ignore", module=r"(torch|trl|transformers|accelerate)\b.*")
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _tell(out: Path) -> None:
    from rollback_gym.trainer.report import markdown, rows, tallies

    table = markdown(rows(tallies([out])), 1)
    write_whole(out / "report.md", table)
    console().print(Markdown(table))
    if (out / "rl" / "log.jsonl").exists():
        try:
            _plot(out, out / "report.png")
        except MissingExtra as error:
            console().print(Text(str(error), "quiet"))


def _plot(folder: Path, path: Path) -> None:
    from rollback_gym.trainer.log import read_log
    from rollback_gym.trainer.report import plot

    log = read_log(folder / "rl" / "log.jsonl")
    if not log:
        raise Refused(f"{folder} holds no run of train curriculum or rl, so there is nothing to draw.")
    plot(log, path)
    console().print(Text(f"Drawn in {path}."))
