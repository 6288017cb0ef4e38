"""The text that an agent is in, as tokens, and the rows that come of it.

Two ways. `Dialogue`: everything said so far, in one growing text that is cut back at every rollback; a row is a branch.
`Pages`: a text written anew each turn, with a window of the last few; a row is a turn.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from rollback_gym.play import prompts as asking
from rollback_gym.play.policies import Turn, View
from rollback_gym.play.prompts import Messages, Prompts
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.generator import Sample
from rollback_gym.trainer.rows import Ids, Row, Span

Style = Literal["dialogue", "turns"]
MOST_WINDOW = 5
"""Of a text a turn: what GiGPO and those after it show is 2 to 5 turns."""


class Told(NamedTuple):
    """What is told an agent beside what the environment shows."""

    lesson: str = ""
    """With the instructions, in every text of the episode."""
    hint: str = ""
    """With what came of the last turn."""


class Context(Protocol):
    """The text that an agent is in."""

    @property
    def ids(self) -> Ids:
        """What the model reads, up to where its answer begins."""

    def said(self, sample: Sample, view: View, hint: str) -> None:
        """The model's answer, with what came of it: the last turn of `view`."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """What there is to train on so far."""


def context(style: Style, chat: Chat, settings: Prompts, view: View, told: Told) -> Context:
    """The text of an agent that sees `view`; turns in it that are over are its own, and are not trained."""
    return Dialogue(chat, settings, view, told) if style == "dialogue" else Pages(chat, settings, view, told)


def check_style(style: Style, settings: Prompts) -> None:
    """Raise ValueError where `settings` ask for a text that this style does not write."""
    if style not in ("dialogue", "turns"):
        raise ValueError(f"context must be dialogue or turns, got {style!r}.")
    if style == "dialogue" and (settings.style != "dialogue" or settings.window is not None or not settings.thoughts):
        raise ValueError(
            "A whole dialogue holds all that was said, as it was said: it needs the prompts style='dialogue', "
            "window=null and thoughts=true. With context='turns' a text is written anew each turn."
        )
    if style == "turns" and (settings.window is None or not 0 <= settings.window <= MOST_WINDOW):
        raise ValueError(
            f"context='turns' needs a window of 0 to {MOST_WINDOW} turns, got {settings.window!r}. To show all turns, "
            "train whole dialogues (context='dialogue')."
        )


class Dialogue:
    """Everything said so far. A rollback cuts it back to what was said up to its target.

    What was cut off is a row, the rollback its last answer. The branch after it begins with the same tokens, which are
    not trained again; where the game went back to the start, with another first message: one that tells of that.
    """

    def __init__(self, chat: Chat, settings: Prompts, view: View, told: Told) -> None:
        self._chat, self._settings, self._lesson = chat, settings, told.lesson
        self._view = view
        self._done: list[Row] = []
        turns = view.turns
        self._begin(turns[:1], told.hint if len(turns) == 1 else "")
        for number in range(1, len(turns)):
            ids = chat.answer(asking.answer(turns[number], settings))
            self._take(turns[: number + 1], ids, None, told.hint if number + 1 == len(turns) else "")

    @property
    def ids(self) -> Ids:
        """See `Context.ids`."""
        return (*self._prompt, *self._tokens)

    def said(self, sample: Sample, view: View, hint: str) -> None:
        """See `Context.said`."""
        self._take(view.turns, sample.ids, sample.logprobs, hint)

    @property
    def rows(self) -> tuple[Row, ...]:
        """See `Context.rows`."""
        return (*self._done, *self._row())

    def _begin(self, turns: Sequence[Turn], hint: str) -> None:
        """The text of an agent that is at the start, or back there."""
        self._prompt = self._chat.opening(_with(_asked(self._view, turns, self._settings), Told(self._lesson, hint)))
        self._tokens: list[int] = []
        self._logprobs: list[float] = []
        self._spans: list[Span] = []
        self._ends: dict[int, int] = {}  # action index -> where its answer ends

    def _take(self, turns: Sequence[Turn], ids: Ids, logprobs: Sequence[float] | None, hint: str) -> None:
        """The answer that made the last of `turns`; without log-probs it is none of the model's."""
        last, begin = turns[-1], len(self._tokens)
        self._say(ids, [0.0] * len(ids) if logprobs is None else logprobs)
        self._ends[last.index] = len(self._tokens)
        if logprobs is not None:
            self._spans.append(Span(last.index, begin, len(self._tokens)))
        if last.target is not None:
            self._done += self._row()
            self._cut(self._ends.get(last.target, 0))
        branch = asking.branch(turns)
        if len(branch) == 1:
            self._begin(turns, hint)
        else:
            told = self._chat.reply(_and(asking.message(branch[-1], self._settings), hint), self._tokens[-1])
            self._say(told, [0.0] * len(told))

    def _say(self, ids: Ids, logprobs: Sequence[float]) -> None:
        self._tokens += ids
        self._logprobs += logprobs

    def _cut(self, end: int) -> None:
        """Back to the first `end` tokens, which were trained in the row before."""
        del self._tokens[end:]
        self._logprobs, self._spans = [0.0] * end, []

    def _row(self) -> tuple[Row, ...]:
        """The row of what was said since the last rollback; none where that is nothing."""
        if not self._spans:
            return ()
        end = self._spans[-1].end
        return (Row(self._prompt, tuple(self._tokens[:end]), tuple(self._spans), tuple(self._logprobs[:end])),)


class Pages:
    """A text a turn, with a window of the last few."""

    def __init__(self, chat: Chat, settings: Prompts, view: View, told: Told) -> None:
        self._chat, self._settings, self._lesson = chat, settings, told.lesson
        self._done: list[Row] = []
        self._write(view, told.hint)

    @property
    def ids(self) -> Ids:
        """See `Context.ids`."""
        return self._ids

    def said(self, sample: Sample, view: View, hint: str) -> None:
        """See `Context.said`."""
        span = Span(view.turns[-1].index, 0, len(sample.ids))
        self._done.append(Row(self._ids, sample.ids, (span,), sample.logprobs))
        self._write(view, hint)

    @property
    def rows(self) -> tuple[Row, ...]:
        """See `Context.rows`."""
        return tuple(self._done)

    def _write(self, view: View, hint: str) -> None:
        self._ids = self._chat.opening(_with(_asked(view, view.turns, self._settings), Told(self._lesson, hint)))


def _asked(view: View, turns: Sequence[Turn], settings: Prompts) -> Messages:
    return asking.prompt(view.env, view.task, turns, settings, view.going_back, view.max_turns)


def _with(messages: Messages, told: Told) -> Messages:
    """`messages` with the lesson in the first of them, and the hint in the last."""
    changed = list(messages)
    if told.lesson:
        first = changed[0]
        parts = [first["content"], told.lesson] if first["role"] == "system" else [told.lesson, first["content"]]
        changed[0] = {**first, "content": "\n\n".join(parts)}
    changed[-1] = {**changed[-1], "content": _and(changed[-1]["content"], told.hint)}
    return tuple(changed)


def _and(message: str, hint: str) -> str:
    return f"{message}\n{hint}" if hint else message
