"""The laws on a toy that can be won, lost and revived, with every encoding of a rollback."""

from typing import Any

import gymnasium as gym
import pytest
from gymnasium.wrappers import OrderEnforcing, TimeLimit
from hypothesis.stateful import run_state_machine_as_test

import rollback_gym
from rollback_gym.wrappers.rollback import Rollback
from tests.laws import law_settings, laws_of
from tests.toy import ACTIONS, ArrayToyEnv, ToyEnv


def text(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> str:
    return (*ACTIONS, "dance")[choice % 4]


def discrete(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> int:
    return choice % 3


def one_of(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> tuple[int, Any]:
    return (0, (choice % 2, choice // 2 % 2))


PLAIN = {"actions": "text"}
CASES = {
    "text": (PLAIN, {"cost": 0.25}, text),
    "revive": (PLAIN, {"cost": 0.25, "revive": True, "max_rollbacks": 3}, text),
    "previous": (PLAIN, {"cost": 0.25, "targets": "previous"}, text),
    "start": (PLAIN, {"cost": 0.25, "targets": "start", "revive": True}, text),
    "discrete": ({"actions": "discrete"}, {"cost": 0.25, "revive": True}, discrete),
    "one-of": ({"actions": "multi"}, {"cost": 0.25}, one_of),
}


@pytest.mark.parametrize("case", CASES)
def test_laws(case: str) -> None:
    made, options, act = CASES[case]
    laws = laws_of(lambda: Rollback(ToyEnv(**made), **options), act, cost=0.25)
    run_state_machine_as_test(laws, settings=law_settings(30, 30))


def test_laws_in_a_stack_with_a_time_limit() -> None:
    def make() -> gym.Env[Any, Any]:
        return TimeLimit(OrderEnforcing(Rollback(ToyEnv(max_turns=12), cost=0.25)), max_episode_steps=100)

    run_state_machine_as_test(laws_of(make, text, cost=0.25), settings=law_settings(30, 30))


def test_laws_with_observations_that_can_be_changed() -> None:
    laws = laws_of(lambda: Rollback(ArrayToyEnv(), cost=0.25, revive=True), text, cost=0.25)
    run_state_machine_as_test(laws, settings=law_settings(30, 30))


def test_changing_what_was_returned_changes_nothing() -> None:
    env = Rollback(ArrayToyEnv())
    spoiled, _ = env.reset(seed=0)
    spoiled["place"][:] = 77
    spoiled = env.step("right")[0]
    here = rollback_gym.snapshot(env)
    spoiled["place"][:] = 77
    for give in (lambda: rollback_gym.restore(env, here)[0], lambda: env.step("rollback(9)")[0]):
        observation = give()
        assert observation["place"].tolist() == [1, 0]
        observation["place"][:] = 77
    observation = env.step("rollback(0)")[0]
    assert observation["place"].tolist() == [0, 0]
    observation["place"][:] = 77
    assert env.history.path[0].observation["place"].tolist() == [0, 0]
    assert rollback_gym.restore(env, rollback_gym.Snapshot.from_bytes(here.to_bytes()))[0]["place"].tolist() == [1, 0]
