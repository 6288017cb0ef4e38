"""Rollbacks in vector environments: sub-environments stay apart, in both kinds and in every autoreset mode.

The reference is a list of single environments, reset by hand as the mode says.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

import rollback_gym
from rollback_gym.wrappers import Rollback, Snapshots

Env = gym.Env[Any, Any]
TURNS = 60


def cartpole() -> Env:
    return Rollback(Snapshots(gym.make("CartPole-v1"), max_turns=25), max_depth=4, cost=0.5)


def sokoban() -> Env:
    return gym.make(
        "Rollback-Sokoban-v0", boxes=1, observation="array", actions="discrete", max_turns=9, max_depth=3, revive=True
    )


def alfworld() -> Env:
    return gym.make("Rollback-ALFWorld-v0", max_turns=7, oracle=True)


MAKES: dict[str, Callable[[], Env]] = {"cartpole": cartpole, "sokoban": sokoban, "alfworld": alfworld}
KINDS: dict[str, Any] = {"sync": SyncVectorEnv, "async": partial(AsyncVectorEnv, shared_memory=False)}


def choose(env: Env, info: dict[str, Any], random: np.random.Generator) -> Any:
    """A legal action, in one of four turns a rollback."""
    if "action_mask" in info:
        legal = np.flatnonzero(info["action_mask"])
        return int(random.choice(legal[-2:] if random.random() < 0.25 else legal))
    targets, offered = info["rollback_targets"], info["admissible_actions"]
    if targets and random.random() < 0.25:
        return f"rollback({random.choice(targets)})"
    return str(random.choice(offered))


def of_one(infos: dict[str, Any], place: int) -> dict[str, Any]:
    """What a vector environment's info says of one sub-environment."""
    return {
        name: of_one(value, place) if isinstance(value, dict) else value[place]
        for name, value in infos.items()
        if not name.startswith("_") and infos[f"_{name}"][place]
    }


def same(batched: Any, single: Any) -> bool:
    """Whether a value went through a batch unharmed; numbers come back as NumPy's."""
    if isinstance(single, dict):
        return (
            isinstance(batched, dict)
            and batched.keys() == single.keys()
            and all(same(batched[name], value) for name, value in single.items())
        )
    return bool(np.array_equal(batched, single)) if not isinstance(single, str) else batched == single


class Reference:
    """Single environments, reset as `mode` says."""

    def __init__(self, make: Callable[[], Env], n: int, mode: AutoresetMode) -> None:
        self.envs = [make() for _ in range(n)]
        self.mode = mode
        self.over = [False] * n

    def reset(self, seed: int) -> list[tuple[Any, dict[str, Any]]]:
        return [env.reset(seed=seed + number) for number, env in enumerate(self.envs)]

    def step(self, number: int, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        env = self.envs[number]
        if self.mode is AutoresetMode.NEXT_STEP and self.over[number]:
            self.over[number] = False
            observation, info = env.reset()
            return observation, 0.0, False, False, info
        observation, reward, terminated, truncated, info = env.step(action)
        self.over[number] = bool(terminated or truncated)
        if self.mode is AutoresetMode.SAME_STEP and self.over[number]:
            final = {"final_obs": observation, "final_info": info}
            observation, info = env.reset()
            info = {**info, **final}
        return observation, float(reward), bool(terminated), bool(truncated), info


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MAKES)
def test_a_vector_environment_is_its_sub_environments(name: str, kind: str, mode: AutoresetMode) -> None:
    make, n = MAKES[name], 3
    vector, reference = KINDS[kind]([make] * n, autoreset_mode=mode), Reference(make, n, mode)
    random = np.random.default_rng(0)
    observations, infos = vector.reset(seed=5)
    shown = reference.reset(5)
    latest = [info for _, info in shown]
    went_back = ended = 0
    for _ in range(TURNS):
        each = list(iterate(vector.observation_space, observations))
        for number, (observation, info) in enumerate(shown):
            assert data_equivalence(each[number], observation)
            assert same(of_one(infos, number), info)
        if mode is AutoresetMode.DISABLED and any(reference.over):
            mask = np.array(reference.over)
            observations, infos = vector.reset(options={"reset_mask": mask})
            shown = [
                reference.envs[number].reset() if over else (shown[number][0], {})
                for number, over in enumerate(reference.over)
            ]
            latest = [info or latest[number] for number, (_, info) in enumerate(shown)]
            reference.over = [False] * n
            continue
        actions = [
            choose(env, latest[number], random) if not reference.over[number] else _any(env)
            for number, env in enumerate(reference.envs)
        ]
        observations, rewards, terminations, truncations, infos = vector.step(_batched(vector, actions))
        answers = [reference.step(number, action) for number, action in enumerate(actions)]
        assert rewards.tolist() == pytest.approx([answer[1] for answer in answers])
        assert terminations.tolist() == [answer[2] for answer in answers]
        assert truncations.tolist() == [answer[3] for answer in answers]
        shown = [(answer[0], answer[4]) for answer in answers]
        latest = [info for _, info in shown]
        went_back += sum("rollback" in info for info in latest)
        ended += sum(answer[2] or answer[3] for answer in answers)
    vector.close()
    assert went_back > 5
    assert ended > 3


def _any(env: Env) -> Any:
    """What is ignored, or not taken by anybody."""
    return 0 if isinstance(env.action_space, gym.spaces.Discrete) else "look"


def _batched(vector: Any, actions: list[Any]) -> Any:
    return np.array(actions) if isinstance(vector.action_space, gym.spaces.MultiDiscrete) else tuple(actions)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rollback_leaves_the_others_alone(kind: str) -> None:
    make = partial(gym.make, "Rollback-Sokoban-v0")
    vector = KINDS[kind]([make] * 3)
    start, _ = vector.reset(seed=0)
    vector.step(("up",) * 3)
    away, *_ = vector.step(("left",) * 3)
    after, _, _, _, infos = vector.step(('rollback(0, "no")', "left", "left"))
    assert after[0] == start[0]
    assert infos["_rollback"].tolist() == [True, False, False]
    assert infos["rollback"]["target"][0] == 0
    assert infos["rollback"]["reason"][0] == "no"
    assert infos["rollback_targets"].tolist() == [(), (0, 1, 2), (0, 1, 2)]
    assert infos["turn"].tolist() == [3, 3, 3]
    assert len(set(away)) == 3
    vector.close()


def _ended(vector: SyncVectorEnv) -> Any:
    """A snapshot of the first sub-environment from before it ended, which it then does."""
    vector.reset(seed=0)
    vector.step(np.array([0, 0]))
    here = rollback_gym.snapshot(vector.envs[0])
    for turn in range(20):
        _, _, terminations, _, _ = vector.step(np.array([0, turn % 2]))
        if terminations[0]:
            assert not terminations[1]
            return here
    raise AssertionError("the pole stands however it is pushed")


def test_a_restored_sub_environment_goes_on_from_there() -> None:
    vector = SyncVectorEnv([cartpole] * 2)
    vector.reset(seed=0)
    vector.step(np.array([0, 1]))
    here = rollback_gym.snapshot(vector.envs[0])
    first, *_ = vector.step(np.array([1, 1]))
    vector.step(np.array([0, 0]))
    rollback_gym.restore(vector.envs[0], here)
    again, *_, infos = vector.step(np.array([1, 0]))
    assert np.array_equal(again[0], first[0])
    assert infos["turn"].tolist() == [2, 4]


def test_next_step_throws_away_what_is_restored_after_an_end() -> None:
    vector = SyncVectorEnv([cartpole] * 2)
    rollback_gym.restore(vector.envs[0], _ended(vector))
    _, rewards, _, _, infos = vector.step(np.array([1, 0]))
    assert infos["turn"][0] == 0
    assert rewards[0] == 0


def test_same_step_and_disabled_keep_it() -> None:
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        vector = SyncVectorEnv([cartpole] * 2, autoreset_mode=mode)
        here = _ended(vector)
        if mode is AutoresetMode.DISABLED:
            vector.reset(options={"reset_mask": np.array([True, False])})
        rollback_gym.restore(vector.envs[0], here)
        _, _, _, _, infos = vector.step(np.array([1, 0]))
        assert infos["turn"][0] == 2


def test_snapshots_come_out_of_other_processes() -> None:
    vector = AsyncVectorEnv([cartpole] * 2)
    vector.reset(seed=0)
    vector.step(np.array([1, 0]))
    taken = vector.call("snapshot")
    observations, *_ = vector.step(np.array([0, 1]))
    for snapshot, action, expected in zip(taken, (0, 1), observations, strict=True):
        env = cartpole()
        rollback_gym.restore(env, snapshot)
        assert np.array_equal(env.step(action)[0], expected)
    vector.call("restore", taken[1])
    everywhere, *_ = vector.step(np.array([1, 1]))
    assert np.array_equal(everywhere[0], observations[1])
    assert np.array_equal(everywhere[1], observations[1])
    vector.close()


def test_an_episode_that_was_over_is_refused_when_it_is_restored() -> None:
    vector = SyncVectorEnv([cartpole] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    env = cartpole()
    env.reset(seed=0)
    while not env.step(0)[2]:
        pass
    vector.reset(seed=0)
    rollback_gym.restore(vector.envs[0], rollback_gym.snapshot(env))
    with pytest.raises(gym.error.ResetNeeded):
        vector.step(np.array([0, 0]))
