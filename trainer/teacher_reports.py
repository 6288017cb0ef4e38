"""What a teacher says of an episode: read from a model's answer strictly, and put to a vote where it was asked twice.

An answer that is not exactly what was asked for is malformed: it is counted and left out, and never guessed at.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rollback_gym.play.parse import without_thoughts

MOST_CANDIDATES = 5
"""m (PivotOPD, step 2)."""


class Candidate(NamedTuple):
    """A turn that may be a pivotal mistake, and what should have been done."""

    turn: int
    """The action index."""
    action: str
    """The gold action a*."""
    weight: float = 1.0
    """How far it is to be trusted, above 0 and at most 1."""
    loss: float | None = None
    """L(s') - L(s), where it is known."""


class TurnLesson(NamedTuple):
    """What is to be learned from a turn."""

    turn: int
    lesson: str


class Report(NamedTuple):
    """What a teacher says of an episode."""

    summary: str = ""
    lesson: str = ""
    """Of the whole trajectory; told the self-teacher at every turn."""
    turns: tuple[TurnLesson, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    """By action index."""
    asked: int = 0
    """How often a model was asked."""
    malformed: tuple[str, ...] = ()
    """What was wrong with the answers that were left out."""
    dropped: int = 0
    """Candidates left out since their action was not feasible, or their turn not the agent's."""


class MalformedReport(ValueError):
    """A model's answer is no report; the message says why."""


def read_report(answer: str, most: int = MOST_CANDIDATES) -> Report:
    """The report in a model's answer: one JSON object, alone or in a fence, after whatever was thought.

    Raises:
        MalformedReport: if it is anything else: no field is left out, none is added, every type is right, no turn is
            named twice, and there are at most `most` candidates.
    """
    data = _object(answer)
    fields = {"summary", "lesson", "turns", "candidates"}
    if data.keys() != fields:
        raise MalformedReport(f"expected the fields {', '.join(sorted(fields))}, got {', '.join(sorted(data))!r:.80}")
    lessons = [TurnLesson(*_pair(of, "lesson")) for of in _list(data, "turns")]
    candidates = [Candidate(*_pair(of, "action")) for of in _list(data, "candidates")]
    for name, turns in (("turns", [of.turn for of in lessons]), ("candidates", [of.turn for of in candidates])):
        if len(set(turns)) < len(turns):
            raise MalformedReport(f"{name} names a turn twice")
    if len(candidates) > most:
        raise MalformedReport(f"{len(candidates)} candidates, but at most {most} may be named")
    return Report(
        _text(data, "summary"),
        _text(data, "lesson"),
        tuple(sorted(lessons)),
        tuple(sorted(candidates, key=lambda of: of.turn)),
    )


def resolved(report: Report, find: Callable[[int, str], str | None]) -> Report:
    """`report` with actions that are feasible on their turns; candidates without one are left out, and counted.

    Args:
        report: As a model put it.
        find: The feasible action for a turn and a text; None where there is none, or no such turn.
    """
    found = [(of, find(of.turn, of.action)) for of in report.candidates]
    kept = tuple(of._replace(action=action) for of, action in found if action is not None)
    return report._replace(candidates=kept, dropped=report.dropped + len(found) - len(kept))


def voted(reports: Sequence[Report], most: int = MOST_CANDIDATES) -> Report:
    """One report of several about one episode: for each turn the action that most name, weighed by how many do.

    A report that was malformed names nothing, and so counts against all. Of several actions that equally many name, the
    one named first counts. The texts are those of the report that agrees most with what was chosen.

    Args:
        reports: Of as many samples; malformed ones among them.
        most: How many candidates are kept: those that most name, the earlier of two.
    """
    votes: dict[int, dict[str, int]] = {}
    for report in reports:
        for of in report.candidates:
            named = votes.setdefault(of.turn, {})
            named[of.action] = named.get(of.action, 0) + 1
    chosen = []
    for turn, named in votes.items():
        action = max(named, key=lambda action: named[action])
        chosen.append(Candidate(turn, action, named[action] / len(reports)))
    kept = sorted(chosen, key=lambda of: (-of.weight, of.turn))[:most]
    told = max((of for of in reports if not of.malformed), key=lambda of: _agreed(of, kept), default=Report())
    return Report(
        told.summary,
        told.lesson,
        told.turns,
        tuple(sorted(kept, key=lambda of: of.turn)),
        sum(of.asked for of in reports),
        tuple(problem for of in reports for problem in of.malformed),
        sum(of.dropped for of in reports),
    )


def _agreed(report: Report, kept: Sequence[Candidate]) -> int:
    named = {(of.turn, of.action) for of in report.candidates}
    return sum((of.turn, of.action) in named for of in kept)


# --- Reading ----------------------------------------------------------------------------------------------------------


def _object(answer: str) -> Mapping[str, Any]:
    text = without_thoughts(answer)
    if text.startswith("```") and text.endswith("```") and len(text) > 5:
        text = text[3:-3].removeprefix("json")
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except MalformedReport:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedReport(f"no JSON: {error}") from None
    if not isinstance(data, dict):
        raise MalformedReport(f"expected an object, got {type(data).__name__}")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    given = dict(pairs)
    if len(given) < len(pairs):
        raise MalformedReport("a field is given twice")
    return given


def _no_number(name: str) -> Any:
    raise MalformedReport(f"{name} is no number")


def _text(data: Mapping[str, Any], name: str) -> str:
    if not isinstance(data[name], str):
        raise MalformedReport(f"{name} must be a text")
    return str(data[name]).strip()


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(data[name], list):
        raise MalformedReport(f"{name} must be a list")
    return list(data[name])


def _pair(data: Any, name: str) -> tuple[int, str]:
    if not isinstance(data, dict) or data.keys() != {"turn", name}:
        raise MalformedReport(f"expected objects with turn and {name}")
    if type(data["turn"]) is not int:
        raise MalformedReport("a turn must be a whole number")
    return data["turn"], _text(data, name)
