"""Plays episodes in batches, and makes rows of them.

Knows environments, hints and lessons, and no tensors: it gives token ids to a `Generator` and gets token ids. What was
sampled is what is trained, token by token. Every turn all open episodes are asked at once; one that ends makes room for
the next. No episode can hold up the others: answers, texts and turns are bounded.
"""

import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium import spaces

import rollback_gym
from rollback_gym.core.errors import PolicyError
from rollback_gym.play.parse import Parsing, parse
from rollback_gym.play.playing import Table, first_turn, turn
from rollback_gym.play.policies import View
from rollback_gym.play.prompts import Prompts
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.contexts import Style, Told, check_style, context
from rollback_gym.trainer.generator import Ask, Generator, Sample
from rollback_gym.trainer.rows import Row
from rollback_gym.trainer.trajectory import Start, Step, Trajectory

Tell = Callable[[Start, View], str]
"""What an agent is told beside what the environment shows; empty for nothing."""


def nothing(start: Start, view: View) -> str:
    """Tells nothing."""
    return ""


class Limits(NamedTuple):
    """What an episode may take. One that needs more is cut off, and neither won nor lost."""

    answer: int = 512
    """Tokens of an answer; one that was cut off there is an inadmissible action."""
    text: int = 8192
    """Tokens of all that a model reads and writes at once."""
    turns: int | None = None
    """Turns, where fewer than the environment's own."""


class Setup(NamedTuple):
    """How episodes are played."""

    made: Made
    """The environment: `gym.make(id, **kwargs)`, with rollbacks and actions in text."""
    prompts: Prompts = Prompts()
    context: Style = "dialogue"
    parsing: Parsing = "lenient"
    limits: Limits = Limits()
    parallel: int | None = None
    """How many episodes are open at once; None for all."""
    lesson: Tell = nothing
    """Asked once, at the start of an episode."""
    hint: Tell = nothing
    """Asked each turn."""


class Played(NamedTuple):
    """What came of a batch."""

    trajectories: tuple[Trajectory, ...]
    """In the order of the starts; the rows of the n-th say that their episode is n."""
    seconds: float
    """All of it."""
    generating: float
    """The seconds of it that the generator took."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows of all episodes."""
        return tuple(row for trajectory in self.trajectories for row in trajectory.rows)


class Collector:
    """Plays episodes.

    Args:
        setup: How.
        chat: Writes messages as tokens.

    Raises:
        ValueError: if the prompts do not go with the context, or a limit is below 1.
    """

    def __init__(self, setup: Setup, chat: Chat) -> None:
        check_style(setup.context, setup.prompts)
        limited = (*setup.limits, setup.parallel)
        if any(limit is not None and limit < 1 for limit in limited):
            raise ValueError(f"Every limit must be at least 1, got {setup.limits} and parallel={setup.parallel}.")
        self.setup, self.chat = setup, chat
        self._idle: list[gym.Env[Any, Any]] = []

    def play(self, starts: Sequence[Start], generator: Generator, seed: int) -> Played:
        """Play an episode from each start.

        Args:
            starts: Where they begin.
            generator: Who answers.
            seed: With the starts and the generator's weights, it decides everything.

        Raises:
            PolicyError: if the environment's actions are no texts.
            SnapshotMismatch: if a start's snapshot is of another environment.
        """
        began, generating, rounds = time.perf_counter(), 0.0, 0
        waiting = list(enumerate(starts))[::-1]
        room = len(starts) if self.setup.parallel is None else self.setup.parallel
        slots: list[_Episode | None] = [None] * min(room, len(starts))
        done: dict[int, Trajectory] = {}
        while True:
            for slot, episode in enumerate(slots):
                while episode is None or episode.over:
                    if episode is not None:
                        done[episode.number] = episode.trajectory()
                        self._idle.append(episode.env)
                    episode = slots[slot] = self._begin(*waiting.pop()) if waiting else None
                    if episode is None:
                        break
            playing = [(slot, episode) for slot, episode in enumerate(slots) if episode is not None]
            asks = [Ask(episode.context.ids, episode.room, slot) for slot, episode in playing]
            before = time.perf_counter()
            if not generator.goes_on(bool(asks)):
                break
            samples = generator.generate(asks, _seed_of(seed, rounds))
            generating += time.perf_counter() - before
            rounds += 1
            for (_, episode), sample in zip(playing, samples, strict=True):
                episode.take(sample)
        return Played(tuple(done[number] for number in range(len(starts))), time.perf_counter() - began, generating)

    def _begin(self, number: int, start: Start) -> "_Episode":
        env = self._idle.pop() if self._idle else make_env(self.setup.made)
        return _Episode(number, start, env, self.setup, self.chat)


class _Episode:
    """An episode that is being played."""

    def __init__(self, number: int, start: Start, env: gym.Env[Any, Any], setup: Setup, chat: Chat) -> None:
        self.number, self.env = number, env
        self._start, self._setup, self._chat = start, setup, chat
        if start.snapshot is None:
            observation, info = env.reset(seed=start.seed, options=dict(start.options) or None)
            self._turns = [first_turn(observation, info)]
        else:
            _, info = rollback_gym.restore(env, start.snapshot)
            self._turns = list(start.turns)
        self._table = Table(env)
        if not isinstance(env.action_space, spaces.Text):
            raise PolicyError(f"A model acts in text; the actions here are {env.action_space}. Use actions='text'.")
        self._begun = len(self._turns) - 1
        if self._table.history.index != self._begun:
            raise ValueError(
                f"A start has {self._begun} turns, and a snapshot after {self._table.history.index}. Its turns must be "
                "all that led to it, from turn 0 on."
            )
        self._steps: list[Step] = []
        self._view = self._seen(info)
        self._told = Told(setup.lesson(start, self._view), setup.hint(start, self._view))
        self.context = context(setup.context, chat, setup.prompts, self._view, self._told)

    @property
    def room(self) -> int:
        """How many tokens the next answer may have."""
        limits = self._setup.limits
        return min(limits.answer, limits.text - len(self.context.ids))

    @property
    def cut(self) -> str:
        """Why the episode is cut off; empty where it is not."""
        turns = self._setup.limits.turns
        if turns is not None and len(self._turns) > turns:
            return "turns"
        return "tokens" if self.room < 1 else ""

    @property
    def over(self) -> bool:
        """Whether no answer is needed any more."""
        return not self._table.open or bool(self.cut)

    def take(self, sample: Sample) -> None:
        """Act as the answer says."""
        text = self._chat.text(sample.ids)
        read = parse(text, self._setup.parsing)
        action, problem = read.action or "", read.problem
        if not sample.stopped:
            action, problem = "", f"it was cut off after {len(sample.ids)} tokens"
        _, reward, _, _, info = self.env.step(action)
        entry = self._table.history.last
        taken = turn(entry, info)._replace(text=text, problem=problem)
        self._turns.append(taken)
        self._view = self._seen(info)
        hint = self._setup.hint(self._start, self._view) if self._table.open else ""
        self._steps.append(Step(taken, entry, sample, float(reward), info, rollback_gym.snapshot(self.env), hint))
        self.context.said(sample, self._view, hint)

    def trajectory(self) -> Trajectory:
        """All that happened."""
        table = self._table
        return Trajectory(
            self._start,
            table.base.level,
            self._view,
            tuple(self._steps),
            table.history,
            table.base.outcome,
            table.refund,
            self.cut if table.open else "",
            tuple(row._replace(episode=self.number) for row in self.context.rows),
            self._told.lesson,
            self._told.hint,
        )

    def _seen(self, info: dict[str, Any]) -> View:
        view = self._table.view(tuple(self._turns), info)
        caps = [cap for cap in (view.max_turns, self._setup.limits.turns) if cap is not None]
        return view._replace(max_turns=min(caps) if caps else None)


def _seed_of(seed: int, number: int) -> int:
    """31 bits, which every backend takes."""
    return int.from_bytes(blake2b(f"{seed}:{number}".encode(), digest_size=4).digest(), "big") >> 1
