"""Which oracle belongs to which environment."""

from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

import gymnasium as gym

from rollback_gym.core.host import Host

_MODULES = {
    "alfworld": "rollback_gym.oracles.alfworld",
    "minesweeper": "rollback_gym.oracles.minesweeper",
    "sokoban": "rollback_gym.oracles.sokoban",
    "sokoban-two": "rollback_gym.oracles.sokoban_two",
    "webshop": "rollback_gym.oracles.webshop",
}


class Oracle(Protocol):
    """Knows L(s) of a game, exactly, from any state that a level can be in."""

    def distance(self, level: Any, state: Any) -> float:
        """L(s): the fewest turns until the game is won, a whole number; math.inf where it never can be."""

    def optimal_actions(self, level: Any, state: Any) -> tuple[Any, ...]:
        """Every first action of a shortest solution; empty where there is none, or nothing left to do."""

    def plan(self, level: Any, state: Any) -> tuple[Any, ...]:
        """One shortest solution, in the agent's own actions; empty as above."""


_REGISTERED: dict[str, Oracle] = {}


def register(name: str, oracle: Oracle) -> None:
    """Say which oracle knows the games of an environment of one's own.

    After it `for_env`, `OracleInfo`, `DeadEnd` and everything that judges actions work for it.

    Args:
        name: The environment's `name` (`SnapshotEnv.name`).
        oracle: Such as `BreadthFirst(simulator)`.

    Raises:
        ValueError: if `name` is one of this project's environments.
    """
    if name in _MODULES:
        raise ValueError(f"{name!r} is an environment of rollback-gym, and has its oracle. Name yours otherwise.")
    _REGISTERED[name] = oracle


def for_env(env: gym.Env[Any, Any]) -> Oracle:
    """The oracle for `env`, to be asked with `env.unwrapped.level` and `env.unwrapped.state`.

    Raises:
        TypeError: if there is none.
    """
    base: Any = env.unwrapped
    name = getattr(base, "name", None) if isinstance(base, Host) else None
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _MODULES:
        known = ", ".join([*_MODULES, *_REGISTERED])
        raise TypeError(
            f"There is no oracle for {type(base).__name__}; there are oracles for {known}. For one of your own: "
            "rollback_gym.oracles.register(name, oracle)."
        )
    module = _named(name)
    # Where a game has rules in variants, L depends on the variant.
    return cast(Oracle, module.for_simulator(base.simulator) if hasattr(module, "for_simulator") else module)


@cache
def _named(name: str) -> Any:
    return import_module(_MODULES[name])
