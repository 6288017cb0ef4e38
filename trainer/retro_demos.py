"""What a tiny model learns before RetroAgent begins: to play with and without a lesson, and to look back.

A pretrained model brings that along. Here it is shown: cooks who search and err, players who were given a lesson and
mostly do as it says; and reflections whose sub-tasks are thirds of the way by exact L, with a lesson copied from the
episode.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from rollback_gym.oracles.lookup import Oracle
from rollback_gym.play.policies import Choice, OraclePolicy, Truth, View, any_action
from rollback_gym.play.prompts import Prompts, prompt
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.contexts import Told, context
from rollback_gym.trainer.cooks import Cook, Habits
from rollback_gym.trainer.feedback import LESSONS
from rollback_gym.trainer.generator import Sample
from rollback_gym.trainer.reflection import Attempt, question
from rollback_gym.trainer.reflectors import attempt, exact_phi, template_lessons
from rollback_gym.trainer.sft import Text
from rollback_gym.trainer.trajectory import Trajectory, watched

PARTS = 3
"""Sub-tasks of a reflection."""


class Demo(NamedTuple):
    """An episode that is learned from."""

    trajectory: Trajectory
    views: tuple[View, ...]
    """What the player saw before each turn, and at the end."""
    lesson: str
    """What it was told; empty for nothing."""
    reference: Attempt | None
    """Another attempt at the same level that ended otherwise."""
    phi: float


class Erring:
    """Plays well, but for a share of turns at random; a `KnowingPolicy`."""

    name = "erring"

    def __init__(self, errs: float) -> None:
        self._errs, self._best = errs, OraclePolicy(rollbacks=False)
        self._random = np.random.default_rng(0)

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""
        self._best.begin(seed)
        self._random = np.random.default_rng(seed)

    def act_knowing(self, view: View, truth: Truth) -> Choice:
        """See `KnowingPolicy.act_knowing`."""
        if self._random.random() < self._errs:
            return Choice(any_action(view, self._random))
        return self._best.act_knowing(view, truth)

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return {"errs": self._errs}


def demos(
    env: gym.Env[Any, Any], levels: Sequence[str], oracle: Oracle, *, habits: Habits, helped: float
) -> list[Demo]:
    """Two episodes of each level: a cook's without a lesson, and one that was told a lesson of the first.

    The lesson says where the thing was, so only the second may go there at once.

    Args:
        env: In the `Rollback` wrapper, with text actions.
        levels: Which.
        oracle: Knows L.
        habits: How the cook is.
        helped: How often one that was given a lesson acts at random.
    """
    made = []
    for number, level in enumerate(levels):
        first, views = watched(env, level, Cook(habits), 2 * number)
        lesson = "\n".join([LESSONS, f"- {' '.join(template_lessons(first, oracle))}"])
        second, more = watched(env, level, Erring(helped), 2 * number + 1)
        pair = (attempt(second), attempt(first)) if first.won != second.won else (None, None)
        made += [
            Demo(first, views, "", pair[0], exact_phi(first, oracle)),
            Demo(second, more, lesson, pair[1], exact_phi(second, oracle)),
        ]
    return made


def reflected(demo: Demo) -> str:
    """The reflection that is shown for an episode."""
    won = demo.trajectory.won
    done = [demo.phi * PARTS >= part - 1e-9 for part in range(1, PARTS + 1)]
    subtasks = [{"name": f"part {part}", "done": of} for part, of in enumerate(done, 1)]
    good = _progress(demo)
    lesson = f"This helped: {', '.join(good)}." if good else None
    said = {"subtasks": subtasks, "success": won, "action_lesson": lesson, "navigation_lesson": None}
    return json.dumps(said, separators=(",", ":"))


def _progress(demo: Demo) -> list[str]:
    """What is told again of the last branch: how a won episode ended, else where a thing was taken."""
    actions = [str(node.action) for node in demo.trajectory.history.path[1:] if node.invalid is None]
    if demo.trajectory.won:
        return list(dict.fromkeys(actions))[-4:]
    taken = [place for place, action in enumerate(actions) if action.startswith("take ")]
    return actions[max(0, taken[0] - 1) : taken[0] + 1] if taken else []


# --- Texts ------------------------------------------------------------------------------------------------------------


def words(demo: Demo, settings: Prompts) -> Iterator[str]:
    """All that is read and said in an episode, and on looking back at it."""
    view = demo.trajectory.view
    for message in prompt(view.env, view.task, view.turns, settings, view.going_back, view.max_turns):
        yield message["content"]
    yield demo.lesson
    for told in (False, True):
        yield question(view, attempt(demo.trajectory), demo.reference, told=told, brief=True)[0]["content"]
    yield reflected(demo)


def play_texts(chat: Chat, demo: Demo, settings: Prompts, *, told: bool = False) -> list[Text]:
    """An episode as it would have been said and told, to imitate every answer; with `told` to foresee the rest, too."""
    text = context("dialogue", chat, settings, demo.views[0], Told(demo.lesson, ""))
    for view in demo.views[1:]:
        ids = chat.answer(f"<action>{view.turns[-1].action}</action>")
        text.said(Sample(ids, (0.0,) * len(ids), True), view, "")
    return [
        Text((*row.prompt, *row.completion), (*[told] * len(row.prompt), *(told or bool(of) for of in row.mask)))
        for row in text.rows
    ]


def reflection_texts(chat: Chat, demo: Demo) -> list[Text]:
    """Looking back, told the end and not told it, as `ModelReflector` asks with `brief`."""
    made = []
    for told in (False, True):
        reference = demo.reference if told else None
        view, whole = demo.trajectory.view, attempt(demo.trajectory)
        asked = chat.opening(question(view, whole, reference, told=told, brief=True))
        answer = chat.answer(reflected(demo))
        made.append(Text((*asked, *answer), (*[False] * len(asked), *[True] * len(answer))))
    return made
