"""The environments that mistakes are defined for, as the tests of this folder play them."""

import math
import random
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.core.history import Node
from rollback_gym.core.stack import find
from rollback_gym.study.inject import Game, Step, game_of
from rollback_gym.wrappers import Rollback

ROOMS: dict[str, tuple[str, dict[str, Any]]] = {
    "alfworld": ("Rollback-ALFWorld-v0", {}),
    "webshop": ("Rollback-WebShop-v0", {"revive": True}),
    "sokoban": ("Rollback-Sokoban-v0", {"revive": True}),
    "minesweeper": ("Rollback-MineSweeper-v0", {"revive": True}),
    "minesweeper with flags": ("Rollback-MineSweeper-v0", {"revive": True, "flags": True}),
}


class Place(NamedTuple):
    """Somewhere on a shortest way."""

    env: gym.Env[Any, Any]
    game: Game
    path: tuple[Step, ...]
    state: Any
    rest: tuple[str, ...]
    """A shortest solution from here."""


def somewhere(room: str, seed: int, depth: float) -> Place:
    """The level of `seed`, played along a shortest way up to the share `depth` of it, in the environment itself."""
    env = opened(room)
    env.reset(seed=seed)
    game = game_of(env)
    rng = random.Random(seed)
    state: Any = game.simulator.begin(game.level)[0]
    left = game.distance(state)
    for _ in range(0 if left == math.inf else int(depth * left)):  # some goals of WebShop cannot be met
        action = rng.choice(game.oracle.optimal_actions(game.level, state))
        env.step(action)
        state = game.step(state, action).state
    path = history(env).path
    steps = tuple(Step(before.point.state, after.action) for before, after in pairwise(path))
    return Place(env, game, steps, state, game.plan(state))


@cache
def opened(room: str) -> gym.Env[Any, Any]:
    """The environment, made once."""
    id, kwargs = ROOMS[room]
    return gym.make(id, disable_env_checker=True, **kwargs)


def history(env: gym.Env[Any, Any]) -> Any:
    """The tree of an environment."""
    wrapper = find(env, Rollback)
    assert wrapper is not None
    return wrapper.history


def last_node(env: gym.Env[Any, Any]) -> Node:
    """Where it is."""
    node: Node = history(env).node
    return node
