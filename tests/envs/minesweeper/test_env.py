"""The environment: its options, and the laws that every environment keeps."""

import json
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis.stateful import run_state_machine_as_test

import rollback_gym
from rollback_gym import DataError, Snapshot, SnapshotMismatch
from rollback_gym.envs.minesweeper.env import PRESETS, MineSweeperEnv, levels
from rollback_gym.oracles import for_env
from rollback_gym.wrappers import Rollback
from tests.laws import law_settings, laws_of

ID = "Rollback-MineSweeper-v0"


def text(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> str:
    actions = info["admissible_actions"]
    if choice % 7 == 0 or not actions:
        return ("(1, 1)", "(9, 9)", "nothing", "flag (2, 2)")[choice % 4]
    return str(actions[choice % len(actions)])


def discrete(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> int:
    return choice % int(env.unwrapped.action_space.n)  # type: ignore[attr-defined]


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "text": ({}, {}, text),
    "revive": ({"mines": 8, "max_turns": 12}, {"revive": True, "max_rollbacks": 3}, text),
    "flags": ({"rows": 3, "columns": 4, "mines": 2, "flags": True}, {"revive": True}, text),
    "player": ({"rows": 4, "opening": "player", "first_click": "empty", "flags": True}, {"targets": "previous"}, text),
    "any": ({"opening": "player", "first_click": "any", "mines": 9}, {"revive": True, "targets": "start"}, text),
    "original": ({"mines": 1, "compat": "original"}, {"revive": True}, text),
    "discrete": ({"mines": 6, "actions": "discrete"}, {"revive": True}, discrete),
    "array": ({"observation": "array", "actions": "discrete", "flags": True}, {"revive": True}, discrete),
    "large": ({"preset": "intermediate", "max_turns": 30}, {"revive": True}, text),
}


@pytest.mark.parametrize("case", CASES)
def test_laws(case: str) -> None:
    made, options, act = CASES[case]
    laws = laws_of(lambda: Rollback(MineSweeperEnv(**made), cost=0.25, **options), act, cost=0.25)
    run_state_machine_as_test(laws, settings=law_settings(15, 25))


def test_the_published_setting_is_the_default() -> None:
    env = gym.make(ID)
    observation, info = env.reset(seed=0)
    base = env.unwrapped
    assert isinstance(base, MineSweeperEnv)
    assert (base.level.grid.rows, base.level.grid.columns, base.level.mines.bit_count()) == (6, 6, 3)
    assert base.max_turns == 15
    assert observation.startswith("Row 1: ")
    assert info["rollback_targets"] == ()
    assert "6 rows and 6 columns that hides 3 mines" in info["task"]


def test_winning_and_losing() -> None:
    env = gym.make(ID, oracle=True)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        base: Any = env.unwrapped
        plan = for_env(env).plan(base.level, base.state)
        assert len(plan) == info["oracle"]["distance"]
        for action in plan:
            _, reward, terminated, _, info = env.step(base.write_action(action))
            assert info["oracle"]["grade"] == "optimal"
        assert (reward, terminated, info["won"]) == (10.0, True, True)
        assert info["admissible_actions"] == ()
    env.reset(seed=1)
    mine = next(click for cell, click in enumerate(base.level.grid.clicks) if base.level.mines >> cell & 1)
    observation, reward, terminated, truncated, info = env.step(mine)
    assert (reward, terminated, truncated, info["won"]) == (-0.1, True, False, False)
    assert "*" in observation
    assert info["oracle"]["grade"] == "fatal"


def test_a_mine_can_be_taken_back() -> None:
    env = gym.make(ID, revive=True)
    start, _ = env.reset(seed=1)
    base: Any = env.unwrapped
    mine = next(click for cell, click in enumerate(base.level.grid.clicks) if base.level.mines >> cell & 1)
    _, _, terminated, _, info = env.step(mine)
    assert not terminated
    assert info["failed"]
    assert info["admissible_actions"] == ()
    observation, reward, terminated, _, info = env.step("rollback(0)")
    assert (observation, reward, terminated) == (start, 0.1, False)


@pytest.mark.parametrize("flags", [False, True])
def test_discrete_actions_are_cells_row_by_row(flags: bool) -> None:
    env = MineSweeperEnv(actions="discrete", flags=flags)
    assert env.action_space == spaces.Discrete(72 if flags else 36)
    _, info = env.reset(seed=0)
    names = (*env.level.grid.clicks, *env.level.grid.flaggings)
    assert (names[0], names[7], names[35]) == ("(1, 1)", "(2, 2)", "(6, 6)")
    for _ in range(10):
        mask = info["action_mask"]
        assert mask.dtype == np.int8
        assert mask.tolist() == env.action_masks().tolist()
        assert {name for name, legal in zip(names, mask, strict=False) if legal} == set(info["admissible_actions"])
        codes = mask.nonzero()[0]
        if not len(codes):
            break
        assert env.write_action(names[codes[-1]]) == codes[-1]
        _, _, terminated, truncated, info = env.step(codes[-1])
        assert "invalid_action" not in info
        if terminated or truncated:
            break
    env.reset(seed=0)
    for wrong in ("(1, 1)", 1.0, True, None):
        with pytest.raises(TypeError, match="whole number"):
            env.step(wrong)
    with pytest.raises(ValueError, match="from 0 to"):
        env.step(72)
    with pytest.raises(TypeError, match="Only discrete"):
        MineSweeperEnv().action_masks()


def test_a_masked_player_finds_every_action_legal() -> None:
    env = gym.make(ID, observation="array", actions="discrete", revive=True, mines=5, disable_env_checker=True)
    rng = np.random.default_rng(0)
    rolled_back = 0
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            assert env.observation_space.contains(observation)
            mask = env.get_wrapper_attr("action_masks")()
            assert (mask == info["action_mask"]).all()
            observation, _, terminated, truncated, info = env.step(int(rng.choice(mask.nonzero()[0])))
            assert "invalid_action" not in info
            rolled_back += "rollback" in info
            over = terminated or truncated
    assert rolled_back


def test_the_loose_parser() -> None:
    env = gym.make(ID, parser="original")
    env.reset(seed=0)
    base: Any = env.unwrapped
    best = for_env(env).optimal_actions(base.level, base.state)[0]
    _, _, _, _, info = env.step(f"<think>hm</think> <action>I open {best}, not (1, 1)</action>")
    assert "invalid_action" not in info
    _, reward, _, _, info = env.step(best)
    assert reward == -1.0
    assert "(-1, -1)" in info["invalid_action"]
    _, _, _, _, info = env.step("rollback(0)")
    assert info["rollback"]["target"] == 0
    with pytest.raises(ValueError, match="parser='original'"):
        MineSweeperEnv(parser="original", flags=True)


def test_presets_and_free_sizes() -> None:
    for name, preset in PRESETS.items():
        env = MineSweeperEnv(preset=name)
        env.reset(seed=0)
        assert env.level.mines.bit_count() == preset.mines
        assert env.max_turns == (preset.max_turns or env.level.layout.safe.bit_count())
    assert MineSweeperEnv(rows=8, columns=4, mines=5).max_turns == 27
    assert MineSweeperEnv(rows=8, max_turns=9).max_turns == 9
    for bad in ({"preset": "easy"}, {"observation": "image"}, {"actions": "xy"}, {"parser": "x"}, {"compat": "x"}):
        with pytest.raises(ValueError, match="must be one of"):
            MineSweeperEnv(**bad)  # type: ignore[arg-type]
    for option in ("first_click", "split"):
        with pytest.raises(ValueError, match="must be one of"):
            MineSweeperEnv(**{option: "x"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="36 mines are too many"):
        gym.make(ID, mines=36)
    with pytest.raises(TypeError, match="Unknown options size"):
        gym.make(ID, size=3)


def test_choosing_levels() -> None:
    env = gym.make(ID)
    assert env.reset(seed=3)[1]["level"] == "train/3" != env.reset()[1]["level"]
    drawn = env.reset(seed=70_000)[1]["level"]
    assert drawn.startswith("train/")
    assert drawn == env.reset(seed=70_000)[1]["level"]
    assert gym.make(ID, split="valid").reset(seed=70_000)[1]["level"] == "valid/70000"
    assert env.reset(options={"level": "train/7"})[1]["level"] == "train/7"
    named, _ = env.reset(options={"level": "train/7@2,5"})
    assert named == env.reset(options={"level": "train/7", "opening": [2, 5]})[0]
    assert env.reset(options={"opening": (2, 5)})[1]["level"].endswith("@2,5")
    assert gym.make(ID, level="train/7@2,5").reset()[0] == named
    assert gym.make(ID, split="valid").reset(seed=0)[1]["level"].startswith("valid/")
    assert rollback_gym.levels(ID, split="train")[7] == "train/7"
    with pytest.raises(ValueError, match="leave data out"):
        rollback_gym.levels(ID, data="x")
    with pytest.raises(ValueError, match="too many"):
        levels(mines=40)
    with pytest.raises(DataError, match="no level"):
        env.reset(options={"level": "train/seven"})
    with pytest.raises(TypeError, match="a str"):
        env.reset(options={"level": 7})
    with pytest.raises(ValueError, match="Unknown reset options"):
        env.reset(options={"seed": 7})
    with pytest.raises(ValueError, match="An opening is"):
        env.reset(options={"opening": (0, 5)})


def test_numbers_of_numpy() -> None:
    """As they come from arrays and policies."""
    six, three = np.int64(6), np.int32(3)
    env = gym.make(ID, rows=six, columns=six, mines=three, opening=np.array([1, 2]), max_attempts=six, max_turns=six)
    plain = gym.make(ID, opening=(1, 2), max_turns=6)
    assert np.array_equal(env.reset(seed=7)[0], plain.reset(seed=7)[0])
    assert Snapshot.from_bytes(rollback_gym.snapshot(env).to_bytes()) == rollback_gym.snapshot(plain)
    assert env.reset(seed=7, options={"opening": np.array([2, 2])})[1]["level"] == "train/7@2,2"
    assert env.reset(seed=True)[1]["level"] == "train/1"
    for options in ({}, {"rollback": False}):
        env = gym.make(ID, actions="discrete", disable_env_checker=True, **options)
        env.reset(seed=0)
        env.step(np.array(1))  # what a policy of stable-baselines3 predicts
        for wrong in (np.array(1.7), np.array(True), np.array("1"), np.array([1])):
            with pytest.raises(TypeError):
                env.step(wrong)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"flags": "no"}, ValueError, "flags must be True or False"),
        ({"opening": 5}, ValueError, "An opening is"),
        ({"opening": None}, ValueError, "An opening is"),
        ({"opening": (True, 1)}, ValueError, "An opening is"),
        ({"opening": {1, 2}}, ValueError, "An opening is"),
        ({"level": 3}, TypeError, "named by its id"),
        ({"min_distance": "3"}, ValueError, "min_distance must be a number of turns"),
        ({"max_distance": [3]}, ValueError, "max_distance must be a number of turns"),
        ({"min_distance": True}, ValueError, "min_distance must be a number of turns"),
    ],
)
def test_options_of_a_wrong_type(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        gym.make(ID, **options)


def test_what_is_endless_is_read_in_no_time() -> None:
    """Models fall into repeating blanks and digits."""
    long = 200_000
    env = gym.make(ID, disable_env_checker=True)
    env.reset(seed=0)
    for start in ("", "(", "flag", "(3,", "(3, 4"):
        assert len(env.step(start + " " * long + "x")[4]["invalid_action"]) < 130
    for said in (" " * long, "(" + "1" * long, "x" * long):
        assert len(env.step(said)[4]["invalid_action"]) < 130
    env = gym.make(ID, parser="original", disable_env_checker=True)
    env.reset(seed=0)
    for said in ("(" + "1" * long + ", 3)", "(3, " + "1" * long + ")", "(" * long, "(1 " * long, "(1" + " " * long):
        assert "(-1, -1)" in env.step(f"<action>{said}</action>")[4]["invalid_action"]


def test_the_largest_board_has_snapshots() -> None:
    env = gym.make(ID, rows=80, columns=100, mines=1, disable_env_checker=True)
    env.reset(seed=0)
    snapshot = rollback_gym.snapshot(env)
    assert env.unwrapped.state.opened.bit_length() > 7_900  # type: ignore[attr-defined]
    assert Snapshot.from_bytes(snapshot.to_bytes()) == snapshot


def test_levels_of_a_distance() -> None:
    env = gym.make(ID, min_distance=6, max_distance=8, oracle=True)
    for seed in range(20):
        assert 6 <= env.reset(seed=seed)[1]["oracle"]["distance"] <= 8
    with pytest.raises(DataError, match="none has L between"):
        gym.make(ID, min_distance=40, max_attempts=20).reset(seed=0)
    with pytest.raises(ValueError, match="at most max_distance"):
        gym.make(ID, min_distance=4, max_distance=3)
    with pytest.raises(ValueError, match="no use"):
        gym.make(ID, level="train/3", max_distance=3)


def test_a_snapshot_goes_where_it_belongs() -> None:
    env = gym.make(ID)
    env.reset(seed=1)
    env.step("(1, 1)")
    data = rollback_gym.snapshot(env).to_bytes()
    assert len(data) < 1000
    other = gym.make(ID, split="valid")
    rollback_gym.restore(other, Snapshot.from_bytes(data))
    assert other.unwrapped.state_digest() == env.unwrapped.state_digest()  # type: ignore[attr-defined]
    changes: tuple[dict[str, Any], ...] = (
        {"mines": 4, "max_turns": 15},
        {"flags": True},
        {"compat": "original"},
        {"observation": "array"},
        {"max_turns": 9},
    )
    for options in changes:
        with pytest.raises(SnapshotMismatch, match=next(iter(options))):
            rollback_gym.restore(gym.make(ID, **options), Snapshot.from_bytes(data))
    assert json.loads(env.spec.to_json())["id"] == ID  # type: ignore[union-attr]


def test_the_same_in_every_process() -> None:
    program = (
        "import gymnasium as gym, rollback_gym\n"
        "env = gym.make('Rollback-MineSweeper-v0', flags=True)\n"
        "print(env.reset(seed=5), env.step('flag (1, 1)'), env.unwrapped.state_digest())"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "123")
    ]
    assert runs[0] == runs[1]
    assert b"train/" in runs[0]


def test_gymnasium_is_content() -> None:
    from gymnasium.utils.env_checker import check_env

    for options in ({"rollback": False}, {"rollback": False, "observation": "array", "actions": "discrete"}):
        check_env(gym.make(ID, **options).unwrapped, skip_render_check=True)


def test_vectors() -> None:
    envs = gym.make_vec(
        ID, num_envs=3, vectorization_mode="sync", observation="array", actions="discrete", rollback=False
    )
    boards, _ = envs.reset(seed=0)
    assert boards.shape == (3, 6, 6, 12)
    boards, *_ = envs.step(np.array([0, 1, 2]))
    assert boards.sum() == 3 * 36
    envs.close()
