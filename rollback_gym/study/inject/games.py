"""What mistakes are measured in: a level with its rules and its oracle, as actions in text."""

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, cast

from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.simulator import Simulator, Transition
from rollback_gym.study.inject.types import Kind, Lapse, Lapses, Step

ENVIRONMENTS = ("alfworld", "minesweeper", "sokoban", "webshop")
"""Those that mistakes are defined for, by `SnapshotEnv.name`."""


class Game(NamedTuple):
    """A level with all that is known of it."""

    name: str
    """One of `ENVIRONMENTS`."""
    level: Any
    simulator: Simulator
    """Its states are all that counts here, not what it shows."""
    oracle: Any
    """An `oracles.Oracle`."""

    def step(self, state: Any, action: str) -> Transition:
        """What `action` does."""
        return self.simulator.step(self.level, state, action)

    def distance(self, state: Any) -> float:
        """L."""
        return float(self.oracle.distance(self.level, state))

    def plan(self, state: Any) -> tuple[str, ...]:
        """One shortest solution."""
        return tuple(self.oracle.plan(self.level, state))

    def lapses(self, state: Any, path: tuple[Step, ...], plan: tuple[str, ...], kind: Kind) -> tuple[Lapse, ...]:
        """The mistakes of a kind that could be made in `state`, none verified; see `Lapses`."""
        return tuple(_proposer(self.name)(self.level, state, path, plan, kind))


def game_of(env: Any) -> Game:
    """The game that an environment plays, inside whatever wrappers.

    Raises:
        TypeError: if no mistakes are defined for it.
    """
    from rollback_gym.oracles.lookup import for_env

    check_env(env)
    base = env.unwrapped
    return Game(base.name, base.level, _simulator(base.name, for_env(env)), for_env(env))


def check_env(env: Any) -> None:
    """Raise TypeError if no mistakes are defined for an environment."""
    base = env.unwrapped
    if not isinstance(base, SnapshotEnv) or base.name not in ENVIRONMENTS:
        raise TypeError(f"No mistakes are defined for {type(base).__name__}; they are for {', '.join(ENVIRONMENTS)}.")


def game(name: str, level: Any, oracle: Any) -> Game:
    """The game of a level, where there is no environment at hand. Raises TypeError as `game_of` does."""
    if name not in ENVIRONMENTS:
        raise TypeError(f"No mistakes are defined for {name!r}; they are for {', '.join(ENVIRONMENTS)}.")
    return Game(name, level, _simulator(name, oracle), oracle)


def _simulator(name: str, oracle: Any) -> Simulator:
    """The rules by which states change, which are the same however the environment shows them."""
    if name == "webshop":
        return cast(Simulator, getattr(oracle, "rules", None) or _shop())
    return _rules(name)


@cache
def _shop() -> Simulator:
    from rollback_gym.envs.webshop.rules import WebShopRules

    return WebShopRules()


@cache
def _rules(name: str) -> Simulator:
    if name == "sokoban":
        from rollback_gym.envs.sokoban.rules import Rules

        return Rules(lambda level, state: "")
    return cast(Simulator, import_module(f"rollback_gym.envs.{name}.rules"))


@cache
def _proposer(name: str) -> Lapses:
    return cast(Lapses, import_module(f"rollback_gym.study.inject.{name}").lapses)
