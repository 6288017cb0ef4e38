"""`rollback-gym bench`: how fast it is here, and beside the original."""

import json
from importlib import import_module
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from rollback_gym.bench import Measure, machine
from rollback_gym.cli import options
from rollback_gym.cli.bench_train import bench_train
from rollback_gym.cli.errors import Refused, asked_for, polite
from rollback_gym.cli.rooms import BENCHES
from rollback_gym.cli.theme import console
from rollback_gym.core.files import write_whole

ALL, TRAIN = "all", "train"
NAMES = (*BENCHES, TRAIN, ALL)
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


@polite
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {', '.join(NAMES)}.")],
    data: options.Data = None,
    split: options.Split = None,
    games: Annotated[
        int, typer.Option(min=0, metavar="N", help="Games that the original plays, at least; 0 for none.")
    ] = 20,
    seed: options.Seed = 0,
    original: options.Original = None,
    pivotopd: Annotated[
        bool, typer.Option("--pivotopd", help="Of train: GRPO beside PivotOPD at K = 1, 2, 3.")
    ] = False,
    json_file: options.JsonFile = None,
) -> None:
    """Measure speed and memory, beside the original where it is installed.

    train measures a training step of every algorithm, on a GPU where there is one, and checks its numbers. all is one
    after the other, but for train.
    """
    if name == TRAIN:
        bench_train(pivotopd, json_file)
        return
    if name != ALL:
        result = _measured(name, data, games, seed, split, original)
    elif data or split or original:
        raise Refused("--data, --split and --original belong to one bench; all measures what comes along.")
    else:
        result = {"benches": [_measured(one, None, games, seed, None, None) for one in BENCHES]}
    if json_file is not None:
        with asked_for():
            write_whole(json_file, json.dumps(result, indent=2) + "\n")


def _measured(
    name: str, data: str | None, games: int, seed: int, split: str | None, original: str | None
) -> dict[str, Any]:
    """Measure, show the table, and return it as plain values."""
    module = _module(name)
    missing = module.reference_missing(original) if games else "not asked for (--games 0)"
    err, on = console(stderr=True), machine()
    measured: list[Measure] = []
    with err.status("measuring") as status:
        for measure in module.measures(data, games, seed, split, original):
            measured.append(measure)
            status.update(f"measured {measure.name}: {written(measure.value, measure.unit)}")
    out = console()
    out.print(_table(name, measured))
    if missing:
        out.print(Text(f"The original was left out: {missing}.", "flat"))
    out.print(Text(", ".join(f"{key} {value}" for key, value in on.items()), "quiet"))
    if on["load"] != "unknown" and float(on["load"]) > int(on["cores"]) - 0.5:
        out.print(Text("The machine was busy with other work: expect shorter times on an idle one.", "flat"))
    return {
        "environment": name,
        "data": data,
        "split": split,
        "games": games,
        "seed": seed,
        "original": original,
        "machine": on,
        "reference_missing": missing,
        "measures": [{**measure._asdict(), "ratio": measure.ratio} for measure in measured],
    }


def written(value: float, unit: str) -> str:
    """A value with three digits and a unit that fits."""
    if unit.endswith("/s"):
        return f"{value:,.0f} {unit}"
    if unit != "s":
        return f"{value:,.1f} {unit}"
    size, unit = next(((size, unit) for size, unit in _UNITS if value >= size), _UNITS[-1])
    return f"{value / size:.3g} {unit}"


def _module(name: str) -> Any:
    if name not in BENCHES:
        raise Refused(f"There is no bench {name!r}; there are {', '.join(NAMES)}.")
    return import_module(BENCHES[name])


def _table(name: str, measured: list[Measure]) -> Table:
    compared = any(measure.reference is not None for measure in measured)
    table = Table(box=box.SIMPLE_HEAD, expand=True)
    table.add_column(f"{name}, on one core", ratio=1, overflow="fold")
    table.add_column("here", justify="right", style="cyan", no_wrap=True)
    if compared:
        table.add_column("original", justify="right", no_wrap=True)
        table.add_column("times", justify="right", style="won", no_wrap=True)
    for measure in measured:
        row = [Text.assemble((measure.name, "bold"), "\n", (measure.note, "quiet"))]
        row.append(Text(written(measure.value, measure.unit)))
        if compared:
            reference, ratio = measure.reference, measure.ratio
            row.append(Text("" if reference is None else written(reference, measure.unit)))
            row.append(Text("" if ratio is None else f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"))
        table.add_row(*row)
    return table
