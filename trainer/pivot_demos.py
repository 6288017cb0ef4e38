"""What a tiny model learns before PivotOPD begins: to cook, to err, hardly ever to recover, and to follow hints.

A pretrained model brings that along. Here a cook shows it who searches until it has seen what it needs, errs now and
then, and after an error mostly wanders about, and seldom takes the error back. In other episodes every action is named
by a hint before, and done, whatever it is: these teach to follow hints, and nothing of what was done without one.
"""

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.envs.alfworld import rules
from rollback_gym.play.policies import Choice, Truth, View
from rollback_gym.play.prompts import Prompts, prompt
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.contexts import Told, context
from rollback_gym.trainer.generator import Sample
from rollback_gym.trainer.hints import gold_hint
from rollback_gym.trainer.sft import Text
from rollback_gym.trainer.teachers import acting_first
from rollback_gym.trainer.trajectory import watched

HINT = "(do: {action})"
"""A hint for a model of a hundred words."""
_IDLE = ("look", "inventory", "help")


class Habits(NamedTuple):
    """How a cook is."""

    errs: float = 0.08
    """The chance of an error, each turn."""
    recovers: float = 0.1
    """The chance that an error is taken back at once, and the work goes on."""
    fumbles: float = 0.0
    """The chance of an action that cannot be done, each turn; then the work goes on. It costs a turn."""
    hinted: float = 0.0
    """The chance that an action is one at random, named by a hint, instead of the cook's own, named too."""


class Cook:
    """Plays ALFWorld by what it has seen, but for its errors; a `KnowingPolicy`."""

    name = "cook"

    def __init__(self, habits: Habits) -> None:
        self._habits = habits
        self._random = Random(0)
        self._lost = False

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""
        self._random, self._lost = Random(seed), False

    def act_knowing(self, view: View, truth: Truth) -> Choice:
        """See `KnowingPolicy.act_knowing`."""
        chance, habits = self._random, self._habits
        offered = [str(action) for action in view.turns[-1].admissible]
        if chance.random() < habits.hinted:
            return Choice(chance.choice([action for action in offered if action not in _IDLE]))
        if chance.random() < habits.fumbles:
            return Choice(_fumble(truth, offered, chance))
        walks = [action for action in offered if action.startswith("go to ")]
        if self._lost:
            return Choice(chance.choice(walks))
        if chance.random() < habits.errs and (wrong := _errors(truth, offered)):
            self._lost = chance.random() >= habits.recovers
            verb = chance.choice(sorted({action.split()[0] for action in wrong}))
            return Choice(chance.choice([action for action in wrong if action.startswith(f"{verb} ")]))
        if not _seen(view, truth):
            been = {str(turn.action) for turn in view.turns}
            new = [walk for walk in walks if walk not in been and "fridge" not in walk and "microwave" not in walk]
            if new:
                return Choice(chance.choice(new))
        return Choice(acting_first(truth.oracle.optimal_actions(truth.level, truth.state)))

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return self._habits._asdict()


def _errors(truth: Truth, offered: Sequence[str]) -> list[str]:
    """What raises L, and leaves the goal within reach."""
    here = truth.oracle.distance(truth.level, truth.state)
    after = {
        action: truth.oracle.distance(truth.level, rules.step(truth.level, truth.state, action).state)
        for action in offered
    }
    return [action for action, length in after.items() if here < length < float("inf")]


def _fumble(truth: Truth, offered: Sequence[str], chance: Random) -> str:
    """Something that cannot be done here."""
    places = [place.name for place in truth.level.receptacles]
    things = [thing.name for thing in truth.level.things]
    tried = [f"take {thing} from {place}" for thing in things for place in places]
    tried += [f"move {thing} to {place}" for thing in things for place in places]
    return chance.choice([action for action in tried if action not in offered])


def _seen(view: View, truth: Truth) -> bool:
    """Whether the agent has seen what it needs."""
    needed = re.compile(rf"\b{truth.level.goal.object_type} \d")
    return any(needed.search(str(turn.observation)) for turn in view.turns[1:])


def shown(env: gym.Env[Any, Any], level: str, habits: Habits, seed: int) -> tuple[View, ...]:
    """What a cook saw before each of its turns, and at the end."""
    return watched(env, level, Cook(habits), seed)[1]


def words(views: Sequence[View], settings: Prompts) -> Iterator[str]:
    """All that is read and said in an episode."""
    view = views[-1]
    for message in prompt(view.env, view.task, view.turns, settings, view.going_back, view.max_turns):
        yield message["content"]
    yield from (gold_hint(str(turn.action), HINT) for turn in view.turns[1:])


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
    for action, view, hint in zip(said, views[1:], [*hints[1:], ""], strict=True):
        ids = chat.answer(f"<action>{action}</action>")
        written.said(Sample(ids, (0.0,) * len(ids), True), view, hint)
    (row,) = written.rows
    return Text((*row.prompt, *row.completion), (*[told] * len(row.prompt), *(told or bool(of) for of in row.mask)))
