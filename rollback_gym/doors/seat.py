"""An episode as somebody plays it who gives texts and is given texts."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium import spaces

from rollback_gym.core import stack
from rollback_gym.core.history import Node
from rollback_gym.core.snapshot import Outcome, Snapshot
from rollback_gym.play.playing import turn
from rollback_gym.play.policies import GoingBack, Turn
from rollback_gym.play.prompts import Messages, Prompts, branch, message, prompt, rules

_OPEN = (Outcome.RUNNING, Outcome.FAILED)


class Came(NamedTuple):
    """What came of an action."""

    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Seat:
    """One episode at a time in an environment, and what its player was told so far.

    Args:
        env: An environment with text actions, in the `Rollback` wrapper or around it.

    Raises:
        TypeError: if it is another.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        from rollback_gym.wrappers import Rollback

        wrapper = stack.find(env, Rollback)
        if wrapper is None or not isinstance(env.action_space, spaces.Text):
            raise TypeError(
                f"An episode in texts needs text actions and the Rollback wrapper; {env} has the actions "
                f"{env.action_space}. Use actions='text', leave out rollback=False, and forbid rollbacks by "
                "max_rollbacks=0."
            )
        self.env = env
        self._rollback = wrapper
        self._host = stack.host(env)
        self.going_back = GoingBack(
            getattr(wrapper.encoding, "verb", "rollback"), wrapper.max_rollbacks, wrapper.targets, wrapper.revive
        )
        self.turns: tuple[Turn, ...] = ()
        """All that happened, as the player saw it, by action index."""
        self.earned = 0.0
        """The undiscounted return so far: rewards, refunds and costs."""

    def begin(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Begin an episode, and return its first info."""
        observation, info = self.env.reset(seed=seed, options=dict(options) if options else None)
        start = Turn(0, None, observation, admissible=_all(info, "admissible_actions"))
        self.turns, self.earned = (start._replace(targets=_all(info, "rollback_targets")),), 0.0
        return info

    def act(self, action: str, text: str | None = None, problem: str | None = None) -> Came:
        """Take an action, a rollback too. Raises ResetNeeded where no episode is open.

        Args:
            action: What the environment is given; the empty text, which none of ours takes, where none could be read.
            text: What a model wrote to take it.
            problem: Why no action could be read from that.
        """
        _, reward, terminated, truncated, info = self.env.step(action)
        came = turn(self._rollback.history.last, info)
        self.turns = (*self.turns, came._replace(text=text, problem=problem))
        self.earned += float(reward)
        return Came(float(reward), bool(terminated), bool(truncated), info)

    def restore(self, snapshot: Snapshot) -> dict[str, Any]:
        """Put a snapshot back, and return its info. Raises SnapshotMismatch, and changes nothing, where it is none of
        this environment's.
        """
        _, info = stack.restore(self.env, snapshot)
        start, *entries = self._rollback.history.entries
        assert isinstance(start, Node)
        turns = [Turn(start.index, None, start.observation), *(turn(entry, {}) for entry in entries)]
        offered, targets = _all(info, "admissible_actions"), _all(info, "rollback_targets")
        self.turns = (*turns[:-1], turns[-1]._replace(admissible=offered, targets=targets))
        self.earned = math.fsum(entry.reward for entry in entries)
        return info

    @property
    def open(self) -> bool:
        """Whether another action may be taken."""
        return bool(self.turns) and self._host.outcome in _OPEN

    @property
    def outcome(self) -> Outcome:
        """How the episode stands."""
        return self._host.outcome

    @property
    def won(self) -> bool:
        """Whether the episode was won."""
        return self._host.outcome is Outcome.WON

    @property
    def world(self) -> str:
        """The environment's name, by which prompts know it."""
        return self._host.origin.env

    @property
    def task(self) -> str:
        """The instruction of this episode."""
        task: str = self._host.level.task
        return task

    @property
    def level_id(self) -> str:
        """Which level is played."""
        id: str = self._host.level.id
        return id

    @property
    def max_turns(self) -> int | None:
        """The turn that cuts the episode off."""
        return self._host.max_turns

    def state_digest(self) -> str:
        """A hash of the state of the game; see `SnapshotEnv.state_digest`."""
        return self._host.state_digest()

    def told(self, settings: Prompts = Prompts()) -> str:  # noqa: B008  # immutable
        """What the player is told of the last turn: what came of it, what can be done, and where to go back to."""
        return message(branch(self.turns)[-1], settings)

    def opening(self, settings: Prompts = Prompts()) -> str:  # noqa: B008
        """What the player is told at the start who acts by tool calls, and so knows from the tools how."""
        told = rules(self.world, self.max_turns)
        numbers = "What you see is numbered: [0] is the start, [3] is what came of action 3."
        if settings.rollback and self.going_back.most != 0:
            numbers += " By these numbers you can go back."
        call = "Act by calling a tool, one call a turn."
        return "\n\n".join((told, f"{numbers} {call}", f"Your task: {self.task}", self.told(settings)))

    def messages(self, settings: Prompts = Prompts()) -> Messages:  # noqa: B008
        """All that the player is told, as messages of a chat."""
        return prompt(self.world, self.task, self.turns, settings, self.going_back, self.max_turns)


def _all(info: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    return tuple(info.get(name, ()))
