"""The shell: turns, endings, options, and getting on with Gymnasium."""

import copy
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import rollback_gym
from rollback_gym.core.spaces import AnyText
from rollback_gym.wrappers.rollback import Rollback
from tests.toy import ToyEnv


def make_toy(path: Any = None, **options: Any) -> gym.Env[Any, Any]:
    return Rollback(ToyEnv(**options))


@pytest.fixture
def toy_id() -> Iterator[str]:
    gym.register("Toy-v0", entry_point=f"{__name__}:make_toy")
    yield "Toy-v0"
    del gym.registry["Toy-v0"]


def test_the_turn_that_reaches_the_cap_truncates_and_is_no_success() -> None:
    env = ToyEnv(max_turns=2)
    env.reset(seed=0)
    assert env.step("take")[2:4] == (False, False)
    *_, terminated, truncated, info = env.step("take")
    assert (terminated, truncated, info["won"]) == (False, True, False)


def test_a_win_on_the_last_turn_terminates() -> None:
    env = ToyEnv(max_turns=3)
    env.reset(options={"level": 3})
    env.step("right")
    env.step("right")
    *_, terminated, truncated, info = env.step("right")
    assert (terminated, truncated, info["won"]) == (True, False, True)


@pytest.mark.parametrize("wrap", [lambda env: env, Rollback])
def test_acting_without_a_running_episode_is_a_programming_error(wrap: Any) -> None:
    env = wrap(ToyEnv(max_turns=1))
    for do in (lambda: env.step("take"), lambda: rollback_gym.snapshot(env)):
        with pytest.raises(gym.error.ResetNeeded, match="reset"):
            do()
    env.reset()
    env.step("take")
    with pytest.raises(gym.error.ResetNeeded, match=r"over \(truncated\)"):
        env.step("take")


@pytest.mark.parametrize("max_turns", [0, -1, 1.5, True, "9", None])
def test_max_turns_must_be_a_whole_number(max_turns: Any) -> None:
    with pytest.raises(ValueError, match="max_turns must be a whole number"):
        ToyEnv(max_turns=max_turns)
    assert ToyEnv(max_turns=np.int64(3)).max_turns == 3


def test_unknown_render_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="ansi"):
        ToyEnv(render_mode="human")


def test_the_same_seed_gives_the_same_levels_and_a_snapshot_remembers_the_next() -> None:
    env, other = ToyEnv(), ToyEnv()
    env.reset(seed=3)
    here = rollback_gym.snapshot(env)
    levels = [env.reset()[1]["level"] for _ in range(8)]
    other.reset(seed=3)
    assert [other.reset()[1]["level"] for _ in range(8)] == levels
    rollback_gym.restore(other, rollback_gym.Snapshot.from_bytes(here.to_bytes()))
    assert [other.reset()[1]["level"] for _ in range(8)] == levels
    assert len(set(levels)) > 1


def test_drawing_from_the_generator_is_part_of_a_snapshot() -> None:
    env = ToyEnv()
    env.reset(seed=3)
    env.np_random.random()
    here = rollback_gym.snapshot(env)
    drawn = env.np_random.random()
    assert rollback_gym.snapshot(env) != here
    rollback_gym.restore(env, here)
    assert env.np_random.random() == drawn


def test_texts_may_be_anything() -> None:
    space = AnyText()
    assert all(space.contains(text) for text in ("", "é\n步\x00", "x" * 10**6, space.sample()))
    assert not any(space.contains(thing) for thing in (None, 3, b"x", ["x"]))
    assert space == AnyText()
    assert space != gym.spaces.Text(64)
    assert [AnyText(seed=5).sample() for _ in range(2)] == [AnyText(seed=5).sample() for _ in range(2)]


def test_gymnasiums_checker_finds_nothing(toy_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(toy_id).unwrapped, skip_render_check=True)
        check_env(ToyEnv(), skip_render_check=True)


def test_vector_environments(toy_id: str) -> None:
    env = gym.make_vec(toy_id, num_envs=2, vectorization_mode="sync")
    observations, _ = env.reset(seed=1)
    assert list(observations) == ["", ""]
    env.step(("right", "take"))
    observations, rewards, *_, info = env.step(("rollback(0)", "right"))
    assert observations[0] == ""
    assert rewards.tolist() == [-0.1, 0.1]
    assert info["action_index"].tolist() == [2, 2]
    assert info["rollback"]["target"][0] == 0
    env.close()


def test_async_vector_environments_work_or_say_what_to_pass() -> None:
    with pytest.raises(TypeError, match="shared_memory=False"):
        AsyncVectorEnv([make_toy, make_toy])
    env = AsyncVectorEnv([make_toy, make_toy], shared_memory=False)
    sync = SyncVectorEnv([make_toy, make_toy])
    try:
        assert env.reset(seed=1)[0] == sync.reset(seed=1)[0]
        assert env.step(("right", "take"))[0] == sync.step(("right", "take"))[0] == ("À gauche:\na pit.", "a coin?\r\n")
    finally:
        env.close()


def test_a_time_limit_from_outside_is_put_back_too(toy_id: str) -> None:
    env = gym.make(toy_id, max_episode_steps=4)
    env.reset(seed=0)
    env.step("take")
    here = rollback_gym.snapshot(env)
    data = here.to_bytes()
    for _ in range(2):
        assert not env.step("take")[3]
    assert env.step("take")[3]
    fresh = gym.make(toy_id, max_episode_steps=4)
    for target, given in ((env, here), (fresh, rollback_gym.Snapshot.from_bytes(data))):
        rollback_gym.restore(target, given)
        assert [target.step("take")[3] for _ in range(3)] == [False, False, True]
    with pytest.raises(rollback_gym.SnapshotMismatch, match="max_episode_steps=4"):
        rollback_gym.restore(gym.make(toy_id, max_episode_steps=5), here)


def test_a_snapshot_from_inside_leaves_no_stale_time_limit(toy_id: str) -> None:
    env = gym.make(toy_id, max_episode_steps=4)
    env.reset(seed=0)
    inside = env.get_wrapper_attr("snapshot")()
    for _ in range(3):
        env.step("take")
    rollback_gym.restore(env, inside)
    assert [env.step("take")[3] for _ in range(4)] == [False, False, False, True]


def test_specs_can_be_written_as_json(toy_id: str) -> None:
    env = gym.make(toy_id, path=Path("some/where"))
    assert env.spec is not None
    assert '"path": "some/where"' in env.unwrapped.spec.to_json()


def test_forks_go_their_own_way() -> None:
    env = make_toy()
    env.reset(seed=0)
    env.step("right")
    here = rollback_gym.snapshot(env)
    one, two = rollback_gym.fork(env, 2)
    one.step("take")
    two.step("left")
    assert rollback_gym.snapshot(env) == here
    assert rollback_gym.snapshot(one) != rollback_gym.snapshot(two)
    assert rollback_gym.fork(env, 0) == []
    with pytest.raises(ValueError, match="n must be"):
        rollback_gym.fork(env, -1)


def test_things_without_snapshots_are_named() -> None:
    with pytest.raises(TypeError, match="CartPoleEnv has no snapshots"):
        rollback_gym.snapshot(gym.make("CartPole-v1"))
    with pytest.raises(TypeError, match=r"wrappers\.Snapshots"):
        Rollback(gym.make("CartPole-v1"))
    with pytest.raises(TypeError, match="from_bytes"):
        rollback_gym.restore(make_toy(), b"bytes")  # type: ignore[arg-type]


def test_a_made_environment_survives_pickle_in_mid_episode(toy_id: str) -> None:
    env = gym.make(toy_id, max_episode_steps=9)
    env.reset(seed=2)
    env.step("right")
    for twin in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert rollback_gym.snapshot(twin) == rollback_gym.snapshot(env)
        assert twin.step("rollback(0)")[0] == ""
