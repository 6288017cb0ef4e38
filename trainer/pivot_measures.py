"""What is logged of pivots, prevention and recovery: by name, values whose mean is shown."""

from collections.abc import Mapping, Sequence

from rollback_gym.trainer.prevention import Distilled
from rollback_gym.trainer.recovery import Recovery
from rollback_gym.trainer.teacher_reports import Report
from rollback_gym.trainer.rows import Row

Measures = Mapping[str, Sequence[float]]


def of_reports(reports: Sequence[Report], won: Sequence[bool], pivots: Sequence[int]) -> Measures:
    """Of what a teacher said.

    Args:
        reports: An episode each.
        won: Whether each was won.
        pivots: The episode of each pivot. `pivot/failed_with` is the share of failures that have one (Figure 1c).
    """
    asked, bad = sum(of.asked for of in reports), sum(len(of.malformed) for of in reports)
    named = sum(len(of.candidates) for of in reports)
    failed = [number for number, of in enumerate(won) if not of]
    return {
        "teacher/malformed": [bad / asked] if asked else [],
        "teacher/infeasible": [float(sum(of.dropped for of in reports))],
        "teacher/candidates": [float(named)],
        "teacher/weight": [of.weight for report in reports for of in report.candidates],
        "pivot/count": [float(len(pivots))],
        "pivot/agreed": [float(named - len(pivots))],
        "pivot/failed_with": [float(number in set(pivots)) for number in failed],
    }


def of_prevention(done: Distilled, count: int) -> Measures:
    """Of the first `count` targets: how likely the student finds what it said, and how much likelier if hinted."""
    pairs = list(zip(done.logprob[:count], done.hinted[:count], strict=True))
    return {
        "prevention/turns": [float(count)],
        "prevention/logprob": [without for without, _ in pairs],
        "prevention/advantage": [with_it - without for without, with_it in pairs],
    }


def of_recovery(recovery: Recovery, rows: Sequence[Row], gains: Sequence[float], found: int) -> Measures:
    """Of recovery rows: how many there are, what they gain a token by the hint, and why others were dropped.

    `recovery/of_pivots` is the share of the `found` pivots that a row follows.
    """
    return {
        "recovery/rows": [float(len(rows))],
        "recovery/tokens": [float(sum(span.end - span.start for row in rows for span in row.spans))],
        "recovery/advantage": gains,
        "recovery/of_pivots": [len({of.mistake for of in recovery.written}) / found] if found else [],
        **{f"recovery/dropped_{name}": [float(count)] for name, count in recovery.dropped.items()},
    }
