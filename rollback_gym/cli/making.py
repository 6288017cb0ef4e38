"""Environments as the command line plays them."""

from typing import Any

import gymnasium as gym
from gymnasium import spaces

from rollback_gym.cli.errors import Refused, asked_for
from rollback_gym.core.history import History
from rollback_gym.core.snapshot import Outcome
from rollback_gym.oracles.lookup import Oracle, for_env
from rollback_gym.wrappers import OracleInfo, Rollback

Env = gym.Env[Any, Any]


def make(env_id: str, *, oracle: bool = True, **options: Any) -> Env:
    """The environment, with what an oracle knows in its info where there is one. Options that are None are left out.

    Raises Refused for an id or an option that there is not, and for an environment whose actions are not text.
    """
    given = {name: value for name, value in options.items() if value is not None}
    with asked_for():
        env = gym.make(env_id, disable_env_checker=True, **given)
    if not isinstance(env.action_space, spaces.Text) or rollback_wrapper(env) is None:
        raise Refused(f"{env_id} is not played here: expected an environment of rollback-gym whose actions are text.")
    env.unwrapped.render_mode = "ansi"
    return OracleInfo(env) if oracle and oracle_of(env) is not None else env


def begin(env: Env, seed: int, level: str | None = None) -> tuple[str, dict[str, Any]]:
    """Reset, and say what is seen. Raises Refused for a level that there is not."""
    with asked_for():
        observation, info = env.reset(seed=seed, options=None if level is None else {"level": level})
    return seen(env, observation), info


def seen(env: Env, observation: Any) -> str:
    """What a person sees of an observation."""
    return observation if isinstance(observation, str) else str(env.render())


def oracle_of(env: Env) -> Oracle | None:
    """The oracle for `env`, if there is one."""
    try:
        return for_env(env)
    except TypeError:
        return None


def rollback_wrapper(env: Env) -> Rollback | None:
    """The wrapper that keeps the history."""
    while isinstance(env, gym.Wrapper):
        if isinstance(env, Rollback):
            return env
        env = env.env
    return None


def history_of(env: Env) -> History:
    """The history of an environment that `make` made."""
    wrapper = rollback_wrapper(env)
    assert wrapper is not None
    return wrapper.history


def outcome_of(env: Env) -> Outcome:
    """How its episode stands."""
    outcome: Outcome = env.unwrapped.outcome  # type: ignore[attr-defined]
    return outcome
