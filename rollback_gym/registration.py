"""The registered ids, and which levels each can play.

`gym.make("Rollback-ALFWorld-v0")` gives the environment inside the `Rollback` wrapper. Arguments go to whichever of
the two knows them; `rollback=False` leaves the wrapper out, `oracle=True` adds what an exact oracle knows to `info`.
"""

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rollback_gym.core.env import SnapshotEnv

ALFWORLD = "Rollback-ALFWorld-v0"
MINESWEEPER = "Rollback-MineSweeper-v0"
SOKOBAN = "Rollback-Sokoban-v0"
WEBSHOP = "Rollback-WebShop-v0"

_FACTORIES = {
    ALFWORLD: "make_alfworld",
    MINESWEEPER: "make_minesweeper",
    SOKOBAN: "make_sokoban",
    WEBSHOP: "make_webshop",
}


def register() -> None:
    """Make the ids known to Gymnasium. Nothing of an environment is imported until it is made."""
    for id, factory in _FACTORIES.items():
        gym.register(id, entry_point=f"{__name__}:{factory}")


def levels(
    env_id: str, *, split: str | None = None, data: str | os.PathLike[str] | None = None, **options: Any
) -> Sequence[str]:
    """The ids of the levels that an environment can play, in a fixed order.

    >>> rollback_gym.levels("Rollback-ALFWorld-v0", split="valid_seen")[0]      # doctest: +SKIP

    Args:
        env_id: A registered id, with or without `rollback_gym:` before it.
        split: Of this split only; None for all.
        data: As in the environment.
        options: What else narrows the choice, as in the environment: `task_types`, `difficulty`.

    Raises:
        ValueError: if there is no such id.
        DataError: if there are no such levels.
    """
    id = env_id.removeprefix("rollback_gym:")
    if id == MINESWEEPER:
        from rollback_gym.envs.minesweeper.env import levels as minesweeper_levels

        if data is not None:
            raise ValueError("MineSweeper's boards come from seeds, not from data; leave data out.")
        return minesweeper_levels(split, **options)
    if id == SOKOBAN:
        from rollback_gym.envs.sokoban.env import levels as sokoban_levels

        return sokoban_levels(split, data, **options)
    if id == WEBSHOP:
        from rollback_gym.envs.webshop.env import levels as webshop_levels

        return webshop_levels(split, data=data, **options)
    if id != ALFWORLD:
        raise ValueError(f"No environment {env_id!r}; there are {', '.join(_FACTORIES)}.")
    from rollback_gym.envs.alfworld.env import games

    task_types = options.pop("task_types", None)
    return games(data, **options).ids(split, task_types)


def make_alfworld(**options: Any) -> gym.Env[Any, Any]:
    """`Rollback-ALFWorld-v0`; see `ALFWorldEnv` and `Rollback` for the options."""
    from rollback_gym.envs.alfworld.env import ALFWorldEnv

    return _wrapped(ALFWorldEnv, options)


def make_minesweeper(**options: Any) -> gym.Env[Any, Any]:
    """`Rollback-MineSweeper-v0`; see `MineSweeperEnv` and `Rollback` for the options."""
    from rollback_gym.envs.minesweeper.env import MineSweeperEnv

    return _wrapped(MineSweeperEnv, options)


def make_sokoban(**options: Any) -> gym.Env[Any, Any]:
    """`Rollback-Sokoban-v0`; see `SokobanEnv` and `Rollback` for the options, and `DeadEnd` for one more.

    `dead_end` ends an episode as lost where it cannot be won any more: True for any number of moves, a number for a
    limit, False for never; by default as in the preset.
    """
    from rollback_gym.envs.sokoban.env import SokobanEnv, find_preset
    from rollback_gym.wrappers import DeadEnd

    limit = options.pop("dead_end", find_preset(options.get("preset", "retroagent")).dead_end)

    if not (limit is None or (isinstance(limit, int | np.integer) and limit >= 0)):
        raise ValueError(f"dead_end must be True, False or a whole number of moves of at least 0, got {limit!r}.")

    def ended(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        return env if limit is None or limit is False else DeadEnd(env, limit=None if limit is True else int(limit))

    return _wrapped(SokobanEnv, options, ended)


def make_webshop(**options: Any) -> gym.Env[Any, Any]:
    """`Rollback-WebShop-v0`; see `WebShopEnv` and `Rollback` for the options."""
    from rollback_gym.envs.webshop.env import WebShopEnv

    return _wrapped(WebShopEnv, options)


def _wrapped(
    env: type[SnapshotEnv[Any, Any]],
    options: dict[str, Any],
    beneath: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]] = lambda env: env,
) -> gym.Env[Any, Any]:
    """`env` made with `options`, in what `beneath` puts around it, in the wrappers that `options` ask for."""
    from rollback_gym.wrappers import OracleInfo, Rollback

    rollback, oracle = options.pop("rollback", True), options.pop("oracle", False)
    known = inspect.signature(Rollback).parameters.keys() - {"env"}
    going_back = {name: options.pop(name) for name in list(options) if name in known}
    if going_back and not rollback:
        raise TypeError(f"rollback=False leaves no use for {', '.join(going_back)}; leave them out.")
    unknown = options.keys() - inspect.signature(env).parameters.keys()
    if unknown:
        expected = sorted([*inspect.signature(env).parameters, *known, "rollback", "oracle"])
        raise TypeError(f"Unknown options {', '.join(sorted(unknown))}; there are {', '.join(expected)}.")
    made = beneath(env(**options))
    if rollback:
        made = Rollback(made, **going_back)
    return OracleInfo(made) if oracle else made
