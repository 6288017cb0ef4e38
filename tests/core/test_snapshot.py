"""Snapshots as bytes: whole in any process, and harmless whatever the bytes are."""

import contextlib
import zlib
from hashlib import blake2b
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollback_gym
from rollback_gym import Snapshot, SnapshotCorrupt, SnapshotMismatch, SnapshotNotPortable
from rollback_gym.core.codec import pack, unpack
from rollback_gym.wrappers.rollback import Rollback
from tests.toy import ToyEnv

_HEAD = len(b"RBGSNAP") + 1 + 16


def played(*actions: Any, **options: Any) -> gym.Env[Any, Any]:
    env = Rollback(ToyEnv(), **options)
    env.reset(seed=4)
    for action in actions:
        env.step(action)
    return env


def some_bytes() -> bytes:
    return rollback_gym.snapshot(played("right", "take", "rollback(1, 'why')", "right", "rollback(77)")).to_bytes()


def with_checksum(plain: bytes) -> bytes:
    body = zlib.compress(plain)
    return b"RBGSNAP\x01" + blake2b(body, digest_size=16).digest() + body


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(plain_values)
def test_codec_gives_back_what_went_in(value: Any) -> None:
    assert unpack(pack(value)) == value
    assert type(unpack(pack(value))) is type(value)


@pytest.mark.parametrize(
    "array", [np.zeros((2, 0, 3), np.int8), np.arange(6).reshape(2, 3), np.array(2.5), np.array(["à", ""])]
)
def test_codec_keeps_arrays(array: np.ndarray[Any, Any]) -> None:
    back = unpack(pack(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert (back == array).all()
    assert type(unpack(pack(np.float32(1.5)))) is np.float32


@pytest.mark.parametrize("value", [object(), {1: 2}, {1, 2}, np.array([object()]), [[lambda: 0]]])
def test_codec_refuses_what_is_not_plain(value: Any) -> None:
    with pytest.raises(SnapshotNotPortable, match="cannot be written"):
        pack(value)


@given(st.binary(max_size=300))
def test_codec_raises_only_value_errors(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        unpack(data)


def test_deep_nesting_is_refused_both_ways() -> None:
    value: Any = ()
    for _ in range(3000):
        value = (value,)
    with pytest.raises(SnapshotNotPortable, match="nested"):
        pack(value)
    with pytest.raises(ValueError, match=r"."):
        unpack(b"\x91" * 100_000 + b"\x90")


@settings(max_examples=300)
@given(st.data())
def test_damaged_bytes_are_told_from_whole_ones(data: st.DataObject) -> None:
    whole = bytearray(some_bytes())
    how = data.draw(st.sampled_from(["flip", "cut", "grow", "splice"]))
    place = data.draw(st.integers(0, len(whole) - 1))
    if how == "flip":
        whole[place] ^= data.draw(st.integers(1, 255))
    elif how == "cut":
        del whole[place:]
    elif how == "grow":
        whole += data.draw(st.binary(min_size=1, max_size=20))
    else:
        whole[place:place] = data.draw(st.binary(min_size=1, max_size=20))
    with pytest.raises(SnapshotCorrupt):
        Snapshot.from_bytes(bytes(whole))


@settings(max_examples=300)
@given(st.data())
def test_hostile_bytes_with_a_right_checksum_leave_the_environment_alone(data: st.DataObject) -> None:
    plain = bytearray(zlib.decompress(some_bytes()[_HEAD:]))
    for _ in range(data.draw(st.integers(1, 4))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    env = played("right")
    before = rollback_gym.snapshot(env)
    try:
        rollback_gym.restore(env, Snapshot.from_bytes(with_checksum(bytes(plain))))
    except (SnapshotCorrupt, SnapshotMismatch):
        assert rollback_gym.snapshot(env) == before
    else:
        env.reset()


@given(plain_values)
def test_any_value_in_place_of_a_snapshot_is_refused(value: Any) -> None:
    with pytest.raises(SnapshotCorrupt):
        Snapshot.from_bytes(with_checksum(pack(value)))


@settings(max_examples=200)
@given(place=st.integers(0, 10), value=plain_values)
def test_any_value_in_place_of_a_field_is_refused_or_harmless(place: int, value: Any) -> None:
    fields = list(unpack(zlib.decompress(some_bytes()[_HEAD:])))
    fields[min(place, len(fields) - 1)] = value
    env = Rollback(ToyEnv())
    try:
        rollback_gym.restore(env, Snapshot.from_bytes(with_checksum(pack(tuple(fields)))))
    except (SnapshotCorrupt, SnapshotMismatch):
        with pytest.raises(gym.error.ResetNeeded):
            rollback_gym.snapshot(env)


@pytest.mark.parametrize("data", [b"", b"RBGSNAP", b"RBGSNAP\x01", "text", None, b"\x80\x04\x95pickle" * 20])
def test_foreign_things_are_no_snapshots(data: Any) -> None:
    with pytest.raises(SnapshotCorrupt, match=r"to_bytes|snapshot"):
        Snapshot.from_bytes(data)


def test_another_format_is_named() -> None:
    data = bytearray(some_bytes())
    data[7] = 9
    with pytest.raises(SnapshotCorrupt, match="format 9; this release reads format 1"):
        Snapshot.from_bytes(bytes(data))


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(SnapshotCorrupt, match="MiB"):
        Snapshot.from_bytes(with_checksum(bytes(300 << 20)))


def test_without_history_it_plays_on_but_goes_back_no_further() -> None:
    env = played(*["right", "take", "rollback(0)"] * 3, "right")
    taken = rollback_gym.snapshot(env)
    small, large = taken.to_bytes(history=False), taken.to_bytes()
    assert len(small) < len(large)
    other = Rollback(ToyEnv())
    observation, info = rollback_gym.restore(other, Snapshot.from_bytes(small))
    assert observation == taken.observation
    assert info["action_index"] == 10
    assert info["rollback_targets"] == ()
    assert other.step("right")[:4] == env.step("right")[:4]
    assert other.history.index == 11
    assert other.step("rollback(10)")[4]["rollback"]["abandoned"] == (11,)


class Other(ToyEnv):
    name = "other"


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (lambda: Rollback(Other()), "belongs to environment 'toy'"),
        (lambda: Rollback(ToyEnv(max_turns=99)), r"max_turns=12; the environment here has max_turns=99"),
        (lambda: Rollback(ToyEnv(), revive=True), "revive=False; the Rollback here has revive=True"),
        (lambda: ToyEnv(), "made under Rollback, which this environment lacks"),
    ],
)
def test_a_snapshot_that_belongs_elsewhere_is_refused(env: Any, message: str) -> None:
    taken = rollback_gym.snapshot(played("right"))
    for given_ in (taken, Snapshot.from_bytes(taken.to_bytes())):
        with pytest.raises(SnapshotMismatch, match=message):
            rollback_gym.restore(env(), given_)


def test_a_snapshot_made_without_the_wrapper_is_refused_by_it() -> None:
    bare = ToyEnv()
    bare.reset(seed=1)
    with pytest.raises(SnapshotMismatch, match="made without it"):
        rollback_gym.restore(Rollback(ToyEnv()), rollback_gym.snapshot(bare))


def test_the_bare_environment_refuses_a_stacks_snapshot() -> None:
    env = played("right")
    with pytest.raises(SnapshotMismatch, match=r"rollback_gym\.restore"):
        env.unwrapped.restore(rollback_gym.snapshot(env))


def test_another_level_of_the_same_environment_is_loaded() -> None:
    env = Rollback(ToyEnv())
    env.reset(seed=0, options={"level": 5})
    env.step("right")
    data = rollback_gym.snapshot(env).to_bytes()
    env.reset(options={"level": 3})
    _, info = rollback_gym.restore(env, Snapshot.from_bytes(data))
    assert info["level"] == "toy/5"


def test_snapshots_work_as_keys() -> None:
    env = played("right")
    here = rollback_gym.snapshot(env)
    env.step("take")
    there = rollback_gym.snapshot(env)
    assert {here: 1, there: 2}[Snapshot.from_bytes(here.to_bytes())] == 1
    assert here != there
    assert here != "here"


def test_a_long_history_survives_pickle_and_copy() -> None:
    import copy
    import pickle

    env = Rollback(ToyEnv(max_turns=10**6))
    env.reset(seed=0)
    for turn in range(3000):
        env.step(("right", "left")[turn % 2])
    again = pickle.loads(pickle.dumps(env))
    assert again.history == env.history == copy.deepcopy(env).history
    assert rollback_gym.snapshot(again) == rollback_gym.snapshot(env)
    assert again.step("rollback(17)")[4]["rollback"]["depth"] == 2983
