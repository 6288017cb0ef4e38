"""The oracle that searches knows what the others know."""

import math
import random
from typing import Any

import gymnasium as gym
import pytest

from rollback_gym import OracleBudgetExceeded
from rollback_gym.oracles import BreadthFirst, for_env, register
from rollback_gym.wrappers import OracleInfo, Rollback
from tests.toy import ToyEnv, ToyState


@pytest.mark.parametrize("options", [{"size": (5, 5), "boxes": 1}, {"size": (6, 6), "boxes": 2}])
def test_it_agrees_with_the_oracle_of_sokoban(options: dict[str, Any]) -> None:
    env: Any = gym.make("Rollback-Sokoban-v0", dead_end=None, max_turns=40, **options)
    base, draw = env.unwrapped, random.Random(0)
    for seed in range(4):
        _, info = env.reset(seed=seed)
        searching, exact = BreadthFirst(base.simulator), for_env(env)
        for _ in range(12):
            admissible = info["admissible_actions"]
            *_, terminated, truncated, info = env.step(admissible[draw.randrange(len(admissible))])
            if terminated or truncated:
                break
            assert searching.distance(base.level, base.state) == exact.distance(base.level, base.state)
            assert searching.optimal_actions(base.level, base.state) == exact.optimal_actions(base.level, base.state)


def test_its_plan_wins_in_as_many_turns_as_it_says() -> None:
    env = ToyEnv(max_turns=50)
    env.reset(options={"level": 7})
    oracle = BreadthFirst(env.simulator)
    assert oracle.distance(env.level, env.state) == 7
    assert oracle.optimal_actions(env.level, env.state) == ("right",)
    for action in oracle.plan(env.level, env.state):
        info = env.step(action)[4]
    assert info["won"]


def test_what_cannot_be_won_and_what_takes_too_long() -> None:
    class Walled(type(ToyEnv.simulator)):  # type: ignore[misc]
        def step(self, level: Any, state: Any, action: str) -> Any:
            done = super().step(level, state, action)
            return done._replace(state=state, won=False, terminated=False) if action == "right" else done

    env = ToyEnv()
    env.reset(options={"level": 3})
    oracle = BreadthFirst(Walled())
    assert math.isinf(oracle.distance(env.level, env.state))
    assert oracle.plan(env.level, env.state) == oracle.optimal_actions(env.level, env.state) == ()
    with pytest.raises(OracleBudgetExceeded, match="larger limit"):
        BreadthFirst(env.simulator, limit=3).distance(env.level, ToyState(0, frozenset()))


def test_a_game_of_ones_own_is_judged() -> None:
    class OwnEnv(ToyEnv):
        name = "own-toy"

    with pytest.raises(TypeError, match=r"oracles\.register"):
        OracleInfo(OwnEnv())
    register("own-toy", BreadthFirst(OwnEnv.simulator))
    env = OracleInfo(Rollback(OwnEnv()))
    _, info = env.reset(seed=0)
    before = info["oracle"]["distance"]
    assert env.step("left")[4]["oracle"]["pivotal"]
    assert env.step("rollback(0)")[4]["oracle"]["distance"] == before
    with pytest.raises(ValueError, match="Name yours otherwise"):
        register("sokoban", BreadthFirst(OwnEnv.simulator))
