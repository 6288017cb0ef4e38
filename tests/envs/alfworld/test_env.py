"""ALFWorld through `gym.make`, on worlds made here."""

import json
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from hypothesis.stateful import run_state_machine_as_test

import rollback_gym
from rollback_gym import DataError
from rollback_gym.envs.alfworld.env import ALFWorldEnv
from rollback_gym.envs.alfworld.types import TaskType
from tests.laws import law_settings, laws_of

ID = "Rollback-ALFWorld-v0"


def near_the_goal(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> str:
    """Mostly the way to the goal, so that episodes are won too; else any command, some of them nonsense."""
    from rollback_gym.oracles import for_env

    base = env.unwrapped
    best = for_env(env).optimal_actions(base.level, base.state)
    if choice % 3 and best:
        return best[choice % len(best)]
    commands = (*info["admissible_actions"], "dance", "", "take fridge 1 from fridge 1")
    return commands[choice % len(commands)]


def test_laws() -> None:
    def make() -> gym.Env[Any, Any]:
        return gym.make(ID, max_turns=15, cost=0.25, shuffle_numbers=True, oracle=True)

    run_state_machine_as_test(laws_of(make, near_the_goal, cost=0.25), settings=law_settings(25, 25))


def test_gymnasiums_checker_finds_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(ALFWorldEnv(), skip_render_check=True)
        check_env(gym.make(ID).unwrapped, skip_render_check=True)


def test_a_game_is_won_by_its_walkthrough() -> None:
    env = gym.make(ID)
    observation, info = env.reset(seed=5)
    assert observation.startswith("-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room.")
    assert observation.endswith(f"Your task is to: {info['task']}")
    for command in env.unwrapped.level.walkthrough:
        assert command in info["admissible_actions"]
        observation, reward, terminated, truncated, info = env.step(command)
    assert (reward, terminated, truncated, info["won"]) == (1.0, True, False, True)


@pytest.mark.parametrize("action", ["", "GO TO FRIDGE 1", "take", "\n", "go to fridge 99", "🥔" * 999, "rollback"])
def test_no_text_raises(action: str) -> None:
    env = gym.make(ID)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["turn"]) == (0.0, False, False, 1)
    assert info["invalid_action"]
    if action != "rollback":
        assert observation == "Nothing happens."


@pytest.mark.parametrize("action", [None, 3, b"look", ["look"]])
def test_other_types_are_programming_errors(action: Any) -> None:
    env = gym.make(ID, disable_env_checker=True)
    env.reset(seed=0)
    with pytest.raises(TypeError, match="must be a str"):
        env.step(action)


def test_the_older_phrasing_is_understood_where_asked_for() -> None:
    for accept, expected in ((True, "You move the "), (False, "Nothing happens.")):
        env = gym.make(ID, accept_put=accept, task_types=["pick_and_place_simple"])
        env.reset(seed=1)
        *way, put = env.unwrapped.level.walkthrough
        for command in way:
            env.step(command)
        older = put.replace("move ", "put ", 1).replace(" to ", " in/on ", 1)
        assert env.step(older)[0].startswith(expected)


def test_numbers_are_shuffled_by_the_environments_own_seed() -> None:
    def names(seed: int, shuffle: bool) -> list[str]:
        env = gym.make(ID, shuffle_numbers=shuffle)
        env.reset(seed=seed, options={"level": rollback_gym.levels(ID, split="valid_seen")[0]})
        return [receptacle.name for receptacle in env.unwrapped.level.receptacles]

    assert names(1, False) == names(2, False)
    assert names(1, True) == names(1, True) != names(2, True)
    assert sorted(names(1, True)) == sorted(names(1, False))


def test_shuffled_levels_come_back_from_bytes() -> None:
    env = gym.make(ID, shuffle_numbers=True)
    env.reset(seed=3)
    here = rollback_gym.snapshot(env)
    other = gym.make(ID, shuffle_numbers=True)
    rollback_gym.restore(other, rollback_gym.Snapshot.from_bytes(here.to_bytes()))
    assert other.step("look") == env.step("look")


def test_levels_and_task_types() -> None:
    assert len(rollback_gym.levels(ID, split="train")) == 3000
    lit = rollback_gym.levels("rollback_gym:" + ID, split="valid_unseen", task_types=[TaskType.LOOK_IN_LIGHT])
    assert lit
    assert all("/look_at_obj_in_light-" in id for id in lit)
    env = gym.make(ID, split="valid_unseen", task_types=["look_at_obj_in_light"])
    assert env.reset(seed=9)[1]["level"] in lit
    assert gym.make(ID, level=lit[2]).reset()[1]["level"] == lit[2]
    with pytest.raises(ValueError, match="there are Rollback-ALFWorld-v0"):
        rollback_gym.levels("CartPole-v1")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"split": "test"}, DataError, "valid_unseen"),
        ({"data": "/no/such/place"}, DataError, "/no/such/place"),
        ({"task_types": ["cook"]}, DataError, "look_at_obj_in_light"),
        ({"difficulty": 99}, DataError, "difficulty"),
        ({"backend": "unity"}, ValueError, "textworld"),
        ({"max_turn": 3}, TypeError, "max_turns"),
        ({"rollback": False, "cost": 1.0}, TypeError, "cost"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gym.make(ID, **options)


def test_unknown_levels_and_reset_options_are_refused() -> None:
    env = gym.make(ID, disable_env_checker=True)
    with pytest.raises(DataError, match="train/nowhere"):
        env.reset(options={"level": "train/nowhere"})
    with pytest.raises(ValueError, match="'level'"):
        env.reset(options={"levels": 3})
    with pytest.raises(TypeError, match="must be a level's id"):
        env.reset(options={"level": 3})


def test_data_from_a_file_may_be_a_path(tmp_path: Path) -> None:
    from rollback_gym.envs.alfworld.data import GeneratedGames

    id = rollback_gym.levels(ID, split="valid_seen")[3]
    file = tmp_path / "game.tw-pddl"
    file.write_bytes(GeneratedGames().read(id))
    env = gym.make(ID, data=file)
    assert json.loads(env.spec.to_json())["kwargs"]["data"] == str(file)
    observation, _ = env.reset(seed=0)
    assert observation == gym.make(ID, level=id).reset(seed=0)[0]
    with pytest.raises(ValueError, match="difficulty is for worlds made here"):
        gym.make(ID, data=file, difficulty=1.0)


def test_restoring_needs_the_same_level_content(tmp_path: Path) -> None:
    env = gym.make(ID, difficulty=1.0)
    env.reset(seed=0)
    data = rollback_gym.snapshot(env).to_bytes()
    harder = gym.make(ID, difficulty=1.5)
    rollback_gym.restore(harder, rollback_gym.Snapshot.from_bytes(data))
    with pytest.raises(rollback_gym.SnapshotMismatch, match="accept_put=False"):
        rollback_gym.restore(gym.make(ID, accept_put=True), rollback_gym.Snapshot.from_bytes(data))


def test_without_the_wrapper_the_turn_is_the_index() -> None:
    env = gym.make(ID, rollback=False)
    env.reset(seed=0)
    observation, *_, info = env.step("rollback(0)")
    assert observation == "Nothing happens."
    assert info["action_index"] == info["turn"] == 1
    assert "rollback_targets" not in info


def test_ansi_shows_the_last_observation() -> None:
    env = gym.make(ID, render_mode="ansi")
    assert env.reset(seed=0)[0] == env.render()
    assert env.step("look")[0] == env.render()


def test_vector_environments() -> None:
    env = gym.make_vec(ID, num_envs=2, vectorization_mode="sync")
    observations, info = env.reset(seed=[1, 1])
    assert observations[0] == observations[1]
    _, _, _, _, info = env.step(("look", info["admissible_actions"][1][0]))
    assert info["rollback_targets"][0] == (0,)
    observations, *_ = env.step(("rollback(0)", "look"))
    assert observations[0].startswith("-= Welcome")
    env.close()


def test_specs_make_the_same_environment_again() -> None:
    env = gym.make(ID, revive=True, oracle=True, max_episode_steps=30, split="valid_seen")
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert str(again) == str(env)
    assert again.reset(seed=0) == env.reset(seed=0)
