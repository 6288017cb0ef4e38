"""Sokoban for two as an environment: rooms by seeds, the same everywhere, snapshots, and what is refused."""

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest
from gymnasium.error import ResetNeeded

from rollback_gym import DataError, Snapshot, SnapshotMismatch
from rollback_gym.envs import sokoban_two
from rollback_gym.envs.sokoban_two.generator import Recipe, make_level
from rollback_gym.oracles import for_env
from rollback_gym.oracles import sokoban_two as oracle

PLAY = """
from rollback_gym.envs import sokoban_two
env = sokoban_two.parallel_env()
for seed in (0, 1, 65536, None):
    print(env.reset(seed=seed)[0], env.state_digest(), env.level.digest)
    for words in zip(("up", "left", "down", "right"), ("left", "down", "right", "up")):
        print(env.step(dict(zip(env.possible_agents, words))))
print(env.snapshot().to_bytes().hex())
"""


def play(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(
        [sys.executable, "-c", PLAY], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_hash_seeds_change_nothing() -> None:
    assert play("0") == play("4321")


def test_golden_rooms() -> None:
    """The rooms of two seeds, as they were first made: a change of the generator shows."""
    env = sokoban_two.parallel_env()
    assert env.reset(seed=1)[0]["player_0"] == "######\n#O__##\n#Q___#\n#_PXX#\n#_#_O#\n######"
    assert env.reset(seed=7)[0]["player_0"] == "######\n####O#\n#_#PX#\n#_X__#\n#R__##\n######"
    assert env.level.digest.startswith("e717bf3280aebebf")


@pytest.mark.parametrize(
    "options", [{}, {"boxes": 1}, {"boxes": 3, "size": (6, 7)}, {"min_distance": 8, "max_distance": 12}]
)
def test_rooms_are_as_asked_for(options: dict[str, Any]) -> None:
    env = sokoban_two.parallel_env(**options)
    for seed in range(3):
        env.reset(seed=seed)
        assert env.level.id == f"train/{seed}"
        turns = for_env(env).distance(env.level, env.game_state)
        assert options.get("min_distance", 4) <= turns <= options.get("max_distance", 99)
        assert oracle.needs_both(env.level, env.game_state)
        assert env.game_state.boxes.bit_count() == options.get("boxes", 2)


def test_both_are_paid_alike_and_told_who_they_are() -> None:
    env = sokoban_two.parallel_env()
    _, infos = env.reset(options={"level": "valid/65536"})
    assert [infos[agent]["player"] for agent in env.agents] == [0, 1]
    plan = oracle.plan(env.level, env.game_state)
    for words in plan:
        _, rewards, terminated, truncated, infos = env.step(dict(zip(env.agents, words, strict=True)))
        assert rewards["player_0"] == rewards["player_1"]
    assert terminated == dict.fromkeys(env.possible_agents, True)
    assert not any(truncated.values())
    assert infos["player_0"]["won"]
    assert infos["player_0"]["turn"] == len(plan)
    assert env.agents == []
    with pytest.raises(ResetNeeded):
        env.step({"player_0": "up", "player_1": "up"})


def test_what_is_no_word_is_told_to_who_said_it() -> None:
    env = sokoban_two.parallel_env()
    env.reset(seed=0)
    before = env.game_state
    _, _, _, _, infos = env.step({"player_0": " Stay ", "player_1": "dance"})
    assert infos["player_1"]["invalid_action"] == "'dance' is none of up, down, left, right, stay"
    assert "invalid_action" not in infos["player_0"]
    assert env.game_state == before


def test_snapshots_go_anywhere() -> None:
    env = sokoban_two.parallel_env(max_turns=6)
    env.reset(seed=2)
    env.step({"player_0": "up", "player_1": "left"})
    here = env.snapshot()
    later = [env.step({"player_0": word, "player_1": "down"}) for word in ("left", "up", "right")]
    following = env.reset()[0]
    for other in (env, sokoban_two.parallel_env(max_turns=6), copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        observations, infos = other.restore(Snapshot.from_bytes(here.to_bytes()))
        assert (observations, infos["player_0"]["turn"]) == (here.observation, 1)
        assert other.snapshot() == here
        assert [other.step({"player_0": word, "player_1": "down"}) for word in ("left", "up", "right")] == later
        assert other.reset()[0] == following, "the choice of later rooms is part of it"
    with pytest.raises(SnapshotMismatch, match="max_turns=6"):
        sokoban_two.parallel_env().restore(here)
    with pytest.raises(SnapshotMismatch, match="was made with"):
        sokoban_two.parallel_env(max_turns=6, boxes=1).restore(Snapshot.from_bytes(here.to_bytes()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 3}, "at least 4"),
        ({"size": 9}, "64 cells"),
        ({"boxes": 4}, "boxes must be 1 to 3"),
        ({"boxes": 3, "size": 4}, "too small"),
        ({"min_distance": 9, "max_distance": 3}, "min_distance"),
        ({"max_turns": 0}, "max_turns"),
        ({"observation": "smell"}, "observation must be one of text, array"),
        ({"split": "test"}, "split must be one of"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sokoban_two.parallel_env(**options)


def test_rooms_that_there_are_not() -> None:
    env = sokoban_two.parallel_env()
    env.reset(seed=0)
    before = env.snapshot()
    for id in ("train/-1", "train/01", "test/3", "valid/5"):
        with pytest.raises(DataError, match="There is no room"):
            env.reset(options={"level": id})
    assert env.snapshot() == before
    with pytest.raises(DataError, match="Widen"):
        make_level(Recipe(4, 4, 1, True, 40, None), "train/0")


def test_actions_of_a_wrong_type_are_errors() -> None:
    env = sokoban_two.parallel_env(actions="discrete")
    env.reset(seed=0)
    with pytest.raises(TypeError, match="whole number"):
        env.step({"player_0": "up", "player_1": 0})
    with pytest.raises(ValueError, match="0 to 4"):
        env.step({"player_0": 5, "player_1": 0})
    with pytest.raises(TypeError, match="a str"):
        sokoban_two_at(0).step({"player_0": 1, "player_1": "up"})


def sokoban_two_at(seed: int) -> Any:
    env = sokoban_two.parallel_env(render_mode="ansi")
    env.reset(seed=seed)
    return env


def test_render_and_state() -> None:
    env = sokoban_two_at(1)
    assert env.render() == env.snapshot().observation["player_0"]
    assert env.state().shape == (6, 6, 5)
