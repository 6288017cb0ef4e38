"""What came out of runs: a table with intervals, before and after, and a plot of the way there.

Runs of several seeds are put together: episodes are drawn again for the intervals, whichever run they are of.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rollback_gym.core.errors import MissingExtra, RecordError
from rollback_gym.core.files import whole
from rollback_gym.study.statistics import Estimate
from rollback_gym.trainer.evaluation import CLEAN, MEASURES, Counts, Tally, estimates, from_plain, together

STAGES = {"sft": "demonstrations", "rl": "and reward"}
GROUPS = {CLEAN: "clean", "1": "level 1", "2": "level 2", "3": "level 3"}


class Row(NamedTuple):
    """A measure of a group of episodes, for each stage that was evaluated."""

    group: str
    measure: str
    values: dict[str, Estimate]


def tallies(folders: Sequence[Path]) -> dict[str, dict[str, tuple[Counts, ...]]]:
    """Of each stage, the episodes of all runs.

    Raises:
        RecordError: where a folder holds no evaluation.
    """
    found: dict[str, list[Tally]] = {}
    for folder in folders:
        there = [stage for stage in STAGES if (folder / f"evaluation-{stage}.json").exists()]
        if not there:
            raise RecordError(f"{folder} holds no evaluation. Is it the folder of a run of rollback-gym train?")
        for stage in there:
            found.setdefault(stage, []).append(
                from_plain(json.loads((folder / f"evaluation-{stage}.json").read_text(encoding="utf-8")))
            )
    return {stage: together(found[stage]) for stage in STAGES if stage in found}


def rows(stages: dict[str, dict[str, tuple[Counts, ...]]]) -> tuple[Row, ...]:
    """The table: every measure that says something of a group."""
    made = []
    judged = {(stage, group): estimates(tally.get(group, ())) for stage, tally in stages.items() for group in GROUPS}
    for group in GROUPS:
        for measure in MEASURES:
            values = {stage: judged[stage, group][measure] for stage in stages}
            if group == CLEAN and measure in ("noticed",):
                continue
            made.append(Row(group, measure, values))
    return tuple(made)


def markdown(table: Sequence[Row], runs: int) -> str:
    """The table as Markdown."""
    stages = list(table[0].values) if table else []
    lines = [
        f"Of {runs} run{'' if runs == 1 else 's'}; in brackets 95% intervals.",
        "",
        f"| episodes | measure | {' | '.join(STAGES[stage] for stage in stages)} |",
        f"| --- | --- | {' | '.join('---' for _ in stages)} |",
    ]
    for row in table:
        values = " | ".join(written(row.values[stage]) for stage in stages)
        lines.append(f"| {GROUPS[row.group]} | {MEASURES[row.measure]} | {values} |")
    return "\n".join(lines) + "\n"


def written(estimate: Estimate) -> str:
    """A share in percent, with its interval."""
    if estimate.value is None:
        return "-"
    told = f"{estimate.value:.1%}"
    if estimate.low is None or estimate.high is None:
        return f"{told} (of {estimate.size})"
    return f"{told} [{estimate.low:.1%}, {estimate.high:.1%}]"


def plot(log: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw a run: success of each level, shares of the levels, rollbacks, return; with the decisions.

    Raises:
        MissingExtra: without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Plots need matplotlib: pip install 'rollback-gym[plots]'.") from error

    steps = [line for line in log if line["what"] == "step"]
    evaluations = [line for line in log if line["what"] == "evaluation"]
    decisions = [line for line in log if line["what"] == "decision" and line["kind"] in ("up", "back")]
    figure = Figure(figsize=(9, 10), layout="constrained")
    FigureCanvasAgg(figure)
    success, shares, rollbacks, returns = figure.subplots(4, 1, sharex=True)
    for group, name in GROUPS.items():
        _line(success, evaluations, lambda line, group=group: line["success"].get(group), name)
    success.set_ylabel("episodes won")
    for level in (1, 2, 3):
        _line(shares, steps, lambda line, level=level: line["shares"][level - 1], f"level {level}")
    shares.set_ylabel("share of the episodes")
    for measure, name in (
        ("noticed", "errors gone back from"),
        ("exact", "to the right target"),
        ("needless", "clean, but gone back"),
    ):
        _line(rollbacks, evaluations, lambda line, measure=measure: line.get(measure), name)
    rollbacks.axhline(0.08, color="grey", linewidth=0.5, linestyle="--")
    rollbacks.set_ylabel("rollbacks")
    _line(returns, steps, lambda line: line.get("return"), "return")
    returns.set_ylabel("return")
    returns.set_xlabel("step")
    for axes in (success, shares, rollbacks, returns):
        for decision in decisions:
            axes.axvline(decision["step"], color="red" if decision["kind"] == "back" else "green", linewidth=0.8)
        axes.legend(loc="best", fontsize="small")
    for axes in (success, shares, rollbacks):
        axes.set_ylim(-0.02, 1.02)
    with whole(path) as draft:
        figure.savefig(draft, format="png", dpi=110)


def _line(axes: Any, lines: Sequence[dict[str, Any]], value: Any, name: str) -> None:
    points = [(line["step"], value(line)) for line in lines]
    known = [(step, number) for step, number in points if number is not None]
    axes.plot([step for step, _ in known], [number for _, number in known], label=name)
