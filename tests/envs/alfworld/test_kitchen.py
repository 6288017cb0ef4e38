"""Kitchens of difficulty 0 are ALFWorld's games, solved as the oracle says, and as small as they are said to be."""

import gymnasium as gym
import pytest

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld.generator import SPLIT_SIZES, game_id, game_ids, generate, read
from rollback_gym.envs.alfworld.made.kitchen import PLACES, SIZE, TASKS
from rollback_gym.oracles.lookup import for_env
from rollback_gym.registration import levels

ID = "rollback_gym:Rollback-ALFWorld-v0"


def test_every_kitchen_is_a_game_that_the_oracle_solves() -> None:
    env = gym.make(ID, difficulty=0)
    oracle, kinds = for_env(env), set()
    for room in levels(ID, split="train", difficulty=0)[:60]:
        env.reset(options={"level": room})
        level, state = env.unwrapped.level, env.unwrapped.state
        assert len(level.receptacles) == len(PLACES)
        assert len(level.things) == SIZE
        kinds.add(level.goal.task_type)
        plan = oracle.plan(level, state)
        assert 4 <= len(plan) == oracle.distance(level, state) <= 8
        assert len(generate(int(room.split("_")[-2]), difficulty=0).walkthrough) == len(plan)
        for action in plan:
            _, _, terminated, _, info = env.step(action)
        assert terminated
        assert info["won"]
    assert kinds == set(TASKS)


def test_an_id_makes_its_kitchen_again() -> None:
    for split in SPLIT_SIZES:
        ids = game_ids(split, 0)
        assert len(set(ids)) == SPLIT_SIZES[split]
        for seed, id in enumerate(ids[:20]):
            assert id == game_id(seed, split, difficulty=0)
            assert read(id) == generate(seed, split, difficulty=0)
    assert generate(3, "train", difficulty=0).problem != generate(3, "valid_seen", difficulty=0).problem


def test_other_tasks_are_refused() -> None:
    with pytest.raises(DataError, match="look_at_obj_in_light"):
        gym.make(ID, difficulty=0, task_types=["look_at_obj_in_light"])
