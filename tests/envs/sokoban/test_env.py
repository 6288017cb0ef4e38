"""The environment: its options, its seeds, and the laws that every environment keeps."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis.stateful import run_state_machine_as_test

import rollback_gym
from rollback_gym import DataError, OracleBudgetExceeded, Snapshot, SnapshotMismatch
from rollback_gym.envs.sokoban.env import SokobanEnv
from rollback_gym.envs.sokoban.parser import original
from rollback_gym.envs.sokoban.types import WORDS
from rollback_gym.oracles import for_env, sokoban, sokoban_search
from rollback_gym.wrappers import DeadEnd, Rollback
from tests.laws import law_settings, laws_of

ID = "Rollback-Sokoban-v0"
FILE = """; 0
#######
#@ $ .#
#  #  #
#######
; 1
######
#@$ .#
# $ .#
#    #
######
"""


@pytest.fixture
def collection(tmp_path: Path) -> str:
    path = tmp_path / "two.xsb"
    path.write_text(FILE)
    return str(path)


def text(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> str:
    return (*WORDS, *WORDS, "still")[choice % 9]


def discrete(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> int:
    return choice % 4


SMALL = {"size": 5, "boxes": 1, "max_turns": 15}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "text": ({}, {}, text),
    "revive": (SMALL, {"revive": True, "max_rollbacks": 3}, text),
    "no dead end": ({**SMALL, "preset": "verl-agent"}, {"targets": "previous"}, text),
    "plain": ({"preset": "ragen", "max_turns": 20}, {"targets": "start"}, text),
    "discrete": ({**SMALL, "actions": "discrete"}, {"revive": True, "max_depth": 3}, discrete),
    "array": ({"observation": "array", "actions": "discrete"}, {"revive": True}, discrete),
    "large": ({"size": (7, 9), "boxes": 3}, {"revive": True}, text),
}


@pytest.mark.parametrize("case", CASES)
def test_laws(case: str) -> None:
    made, options, act = CASES[case]

    def make() -> gym.Env[Any, Any]:
        env = SokobanEnv(**made)
        beneath = DeadEnd(env, limit=100) if made.get("preset", "retroagent") == "retroagent" else env
        return Rollback(beneath, cost=0.25, **options)

    run_state_machine_as_test(laws_of(make, act, cost=0.25), settings=law_settings(15, 25))


@pytest.mark.parametrize("options", [{}, {"observation": "array", "actions": "discrete"}, {"preset": "ragen"}])
def test_gymnasium_checks_it(options: dict[str, Any]) -> None:
    check_env(gym.make(ID, disable_env_checker=True, **options).unwrapped, skip_render_check=True)


def test_the_published_setting_is_the_default() -> None:
    env = gym.make(ID)
    observation, info = env.reset(seed=17)
    assert observation.split("\n")[:3] == ["0: # # # # # #", "1: # _ P _ # #", "2: # _ X X _ #"]
    assert env.unwrapped.max_turns == 30  # type: ignore[attr-defined]
    assert info["level"] == "train/17"
    assert info["admissible_actions"] == WORDS
    assert info["task"] == "Push every box onto a target."
    assert env.env.env.env.limit == 100  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("preset", "turns", "boxes", "first"),
    [
        ("retroagent", 30, 2, "0: # # # # # #"),
        ("verl-agent", 15, 1, " # \t" * 6),
        ("ragen", 100, 1, "######"),
        ("gym-sokoban", 120, 4, "0: " + " ".join("#" * 10)),
    ],
)
def test_presets(preset: str, turns: int, boxes: int, first: str) -> None:
    env = gym.make(ID, preset=preset)
    observation, _ = env.reset(seed=1)
    base = env.unwrapped
    assert isinstance(base, SokobanEnv)
    assert (base.max_turns, base.level.targets.bit_count()) == (turns, boxes)
    assert observation.split("\n")[0] == first


def test_winning() -> None:
    for options in ({}, {"actions": "discrete", "observation": "array"}):
        env = gym.make(ID, oracle=True, **options)
        for seed in range(20):
            _, info = env.reset(seed=seed)
            base = env.unwrapped
            assert isinstance(base, SokobanEnv)
            plan = for_env(env).plan(base.level, base.state)
            assert len(plan) == info["oracle"]["distance"]
            for word in plan:
                _, reward, terminated, truncated, info = env.step(base.write_action(word))
                assert info["oracle"]["grade"] == "optimal"
            assert (reward, terminated, truncated, info["won"]) == (10.9, True, False, True)


# --- Which room is played -------------------------------------------------------------------------------------------


def room(env: gym.Env[Any, Any], **reset: Any) -> str:
    return str(env.reset(**reset)[1]["level"])


def test_a_seed_of_the_split_is_its_room() -> None:
    env = gym.make(ID)
    assert room(env, seed=17) == "train/17"
    assert room(env) != "train/17"
    assert room(env, seed=65534) == "train/65534"
    assert room(env, seed=65535).startswith("train/")
    assert room(env, options={"level": "valid/65536"}) == "valid/65536"
    valid = gym.make(ID, split="valid")
    assert room(valid, seed=65536) == "valid/65536"
    assert room(valid, seed=17).startswith("valid/")
    only = gym.make(ID, level="train/5")
    assert room(only, seed=1) == room(only) == "train/5"


def test_all_rooms() -> None:
    ids = rollback_gym.levels(ID)
    train, valid = (rollback_gym.levels(ID, split=split) for split in ("train", "valid"))
    assert len(ids) == len(train) + len(valid)
    assert (ids[0], ids[65_534], ids[65_535], ids[-1]) == (train[0], train[-1], valid[0], valid[-1])
    assert list(ids[65_533:65_537]) == [*train[-2:], *valid[:2]]
    assert "valid/65536" in ids
    assert "valid/65536" not in train
    with pytest.raises(IndexError):
        _ = ids[len(ids)]
    assert type(room(gym.make(ID), options={"level": np.str_("train/3")})) is str


def test_seeds_decide_what_is_drawn_after_them() -> None:
    one, other = gym.make(ID), gym.make(ID)
    one.reset(seed=3)
    rooms = [room(one) for _ in range(5)]
    other.reset(seed=3)
    assert [room(other) for _ in range(5)] == rooms
    assert len(set(rooms)) == 5


def test_distances() -> None:
    env = gym.make(ID, min_distance=12, max_distance=14, oracle=True)
    for seed in range(10):
        _, info = env.reset(seed=seed)
        assert 12 <= info["oracle"]["distance"] <= 14
    assert room(env, seed=3) == room(env, seed=3)
    with pytest.raises(DataError, match=r"None of 5 rooms drawn needs 90 to inf moves.*max_attempts"):
        gym.make(ID, min_distance=90, max_attempts=5).reset(seed=0)


def test_levels() -> None:
    train, valid = rollback_gym.levels(ID, split="train"), rollback_gym.levels(f"rollback_gym:{ID}", split="valid")
    assert (len(train), train[0], train[-1]) == (65535, "train/0", "train/65534")
    assert (valid[0], valid[1:3]) == ("valid/65536", ("valid/65537", "valid/65538"))
    assert "train/17" in train
    assert "train/017" not in train
    assert "valid/65536" not in train
    assert 17 not in train
    with pytest.raises(DataError, match="no split 'test'"):
        rollback_gym.levels(ID, split="test")


def test_level_files(collection: str) -> None:
    assert rollback_gym.levels(ID, data=collection) == ("two.xsb#0", "two.xsb#1")
    env = gym.make(ID, preset="boxoban", data=collection)
    observation, info = env.reset(options={"level": "two.xsb#1"})
    assert (info["level"], observation.split("\n")[1]) == ("two.xsb#1", "1: # P X _ O #")
    assert {room(env, seed=seed) for seed in range(10)} == {"two.xsb#0", "two.xsb#1"}
    assert json.loads(env.spec.to_json())["kwargs"]["data"] == collection  # type: ignore[union-attr]
    arrays = gym.make(ID, data=Path(collection), observation="array")
    assert arrays.observation_space.shape == (5, 7, 4)
    assert gym.make(ID, preset="boxoban", data=collection, observation="array", size=9).observation_space.shape == (
        9,
        9,
        4,
    )
    with pytest.raises(DataError, match=r"is 5x6; arrays here are 4x7"):
        gym.make(ID, data=collection, observation="array", size=(4, 7)).reset(options={"level": "two.xsb#1"})


def test_the_same_rooms_in_every_process() -> None:
    """Also those of seeds that fail: 19 is one."""
    code = (
        "import gymnasium as gym, rollback_gym\n"
        f"env = gym.make('{ID}')\n"
        "for seed in range(40): env.reset(seed=seed); print(env.unwrapped.state_digest())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"preset": "chess"}, ValueError, "no preset 'chess'"),
        ({"size": 4, "boxes": 3}, ValueError, "at most 4 cells of floor: too few for 3 boxes"),
        ({"size": (3, 3)}, ValueError, "too few"),
        ({"size": 2}, ValueError, "at least 3 each way"),
        ({"size": 1000}, ValueError, "8000 cells in all"),
        ({"size": "6"}, ValueError, "size must be a whole number"),
        ({"boxes": 0}, ValueError, "boxes must be a whole number of at least 1"),
        ({"boxes": True}, ValueError, "boxes"),
        ({"search_depth": 2}, ValueError, "search_depth"),
        ({"generation_steps": 0}, ValueError, "generation_steps"),
        ({"generation_steps": 10**9}, ValueError, "at most 1,000,000"),
        ({"max_attempts": 0}, ValueError, "max_attempts"),
        ({"level": 3}, TypeError, "level must be a room's id"),
        ({"level": "train/3", "min_distance": 3}, ValueError, "no use beside it"),
        ({"split": ""}, DataError, "no split ''"),
        ({"split": ["train"]}, DataError, "no split"),
        ({"compat": "new"}, ValueError, "compat"),
        ({"hash_seed": 3}, ValueError, "hash_seed is for compat='original'"),
        ({"hash_seed": 2**32, "compat": "original"}, ValueError, "PYTHONHASHSEED"),
        ({"min_distance": 9, "max_distance": 8}, ValueError, "more than max_distance"),
        ({"min_distance": -1}, ValueError, "min_distance"),
        ({"observation": "image"}, ValueError, "observation must be one of text, array"),
        ({"actions": "arrows"}, ValueError, "actions must be one of text, discrete"),
        ({"layout": "grid"}, ValueError, "layout must be one of rows, tabs, plain"),
        ({"parser": "kind"}, ValueError, "parser must be one of strict, original"),
        ({"render_mode": "human"}, ValueError, "render_mode"),
        ({"preset": "boxoban"}, DataError, "pass data="),
        ({"data": "/nowhere"}, DataError, "no /nowhere"),
        ({"split": "test"}, DataError, "no split 'test'"),
        ({"colour": "red"}, TypeError, "Unknown options colour"),
        ({"dead_end": -1}, ValueError, "dead_end must be"),
    ],
)
def test_what_cannot_be_made(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        gym.make(ID, **options)


def test_rooms_from_files_are_not_made(collection: str) -> None:
    with pytest.raises(ValueError, match=r"leave out boxes, search_depth, which are for making rooms"):
        gym.make(ID, data=collection, boxes=2, search_depth=3)


def test_what_cannot_be_reset_to() -> None:
    env = gym.make(ID)
    with pytest.raises(ValueError, match="Unknown reset options"):
        env.reset(options={"room": 3})
    with pytest.raises(ValueError, match="Unknown reset options 'room', 3"):
        env.reset(options={"room": 3, 3: 4})
    with pytest.raises(TypeError, match="must be a room's id"):
        env.reset(options={"level": 3})
    for id in ("train/65535", "valid/3", "train/-1", "train/x", "17", "train/²", "train/017", "train/" + "1" * 5000):
        with pytest.raises(DataError, match="no room"):
            env.reset(options={"level": id})


def test_generation_is_bounded() -> None:
    """Nine boxes on the ten cells that a short walk can dig do not fit often."""
    env = gym.make(ID, size=5, boxes=7, generation_steps=1, max_attempts=20)
    with pytest.raises(DataError, match=r"with 7 boxes came of seed 0 in 20 attempts.*max_attempts"):
        env.reset(seed=0)


def test_generation_is_bounded_also_where_each_attempt_takes_long() -> None:
    """One may explore more than a million placements."""
    env = gym.make(ID, preset="gym-sokoban", size=12, boxes=25, generation_steps=200, max_attempts=10)
    with pytest.raises(DataError, match=r"in [0-9] attempts, and more of such long ones would take too much time"):
        env.reset(seed=0)


def test_a_search_depth_beyond_all_placements() -> None:
    depths = (300_001, 10**9, 10**30)
    assert len({gym.make(ID, search_depth=depth).reset(seed=3)[0] for depth in depths}) == 1


# --- Acting and observing -------------------------------------------------------------------------------------------


def test_words() -> None:
    env = gym.make(ID)
    env.reset(seed=17)
    assert "invalid_action" not in env.step(" UP\n")[4]
    for nonsense in ("upwards", "setup: down", "", "<action>up</action>", "1", "still"):
        _, reward, _, _, info = env.step(nonsense)
        assert reward == -0.1
        assert info["invalid_action"] == f"{nonsense!r} is none of up, down, left, right"
    assert len(env.step("up " * 10_000)[4]["invalid_action"]) < 130
    with pytest.raises(TypeError, match="must be a str"):
        env.step(1)


def test_the_original_parser() -> None:
    env = gym.make(ID, parser="original", rollback=False)
    env.reset(seed=17)
    assert "invalid_action" not in env.step("<think>a</think><action>setup: down</action>")[4]
    assert "invalid_action" in env.step("up and away")[4]
    assert original("<action>setup: down</action>") == "up"
    assert original(" Down ") == "down"
    assert original("go <action>left") == "still"


def test_numbers() -> None:
    env = gym.make(ID, actions="discrete", max_turns=5)
    assert env.action_space == spaces.Discrete(4 + 5)
    _, info = env.reset(seed=17)
    assert info["action_mask"].tolist() == [1] * 4 + [0] * 5
    info = env.step(np.int64(1))[4]
    assert info["action_mask"].tolist() == [1] * 5 + [0] * 4
    assert env.get_wrapper_attr("action_masks")().tolist() == info["action_mask"].tolist()
    base = SokobanEnv(actions="discrete")
    base.reset(seed=0)
    assert base.action_masks().tolist() == [1, 1, 1, 1]
    for wrong, error in ((9, ValueError), (-1, ValueError), (1.0, TypeError), (True, TypeError), ("up", TypeError)):
        with pytest.raises(error, match="An action must be"):
            base.step(wrong)
    for wrong in (np.array([1]), np.array(1.0), np.array(True)):
        with pytest.raises(TypeError, match="An action must be"):
            base.step(wrong)
    assert "invalid_action" not in base.step(np.array(1))[4]  # what a policy of stable-baselines3 predicts
    assert "invalid_action" not in env.step(np.array(1))[4]
    with pytest.raises(TypeError, match="Only Discrete"):
        SokobanEnv().action_masks()


def test_arrays() -> None:
    env = gym.make(ID, observation="array", size=(6, 8))
    observation, _ = env.reset(seed=4)
    base = env.unwrapped
    assert isinstance(base, SokobanEnv)
    assert env.observation_space == spaces.Box(0, 1, (6, 8, 4), np.uint8)
    walls, targets, boxes, player = (observation[..., channel] for channel in range(4))
    assert (targets.sum(), boxes.sum(), player.sum()) == (2, 2, 1)
    assert not (walls & (targets | boxes | player)).any()
    assert np.flatnonzero(player).tolist() == [base.state.player]
    assert sum(1 << int(cell) for cell in np.flatnonzero(boxes)) == base.state.boxes
    assert sum(1 << int(cell) for cell in np.flatnonzero(walls == 0)) == base.level.floor


def test_a_snapshot_of_another_kind_of_room_is_refused() -> None:
    taken = gym.make(ID)
    taken.reset(seed=1)
    snapshot = rollback_gym.snapshot(taken)
    other = gym.make(ID, boxes=1)
    with pytest.raises(SnapshotMismatch, match="was made with"):
        rollback_gym.restore(other, Snapshot.from_bytes(snapshot.to_bytes()))
    for options, says in (
        ({"layout": "plain"}, "layout"),
        ({"observation": "array"}, "observation"),
        ({"max_turns": 29}, "max_turns"),
        ({"dead_end": 99}, "limit"),
        ({"dead_end": False}, "DeadEnd"),
    ):
        with pytest.raises(SnapshotMismatch, match=says):
            rollback_gym.restore(gym.make(ID, **options), snapshot)


def test_a_snapshot_from_a_file_of_levels(collection: str) -> None:
    env = gym.make(ID, data=collection)
    env.reset(seed=1)
    snapshot = Snapshot.from_bytes(rollback_gym.snapshot(env).to_bytes())
    again = gym.make(ID, data=collection)
    rollback_gym.restore(again, snapshot)
    assert rollback_gym.snapshot(again) == snapshot
    Path(collection).write_text(FILE.replace("#@ $ .#", "# @$ .#").replace("#@$ .#", "#@ $.#"))
    from rollback_gym.envs.sokoban.data import _rooms

    _rooms.cache_clear()
    with pytest.raises(SnapshotMismatch, match="has other content"):
        rollback_gym.restore(gym.make(ID, data=collection), snapshot)


# --- Dead ends ------------------------------------------------------------------------------------------------------


@pytest.fixture
def trap(tmp_path: Path) -> str:
    path = tmp_path / "trap.txt"
    path.write_text("######\n#    #\n# $@ #\n#   .#\n######\n")
    return str(path)


def test_a_dead_position_loses(trap: str) -> None:
    env = gym.make(ID, data=trap)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step("left")
    assert (reward, terminated, truncated, info["won"], info["dead_end"]) == (-0.1, True, False, False, True)
    assert str(env.unwrapped.outcome) == "lost"  # type: ignore[attr-defined]
    with pytest.raises(gym.error.ResetNeeded, match="over"):
        env.step("right")


def test_and_can_be_gone_back_from(trap: str) -> None:
    env = gym.make(ID, data=trap, revive=True, oracle=True)
    start, _ = env.reset(seed=0)
    _, _, terminated, _, info = env.step("left")
    assert not terminated
    assert info["failed"]
    assert info["admissible_actions"] == ()
    assert info["rollback_targets"] == (0,)
    snapshot = rollback_gym.snapshot(env)
    again, reward, terminated, _, info = env.step("rollback(0)")
    assert (again, reward, terminated) == (start, 0.1, False)
    assert info["oracle"]["justified"]
    assert "failed" not in info
    rollback_gym.restore(env, snapshot)
    assert env.step("up")[2]


def test_without_a_dead_end_play_goes_on(trap: str) -> None:
    env = gym.make(ID, data=trap, dead_end=False)
    env.reset(seed=0)
    assert not env.step("left")[2]


def test_a_limit(trap: str) -> None:
    for limit, over in ((3, True), (np.int64(3), True), (6, False), (True, False)):
        env = gym.make(ID, data=trap, dead_end=limit, oracle=True)
        env.reset(seed=0)
        _, _, terminated, _, info = env.step("up")
        assert (terminated, info["oracle"]["distance"] > 3) == (over, True)


def test_what_is_not_admissible_is_not_judged(trap: str) -> None:
    """The original looks for a plan after moves only."""
    env = gym.make(ID, data=trap, dead_end=0)
    env.reset(seed=0)
    assert not env.step("still")[2]
    assert env.step("up")[2]


def test_the_last_turn_truncates(trap: str) -> None:
    env = gym.make(ID, data=trap, max_turns=1)
    env.reset(seed=0)
    _, _, terminated, truncated, info = env.step("left")
    assert (terminated, truncated, "dead_end" in info) == (False, True, False)


def test_a_dead_end_that_takes_too_long_to_find_out(trap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sokoban, "MOST_ENTRIES", 0)
    monkeypatch.setattr(sokoban, "_kept", type(sokoban._kept)())
    monkeypatch.setattr(sokoban, "_last", (None, None))
    monkeypatch.setattr(sokoban_search, "MOST_EFFORT", 30)
    env = gym.make(ID, data=trap)
    env.reset(seed=0)
    with pytest.raises(OracleBudgetExceeded, match=r"among [0-9]+ states.*dead_end=False"):
        env.step("up")
    with pytest.raises(ResetNeeded):
        env.step("up")
    env.reset()


def test_a_dead_end_needs_an_oracle() -> None:
    from tests.toy import ToyEnv

    with pytest.raises(TypeError, match="no oracle"):
        DeadEnd(ToyEnv())


def test_rooms_that_can_be_won_are_never_ended() -> None:
    env = gym.make(ID)
    for seed in range(100):
        env.reset(seed=seed)
        base = env.unwrapped
        assert isinstance(base, SokobanEnv)
        for word in sokoban.plan(base.level, base.state):
            _, _, terminated, _, info = env.step(word)
        assert terminated
        assert info["won"]
