"""Stable-Baselines3 takes the environments as they are: its checker, its vector environments, and its learners."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rollback_gym.wrappers import Rollback, Snapshots

pytest.importorskip("torch", reason="needs torch and sb3-contrib: pip install sb3-contrib")
pytest.importorskip("sb3_contrib", reason="needs sb3-contrib: pip install sb3-contrib")
pytestmark = pytest.mark.filterwarnings("default")  # those of other libraries are not ours to forbid

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "maskable_cartpole.py"


def cartpole() -> gym.Env[Any, Any]:
    return Rollback(Snapshots(gym.make("CartPole-v1")), max_depth=4)


def sokoban() -> gym.Env[Any, Any]:
    return gym.make("Rollback-Sokoban-v0", observation="array", actions="discrete", revive=True)


def minesweeper() -> gym.Env[Any, Any]:
    return gym.make("Rollback-MineSweeper-v0", observation="array", actions="discrete", revive=True)


@pytest.mark.parametrize("make", [cartpole, sokoban, minesweeper])
def test_its_checker_is_content(make: Callable[[], gym.Env[Any, Any]]) -> None:
    from stable_baselines3.common.env_checker import check_env

    check_env(make(), warn=False)


@pytest.mark.parametrize("kind", ["DummyVecEnv", "SubprocVecEnv"])
def test_rollbacks_in_its_vector_environments(kind: str) -> None:
    from stable_baselines3.common import vec_env

    vector = getattr(vec_env, kind)([cartpole] * 2)
    vector.seed(0)
    start = vector.reset()
    vector.step(np.array([1, 1]))
    observations, rewards, _, infos = vector.step(np.array([2, 1]))
    assert np.array_equal(observations[0], start[0])
    assert not np.array_equal(observations[1], start[1])
    assert rewards.tolist() == [-1.0, 1.0]
    assert infos[0]["rollback"]["target"] == 0
    assert "rollback" not in infos[1]
    masks = np.stack(vector.env_method("action_masks"))
    assert masks.tolist() == [[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0]]
    vector.close()


def test_the_example_trains() -> None:
    example = runpy.run_path(str(EXAMPLE))
    model = example["train"](512)
    assert model.num_timesteps == 512
    played = example["evaluate"](model, 5)
    assert played["illegal"] == 0
    assert played["rollbacks"] > 0
