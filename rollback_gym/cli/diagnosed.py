"""A diagnosis as tables on the terminal: a row a number, a column a run."""

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rollback_gym.study.counterfactual import Result
from rollback_gym.study.diagnosis import Numbers
from rollback_gym.study.plots import Picture
from rollback_gym.study.statistics import Distribution, Estimate

_ROWS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "Results": (
        "results",
        (
            ("success", "success"),
            ("turns of wins", "turns_of_wins"),
            ("turns of wins beyond L(start)", "excess_of_wins"),
        ),
    ),
    "Pivotal mistakes": (
        "mistakes",
        (
            ("episodes with one", "episodes_with_pivot"),
            ("failures with one", "failures_with_pivot"),
            ("failed after one, of all", "failed_after_pivot"),
            ("failed without one, of all", "failed_without_pivot"),
            ("of failures: turn of the first", "first_pivot"),
            ("  L just before it", "length_before"),
            ("  rise of L", "rise"),
            ("  goal out of reach", "fatal"),
            ("  turns wasted after it", "wasted"),
        ),
    ),
    "Recovery": (
        "recovery",
        (
            ("recovered: L below where it was", "recovered"),
            ("  by a rollback", "recovered_by_rollback"),
            ("  turns it took", "recovery_turns"),
            ("  the fewest, not going back", "recovery_shortest"),
            ("won after a pivotal mistake", "success_after_pivot"),
            ("won after recovering", "success_after_recovery"),
        ),
    ),
    "Actions": (
        "actions",
        (
            ("inadmissible", "invalid"),
            ("unreadable answers", "unreadable"),
            ("optimal", "optimal"),
            ("waste: L stayed", "waste"),
            ("detour: L rose by 1", "detour"),
            ("setback: L rose by 2 or more", "setback"),
            ("fatal: goal out of reach", "fatal_actions"),
            ("hopeless: it was before", "hopeless"),
            ("answers that admit a mistake", "admitted"),
            ("  and go on all the same", "admitted_unmoved"),
        ),
    ),
    "Rollbacks": (
        "rollbacks",
        (
            ("episodes with one", "episodes_with_rollback"),
            ("of all actions", "rollbacks"),
            ("refused", "refused"),
            ("useful: pays in turns", "useful"),
            ("  then nearer", "useful_followed"),
            ("unnecessary", "unnecessary"),
            ("  predictive: L had not risen", "predictive"),
            ("    then nearer", "predictive_followed"),
            ("  costly: progress given up", "costly"),
            ("  vain: mistake stays, or mended", "vain"),
            ("late: 2 or more turns after", "late"),
            ("  turns after the mistake", "delay"),
            ("target exact", "target_exact"),
            ("  off by one", "target_off_by_one"),
            ("  kept the mistake", "target_kept_mistake"),
            ("  further than needed", "target_too_far"),
            ("  nodes off, where off", "target_distance"),
            ("won with a rollback", "success_with_rollback"),
            ("won without", "success_without_rollback"),
            ("after a pivot: won with a rollback", "success_after_pivot_with_rollback"),
            ("after a pivot: won without", "success_after_pivot_without_rollback"),
        ),
    ),
    "Injected errors": (
        "injected",
        (
            ("found as pivotal mistakes", "injected_found"),
            ("pivotal mistakes injected", "pivots_injected"),
            ("first pivot is the first injected", "first_agrees"),
        ),
    ),
}
"""Section, and its rows: what they are called, and the field."""


def tables(pictures: Sequence[Picture]) -> Iterator[RenderableType]:
    """What there is to say of each run; rows that nothing can be said in are left out."""
    yield _numbers(pictures)
    if any(picture.counterfactual for picture in pictures):
        yield _arms(pictures)
    if len({kind for picture in pictures for kind in picture.diagnosis.by_kind}) > 1:
        for picture in pictures:
            yield _kinds("by task type", picture.label, picture.diagnosis.by_kind)
    for picture in pictures:
        if picture.diagnosis.by_error:
            yield _kinds("by error", picture.label, picture.diagnosis.by_error)
    yield Text("Shares with 95% bootstrap intervals over episodes; medians with quartiles.", "quiet")


def _numbers(pictures: Sequence[Picture]) -> Table:
    table = _table("", [picture.label for picture in pictures])
    all_numbers = [picture.diagnosis.all for picture in pictures]
    counts = [
        f"{of.episodes:,}" + (f", {of.episodes - of.judged:,} without L" if of.judged < of.episodes else "")
        for of in all_numbers
    ]
    table.add_row(Text("episodes", "bold"), *counts)
    for title, (section, rows) in _ROWS.items():
        known: list[tuple[str, list[Estimate | Distribution]]] = [
            (name, [getattr(getattr(of, section), field) for of in all_numbers])
            for name, field in rows
            if any(getattr(getattr(of, section), field).size for of in all_numbers)
        ]
        if known:
            table.add_section()
            table.add_row(Text(title, "bold"))
        for name, values in known:
            table.add_row(f"  {name}", *[_cell(value) for value in values])
    return table


def _arms(pictures: Sequence[Picture]) -> Table:
    table = _table("won, from the first pivotal mistake on", [picture.label for picture in pictures])
    for arm in dict.fromkeys(arm for picture in pictures for arm in picture.counterfactual):
        cells = [_result(picture.counterfactual.get(arm)) for picture in pictures]
        table.add_row(f"  {arm}", *cells)
    return table


def _result(result: Result | None) -> Text:
    if result is None:
        return Text("-", "quiet")
    return _cell(result.success).append(f"  {result.episodes:,} x {result.replays / result.episodes:g}", "quiet")


def _kinds(what: str, label: str, groups: Mapping[str, Numbers]) -> Table:
    table = _table(f"{label}, {what}", ["n", "won", "failed after pivot", "recovered"])
    for name, of in groups.items():
        shares = (of.results.success, of.mistakes.failed_after_pivot, of.recovery.recovered)
        table.add_row(f"  {name.replace('_', ' ')}", f"{of.episodes:,}", *map(_short, shares))
    return table


def _table(first: str, columns: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(first, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", overflow="fold", min_width=min(len(name), 12))
    return table


def _short(share: Estimate) -> Text:
    """A share with its interval, in few letters."""
    if share.value is None:
        return Text("-", "quiet")
    shown = Text(f"{share.value:.0%}", "bold")
    if share.low is not None and share.high is not None:
        shown.append(f" {100 * share.low:.0f}-{100 * share.high:.0f}", "quiet")
    return shown


def _cell(value: Estimate | Distribution) -> Text:
    """A share with its interval, or a median with its quartiles."""
    if isinstance(value, Distribution):
        if value.median is None:
            return Text("-", "quiet")
        return Text.assemble((f"{value.median:.3g}", "bold"), (f"  {value.lower:.3g} to {value.upper:.3g}", "quiet"))
    if value.value is None:
        return Text("-", "quiet")
    shown = Text(f"{value.value:.1%}", "bold")
    if value.low is None or value.high is None:
        return shown.append(f"  of {value.size:,}", "quiet")
    return shown.append(f"  {100 * value.low:.0f} to {100 * value.high:.0f}", "quiet")
