"""Distillation on what the student said itself: the frozen student, hinted, says again how likely it finds that.

    A_l = log p_frozen(y_l | c, h, y_<l) - log p_frozen(y_l | c, y_<l)

added, with a weight, to the advantages that the tokens have. On the student's own samples this is the gradient of the
reverse KL, D(p(. | c) || p_frozen(. | c, h)), token by token (PivotOPD, equation of L_prev).

At pivots, with the gold action as a hint, it is prevention; at every turn, on-policy distillation (OPD); with a
trajectory's lesson as a hint, its lesson. It moves weight away from what was said, and gives hardly any to what is
hardly ever said: that is what recovery rows are for.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.moments import asking, laid_out, places
from rollback_gym.trainer.rows import Ids, Row, Span

Scoring = Callable[[Sequence[Row]], Sequence[Sequence[float]]]
"""For each token of each row's completion, its log-prob under the frozen student."""


class Target(NamedTuple):
    """A turn to be distilled."""

    episode: int
    turn: int
    """The action index."""
    hint: str
    weight: float
    clip: float | None = None
    """The advantage is cut to this before it is weighed; None leaves it."""
    gold: str | None = None
    """An action whose log-prob is measured there, and which nothing is trained by."""


class Distilled(NamedTuple):
    """What came of it."""

    rows: tuple[Row, ...]
    """With more in their advantages."""
    logprob: tuple[float, ...]
    """Of what was said on each target's turn, without the hint."""
    hinted: tuple[float, ...]
    """With it."""
    gold: tuple[float, ...]
    """Of the same with the action replaced, what was thought kept, without the hint; of targets with a gold action."""


def distilled(
    rows: Sequence[Row], targets: Sequence[Target], lessons: Mapping[int, Target], chat: Chat, scoring: Scoring
) -> Distilled:
    """`rows` with distilled advantages.

    `scoring` is called once, with nothing if need be: where it is collective, every process calls it equally often.

    Args:
        rows: With advantages.
        targets: Turns that were said in them.
        lessons: By episode, what is told at every turn of it; their `turn` is not used.
        chat: Writes hints.
        scoring: The frozen student.

    Raises:
        KeyError: if a target's turn is in none of the rows.
    """
    said = places(rows)
    where = [said[target.episode, target.turn] for target in targets]
    taught = [number for number, row in enumerate(rows) if row.episode in lessons]
    plain = sorted({number for number, _ in where} | set(taught))
    hinted = [_hinted(rows[number], span, of.hint, chat) for of, (number, span) in zip(targets, where, strict=True)]
    told = [_told(rows[number], lessons[rows[number].episode].hint, chat) for number in taught]
    golds = [
        _instead(rows[number], span, of.gold, chat)
        for of, (number, span) in zip(targets, where, strict=True)
        if of.gold is not None
    ]
    asked = [[rows[number] for number in plain], [row for row, _ in hinted], told, [row for row, _ in golds]]
    given = iter(scoring([row for part in asked for row in part]))
    scores = [[*islice(given, len(part))] for part in asked]
    before = dict(zip(plain, scores[0], strict=True))
    changed = list(rows)
    logprob, with_hint = [], []
    for target, (number, span), (_, begin), after in zip(targets, where, hinted, scores[1], strict=True):
        without = before[number][span.start : span.end]
        with_it = after[begin : begin + span.end - span.start]
        changed[number] = added(changed[number], span, advantages(with_it, without, target.weight, target.clip))
        logprob.append(sum(without))
        with_hint.append(sum(with_it))
    for number, after in zip(taught, scores[2], strict=True):
        lesson = lessons[rows[number].episode]
        for span in rows[number].spans:
            part = slice(span.start, span.end)
            more = advantages(after[part], before[number][part], lesson.weight, lesson.clip)
            changed[number] = added(changed[number], span, more)
    gold = tuple(sum(of[begin:]) for of, (_, begin) in zip(scores[3], golds, strict=True))
    return Distilled(tuple(changed), tuple(logprob), tuple(with_hint), gold)


def advantages(
    hinted: Sequence[float], plain: Sequence[float], weight: float, clip: float | None = None
) -> tuple[float, ...]:
    """w times A_l, cut to [-clip, clip] before it is weighed."""
    differences = [with_it - without for with_it, without in zip(hinted, plain, strict=True)]
    if clip is not None:
        differences = [max(-clip, min(clip, of)) for of in differences]
    return tuple(weight * of for of in differences)


def added(row: Row, span: Span, more: Sequence[float]) -> Row:
    """`row` with `more` in the advantages of a span."""
    given = list(row.advantages)
    for at, of in enumerate(more, span.start):
        given[at] += of
    return row._replace(advantages=tuple(given))


def unscored(prompt: Ids, completion: Ids, begin: int) -> Row:
    """A row to be scored from `begin` on."""
    return Row(prompt, completion, (Span(0, begin, len(completion)),), (0.0,) * len(completion))


def _hinted(row: Row, span: Span, hint: str, chat: Chat) -> tuple[Row, int]:
    """What was said on a turn, after a hint, and where it begins."""
    ids, answer = asking(row, span.start, span.end)
    prompt, completion, begin = laid_out(row.prompt, chat.hinted(ids, hint), answer)
    return unscored(prompt, completion, begin), begin


def _instead(row: Row, span: Span, action: str, chat: Chat) -> tuple[Row, int]:
    """What was said on a turn with another action in it, and where that begins."""
    ids, answer = asking(row, span.start, span.end)
    thought = chat.text(answer).rpartition("<action>")[0]
    prompt, completion, begin = laid_out(row.prompt, ids, chat.answer(f"{thought}<action>{action}</action>"))
    return unscored(prompt, completion, begin), begin


def _told(row: Row, hint: str, chat: Chat) -> Row:
    """All of a row, after a hint in its first text: every turn is said after it."""
    return row._replace(prompt=chat.hinted(row.prompt, hint), advantages=())
