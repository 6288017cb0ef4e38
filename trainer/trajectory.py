"""An episode as a trainer sees it: where it began, what was sampled on each turn, what that earned."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym

import rollback_gym
from rollback_gym.core.history import Entry, History, Node
from rollback_gym.core.snapshot import Outcome, Snapshot
from rollback_gym.play.playing import Table, choose, first_turn, turn
from rollback_gym.play.policies import Turn, View
from rollback_gym.trainer.generator import Sample
from rollback_gym.trainer.rows import Row


class Start(NamedTuple):
    """Where an episode begins: at a reset, or in the middle of one that was played before."""

    seed: int = 0
    """For `reset`."""
    options: Mapping[str, Any] = {}
    """For `reset`, too."""
    snapshot: Snapshot | None = None
    """What is restored instead; taken from an environment that was made alike."""
    turns: tuple[Turn, ...] = ()
    """What happened up to the snapshot, from turn 0 on: the agent finds it in its context as its own."""
    group: int = 0
    """Episodes of a group began alike, and are compared."""
    note: Any = None
    """Whatever the caller wants to know again: the level of the curriculum, the error that was put in."""
    member: int = 0
    """Its place in its group."""


class Step(NamedTuple):
    """One turn of the agent."""

    turn: Turn
    entry: Entry
    """The node or rollback that came of it."""
    sample: Sample
    reward: float
    """What the environment paid, refunds and costs included."""
    info: Mapping[str, Any]
    """What the environment said beside."""
    after: Snapshot
    """The moment after it: restored, an episode can go another way from there."""
    hint: str = ""
    """What the agent was told with what came of it."""

    @property
    def state(self) -> Any:
        """The state of the game in which the turn was taken."""
        entry = self.entry
        if isinstance(entry, Node):
            assert entry.parent is not None
            return entry.parent.point.state
        return entry.source.point.state


class Trajectory(NamedTuple):
    """All that happened in an episode, abandoned branches included."""

    start: Start
    level: Any
    view: View
    """What the agent saw at the end; `view.turns` has every turn, the prefix too."""
    steps: tuple[Step, ...]
    """The agent's own turns, in the order in which they were taken."""
    history: History
    outcome: Outcome
    """RUNNING where the collector cut the episode off."""
    refund: bool = True
    """Whether a rollback pays back what the abandoned actions earned."""
    cut: str = ""
    """Why the collector cut it off: `"tokens"` or `"turns"`; empty where the environment ended it."""
    rows: tuple[Row, ...] = ()
    lesson: str = ""
    """What the agent was told once, at the start."""
    hint: str = ""
    """What it was told before its first turn."""

    @property
    def won(self) -> bool:
        """Whether the game was won."""
        return self.outcome is Outcome.WON

    @property
    def prefix(self) -> int:
        """How many actions were taken before the agent's own: its first one has the next action index."""
        return max(0, len(self.start.turns) - 1)


def groups(starts: Iterable[Start], size: int) -> tuple[Start, ...]:
    """Each start `size` times in a row, as a group of its own, numbered from 0."""
    return tuple(
        start._replace(group=group, member=member) for group, start in enumerate(starts) for member in range(size)
    )


def start_after(
    env: gym.Env[Any, Any],
    actions: Sequence[Any],
    *,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    texts: Sequence[str | None] = (),
    note: Any = None,
) -> Start:
    """The start in which `actions` have been taken already; `env` is left there.

    Args:
        env: An environment in the `Rollback` wrapper.
        actions: What is played into it after a reset.
        seed: For `reset`.
        options: For `reset`, too.
        texts: What the agent is to find that it said, an action each; by default the bare actions.
        note: See `Start`.

    Raises:
        ValueError: if the episode is over after them.
        TypeError: if `env` has no history.
    """
    observation, info = env.reset(seed=seed, options=dict(options or {}) or None)
    table = Table(env)
    turns = [first_turn(observation, info)]
    for place, action in enumerate(actions):
        if not table.open:
            break
        _, _, _, _, info = env.step(action)
        text = texts[place] if place < len(texts) else None
        turns.append(turn(table.history.last, info)._replace(text=text))
    if not table.open or len(turns) <= len(actions):
        raise ValueError(
            f"The episode is over ({table.base.outcome}) after {len(turns) - 1} of {len(actions)} actions, so no agent "
            "can go on from there. Give fewer actions."
        )
    snapshot = rollback_gym.snapshot(env)
    return Start(seed, dict(options or {}), snapshot, tuple(turns), note=note)


def watched(env: gym.Env[Any, Any], level: str, player: Any, seed: int) -> tuple[Trajectory, tuple[View, ...]]:
    """An episode of a policy, without what a sampler would have said, and what its player saw before each turn.

    The last of the views is that of the end.
    """
    observation, info = env.reset(seed=seed, options={"level": level})
    table, turns = Table(env), [first_turn(observation, info)]
    player.begin(seed)
    views = [table.view(tuple(turns), info)]
    while table.open:
        choice = choose(player, table, tuple(turns), info)
        _, _, _, _, info = env.step(choice.action)
        turns.append(turn(table.history.last, info))
        views.append(table.view(tuple(turns), info))
    base = table.base
    start = Start(seed, {"level": level})
    return Trajectory(start, base.level, views[-1], (), table.history, base.outcome, table.refund), tuple(views)
