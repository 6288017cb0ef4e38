"""What is checked: a way to make the environment, and episodes played on it in a way that can be repeated."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from rollback_gym.core import stack
from rollback_gym.core.codec import pack
from rollback_gym.core.errors import RollbackGymError
from rollback_gym.core.host import Host
from rollback_gym.core.snapshot import Outcome

Env = gym.Env[Any, Any]
Make = Callable[[], Env]
COMPARED = (
    *("action_index", "turn", "won", "failed", "task"),
    *("rollback_targets", "admissible_actions", "action_mask", "invalid_action"),
)
"""The keys of an info that this project gives a meaning."""


class CheckFailed(AssertionError):
    """An environment breaks a law of going back. `str()` says what was done, what was expected and what came."""


class Turn(NamedTuple):
    """What came of an action, as far as two runs must agree on it."""

    action: Any
    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Subject:
    """An environment under test: made anew as often as needed, wrapped so that an agent can go back."""

    def __init__(self, make: Make, turns: int) -> None:
        self._make = make
        self.turns = turns
        """How long an episode is played at most."""

    def make(self) -> Env:
        """A new one, its rollbacks included."""
        from rollback_gym.wrappers import Rollback, Snapshots

        env = self._make()
        if not _has_host(env):
            env = Snapshots(env)
        if stack.find(env, Rollback) is None:
            depth = self.turns if isinstance(env.action_space, spaces.Discrete) else None
            env = Rollback(env, max_depth=depth)
        return env

    def begun(self, seed: int, env: Env | None = None) -> tuple[Env, dict[str, Any]]:
        """An episode, and its first info."""
        env = self.make() if env is None else env
        _, info = env.reset(seed=seed)
        return env, info

    def played(self, env: Env, info: dict[str, Any], seed: int, turns: int) -> list[Turn]:
        """Game actions, drawn by `seed`, until the episode ends."""
        return list(self.playing(env, info, seed, turns))

    def playing(self, env: Env, info: dict[str, Any], seed: int, turns: int) -> Iterator[Turn]:
        """The same, turn by turn."""
        draw = random.Random(seed)
        for _ in range(turns):
            if host(env).outcome is not Outcome.RUNNING:
                return
            turn = taken(env, game_action(env, info, draw))
            info = turn.info
            yield turn

    def somewhere(self, seed: int, turns: int) -> tuple[Env, dict[str, Any]]:
        """A new environment after a few turns of an episode that still runs. Raises CheckFailed where none does."""
        for attempt in range(20):
            env, info = self.begun(seed + attempt)
            happened = self.played(env, info, seed + attempt, turns * (20 - attempt) // 20)
            if host(env).outcome is Outcome.RUNNING:
                return env, happened[-1].info if happened else info
        raise CheckFailed("Twenty episodes were begun with random actions, and none lasted a turn: nothing to check.")


def host(env: Env) -> Host:
    """The part of the stack that owns the game."""
    return stack.host(env)


def rollback_wrapper(env: Env) -> Any:
    """The wrapper that keeps the history."""
    from rollback_gym.wrappers import Rollback

    return stack.find(env, Rollback)


def taken(env: Env, action: Any) -> Turn:
    """One action, and a copy of what came of it. Raises CheckFailed where the environment raises."""
    try:
        observation, reward, terminated, truncated, info = env.step(action)
    except RollbackGymError:
        raise
    except Exception as error:  # whatever an environment of others raises where it should not
        raise CheckFailed(
            f"step({short(action)}) raised {type(error).__name__}: {short(error)}. No action of the action space may; "
            "where some are illegal, name the legal ones: a Discrete space by info['action_mask'], a Text space by "
            "info['admissible_actions']."
        ) from error
    return Turn(action, copy.deepcopy(observation), float(reward), bool(terminated), bool(truncated), dict(info))


def game_action(env: Env, info: dict[str, Any], draw: random.Random) -> Any:
    """An action of the game, legal as far as `info` says so."""
    admissible = info.get("admissible_actions")
    space = rollback_wrapper(env).env.action_space
    if isinstance(space, spaces.Text) and admissible:
        return admissible[draw.randrange(len(admissible))]
    if isinstance(space, spaces.Discrete):
        mask = info.get("action_mask")
        legal = range(int(space.n)) if mask is None else np.flatnonzero(np.asarray(mask)[: int(space.n)])
        if len(legal):
            return int(space.start) + int(legal[draw.randrange(len(legal))])
    drawn = copy.deepcopy(space)
    drawn.seed(draw.randrange(2**31))
    action = drawn.sample()
    return action if isinstance(space, spaces.Discrete | spaces.Text) else (0, action)


def same(mine: Any, theirs: Any) -> bool:
    """Whether two values are equal, arrays and all."""
    try:
        return pack(mine) == pack(theirs)
    except RollbackGymError:
        return gym.utils.env_checker.data_equivalence(mine, theirs, exact=True)


def difference(mine: list[Turn], theirs: list[Turn]) -> str | None:
    """Where two runs of the same actions part, in words; None where they do not."""
    for number, (one, other) in enumerate(zip(mine, theirs, strict=False), start=1):
        for what in ("observation", "reward", "terminated", "truncated"):
            a, b = getattr(one, what), getattr(other, what)
            if not same(a, b):
                return f"after {number} actions the {what} was {short(b)} instead of {short(a)}"
        told = noted_difference(one.info, other.info)
        if told:
            return f"after {number} actions {told}"
    if len(mine) != len(theirs):
        return f"the episode took {len(theirs)} turns instead of {len(mine)}"
    return None


def noted_difference(mine: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """The first of the keys that this project gives a meaning in which two infos differ."""
    for key in COMPARED:
        if not same(mine.get(key), theirs.get(key)):
            return f"info[{key!r}] was {short(theirs.get(key))} instead of {short(mine.get(key))}"
    return None


def short(value: Any) -> str:
    """A value for a message."""
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}..."


def _has_host(env: Env) -> bool:
    try:
        stack.host(env)
    except TypeError:
        return False
    return True
