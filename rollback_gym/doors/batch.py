"""Many episodes at once, in texts: what verl-agent and trainers like it call.

Lists of a model's answers go in, and out come lists of prompts, rewards, ends and infos. Episodes come in groups of
`group_n` that begin alike, which is what GRPO and GiGPO compare: numbers 0 ... group_n - 1 are the first group. One
that is over stays quiet: its answers are ignored, its reward is 0, and its prompt is the last one.

All environments are in this process: with ours a turn, prompt included, takes 0.2 ms. What is slow goes into as many of
these as there are processes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np

from rollback_gym.doors.seat import Seat
from rollback_gym.doors.tools import action_of
from rollback_gym.play.parse import Parsed, Parsing, parse
from rollback_gym.play.prompts import Prompts, branch

Anchor = Literal["observation", "state"]
Observations = dict[str, Any]


class Slots(NamedTuple):
    """What a prompt of verl-agent's shape is filled with; the names are those of its templates' fields."""

    task_description: str
    step_count: int
    """The turns that are behind."""
    history_length: int
    """How many of them are in `action_history`."""
    action_history: str
    """The last turns, each as `[Observation 2: '...', Action 3: '...']`; what a rollback undid is left out. An
    observation has the number by which it can be gone back to."""
    current_step: int
    current_observation: str
    """With its number, and what there is to say of the last turn."""
    admissible_actions: str
    """In quotes, a line each; the rollbacks that are possible among them."""
    rollback_targets: str
    """Where the agent may go back to: `0, 1, 4`."""


Template = str | Callable[[Slots], str]


class TextBatch:
    """`env_num` groups of `group_n` episodes that begin alike.

        >>> batch = TextBatch("Rollback-ALFWorld-v0", env_num=2, group_n=4, seed=0)
        >>> observations, infos = batch.reset()
        >>> len(observations["text"])
        8

    Args:
        env: A registered id, or a function that makes an environment: with text actions, in the `Rollback` wrapper.
        env_num: How many groups there are.
        group_n: How many episodes a group has.
        seed: The first reset gives group g the seed `seed + g`, the next one `seed + env_num + g`, and so on: so no
            start comes twice by chance, and the same calls give the same episodes in every process.
        prompts: How the default prompt is written: by default one message a turn, with the last `history` turns.
        history: How many turns are shown before the current one.
        template: A prompt of your own: a text with the fields of `Slots`, `"{task_description} ..."`, or a function.
        anchor: What `observations["anchor"]` holds, by which GiGPO takes steps of a group to be the same one: the bare
            `"observation"`, or the `"state"` of the game, as a digest.
        parsing: How the action is found in an answer; see `play.parse`.
        options: For `gym.make`, with an id.
    """

    def __init__(
        self,
        env: str | Callable[[], gym.Env[Any, Any]],
        *,
        env_num: int,
        group_n: int = 1,
        seed: int = 0,
        prompts: Prompts = Prompts(style="single", system=False),  # noqa: B008  # immutable
        history: int | None = 5,
        template: Template | None = None,
        anchor: Anchor = "observation",
        parsing: Parsing = "lenient",
        **options: Any,
    ) -> None:
        for name, number in (("env_num", env_num), ("group_n", group_n)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}.")
        if anchor not in ("observation", "state"):
            raise ValueError(f"anchor must be 'observation' or 'state', got {anchor!r}.")
        if isinstance(env, str):
            id = env
            env = lambda: gym.make(id, **options)  # noqa: E731
        elif options:
            raise TypeError(f"{', '.join(options)} would go to gym.make, which needs an id. Use functools.partial.")
        self.env_num, self.group_n = env_num, group_n
        self.seats = tuple(Seat(env()) for _ in range(env_num * group_n))
        self._seed = int(seed)
        self._prompts = prompts._replace(window=history)
        self._history = history
        self._template = template
        self._anchor = anchor
        self._parsing: Parsing = parsing
        self._infos: list[dict[str, Any]] = []
        self._observations: list[tuple[str, Any]] = []

    def reset(self, kwargs: Sequence[Mapping[str, Any]] | None = None) -> tuple[Observations, list[dict[str, Any]]]:
        """Begin an episode everywhere.

        Args:
            kwargs: What each episode (env_num * group_n of them) or each group (env_num) begins with: `seed`, `level`
                and whatever else `reset(options=...)` takes. Without a seed or a level it is as in the constructor.

        Raises:
            ValueError: if there are not so many, or episodes of a group would begin differently.
        """
        starts = self._starts(kwargs)
        self._infos = []
        for number, seat in enumerate(self.seats):
            options = dict(starts[number // self.group_n])
            seed = options.pop("seed", None)
            self._infos.append(self._noted(seat, seat.begin(seed, options), True))
        self._observations = [self._seen(seat) for seat in self.seats]
        return self._shown(), list(self._infos)

    def step(
        self, texts: Sequence[str]
    ) -> tuple[Observations, np.ndarray[Any, Any], np.ndarray[Any, Any], list[dict[str, Any]]]:
        """Take an action in every episode that is not over.

        Args:
            texts: What the model answered, one text for each episode. One from which no action can be read spends its
                turn, and is told so.

        Returns:
            observations: `text`, the next prompts; `anchor`; `image`, which is None.
            rewards: (env_num * group_n,) float32.
            dones: (env_num * group_n,) bool.
            infos: A dict for each episode: the environment's own, and `won`, `is_action_valid`, `env_action` (what was
                read from the answer, else ""), `tool_calling` (1.0 where it asked for a rollback), `terminated`,
                `truncated`, and `episode_return`.

        Raises:
            ValueError: if there are not as many texts as episodes.
        """
        if not self._infos:
            raise ValueError("No episode has begun: call reset() first.")
        if isinstance(texts, str) or len(texts) != len(self.seats):
            raise ValueError(f"Expected {len(self.seats)} texts, one for each episode, got {len(texts)}.")
        rewards = np.zeros(len(self.seats), np.float32)
        for number, (seat, text) in enumerate(zip(self.seats, texts, strict=True)):
            if seat.open:
                read = _read(str(text), self._parsing)
                came = seat.act(read.action or "", text=str(text), problem=read.problem)
                rewards[number] = came.reward
                self._infos[number] = self._noted(seat, came.info, read.problem is None)
                self._infos[number] |= {"terminated": came.terminated, "truncated": came.truncated}
                self._observations[number] = self._seen(seat)
        dones = np.array([not seat.open for seat in self.seats])
        return self._shown(), rewards, dones, list(self._infos)

    def success_evaluator(self, **kwargs: Any) -> dict[str, np.ndarray[Any, Any]]:
        """`{"success_rate": (env_num * group_n,) float32}`: 1 where the episode that is on now was won."""
        return {"success_rate": np.array([seat.won for seat in self.seats], np.float32)}

    def close(self) -> None:
        """Close every environment."""
        for seat in self.seats:
            seat.env.close()

    def _starts(self, kwargs: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
        """What each group begins with."""
        given = [{} for _ in range(self.env_num)] if kwargs is None else [dict(one) for one in kwargs]
        if len(given) == len(self.seats):
            groups = [given[first : first + self.group_n] for first in range(0, len(given), self.group_n)]
            for number, group in enumerate(groups):
                if any(one != group[0] for one in group):
                    raise ValueError(f"Episodes of a group begin alike; group {number} was given {group}.")
            given = [group[0] for group in groups]
        if len(given) != self.env_num:
            raise ValueError(f"Expected {self.env_num} starts, or {len(self.seats)}, got {len(given)}.")
        for number, start in enumerate(given):
            if not start.keys() & {"seed", "level"}:
                start["seed"] = self._seed + number
        self._seed += self.env_num
        return given

    def _noted(self, seat: Seat, info: dict[str, Any], readable: bool) -> dict[str, Any]:
        last = seat.turns[-1]
        return {
            **info,
            "won": seat.won,
            "is_action_valid": readable and last.invalid is None,
            "env_action": last.action or "",
            "tool_calling": float(last.rollback),
            "terminated": False,
            "truncated": False,
            "episode_return": seat.earned,
        }

    def _seen(self, seat: Seat) -> tuple[str, Any]:
        """The prompt and the anchor."""
        anchor = seat.turns[-1].observation if self._anchor == "observation" else seat.state_digest()
        if self._template is None:
            return "\n\n".join(message["content"] for message in seat.messages(self._prompts)), anchor
        slots = slots_of(seat, self._history)
        if callable(self._template):
            return self._template(slots), anchor
        return self._template.format(**slots._asdict()), anchor

    def _shown(self) -> Observations:
        texts, anchors = zip(*self._observations, strict=True)
        return {"text": list(texts), "image": None, "anchor": list(anchors)}


def _read(text: str, how: Parsing) -> Parsed:
    """The action in an answer, if it is one that can be put into a prompt again."""
    read = parse(text, how)
    return read if read.action is None else action_of("act", {"action": read.action})


def slots_of(seat: Seat, history: int | None = 5) -> Slots:
    """What a template is filled with now, with so many turns before the current one; None for all."""
    shown = branch(seat.turns)
    seen = {turn.index: str(turn.observation) for turn in seat.turns}
    now, turns = seat.turns[-1], [remembered.turn for remembered in shown[1:]]
    kept = turns if history is None else turns[len(turns) - min(history, len(turns)) :]
    offered = [*now.admissible, *(f"{seat.going_back.verb}({target})" for target in now.targets)]
    return Slots(
        task_description=seat.task,
        step_count=now.index,
        history_length=len(kept),
        action_history="\n".join(
            f"[Observation {turn.parent}: {seen[turn.parent]!r}, Action {turn.index}: {turn.action!r}]" for turn in kept
        ),
        current_step=now.index + 1,
        current_observation=seat.told(Prompts(admissible=False, rollback=False)),
        admissible_actions="\n".join(repr(action) for action in offered),
        rollback_targets=", ".join(map(str, now.targets)),
    )
