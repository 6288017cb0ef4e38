"""`rollback-gym bench train`: how long a training step takes here, and whether its numbers are right."""

import json
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from rollback_gym.bench import machine
from rollback_gym.cli.errors import asked_for
from rollback_gym.cli.theme import console
from rollback_gym.cli.train import check_installed, quiet
from rollback_gym.core.files import write_whole

if TYPE_CHECKING:
    from rollback_gym.trainer.benching import Bench, Compared, Shape, Step

_ROUNDS = 3
"""Times that each arm of the comparison is taken, after one to warm up."""
_KS = (0, 1, 2, 3)
_PARTS = ("rollout_model", "rollout_rest", "added_model", "added_rest", "reference", "packing", "update")
_HEADS = ("rollout: model", "the rest", "added: model", "the rest", "reference", "packing", "update")


def bench_train(pivotopd: bool, json_file: Path | None, shape: "Shape | None" = None) -> None:
    """Measure, show, and exit with 1 where a number is wrong.

    Args:
        pivotopd: Whether GRPO is compared with PivotOPD at K = 1, 2, 3, in one run, instead of all algorithms.
        json_file: Where the results go, too.
        shape: What is measured with; by default what this machine can do.
    """
    check_installed()
    quiet()
    from rollback_gym.trainer import benching

    on, chosen, err, out = _machine(), shape or benching.shape_here(), console(stderr=True), console()
    with tempfile.TemporaryDirectory() as folder, err.status("making a model") as status:
        bench = benching.prepared(Path(folder), chosen)
        status.update("measuring")
        if pivotopd:
            rows, wrong, told = _overhead(bench), list[str](), list[str]()
        else:
            rows, wrong, told = _algorithms(bench, status)
        wrong += [f"{name}: a loss, gradient or weight is no number" for name, step in rows.items() if _is_nan(step)]
    size = f"{bench.parameters / 1e6:,.1f} M parameters, {chosen.dtype}, {chosen.groups} x {chosen.group} episodes"
    out.print(_table(rows, size))
    if pivotopd:
        out.print(_shares(rows))
    for line in told:
        out.print(Text(line))
    out.print(Text(", ".join(f"{name} {value}" for name, value in on.items()), "quiet"))
    if json_file is not None:
        steps = {name: step._asdict() for name, step in rows.items()}
        result = {"machine": on, "shape": chosen._asdict(), "steps": steps, "told": told, "wrong": wrong}
        with asked_for():
            write_whole(json_file, json.dumps(result, indent=2) + "\n")
    for line in wrong:
        out.print(Text(f"wrong: {line}", "bold red"))
    if wrong:
        raise typer.Exit(1)


def _algorithms(bench: "Bench", status: Any) -> tuple[dict[str, "Step"], list[str], list[str]]:
    """One update by each algorithm after one to warm up; what is wrong; and what there is to say."""
    from rollback_gym.trainer import benching

    seen: list[Any] = []
    rows = {}
    for name, (changes, added) in benching.algorithms(bench.shape, bench.config).items():
        status.update(f"measuring {name}")
        rows[name] = benching.taken(bench, changes, 2, added, None if seen else seen)[-1]
    status.update("comparing log-probs with a reference")
    found = benching.compared(bench, seen)
    told = [
        f"Log-probs of {found.tokens} tokens beside float32 on a CPU, mean and largest difference: "
        f"sampler {found.sampler[0]:.1e} and {found.sampler[1]:.1e}, trainer {found.trainer[0]:.1e} and "
        f"{found.trainer[1]:.1e}.",
        f"At most {benching.peak():.2f} GB of memory were in use.",
    ]
    return rows, _differences(found, bench.shape.tolerance), told


def _differences(found: "Compared", most: float) -> list[str]:
    """Who says other log-probs than the reference."""
    means = {"sampler": found.sampler[0], "trainer": found.trainer[0]}
    return [f"log-probs of the {name} are {mean:.1e} off, and {most:g} may be" for name, mean in means.items()
            if not mean <= most]  # fmt: skip


def _overhead(bench: "Bench") -> dict[str, "Step"]:
    """Medians of GRPO alone and with K = 1, 2, 3, in turn on the same episodes."""
    from rollback_gym.trainer import benching

    arms = [benching.pivotopd(bench.shape, k) for k in _KS]
    steps = benching.taken(bench, {}, len(arms) * (_ROUNDS + 1), arms)[len(arms) :]
    names = ["grpo", *(f"and pivotopd, K = {k}" for k in _KS[1:])]
    return {name: benching.typical(steps[place :: len(arms)]) for place, name in enumerate(names)}


def shares(rows: dict[str, "Step"]) -> dict[str, tuple[float, float]]:
    """How much longer steps take than the first: by what models compute more, and by all else.

    The two add up to the whole; each is a share of the first step.
    """
    first, *others = rows.values()
    return {
        name: ((step.model - first.model) / first.total, (step.rest - first.rest) / first.total)
        for name, step in zip(list(rows)[1:], others, strict=True)
    }


def _machine() -> dict[str, str]:
    import torch

    found = machine()
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return {**found, "torch": torch.__version__}


def _is_nan(step: "Step") -> bool:
    return not (math.isfinite(step.loss) and math.isfinite(step.gradient))


def _table(rows: dict[str, "Step"], size: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=f"Seconds of a step ({size})", title_justify="left")
    table.add_column("", style="bold")
    for head in ("step", *_HEADS, "sampled/s", "trained/s", "recoveries"):
        table.add_column(head, justify="right")
    for name, step in rows.items():
        times = [step.total, *(getattr(step, part) for part in _PARTS)]
        sampled = step.sampled / step.rollout_model if step.rollout_model else 0.0
        trained = step.trained / step.update if step.update else 0.0
        cells = [*(f"{seconds:.3g}" for seconds in times), f"{sampled:,.0f}", f"{trained:,.0f}", f"{step.recoveries:g}"]
        table.add_row(name, *cells)
    return table


def _shares(rows: dict[str, "Step"]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Longer than grpo by", title_justify="left")
    for head in ("", "in all", "what models compute more", "all else"):
        table.add_column(head, justify="right" if head else "left")
    for name, (model, rest) in shares(rows).items():
        table.add_row(name, f"{model + rest:+.1%}", f"{model:+.1%}", f"{rest:+.1%}")
    return table
