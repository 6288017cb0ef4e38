"""A free text as an action that is feasible, in four steps, the surest first (PivotOPD, step 2).

1. It is one of them, but for case, blanks, quotes and the full stop.
2. It is, once articles are left out.
3. Exactly one of them stands in it, or it stands in exactly one of them, word by word.
4. Exactly one of them shares the most words with it, and enough of them.

A number that the text names is never read as another one, and a command that exists never as another command: such a
text is no feasible action.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

LEAST_OVERLAP = 0.66
"""Of step 4: twice the words shared, of all words of both. The seed names no number; two of three words is ours."""


class Step(StrEnum):
    """Which step found the action."""

    EXACT = "exact"
    ARTICLES = "articles"
    CONTAINED = "contained"
    OVERLAP = "overlap"


class Resolved(NamedTuple):
    """What was found."""

    action: str | None
    """One of the feasible actions; None where the text is none of them, or could be several."""
    step: Step | None = None


NOTHING = Resolved(None)


def same(one: str, other: str) -> bool:
    """Whether two actions are the same but for case and blanks: what makes a turn no pivot (PivotOPD, step 2)."""
    return _plain(one) == _plain(other)


def resolve(
    text: str, feasible: Sequence[str], known: Collection[str] = (), least_overlap: float = LEAST_OVERLAP
) -> Resolved:
    """`text` as one of the `feasible` actions.

    Args:
        text: An action as somebody put it.
        feasible: What can be done. One with a gap, such as `search[<your query>]`, stands for all texts that fill it,
            and is found by step 1 alone: the action is then the text itself.
        known: What could be done at other moments. A text that is one of these is taken at its word, and what they
            begin with are commands: `take` is never read as `move`, where both are.
        least_overlap: What step 4 asks for, from 0 to 1.
    """
    said = _bare(text)
    if not said:
        return NOTHING
    whole = [action for action in feasible if not _GAP.search(action)]
    for step, of in ((Step.EXACT, _bare), (Step.ARTICLES, _without_articles)):
        found = _only([action for action in whole if of(action) == of(text)])
        if found is not None:
            return Resolved(found, step)
    if any(_fills(said, action) for action in feasible if _GAP.search(action)):
        return Resolved(_stripped(text), Step.EXACT)
    if any(said == _bare(action) for action in known):
        return NOTHING
    words = _words(text)
    begins = {_words(action)[:1] for action in (*known, *feasible)}
    open_ = [
        action
        for action in whole
        if _in_order(_numbers(words), _numbers(_words(action)))
        and (words[:1] not in begins or words[:1] == _words(action)[:1])
    ]
    found = _contained(words, whole) or _only([action for action in open_ if _holds(_words(action), words)])
    if found is not None:
        return Resolved(found, Step.CONTAINED)
    found = _nearest(words, open_, least_overlap)
    return NOTHING if found is None else Resolved(found, Step.OVERLAP)


_GAP = re.compile(r"<[^<>]+>")
_ARTICLES = {"a", "an", "the"}
_WORD = re.compile(r"[^\W_]+")
_AROUND = "\"'`“”‘’.!;"  # noqa: RUF001


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _stripped(text: str) -> str:
    """Without what may stand around an action: blanks, quotes, a full stop."""
    return " ".join(text.split()).strip(_AROUND + " ")


def _bare(text: str) -> str:
    return _stripped(text).lower()


def _without_articles(text: str) -> str:
    return " ".join(word for word in _bare(text).split() if word not in _ARTICLES)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in _WORD.findall(text.lower()) if word not in _ARTICLES)


def _numbers(words: Sequence[str]) -> list[str]:
    return [word for word in words if any(letter.isdigit() for letter in word)]


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether `few` are among `many`, in this order."""
    rest = iter(many)
    return all(word in rest for word in few)


def _only(actions: Sequence[str]) -> str | None:
    """The one action among them, if there is one; what is written twice is one."""
    return actions[0] if len(set(map(_bare, actions))) == 1 else None


def _fills(said: str, action: str) -> bool:
    """Whether `said` is an action with a gap, filled with something."""
    parts = [re.escape(part.lower()) for part in _GAP.split(" ".join(action.split()))]
    return re.fullmatch(r".*\w.*".join(parts), said) is not None and not _GAP.search(said)


def _contained(words: Sequence[str], actions: Sequence[str]) -> str | None:
    """The only action that stands in the text; one that stands in another that does is a part of it, and not meant."""
    inside = [action for action in actions if _holds(words, _words(action))]
    parts = {
        action
        for action in inside
        for other in inside
        if _words(action) != _words(other) and _holds(_words(other), _words(action))
    }
    return _only([action for action in inside if action not in parts])


def _holds(words: Sequence[str], part: Sequence[str]) -> bool:
    size = len(part)
    return bool(part) and any(tuple(words[at : at + size]) == tuple(part) for at in range(len(words) - size + 1))


def _nearest(words: Sequence[str], actions: Sequence[str], least: float) -> str | None:
    shared = {action: _overlap(words, _words(action)) for action in actions}
    best = max(shared.values(), default=0.0)
    return _only([action for action, of in shared.items() if of == best]) if best >= max(least, 1e-9) else None


def _overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """Twice the words shared, of all words of both; 0 to 1."""
    size = len(one) + len(other)
    return 2 * sum((Counter(one) & Counter(other)).values()) / size if size else 0.0
