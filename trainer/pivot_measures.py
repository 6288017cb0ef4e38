"""What is logged of pivots, prevention and recovery: by name, values whose mean is shown."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.oracles.agreement import Judgement, agreement
from rollback_gym.oracles.lookup import Oracle
from rollback_gym.oracles.pivots import pivots
from rollback_gym.trainer.generator import Ask, Generator, Sample
from rollback_gym.trainer.moments import Moment
from rollback_gym.trainer.prevention import Distilled, Scoring
from rollback_gym.trainer.recovery import Recovery
from rollback_gym.trainer.rows import Row
from rollback_gym.trainer.teacher_reports import Report
from rollback_gym.trainer.teachers import Named, Teacher
from rollback_gym.trainer.trajectory import Trajectory

Measures = Mapping[str, Sequence[float]]


def of_reports(reports: Sequence[Report], won: Sequence[bool], found: Sequence[int]) -> Measures:
    """Of what a teacher said.

    Args:
        reports: An episode each.
        won: Whether each was won.
        found: The episode of each pivot. `pivot/failed_with` is the share of failures that have one (Figure 1c).
    """
    asked, bad = sum(of.asked for of in reports), sum(len(of.malformed) for of in reports)
    named = sum(len(of.candidates) for of in reports)
    failed = [number for number, of in enumerate(won) if not of]
    return {
        "teacher/malformed": [bad / asked] if asked else [],
        "teacher/infeasible": [float(sum(of.dropped for of in reports))],
        "teacher/candidates": [float(named)],
        "teacher/weight": [of.weight for report in reports for of in report.candidates],
        "pivot/count": [float(len(found))],
        "pivot/agreed": [float(named - len(found))],
        "pivot/failed_with": [float(number in set(found)) for number in failed],
    }


def of_judging(trajectories: Sequence[Trajectory], named: Sequence[tuple[int, int]], oracle: Oracle) -> Measures:
    """How far a teacher's pivots are the oracle's: pivotal mistakes among the agent's own turns.

    `teacher/right` is the share of its pivots within a turn of one of those, `teacher/found` of those within a turn of
    one of its own, each beside what chance would reach (see `oracles.agreement`; in the paper 71.1% and 84.4%, against
    33.6% and 28.1%). `teacher/false` is the share on turns on which nothing was lost.

    Args:
        trajectories: All episodes. What the oracle cannot judge in time is left out.
        named: The teacher's pivots, each by its episode and action index.
        oracle: Knows L.
    """
    judgements = []
    for number, of in enumerate(trajectories):
        try:
            exact = pivots(of.history, of.level, oracle).turns
        except OracleBudgetExceeded:
            continue
        own = tuple(turn - of.prefix for turn in exact if turn > of.prefix)
        said = tuple(turn - of.prefix for episode, turn in named if episode == number)
        judgements.append(Judgement(said, own, len(of.steps)))
    found = agreement(judgements)
    return {
        "teacher/right": _times(found.named, found.right.value),
        "teacher/right_by_chance": _times(found.named, found.right_by_chance),
        "teacher/found": _times(found.pivots, found.found.value),
        "teacher/found_by_chance": _times(found.pivots, found.found_by_chance),
        "teacher/false": [float(turn not in of.pivots) for of in judgements for turn in of.named],
    }


def _times(count: int, share: float | None) -> Sequence[float]:
    """A share, once for each of which it is one, so that it counts as much where processes are averaged."""
    return [] if share is None else [share] * count


def of_prevention(done: Distilled, count: int) -> Measures:
    """Of the first `count` targets: how likely the student finds what it said, and how much likelier if hinted.

    `prevention/gold` is the log-prob of what it said with the gold action in place of its own, at some of the pivots:
    where nothing is thought, of the gold action.
    """
    pairs = list(zip(done.logprob[:count], done.hinted[:count], strict=True))
    return {
        "prevention/turns": [float(count)],
        "prevention/logprob": [without for without, _ in pairs],
        "prevention/advantage": [with_it - without for without, with_it in pairs],
        "prevention/gold": done.gold,
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


class Clock:
    """Where the time goes: `seconds/teacher`, `seconds/self_teacher`, `seconds/scoring`, where a teacher is measured
    `seconds/oracle`, and the rest.

    The rest, `seconds/pivotopd`, is what is no model's: finding pivots, restoring, acting in copies, laying out rows.
    """

    def __init__(self) -> None:
        self._seconds = {"teacher": 0.0, "self_teacher": 0.0, "scoring": 0.0}

    def measures(self, total: float) -> Measures:
        """What is logged, of so many seconds in all."""
        spent = {f"seconds/{name}": [of] for name, of in self._seconds.items()}
        return {**spent, "seconds/pivotopd": [total - sum(self._seconds.values())]}

    def teacher(self, teacher: Teacher) -> Teacher:
        """The same teacher, timed."""
        return _Timed(teacher, self)

    def generator(self, generator: Generator) -> Generator:
        """The same generator, timed."""
        return _TimedGenerator(generator, self)

    def scoring(self, scoring: Scoring) -> Scoring:
        """The same scores, timed."""

        def timed(rows: Sequence[Row]) -> Sequence[Sequence[float]]:
            with self.running("scoring"):
                return scoring(rows)

        return timed

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Within, the time is that of `name`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - began


class _Timed:
    def __init__(self, teacher: Teacher, clock: Clock) -> None:
        self._teacher, self._clock = teacher, clock

    def reports(self, trajectories: Sequence[Trajectory], seed: int) -> Sequence[Report]:
        with self._clock.running("teacher"):
            return self._teacher.reports(trajectories, seed)

    def names(self, moments: Sequence[Moment], seed: int) -> Sequence[Named]:
        with self._clock.running("teacher"):
            return self._teacher.names(moments, seed)


class _TimedGenerator:
    def __init__(self, generator: Generator, clock: Clock) -> None:
        self._generator, self._clock = generator, clock

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        with self._clock.running("self_teacher"):
            return self._generator.generate(asks, seed)

    def goes_on(self, wanted: bool) -> bool:
        return self._generator.goes_on(wanted)
