"""What once went wrong, or would have: found by trying to break it."""

import copy
import pickle
import time
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TransformObservation

import rollback_gym
from rollback_gym import Snapshot, SnapshotCorrupt, SnapshotMismatch
from rollback_gym.core.codec import pack
from rollback_gym.core.spaces import AnyText
from rollback_gym.wrappers import OracleInfo, Rollback
from tests.core.test_snapshot import some_bytes, with_checksum
from tests.toy import ArrayToyEnv, ToyEnv, ToySimulator

ID = "Rollback-ALFWorld-v0"


def test_endless_blanks_take_no_time() -> None:
    env = Rollback(ToyEnv())
    env.reset(seed=0)
    began = time.process_time()
    for text in ("rollback(0," + "\n" * 50_000, "rollback(0" + " " * 50_000, "rollback(0," + " ," * 50_000):
        assert "is not of the form" in env.step(text)[4]["invalid_action"]
    assert time.process_time() - began < 5


def test_lone_surrogates_are_text_too() -> None:
    env = Rollback(ToyEnv())
    env.reset(seed=0)
    env.step("dance \ud800")
    here = rollback_gym.snapshot(env)
    assert Snapshot.from_bytes(here.to_bytes()) == here == pickle.loads(pickle.dumps(here))


def test_copies_under_an_oracle_at_any_depth() -> None:
    env = gym.make(ID, max_turns=2000, oracle=True)
    env.reset(seed=0)
    for _ in range(700):
        env.step("look")
    env.step("rollback(0)")
    env.step("look")
    for twin in (*rollback_gym.fork(env, 1), pickle.loads(pickle.dumps(env))):
        assert rollback_gym.snapshot(twin) == rollback_gym.snapshot(env)
        assert twin.step("look")[4]["oracle"] == copy.deepcopy(env).step("look")[4]["oracle"]


@pytest.mark.parametrize("below", [True, False])
def test_wrappers_of_observations_see_what_is_restored(below: bool) -> None:
    def prefixed(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        return TransformObservation(env, lambda observation: "> " + observation, AnyText())

    env = Rollback(prefixed(ToyEnv())) if below else prefixed(Rollback(ToyEnv()))
    start, _ = env.reset(seed=0)
    first = env.step("right")[0]
    here = rollback_gym.snapshot(env)
    assert env.step("rollback(0)")[0] == start
    assert env.unwrapped.render_mode is None
    assert rollback_gym.snapshot(env).observation == ""
    assert rollback_gym.restore(env, here)[0] == first
    assert rollback_gym.restore(env, Snapshot.from_bytes(here.to_bytes()))[0] == first
    assert here.observation == first.removeprefix("> ")


class NumpySimulator(ToySimulator):
    """A game whose author did not care for plain types."""

    def step(self, level: Any, state: Any, action: Any) -> Any:
        done = super().step(level, state, action)
        return done._replace(terminated=np.bool_(done.terminated), reward=np.float32(done.reward))


class NumpyToyEnv(ToyEnv):
    name = "numpy-toy"
    simulator = NumpySimulator()


def test_numpy_values_from_a_game_are_written_and_read() -> None:
    env = Rollback(NumpyToyEnv())
    env.reset(seed=0)
    _, reward, terminated, *_ = env.step("right")
    assert type(reward) is float
    assert type(terminated) is bool
    here = rollback_gym.snapshot(env)
    rollback_gym.restore(env, Snapshot.from_bytes(here.to_bytes()))
    assert pickle.loads(pickle.dumps(env)).history == env.history


def test_an_action_that_is_changed_later_changes_no_snapshot() -> None:
    env = Rollback(ToyEnv(actions="multi"))
    env.reset(seed=0)
    action = np.array([1, 0], np.int8)
    env.step((0, action))
    here = rollback_gym.snapshot(env)
    data = here.to_bytes()
    action[:] = 9
    assert here.to_bytes() == data


def test_numbers_are_the_same_actions_whoever_counts() -> None:
    one, two = Rollback(ToyEnv(actions="discrete")), Rollback(ToyEnv(actions="discrete"))
    one.reset(seed=0)
    two.reset(seed=0)
    one.step(1)
    two.step(np.int64(1))
    assert rollback_gym.snapshot(one) == rollback_gym.snapshot(two)


_FIELDS = "env settings level digest state random turn outcome observation locator layers".split()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("settings", (("max_turns", np.array([1, 2])),)),
        ("settings", (("max_turns", 10**2000),)),
        ("locator", (10**2000,)),
        ("turn", 10**2000),
        ("random", (("state", ("array", "O", (1,))),)),
        ("random", ("array", "O", (1,))),
        ("observation", 5),
    ],
)
def test_hostile_fields_are_refused(field: str, value: Any) -> None:
    import zlib

    from rollback_gym.core.codec import unpack

    fields = dict(zip(_FIELDS, unpack(zlib.decompress(some_bytes()[24:])), strict=True))
    env = Rollback(ToyEnv())
    data = with_checksum(pack((*{**fields, field: value}.values(),)))

    def read() -> None:
        snapshot = Snapshot.from_bytes(data)
        assert repr(snapshot)
        rollback_gym.restore(env, snapshot)

    with pytest.raises((SnapshotCorrupt, SnapshotMismatch)):
        read()


def test_rollbacks_that_did_not_happen_are_not_counted() -> None:
    import zlib

    from rollback_gym.core.codec import unpack

    *fields, layers = unpack(zlib.decompress(some_bytes()[24:]))
    ((name, (kind, settings, flat, place, _)),) = layers
    forged = pack((*fields, ((name, (kind, settings, flat, place, 99)),)))
    with pytest.raises(SnapshotMismatch, match="99 are counted"):
        rollback_gym.restore(Rollback(ToyEnv()), Snapshot.from_bytes(with_checksum(forged)))


def test_without_its_history_an_episode_has_no_start_to_go_back_to() -> None:
    env = Rollback(ToyEnv(), targets="start")
    env.reset(seed=0)
    env.step("right")
    data = rollback_gym.snapshot(env).to_bytes(history=False)
    rollback_gym.restore(env, Snapshot.from_bytes(data))
    assert env.step("take")[4]["rollback_targets"] == ()


def test_an_episode_held_open_keeps_its_history() -> None:
    env = Rollback(ToyEnv(), revive=True)
    env.reset(seed=0)
    env.step("left")
    env.step("left")
    with pytest.raises(ValueError, match="keep that"):
        rollback_gym.snapshot(env).to_bytes(history=False)


def test_the_oracle_must_see_rollbacks() -> None:
    with pytest.raises(TypeError, match="OracleInfo must be outside Rollback"):
        Rollback(OracleInfo(gym.make(ID, rollback=False)))
    with pytest.raises(TypeError, match="already"):
        Rollback(gym.make(ID))


def test_chains_of_short_rollbacks_are_counted() -> None:
    env = gym.make(ID, oracle=True, targets="previous", max_turns=200)
    _, info = env.reset(seed=0)
    for turn in range(150):
        actions, targets = info["admissible_actions"], info["rollback_targets"]
        back = targets and turn % 5 in (3, 4)
        *_, terminated, _, info = env.step(f"rollback({targets[0]})" if back else actions[turn * 7 % len(actions)])
        assert info["oracle"]["regret"] >= 0
        assert bool(back) is ("rollback" in info)
        if terminated:
            break


def test_restoring_before_any_reset_needs_no_level_but_its_own() -> None:
    env = gym.make(ID)
    env.reset(seed=0)
    here = rollback_gym.snapshot(env)
    other = gym.make(ID, split="valid_unseen")
    assert rollback_gym.restore(other, here)[1]["level"] == here.level.id


def test_a_failed_reset_leaves_the_episode_alone() -> None:
    env = gym.make(ID, disable_env_checker=True)
    env.reset(seed=0)
    here = rollback_gym.snapshot(env)
    with pytest.raises(rollback_gym.DataError):
        env.reset(seed=9, options={"level": "nope"})
    assert rollback_gym.snapshot(env) == here


@pytest.mark.parametrize("options", [{"refund": "no"}, {"revive": "false"}, {"revive": 1}])
def test_words_are_no_flags(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be True or False"):
        Rollback(ArrayToyEnv(), **options)


def test_numpy_numbers_of_forks() -> None:
    env = Rollback(ToyEnv())
    env.reset(seed=0)
    assert len(rollback_gym.fork(env, np.int64(2))) == 2  # type: ignore[arg-type]
