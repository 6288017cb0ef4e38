"""`rollback-gym bench snapshots`: what it costs to take and put back environments of others, by each strategy.

The original of a restore is what people do without one: a new environment, reset with the same seed, in which the same
actions are taken again.
"""

import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

import rollback_gym
from rollback_gym.bench import Measure, seconds
from rollback_gym.core.attributes import NotCopyable
from rollback_gym.wrappers.snapshots import Snapshots, Strategy

_TURNS = 20
_SUBJECTS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "CartPole-v1": (None, {}),
    "MiniGrid-DoorKey-8x8-v0": ("minigrid", {}),
    "ALE/Pong-v5": ("ale_py", {"repeat_action_probability": 0.0}),
    "HalfCheetah-v5": ("mujoco", {}),
}
"""An id, the library that it needs, and how it is made."""
_STRATEGIES: tuple[Strategy, ...] = ("native", "deepcopy", "replay")


def reference_missing(original: str | None) -> str | None:
    """Nothing is needed to play an episode again."""
    return None


def measures(data: str | None, games: int, seed: int, split: str | None, original: str | None) -> Iterator[Measure]:
    """A pair of snapshot and restore, `_TURNS` random turns into an episode, for each environment and strategy."""
    for name, (library, options) in _SUBJECTS.items():
        if library is not None:
            if importlib.util.find_spec(library) is None:
                continue
            gym.register_envs(importlib.import_module(library))
        for strategy in _STRATEGIES:
            env: Any = Snapshots(gym.make(name, **options), strategy=strategy)
            _play(env, seed)
            try:
                rollback_gym.snapshot(env)
            except NotCopyable:
                continue
            spent = seconds(partial(_on_and_back, env), repeat=10)
            again = seconds(partial(_again, name, options, seed), repeat=1) if games and strategy != "replay" else None
            note = f"{env.turn} turns into an episode: a step, restore, snapshot; original: made, reset, played anew"
            yield Measure(f"{name}, {strategy}", spent, "s", again, note)
    ours: Any = gym.make("Rollback-ALFWorld-v0", max_turns=200, disable_env_checker=True)
    _, info = ours.reset(seed=seed)
    for turn in range(_TURNS):
        admissible = info["admissible_actions"]
        *_, info = ours.step(admissible[turn * 7 % len(admissible)])
    here, action = rollback_gym.snapshot(ours), info["admissible_actions"][0]
    spent = seconds(partial(_on_and_back_by_reference, ours, here, action), repeat=200)
    note = f"{here.turn} turns into an episode: a step, restore, snapshot"
    yield Measure("Rollback-ALFWorld-v0, by reference", spent, "s", None, note)


def _play(env: Any, seed: int) -> None:
    env.reset(seed=seed)
    for turn in range(_TURNS):
        *_, terminated, truncated, _ = env.step(_action(env, turn))
        if terminated or truncated:
            return


def _action(env: Any, turn: int) -> Any:
    if isinstance(env.action_space, gym.spaces.Discrete):
        return turn % 2  # which a pole stands for a while
    return np.zeros(env.action_space.shape, env.action_space.dtype)


def _on_and_back(env: Any) -> None:
    here = rollback_gym.snapshot(env)
    env.step(_action(env, env.turn))
    rollback_gym.restore(env, here)
    env._state = None  # else the next snapshot of this moment would be the one taken before


def _on_and_back_by_reference(env: Any, here: Any, action: str) -> None:
    env.step(action)
    rollback_gym.restore(env, here)
    rollback_gym.snapshot(env)


def _again(name: str, options: dict[str, Any], seed: int) -> None:
    _play(gym.make(name, **options), seed)
