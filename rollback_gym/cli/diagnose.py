"""`rollback-gym diagnose`: where the episodes of a run go wrong, and what going back was good for."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from rollback_gym.cli import options
from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.theme import console
from rollback_gym.core.errors import RecordCutOff
from rollback_gym.core.files import write_whole

if TYPE_CHECKING:
    from rollback_gym.play.records import Episode
    from rollback_gym.study.counterfactual import Replay
    from rollback_gym.study.course import Course
    from rollback_gym.study.plots import Picture
    from rollback_gym.study.replays import Plan

SCHEMA = "rollback-gym/diagnosis/1"


@polite
def diagnose(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Runs, as `rollback-gym run` writes them.")],
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="NAME",
            help="What to call each file, in order: training checkpoints, say. Files of one name count together.",
        ),
    ] = None,
    json_file: options.JsonFile = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw PNG and SVG pictures into this folder; needs matplotlib.")
    ] = None,
    counterfactual: Annotated[
        bool,
        typer.Option(
            "--counterfactual",
            help="Play on from each failure's first pivotal mistake in several ways, by the same policy.",
        ),
    ] = False,
    samples: Annotated[int, typer.Option(min=1, metavar="N", help="Replays of each way, from each mistake.")] = 8,
    seed: options.Seed = 0,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, metavar="W", help="How many processes play.")] = 1,
    replays: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to keep the replays, in FILE.replays; by default beside each FILE."),
    ] = None,
    trust: options.Trust = False,
) -> None:
    """Diagnose runs: pivotal mistakes, recovery, rollbacks, and what could still have been done."""
    from rollback_gym.cli.diagnosed import tables
    from rollback_gym.study.counterfactual import eligible, results
    from rollback_gym.study.course import course
    from rollback_gym.study.diagnose import summarise
    from rollback_gym.study.plots import Picture, check_matplotlib, save
    from rollback_gym.study.replays import Plan

    names = _labels(files, label)
    if plots is not None:
        check_matplotlib()  # before replays that may take hours
    err = console(stderr=True)
    pictures = []
    for name in dict.fromkeys(names):
        courses: list[Course] = []
        played: list[Replay] = []
        for file in (file for file, its in zip(files, names, strict=True) if its == name):
            failures: list[Episode] = []
            for episode in _read(file, err):
                courses.append(course(episode))
                if counterfactual and eligible(episode):
                    failures.append(episode)
            if counterfactual:
                found = _replayed(file, failures, Plan(samples=samples, seed=seed, trusted=trust), workers, replays)
                # Two runs may well have episodes of the same id.
                played += [one._replace(episode=f"{file} {one.episode}") for one in found]
        pictures.append(Picture(name, courses, summarise(courses), results(played)))
    out = console()
    for shown in tables(pictures):
        out.print(shown)
    if json_file is not None:
        with asked_for():
            write_whole(json_file, json.dumps(_plain(pictures), indent=2, allow_nan=False) + "\n")
    if plots is not None:
        with asked_for():
            drawn = save(pictures, plots)
        told = f"Drawn: {', '.join(map(str, drawn))}" if drawn else "There is nothing to draw."
        err.print(Text(told), soft_wrap=True)


def _labels(files: Sequence[Path], labels: Sequence[str] | None) -> list[str]:
    """What each file is called: as told, or as it is named."""
    if not labels:
        stems = [file.stem for file in files]
        return stems if len(set(stems)) == len(set(files)) else [str(file) for file in files]
    if len(labels) != len(files):
        raise Refused(f"There are {len(files)} files and {len(labels)} labels; give one --label for each file.")
    return list(labels)


def _read(file: Path, err: Console) -> "Iterator[Episode]":
    """The whole episodes of a run; one that is cut off is told."""
    from rollback_gym.play.records import read

    try:
        with asked_for():
            yield from read(file)
    except RecordCutOff as problem:
        err.print(Text(f"Left out: {problem}", "flat"), soft_wrap=True)


def _replayed(
    file: Path, episodes: "Sequence[Episode]", plan: "Plan", workers: int, folder: Path | None
) -> "tuple[Replay, ...]":
    """The replays of a run, kept in a file beside it or in `folder`, which may have some of them already."""
    from rollback_gym.progress import progress
    from rollback_gym.study.replays import replay_all

    with asked_for():
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        out = (file.parent if folder is None else folder) / f"{file.name}.replays"
        with progress(len(episodes), f"replaying {file.name}") as advance:
            return replay_all(episodes, out, plan, workers=workers, report=lambda done, total: advance(done))


def _plain(pictures: "Sequence[Picture]") -> dict[str, Any]:
    """What goes into the JSON file."""
    from rollback_gym.study.diagnose import plain
    from rollback_gym.study.statistics import CONFIDENCE

    runs = [
        {"label": one.label, **plain(one.diagnosis), "counterfactual": plain(one.counterfactual)} for one in pictures
    ]
    return {"schema": SCHEMA, "confidence": CONFIDENCE, "runs": runs}
