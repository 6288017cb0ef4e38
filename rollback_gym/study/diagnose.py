"""Where the episodes of a run go wrong, and what going back is good for: PivotOPD's diagnosis, for any run.

`diagnosis` defines the numbers; here they are counted, from the `Course` of each episode, by the tables below.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rollback_gym.play.records import Episode
from rollback_gym.study.course import HOPELESS, Course, Effect, Mistake, Undoing, course
from rollback_gym.study.diagnosis import Actions, Diagnosis, Injected, Mistakes, Numbers, Recovery, Results, Rollbacks
from rollback_gym.study.statistics import distribution, shares


def diagnose(episodes: Iterable[Episode]) -> Diagnosis:
    """What the records of a run say. Reads them one by one, and keeps only their courses.

    Raises:
        RecordError: if a record contradicts itself.
    """
    return summarise([course(episode) for episode in episodes])


def summarise(courses: Sequence[Course]) -> Diagnosis:
    """The diagnosis of episodes whose courses are known."""
    return Diagnosis(
        numbers(courses),
        _by(courses, lambda one: one.kind),
        _by([one for one in courses if one.injected], lambda one: one.injected[0][1]),
    )


def numbers(courses: Sequence[Course]) -> Numbers:
    """All the numbers of these episodes; an empty sequence gives numbers without values."""
    counted = {name: [count(one) for one in courses] for name, count in _SHARES.items()}
    found: dict[str, Any] = {
        **shares({name: ([a for a, _ in pairs], [b for _, b in pairs]) for name, pairs in counted.items()}),
        **{
            name: distribution([value for one in courses if (value := measure(one)) is not None])
            for name, measure in _MEASURES.items()
        },
    }
    return Numbers(
        episodes=len(courses),
        judged=sum(one.judged for one in courses),
        outcomes=dict(sorted(Counter(one.outcome for one in courses).items())),
        results=_section(Results, found),
        mistakes=_section(Mistakes, found),
        recovery=_section(Recovery, found),
        actions=_section(Actions, found),
        rollbacks=_section(Rollbacks, found),
        injected=_section(Injected, found),
    )


def plain(value: Any) -> Any:
    """A diagnosis as dicts, lists, numbers and None, for JSON: nothing in it is NaN or infinite."""
    if hasattr(value, "_asdict"):
        return {name: plain(field) for name, field in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return value


def _by(courses: Sequence[Course], key: Callable[[Course], str]) -> dict[str, Numbers]:
    groups: dict[str, list[Course]] = {}
    for one in courses:
        groups.setdefault(key(one), []).append(one)
    return {name: numbers(groups[name]) for name in sorted(groups)}


def _section(kind: Any, found: Mapping[str, Any]) -> Any:
    return kind(**{name: found[name] for name in kind._fields})


# How many, out of how many, in one episode.

Share = Callable[[Course], tuple[float, float]]


def _of(condition: Callable[[Course], bool], among: Callable[[Course], bool] = lambda one: True) -> Share:
    """Episodes that meet a condition, among some."""
    return lambda one: (float(among(one) and condition(one)), float(among(one)))


def _undone(condition: Callable[[Undoing], bool], among: Callable[[Undoing], bool] = lambda one: True) -> Share:
    """Rollbacks that meet a condition, among some."""

    def count(one: Course) -> tuple[float, float]:
        some = [undoing for undoing in one.undoings if among(undoing)]
        return sum(map(condition, some)), len(some)

    return count


def _graded(grade: str) -> Share:
    return lambda one: (one.grades.get(grade, 0), sum(one.grades.values()))


def _erred(one: Course) -> bool:
    return one.mistake is not None


def _failed(one: Course) -> bool:
    return one.judged and not one.won


def _failed_after(one: Course) -> bool:
    return one.mistake is not None and not one.won


def _recovered(one: Course) -> bool:
    return one.mistake is not None and one.mistake.recovered is not None


def _went_back_later(one: Course) -> bool:
    return one.mistake is not None and any(undoing.turn > one.mistake.turn for undoing in one.undoings)


def _missed(undoing: Undoing) -> bool:
    return undoing.miss is not None


_SHARES: dict[str, Share] = {
    "success": _of(lambda one: one.won),
    "episodes_with_pivot": _of(_erred, lambda one: one.judged),
    "failures_with_pivot": _of(_erred, _failed),
    "failed_after_pivot": _of(_failed_after, lambda one: one.judged),
    "failed_without_pivot": _of(lambda one: not one.won and not _erred(one), lambda one: one.judged),
    "fatal": _of(lambda one: one.mistake is not None and one.mistake.fatal, _failed_after),
    "recovered": _of(_recovered, _erred),
    "recovered_by_rollback": _of(lambda one: one.mistake is not None and one.mistake.by_rollback, _recovered),
    "success_after_pivot": _of(lambda one: one.won, _erred),
    "success_after_recovery": _of(lambda one: one.won, _recovered),
    "invalid": lambda one: (one.invalid, one.turns),
    "unreadable": lambda one: (one.unreadable, one.answers),
    **{grade: _graded(grade) for grade in ("optimal", "waste", "detour", "setback")},
    "fatal_actions": _graded("fatal"),
    "hopeless": _graded(HOPELESS),
    "admitted": lambda one: (one.admitted, one.answers),
    "admitted_unmoved": lambda one: (one.unmoved, one.admitted),
    "episodes_with_rollback": _of(lambda one: one.rollbacks > 0),
    "rollbacks": lambda one: (one.rollbacks, one.turns),
    "refused": lambda one: (one.refused, one.refused + one.rollbacks),
    "useful": _undone(lambda undoing: undoing.effect is Effect.USEFUL),
    "unnecessary": _undone(lambda undoing: undoing.effect is not Effect.USEFUL),
    "predictive": _undone(lambda undoing: undoing.effect is Effect.PREDICTIVE),
    "costly": _undone(lambda undoing: undoing.effect is Effect.COSTLY),
    "vain": _undone(lambda undoing: undoing.effect is Effect.VAIN),
    "predictive_followed": _undone(
        lambda undoing: undoing.followed, lambda undoing: undoing.effect is Effect.PREDICTIVE
    ),
    "useful_followed": _undone(lambda undoing: undoing.followed, lambda undoing: undoing.effect is Effect.USEFUL),
    "late": _undone(lambda undoing: (undoing.delay or 0) > 1, lambda undoing: undoing.delay is not None),
    "target_exact": _undone(lambda undoing: undoing.miss == 0, _missed),
    "target_off_by_one": _undone(lambda undoing: abs(undoing.miss or 0) == 1, _missed),
    "target_kept_mistake": _undone(lambda undoing: (undoing.miss or 0) > 0, _missed),
    "target_too_far": _undone(lambda undoing: (undoing.miss or 0) < 0, _missed),
    "success_with_rollback": _of(lambda one: one.won, lambda one: one.rollbacks > 0),
    "success_without_rollback": _of(lambda one: one.won, lambda one: one.rollbacks == 0),
    "success_after_pivot_with_rollback": _of(lambda one: one.won, _went_back_later),
    "success_after_pivot_without_rollback": _of(
        lambda one: one.won, lambda one: _erred(one) and not _went_back_later(one)
    ),
    "injected_found": lambda one: (len(_turns(one) & set(one.pivots)), len(_turns(one)) if one.judged else 0),
    "pivots_injected": lambda one: (len(_turns(one) & set(one.pivots)), len(one.pivots) if one.injected else 0),
    "first_agrees": _of(
        lambda one: one.pivots[:1] == (one.injected[0][0],), lambda one: one.judged and bool(one.injected)
    ),
}


def _turns(one: Course) -> set[int]:
    """Where errors were injected."""
    return {turn for turn, _ in one.injected}


# One value of an episode, or None where it has none.


def _of_failed(value: Callable[[Mistake], float | None]) -> Callable[[Course], float | None]:
    """A value of the first pivotal mistake of a failed episode."""
    return lambda one: value(one.mistake) if one.mistake is not None and not one.won else None


def _of_recovery(value: Callable[[Mistake], float | None]) -> Callable[[Course], float | None]:
    """A value of a first pivotal mistake that was recovered from and could be without going back."""
    return lambda one: value(one.mistake) if one.mistake is not None and _mended(one.mistake) else None


def _mended(mistake: Mistake) -> bool:
    return mistake.recovered is not None and not mistake.fatal


def _average(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


_MEASURES: dict[str, Callable[[Course], float | None]] = {
    "turns_of_wins": lambda one: one.turns if one.won else None,
    "excess_of_wins": lambda one: one.turns - one.shortest if one.won and one.shortest is not None else None,
    "first_pivot": _of_failed(lambda mistake: mistake.turn),
    "length_before": _of_failed(lambda mistake: mistake.before),
    "rise": _of_failed(lambda mistake: None if mistake.fatal else mistake.after - mistake.before),
    "wasted": _of_failed(lambda mistake: mistake.wasted),
    "recovery_turns": _of_recovery(lambda mistake: mistake.recovered),
    "recovery_shortest": _of_recovery(lambda mistake: mistake.shortest),
    "delay": lambda one: _average([undoing.delay for undoing in one.undoings if undoing.delay is not None]),
    "target_distance": lambda one: _average([abs(undoing.miss) for undoing in one.undoings if undoing.miss]),
}
