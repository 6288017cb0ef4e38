"""What a tiny model learns before PivotOPD begins: to cook, to err, hardly ever to recover, and to follow hints.

A pretrained model brings that along. Here a cook shows it who searches until it has seen what it needs, errs now and
then, and after an error mostly wanders about, and seldom takes the error back. In other episodes every action is named
by a hint before, and done, whatever it is: these teach to follow hints, and nothing of what was done without one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym

from rollback_gym.play.policies import View
from rollback_gym.play.prompts import Prompts, prompt
from rollback_gym.study.notes import noted
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.contexts import Told, context
from rollback_gym.trainer.cooks import Cook, Habits
from rollback_gym.trainer.generator import Sample
from rollback_gym.trainer.hints import gold_hint
from rollback_gym.trainer.sft import Text
from rollback_gym.trainer.trajectory import watched

HINT = "(do: {action})"
"""A hint for a model of a hundred words."""


def shown(env: gym.Env[Any, Any], level: str, habits: Habits, seed: int) -> tuple[View, ...]:
    """What a cook saw before each of its turns, and at the end."""
    return watched(env, level, Cook(habits), seed)[1]


def words(views: Sequence[View], settings: Prompts) -> Iterator[str]:
    """All that is read and said in an episode."""
    view = views[-1]
    for message in prompt(view.env, view.task, view.turns, settings, view.going_back, view.max_turns):
        yield message["content"]
    yield from (answer(before, str(turn.action)) for before, turn in zip(views, view.turns[1:], strict=False))
    yield from (gold_hint(str(turn.action), HINT) for turn in view.turns[1:])


def answer(view: View, action: str) -> str:
    """What is said by one who has read `view`, notes it, and does `action`."""
    return f"<think>{noted(needed(view.task), view.turns)}</think><action>{action}</action>"


def needed(task: str) -> str:
    """The type of thing that a task such as "put a mug in countertop." asks for."""
    found = _NEEDED.search(task)
    if found is None:
        raise ValueError(f"Expected a task such as 'put a mug in countertop.', got {task!r}.")
    return found[1]


_NEEDED = re.compile(r"\bput (?:a|an|some) (\w+) (?:in|on)\b")


def text(chat: Chat, views: Sequence[View], settings: Prompts, *, hinted: bool = False, told: bool = False) -> Text:
    """An episode as it would have been told and said, every answer to be imitated.

    Args:
        chat: Writes messages as tokens.
        views: What was seen before each turn, and at the end.
        settings: How it is told.
        hinted: Whether every action is named before.
        told: Whether what is told is to be foreseen, too (`sft.py`).
    """
    said = [str(view.turns[-1].action) for view in views[1:]]
    hints = [gold_hint(action, HINT) if hinted else "" for action in said]
    written = context("dialogue", chat, settings, views[0], Told("", hints[0]))
    for before, action, view, hint in zip(views[:-1], said, views[1:], [*hints[1:], ""], strict=True):
        ids = chat.answer(answer(before, action))
        written.said(Sample(ids, (0.0,) * len(ids), True), view, hint)
    (row,) = written.rows
    return Text((*row.prompt, *row.completion), (*[told] * len(row.prompt), *(told or bool(of) for of in row.mask)))
