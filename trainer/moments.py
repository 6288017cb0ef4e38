"""Moments of an episode at which an agent is asked to act, and the text that it reads there."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym

import rollback_gym
from rollback_gym.core.history import History, Node
from rollback_gym.core.snapshot import Outcome, Snapshot
from rollback_gym.play import prompts
from rollback_gym.play.playing import Table, turn
from rollback_gym.play.policies import Turn, View
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Setup
from rollback_gym.trainer.contexts import Context, Told, context
from rollback_gym.trainer.generator import Sample
from rollback_gym.trainer.rows import Ids, Row, Span
from rollback_gym.trainer.trajectory import Trajectory

_OPEN = (Outcome.RUNNING, Outcome.FAILED)

Said = tuple[Sample, View]
"""An answer, and what the agent saw after it."""


class Moment(NamedTuple):
    """The game between two actions."""

    view: View
    """All that the agent has seen; the last of `view.turns` led here."""
    level: Any
    state: Any
    """What no agent sees."""
    history: History

    @property
    def last(self) -> int:
        """The action index of the last action."""
        return self.view.turns[-1].index

    @property
    def feasible(self) -> tuple[str, ...]:
        """What can be done: the game's actions as they were offered, and the rollbacks."""
        return feasible(self.view.turns[-1], self.view)


def feasible(last: Turn, view: View) -> tuple[str, ...]:
    """What could be done after a turn: the game's actions as they were offered, and the rollbacks."""
    back = tuple(f"{view.going_back.verb}({target})" for target in last.targets)
    return (*map(str, last.admissible), *back)


def known(view: View) -> frozenset[str]:
    """Every action of the game that was offered at some moment."""
    return frozenset(str(action) for turn in view.turns for action in turn.admissible)


def moment(trajectory: Trajectory, index: int) -> Moment:
    """The moment after action `index`; that before the agent's first turn has the index `trajectory.prefix`.

    Raises:
        IndexError: if the agent took no such turn.
    """
    place = index - trajectory.prefix
    if not 0 <= place <= len(trajectory.steps):
        raise IndexError(f"The agent's turns are {trajectory.prefix + 1} to {trajectory.view.turns[-1].index}.")
    view = trajectory.view._replace(turns=trajectory.view.turns[: index + 1], info={})
    if place:
        after = trajectory.steps[place - 1].after
        history = after.history
        assert history is not None  # it was made in this process
        return Moment(view, trajectory.level, after.state, history)
    first = trajectory.steps[0]
    entry = first.entry
    node = entry.parent if isinstance(entry, Node) else entry.source
    assert node is not None
    assert entry.before is not None
    return Moment(view, trajectory.level, first.state, History(entry.before, node))


def is_open(snapshot: Snapshot) -> bool:
    """Whether another action may be taken."""
    return snapshot.outcome in _OPEN


def followed(env: gym.Env[Any, Any], here: Snapshot, view: View, action: str, text: str) -> tuple[Snapshot, Moment]:
    """What comes of an action at a moment, in another environment than the one that it was reached in.

    Args:
        env: An environment that was made alike; it is left there.
        here: The moment.
        view: What was seen up to it.
        action: What is done.
        text: What the agent said to do it.
    """
    rollback_gym.restore(env, here)
    _, _, _, _, info = env.step(action)
    table = Table(env)
    turns = (*view.turns, turn(table.history.last, info)._replace(text=text))
    seen = table.view(turns, info)._replace(max_turns=view.max_turns)
    return rollback_gym.snapshot(env), Moment(seen, table.base.level, table.base.state, table.history)


# --- Texts ------------------------------------------------------------------------------------------------------------


def context_at(setup: Setup, chat: Chat, trajectory: Trajectory, index: int) -> Context:
    """The text that the agent was in after action `index`, token by token as it was, to be gone on with otherwise.

    It is written anew, which takes as long as it did while playing; `text_after` is quicker.
    """
    turns, prefix = trajectory.view.turns, trajectory.prefix
    view = trajectory.view
    told = Told(trajectory.lesson, trajectory.hint)
    text = context(setup.context, chat, setup.prompts, view._replace(turns=turns[: prefix + 1]), told)
    for step in trajectory.steps[: index - prefix]:
        text.said(step.sample, view._replace(turns=turns[: step.turn.index + 1]), step.hint)
    return text


def text_after(setup: Setup, chat: Chat, trajectory: Trajectory, index: int) -> Ids:
    """What the agent read after action `index`, or would have read."""
    for row in trajectory.rows:
        for span in row.spans:
            if span.turn == index + 1:
                return asking(row, span.start)[0]
    return context_at(setup, chat, trajectory, index).ids


def text_on(setup: Setup, chat: Chat, trajectory: Trajectory, index: int, ids: Ids, said: Sequence[Said]) -> Ids:
    """What the agent would read if it had gone on otherwise after action `index`.

    Args:
        setup: How the episode was played.
        chat: Writes texts.
        trajectory: The episode.
        index: The last action that it shares with it.
        ids: What the agent read before the last of `said`.
        said: What it said since, each with what it saw then.
    """
    sample, view = said[-1]
    if setup.context == "turns":
        return context(setup.context, chat, setup.prompts, view, Told(trajectory.lesson)).ids
    if view.turns[-1].target is None:
        told = prompts.message(prompts.branch(view.turns)[-1], setup.prompts)
        return (*ids, *sample.ids, *chat.reply(told, sample.ids[-1]))
    text = context_at(setup, chat, trajectory, index)  # a rollback cuts it back
    for sample, view in said:
        text.said(sample, view, "")
    return text.ids


Places = Mapping[tuple[int, int], tuple[int, Span]]
"""By an episode and an action index: the number of the row in which the turn was said, and where."""


def places(rows: Sequence[Row]) -> Places:
    """Where each turn was said."""
    return {(row.episode, span.turn): (number, span) for number, row in enumerate(rows) for span in row.spans}


def asking(row: Row, begin: int, end: int | None = None) -> tuple[Ids, Ids]:
    """What the model read before it said a part of `row`, and what it said."""
    return (*row.prompt, *row.completion[:begin]), row.completion[begin:end]


def laid_out(first: Ids, ids: Ids, answer: Ids) -> tuple[Ids, Ids, int]:
    """A prompt, a completion, and where the answer begins in it, for an answer to `ids`.

    Where the text begins as an episode's does, so does the row; else rows of a batch would fill up to the longest
    prompt and the longest completion together.
    """
    if first and len(ids) >= len(first) and ids[: len(first)] == first:
        return first, (*ids[len(first) :], *answer), len(ids) - len(first)
    return ids, answer, 0
