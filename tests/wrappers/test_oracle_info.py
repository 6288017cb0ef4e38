"""What `info["oracle"]` says, against the oracle asked from outside."""

from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollback_gym
from rollback_gym.oracles import for_env, grade
from rollback_gym.wrappers import OracleInfo, Rollback
from tests.toy import ToyEnv

ID = "Rollback-ALFWorld-v0"


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 50), choices=st.lists(st.integers(0, 10**6), max_size=25), legal=st.sampled_from([None, 2]))
def test_it_agrees_with_the_oracle(seed: int, choices: list[int], legal: int | None) -> None:
    env = gym.make(ID, oracle=True, max_rollbacks=legal, max_turns=20, disable_env_checker=True)
    base, oracle = env.unwrapped, for_env(env)
    _, info = env.reset(seed=seed)
    lengths = {0: oracle.distance(base.level, base.state)}
    assert info["oracle"] == {"distance": lengths[0], "distance_with_rollback": lengths[0]}
    for choice in choices:
        before, targets, with_rollback = base.state, info["rollback_targets"], info["oracle"]["distance_with_rollback"]
        previous = oracle.distance(base.level, before)
        action = info["admissible_actions"][choice % len(info["admissible_actions"])]
        if choice % 5 == 0 and targets:
            action = f"rollback({targets[choice % len(targets)]})"
        *_, terminated, truncated, info = env.step(action)
        said = info["oracle"]
        distance = lengths[info["action_index"]] = oracle.distance(base.level, base.state)
        expected = min([distance, *(1 + lengths[target] for target in info["rollback_targets"])])
        assert said["distance"] == distance
        assert said["previous"] == previous
        assert said["distance_with_rollback"] == expected
        if "rollback" in info:
            assert said["pivotal"] is False
            assert said["justified"] is (distance + 1 <= previous)
            assert said["regret"] == 1 + expected - with_rollback >= 0
        else:
            assert said["pivotal"] is (distance > previous)
            assert said["regret"] == 1 + distance - previous >= 0
            assert "justified" not in said
        assert said["grade"] == grade(said["regret"])
        turn = info["turn"]
        assert said["budget_fatal"] is (turn - 1 + previous <= 20 and turn + distance > 20)
        if terminated or truncated:
            break


def test_restoring_brings_it_back() -> None:
    env = gym.make(ID, oracle=True)
    env.reset(seed=2)
    info: dict[str, Any] = {}
    for _ in range(4):
        *_, info = env.step(env.unwrapped.level.walkthrough[0])
    here = rollback_gym.snapshot(env)
    env.reset(seed=3)
    _, again = rollback_gym.restore(env, here)
    for key in ("distance", "distance_with_rollback"):
        assert again["oracle"][key] == info["oracle"][key]
    without = gym.make(ID)
    assert "oracle" not in rollback_gym.restore(without, here)[1]
    assert rollback_gym.restore(env, rollback_gym.snapshot(without))[1]["oracle"] == again["oracle"]


def test_optimal_actions_on_request_and_without_the_rollback_wrapper() -> None:
    env = OracleInfo(gym.make(ID, rollback=False), optimal_actions=True)
    _, info = env.reset(seed=0)
    while info["oracle"]["distance"]:
        before = info["oracle"]["distance"]
        *_, info = env.step(info["oracle"]["optimal_actions"][-1])
        assert info["oracle"]["distance"] == before - 1
        assert info["oracle"]["grade"] == "optimal"
    assert info["won"]
    assert info["oracle"]["optimal_actions"] == ()


def test_environments_without_an_oracle_are_named() -> None:
    for env in (Rollback(ToyEnv()), gym.make("CartPole-v1")):
        with pytest.raises(TypeError, match=r"no oracle for .*; there are oracles for alfworld"):
            OracleInfo(env)
