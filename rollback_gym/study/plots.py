"""A diagnosis as pictures: PivotOPD's Figure 1 for any run, and what its rollbacks did.

Nothing has a background and all text is mid-grey, so that a picture stands on a dark page as on a light one. The
colours are Okabe and Ito's, which people who see no red or green can tell apart.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from rollback_gym.core.errors import MissingExtra
from rollback_gym.core.files import whole
from rollback_gym.study.branches import Arm
from rollback_gym.study.counterfactual import Result
from rollback_gym.study.course import Course
from rollback_gym.study.diagnosis import Diagnosis
from rollback_gym.study.statistics import Estimate

FORMATS = ("png", "svg")

_INK, _FAINT = "#767676", "#76767640"
_BLUE, _ORANGE, _GREEN, _RED, _PINK, _SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
_SERIES = (_BLUE, _ORANGE, _GREEN, _PINK, _SKY, _RED)
_ARM_COLOURS = {
    Arm.GO_ON: _INK,
    Arm.RESAMPLE: _INK,
    Arm.CORRECT_LATER: _INK,
    Arm.CORRECT: _BLUE,
    Arm.FORCE_TWO: _BLUE,
    Arm.OFFER: _ORANGE,
    Arm.ROLLBACK: _ORANGE,
}
_DPI = 200


class Picture(NamedTuple):
    """What is drawn of the episodes with one label."""

    label: str
    courses: Sequence[Course]
    diagnosis: Diagnosis
    counterfactual: Mapping[str, Result]
    """By arm; empty where nothing was replayed."""


Panel = Callable[[Any, Sequence[Picture]], tuple[str, str]]
"""Draws into axes, and gives a title and what there is to add to it."""


def check_matplotlib() -> None:
    """Raise MissingExtra where matplotlib is not installed."""
    with _styled():
        pass


def save(pictures: Sequence[Picture], folder: Path) -> list[Path]:
    """Draw everything that there is something to show of, as PNG and SVG; the folder is made where there is none.

    Raises:
        MissingExtra: if matplotlib is not installed.
        OSError: if a file cannot be written.
    """
    with _styled():
        folder.mkdir(parents=True, exist_ok=True)
        drawn = {name: draw(pictures) for name, draw in _FIGURES.items()}
        return [file for name, figure in drawn.items() if figure for file in _written(figure, folder / name)]


def figure_one(pictures: Sequence[Picture]) -> Any:
    """Where failures go wrong; what could still be done; and failures along the labels. A matplotlib Figure.

    None where no episode has a pivotal mistake and none failed.
    """
    shown: list[tuple[float, Panel]] = []
    if any(picture.diagnosis.all.mistakes.first_pivot.size for picture in pictures):
        shown.append((1.2, _where))
    if any(picture.counterfactual for picture in pictures):
        shown.append((1.25, _what_if))
    if any(picture.diagnosis.all.judged for picture in pictures):
        shown.append((0.85, _along))
    return _side_by_side(shown, pictures, 4.1)


def rollbacks(pictures: Sequence[Picture]) -> Any:
    """What rollbacks were good for, how well they were aimed, and success with and without them. A matplotlib Figure.

    None where there was no rollback.
    """
    with_some = [picture for picture in pictures if any(one.undoings for one in picture.courses)]
    shown: list[tuple[float, Panel]] = [(1.1, _effects), (1.0, _aim), (1.0, _helped)]
    return _side_by_side(shown if with_some else [], with_some, 3.4)


def groups(pictures: Sequence[Picture]) -> Any:
    """Success by task type, and by the kind of the first injected error. A matplotlib Figure.

    None where there is only one task type, and no error was injected.
    """
    kinds = {kind for picture in pictures for kind in picture.diagnosis.by_kind}
    errors = {kind for picture in pictures for kind in picture.diagnosis.by_error}
    shown: list[tuple[float, Panel]] = []
    if len(kinds) > 1:
        shown.append((1.0, _by_kind))
    if errors:
        shown.append((1.0, _by_error))
    return _side_by_side(shown, pictures, 1.6 + 0.3 * max(len(kinds), len(errors)))


_FIGURES: dict[str, Callable[[Sequence[Picture]], Any]] = {
    "figure-1": figure_one,
    "rollbacks": rollbacks,
    "groups": groups,
}


# The panels.


def _where(axes: Any, pictures: Sequence[Picture]) -> tuple[str, str]:
    measures: list[tuple[str, Callable[[Any], float]]] = [
        ("turn of the first\npivotal mistake", lambda mistake: mistake.turn),
        ("L(s) just before it", lambda mistake: mistake.before),
        ("turns wasted\nafter it", lambda mistake: mistake.wasted),
    ]
    failed = [[one.mistake for one in picture.courses if one.mistake and not one.won] for picture in pictures]
    most = 1.0
    for row, (_, measure) in enumerate(measures):
        for series, mistakes in enumerate(failed):
            if mistakes:
                values = [measure(mistake) for mistake in mistakes]
                most = max(most, *values)
                _box(axes, values, row + _offset(series, len(pictures)), _thickness(len(pictures)), _colour(series))
    _rows(axes, [name for name, _ in measures])
    axes.set_xlim(0, most * 1.25)
    axes.set_xlabel("turns (box: quartiles)")
    return "Where failures go wrong", f"{sum(map(len, failed)):,} failed episodes with a pivotal mistake"


def _box(axes: Any, values: Sequence[float], at: float, height: float, colour: str) -> None:
    """Every value as a bubble, the quartiles as a box, the median as a line."""
    import numpy as np

    counts = Counter(values)
    sizes = [260 * height * count / len(values) + 4 for count in counts.values()]
    axes.scatter(list(counts), [at] * len(counts), s=sizes, color=colour, alpha=0.35, lw=0, clip_on=False)
    lower, median, upper = np.quantile(list(values), (0.25, 0.5, 0.75))
    axes.barh(at, upper - lower, left=lower, height=height * 0.6, facecolor="none", edgecolor=colour, lw=1.2)
    axes.plot([median] * 2, [at - height / 2, at + height / 2], color=colour, lw=2.4, solid_capstyle="butt")
    _note(axes, f"median {median:g}", max(values), at)


def _what_if(axes: Any, pictures: Sequence[Picture]) -> tuple[str, str]:
    arms = [str(arm) for arm in Arm if any(str(arm) in picture.counterfactual for picture in pictures)]
    for row, arm in enumerate(arms):
        for series, picture in enumerate(pictures):
            if arm in picture.counterfactual:
                colour = _ARM_COLOURS[Arm(arm)] if len(pictures) == 1 else _colour(series)
                success, at = picture.counterfactual[arm].success, row + _offset(series, len(pictures))
                _share(axes, success, at, _thickness(len(pictures)), colour)
    _rows(axes, arms)
    _percent(axes.xaxis)
    axes.set_xlim(0, 1.12)
    axes.set_xlabel("won (line: 95% confidence)")
    pivots = max((one.episodes for picture in pictures for one in picture.counterfactual.values()), default=0)
    replays = sum(one.replays for picture in pictures for one in picture.counterfactual.values())
    return "What could still be done", f"{replays:,} replays from up to {pivots:,} first pivotal mistakes"


def _along(axes: Any, pictures: Sequence[Picture]) -> tuple[str, str]:
    lines: list[tuple[str, str, str, Callable[[Diagnosis], Estimate]]] = [
        ("after a pivotal\nmistake", _RED, "o", lambda found: found.all.mistakes.failed_after_pivot),
        ("without one", _SKY, "s", lambda found: found.all.mistakes.failed_without_pivot),
    ]
    alone = len(pictures) == 1
    for number, (name, colour, marker, share) in enumerate(lines):
        found = [share(picture.diagnosis) for picture in pictures]
        xs = [number] if alone else [place + (number - 0.5) * 0.12 for place in range(len(found))]
        known = [(x, one) for x, one in zip(xs, found, strict=True) if one.value is not None]
        places, values = [x for x, _ in known], [one.value for _, one in known]
        axes.plot(places, values, color=colour, marker=marker, lw=1.8, ms=6, label=name.replace("\n", " "))
        for x, one in known:
            if alone:
                axes.bar(x, one.value, 0.5, color=colour, alpha=0.3, lw=0)
            if one.low is not None:
                axes.plot([x, x], [one.low, one.high], color=colour, lw=2, solid_capstyle="butt")
    names = [name for name, *_ in lines] if alone else [picture.label for picture in pictures]
    axes.set_xticks(range(len(names)), names)
    if not alone:
        axes.legend(frameon=False, fontsize=8.5, loc="best")
        axes.tick_params(axis="x", rotation=30 if sum(map(len, names)) > 24 else 0)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(0, 1)
    _percent(axes.yaxis)
    axes.set_ylabel("share of all episodes")
    _grid(axes, "y")
    return "Failures", "with 95% confidence"


def _effects(axes: Any, pictures: Sequence[Picture]) -> tuple[str, str]:
    thickness = 0.3 if len(pictures) == 1 else 0.6
    parts = (("useful", _GREEN), ("predictive", _SKY), ("vain", _INK), ("costly", _RED))
    for row, picture in enumerate(pictures):
        left = 0.0
        for name, colour in parts:
            share = getattr(picture.diagnosis.all.rollbacks, name).value or 0.0
            label = name if row == 0 else None
            axes.barh(row, share, left=left, height=thickness, color=colour, label=label)
            if share >= 0.08:
                axes.text(left + share / 2, row, f"{share:.0%}", ha="center", va="center", fontsize=8, color="white")
            left += share
    _rows(axes, [picture.label for picture in pictures])
    _percent(axes.xaxis)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of rollbacks")
    axes.legend(frameon=False, fontsize=8.5, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.2), handlelength=1)
    total = sum(picture.diagnosis.all.rollbacks.useful.size for picture in pictures)
    return "What rollbacks were good for", f"{total:,} rollbacks"


def _aim(axes: Any, pictures: Sequence[Picture]) -> tuple[str, str]:
    most = 3
    width = 0.8 / len(pictures)
    for series, picture in enumerate(pictures):
        misses = [undoing.miss for one in picture.courses for undoing in one.undoings if undoing.miss is not None]
        if not misses:
            continue
        counts = Counter(max(-most, min(most, miss)) for miss in misses)
        places = list(range(-most, most + 1))
        at = [place + (series - (len(pictures) - 1) / 2) * width for place in places]
        heights = [counts[place] / len(misses) for place in places]
        axes.bar(at, heights, width * 0.92, color=_colour(series))
    within = [f"{place:+d}" if place else "0" for place in range(1 - most, most)]
    axes.set_xticks(range(-most, most + 1), [f"-{most}\nor less", *within, f"+{most}\nor more"])
    axes.set_xlabel("nodes from the last one before the mistake\n(+1: the mistake itself)")
    _percent(axes.yaxis)
    axes.set_ylim(0, 1)
    axes.set_ylabel("share of rollbacks")
    _grid(axes, "y")
    return "How well they were aimed", "where there was a mistake to take back"


def _helped(axes: Any, pictures: Sequence[Picture]) -> tuple[str, str]:
    names = ["all episodes,\nwith a rollback", "without", "after a pivotal mistake,\nwith a rollback", "without"]
    fields = (
        "success_with_rollback",
        "success_without_rollback",
        "success_after_pivot_with_rollback",
        "success_after_pivot_without_rollback",
    )
    for row, field in enumerate(fields):
        for series, picture in enumerate(pictures):
            estimate = getattr(picture.diagnosis.all.rollbacks, field)
            colour = _colour(series)
            _share(axes, estimate, row + _offset(series, len(pictures)), _thickness(len(pictures)), colour)
    _rows(axes, names)
    _percent(axes.xaxis)
    axes.set_xlim(0, 1.12)
    axes.set_xlabel("won (line: 95% confidence)")
    return "Success with and without", "not a cause: the episodes differ"


def _by_kind(axes: Any, pictures: Sequence[Picture]) -> tuple[str, str]:
    _grouped(axes, pictures, "by_kind")
    return "By task type", f"{sum(picture.diagnosis.all.episodes for picture in pictures):,} episodes"


def _by_error(axes: Any, pictures: Sequence[Picture]) -> tuple[str, str]:
    _grouped(axes, pictures, "by_error")
    return "By kind of error", "of the first that was injected"


def _grouped(axes: Any, pictures: Sequence[Picture], by: str) -> None:
    names = sorted({name for picture in pictures for name in getattr(picture.diagnosis, by)})
    for row, name in enumerate(names):
        for series, picture in enumerate(pictures):
            if name in getattr(picture.diagnosis, by):
                estimate = getattr(picture.diagnosis, by)[name].results.success
                _share(axes, estimate, row + _offset(series, len(pictures)), _thickness(len(pictures)), _colour(series))
    _rows(axes, [name.replace("_", " ") for name in names])
    _percent(axes.xaxis)
    axes.set_xlim(0, 1.12)
    axes.set_xlabel("won (line: 95% confidence)")


# What panels are made of.


def _share(axes: Any, estimate: Estimate, at: float, height: float, colour: str) -> None:
    """A share as a pale bar and a dot, its interval as a line."""
    if estimate.value is None:
        return
    axes.barh(at, estimate.value, height=height, color=colour, alpha=0.3, lw=0)
    end = estimate.value
    if estimate.low is not None and estimate.high is not None:
        axes.plot([estimate.low, estimate.high], [at, at], color=colour, lw=2, solid_capstyle="butt")
        end = estimate.high
    axes.plot([estimate.value], [at], marker="o", color=colour, ms=5)
    _note(axes, f"{estimate.value:.0%}", end, at)


def _note(axes: Any, text: str, x: float, y: float) -> None:
    """A number beside its mark."""
    axes.annotate(text, (x, y), (6, 0), textcoords="offset points", va="center", fontsize=8)


def _thickness(count: int) -> float:
    """Of a bar, where so many share a row."""
    return 0.4 if count == 1 else 0.5 / count


def _colour(series: int) -> str:
    return _SERIES[series % len(_SERIES)]


def _offset(series: int, count: int) -> float:
    return 0.0 if count == 1 else (series / (count - 1) - 0.5) * 0.56


def _rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    _grid(axes, "x")


def _grid(axes: Any, axis: str) -> None:
    axes.grid(axis=axis, color=_FAINT, lw=0.6)
    axes.set_axisbelow(True)


def _percent(axis: Any) -> None:
    from matplotlib.ticker import FixedLocator, PercentFormatter

    axis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
    axis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _side_by_side(panels: Sequence[tuple[float, Panel]], pictures: Sequence[Picture], height: float) -> Any:
    if not panels:
        return None
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    widths = [width for width, _ in panels]
    figure = Figure(figsize=(3.9 * sum(widths), height), layout="constrained")
    row = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
    for letter, axes, (_, draw) in zip("abc", row, panels, strict=False):
        title, about = draw(axes, pictures)
        name = f"({letter})  {title}" if len(panels) > 1 else title
        axes.set_title(name, loc="left", fontweight="bold", fontsize=11, pad=20)
        above = (0, 5)
        axes.annotate(about, (0, 1), above, "axes fraction", textcoords="offset points", fontsize=8.5, va="bottom")
    if len(pictures) > 1:
        handles = [Patch(color=_colour(at), label=one.label) for at, one in enumerate(pictures)]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(pictures), frameon=False, handlelength=1)
    return figure


def _styled() -> AbstractContextManager[Any]:
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise MissingExtra("Plots need matplotlib: pip install 'rollback-gym[plots]'.") from error
    settings: Any = {
        **{f"{what}color": _INK for what in ("text.", "axes.edge", "axes.label", "xtick.", "ytick.")},
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "savefig.transparent": True,
        "svg.hashsalt": "rollback-gym",
        "figure.constrained_layout.w_pad": 0.12,
    }
    style: AbstractContextManager[Any] = rc_context(settings)
    return style


def _written(figure: Any, path: Path) -> list[Path]:
    """The figure in every format, each file whole or not at all."""
    files = []
    for format in FORMATS:
        file = path.with_suffix(f".{format}")
        with whole(file) as draft:
            # Without the date that an SVG would hold, the same numbers make the same file.
            metadata = {"Date": None} if format == "svg" else {}
            figure.savefig(draft, format=format, dpi=_DPI, metadata=metadata)
        files.append(file)
    return files
