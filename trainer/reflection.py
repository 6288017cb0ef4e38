"""Looking back at an episode: z = (phi, c, lessons), how it is asked for, and how it is read.

phi is how much of the task got done, c whether the model thinks that it was done, and lessons are what the next attempt
should know (RetroAgent, section on retrospective reflection). Pure functions of texts; `reflectors.py` asks models and
the oracle. The wording is our own, and so is the form of the answer, which is read strictly: what is not exactly that
form counts as malformed, with phi 0 and no lesson.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from rollback_gym.play.policies import Turn, View
from rollback_gym.play.prompts import Messages, rules

LEAST_LESSON, MOST_LESSON = 6, 600
"""Characters. A shorter one is no lesson (the public code's bound); a longer one would crowd out the game."""
KEPT = 4000
"""Characters of a transcript that a memory keeps."""
_SAME_TASK = frozenset({"sokoban", "sokoban-two", "minesweeper"})
_KEYS = ("subtasks", "success", "action_lesson", "navigation_lesson")


class Reflection(NamedTuple):
    """What there is to say of an episode."""

    phi: float = 0.0
    """In [0, 1]: the share of the task that got done."""
    predicted: bool | None = None
    """c: whether the task was done, as the model thinks; None where it did not say."""
    lessons: tuple[str, ...] = ()
    problem: str = ""
    """Why nothing could be read; empty where it could."""

    def right(self, won: bool) -> bool:
        """Whether the prediction was."""
        return self.predicted is not None and self.predicted == won

    def judged(self, won: bool) -> "Reflection":
        """What is left of it once it is known how the episode ended.

        A won episode did all of its task. Who misjudged the end teaches nothing.
        """
        if self.problem:
            return Reflection(predicted=self.predicted, problem=self.problem)
        return self._replace(phi=1.0 if won else self.phi, lessons=self.lessons if self.right(won) else ())


class Attempt(NamedTuple):
    """An episode that is over, as it is told."""

    lines: tuple[str, ...]
    """The start, and a text for every action."""
    won: bool


def subject(view: View) -> str:
    """The task x, by which baselines are kept and lessons found: the instruction.

    Where every level has the same one, as in Sokoban and MineSweeper, the board at the start belongs to it (as in the
    public code).
    """
    return f"{view.task}\n{view.turns[0].observation}" if view.env in _SAME_TASK else view.task


# --- Asking -----------------------------------------------------------------------------------------------------------


def transcript(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Every turn in a text of its own, abandoned branches and refused actions included."""
    return tuple(_line(turn) for turn in turns)


def shortened(lines: Sequence[str], most: int) -> tuple[str, ...]:
    """At most `most` lines, and one that says how many are left out in the middle; the start and the end stay."""
    if len(lines) <= most:
        return tuple(lines)
    first, last = (most + 1) // 2, most // 2
    omitted = f"({len(lines) - most} turns are left out here.)"
    return (*lines[:first], omitted, *lines[len(lines) - last :])


def kept(lines: Sequence[str]) -> str:
    """A transcript for a memory, of at most `KEPT` characters."""
    most = len(lines)
    while sum(map(len, shortened(lines, most))) + most > KEPT and most > 1:
        most -= 1
    return "\n".join(shortened(lines, most))[:KEPT]


def question(view: View, attempt: Attempt, reference: Attempt | None, *, told: bool, brief: bool = False) -> Messages:
    """The message that asks a model to look back.

    Args:
        view: What the agent saw.
        attempt: The episode.
        reference: Another one of the same task, to compare it with.
        told: Whether the model is told how it ended; where it is trained to know, it must not be.
        brief: Leaves out the rules and the form of the answer, for a model that learned them in training.
    """
    opening = "An attempt at a task is over. Look back at it."
    parts = [opening] if brief else [f"{opening}\n\n{rules(view.env)}"]
    parts.append(f"The task: {view.task}")
    if reference is not None:
        parts.append(f"For comparison, an earlier attempt that {_ended(reference.won)}:\n{_joined(reference.lines)}")
    parts.append(f"The attempt to look back at:\n{_joined(attempt.lines)}")
    parts.append(f"This attempt {_ended(attempt.won)}." if told else "Judge for yourself whether it did the task.")
    if not brief:
        parts.append(_FORM)
    return ({"role": "user", "content": "\n\n".join(parts)},)


def _line(turn: Turn) -> str:
    if turn.action is None:
        return f"[{turn.index}] {turn.observation}"
    action = turn.action if turn.problem is None else "(no action could be read)"
    if turn.target is not None:
        why = f" because: {turn.reason}" if turn.reason else ""
        return f"[{turn.index}] {action}{why} -> everything is as it was at [{turn.target}]"
    if turn.invalid is not None:
        return f"[{turn.index}] {action} -> this could not be done: {turn.invalid}"
    end = " (The game is lost.)" if turn.failed else ""
    return f"[{turn.index}] {action} -> {turn.observation}{end}"


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines)


def _ended(won: bool) -> str:
    return "did the task" if won else "failed"


_FORM = """Answer with one JSON object of this form, and nothing else:
{"subtasks": [{"name": "find the mug", "done": true}, {"name": "put it on the desk", "done": false}],
 "success": false, "action_lesson": "...", "navigation_lesson": "..."}
subtasks: all steps that this task takes, in order, each with whether it was done when the attempt ended.
success: whether the whole task was done.
action_lesson: for the next attempt at such a task, one sentence on what to do or to leave, with the names of things; \
if one action was the mistake, say which, and the number to go back to. null if there is nothing to learn.
navigation_lesson: one sentence on where things are and how to get there. null if there is nothing to learn."""


# --- Reading ----------------------------------------------------------------------------------------------------------


def read(text: str) -> Reflection:
    """What a model answered. Thoughts before the answer, and a code fence around it, are passed over."""
    body = text.rpartition("</think>")[2].strip()
    if body.startswith("```") and body.endswith("```") and len(body) > 6:
        body = body[3:-3].removeprefix("json").strip()
    try:
        data = json.loads(body, object_pairs_hook=_unique, parse_constant=_no_constant)
        return _reflection(data)
    except (ValueError, RecursionError) as error:
        return Reflection(problem=str(error) or type(error).__name__)


def _reflection(data: Any) -> Reflection:
    if not isinstance(data, dict) or set(data) != set(_KEYS):
        raise ValueError(f"Expected an object with exactly {', '.join(_KEYS)}.")
    if not isinstance(data["success"], bool):
        raise ValueError("success must be true or false.")
    done = [_done(of) for of in _listed(data["subtasks"])]
    said = [_lesson(data[name], name) for name in _KEYS[2:]]
    return Reflection(sum(done) / len(done), data["success"], tuple(lesson for lesson in said if lesson))


def _listed(data: Any) -> list[Any]:
    if not isinstance(data, list) or not data:
        raise ValueError("subtasks must be a list of at least one.")
    return data


def _done(data: Any) -> bool:
    if not isinstance(data, dict) or set(data) != {"name", "done"}:
        raise ValueError("A subtask has exactly name and done.")
    if not isinstance(data["name"], str) or not data["name"].strip() or not isinstance(data["done"], bool):
        raise ValueError("A subtask's name is a text, and done is true or false.")
    return data["done"]


def _lesson(data: Any, name: str) -> str:
    if data is None:
        return ""
    if not isinstance(data, str) or len(data) > MOST_LESSON:
        raise ValueError(f"{name} must be null, or a text of at most {MOST_LESSON} characters.")
    lesson = " ".join(data.split())
    return lesson if len(lesson) >= LEAST_LESSON else ""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("A name is given twice.")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON.")


# --- Agreement --------------------------------------------------------------------------------------------------------


class Agreement(NamedTuple):
    """How far a model's phi is from the oracle's."""

    size: int
    """Episodes."""
    error: float
    """The mean distance."""
    bias: float
    """The mean of model minus oracle: above 0, progress is hallucinated."""
    overclaimed: float
    """The share of episodes in which the model claims more, by over 0.05."""
    correlation: float | None
    """Pearson's; None where one of the two is always the same."""


def agreement(model: Sequence[float], oracle: Sequence[float]) -> Agreement:
    """How a model's phi agrees with the exact one on the same episodes. Raises ValueError on none, or unequal many."""
    if not model or len(model) != len(oracle):
        raise ValueError(f"As many of one as of the other are needed, got {len(model)} and {len(oracle)}.")
    size = len(model)
    away = [one - other for one, other in zip(model, oracle, strict=True)]
    return Agreement(
        size,
        sum(map(abs, away)) / size,
        sum(away) / size,
        sum(of > 0.05 for of in away) / size,
        _correlation(model, oracle),
    )


def _correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    means = sum(one) / len(one), sum(other) / len(other)
    a, b = [of - means[0] for of in one], [of - means[1] for of in other]
    spread = math.sqrt(sum(of * of for of in a) * sum(of * of for of in b))
    if spread < 1e-12:
        return None
    return max(-1.0, min(1.0, sum(x * y for x, y in zip(a, b, strict=True)) / spread))
