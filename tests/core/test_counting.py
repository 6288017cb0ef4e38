"""Wrappers of others, above a host: what they count and remember is part of a snapshot."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.wrappers import (
    FrameStackObservation,
    NormalizeObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
    TimeAwareObservation,
    TimeLimit,
)

import rollback_gym
from rollback_gym import Snapshot, SnapshotMismatch
from rollback_gym.core.codec import pack
from rollback_gym.wrappers import Rollback

Env = gym.Env[Any, Any]


class Strange(gym.Wrapper[Any, Any, Any, Any]):
    """Holds what cannot be written as plain values, and pays by it."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.seen: dict[Any, set[Any]] = {}

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.seen.setdefault(action, set()).add(info["turn"])
        return observation, float(reward) + len(self.seen[action]), terminated, truncated, info


WRAPPERS: dict[str, Callable[[Env], Env]] = {
    "statistics": RecordEpisodeStatistics,
    "frames": lambda env: FrameStackObservation(env, 3),
    "reward": NormalizeReward,
    "time": lambda env: TimeAwareObservation(TimeLimit(env, 40)),
    "normal": NormalizeObservation,
    "strange": Strange,
    "several": lambda env: TimeLimit(NormalizeReward(FrameStackObservation(RecordEpisodeStatistics(env), 2)), 9),
}
PORTABLE = [name for name in WRAPPERS if name != "strange"]


def made(name: str) -> Env:
    env = gym.make("Rollback-MineSweeper-v0", observation="array", actions="discrete", disable_env_checker=True)
    return WRAPPERS[name](env)


def played(env: Env, n: int) -> list[Any]:
    happened = []
    for action in range(n):
        result = env.step(action)
        result[4].get("episode", {}).pop("t", None)  # the time it took
        happened.append(result)
        if result[2] or result[3]:
            break
    return happened


@pytest.mark.parametrize("name", WRAPPERS)
def test_what_wrappers_hold_comes_back(name: str) -> None:
    env = made(name)
    env.reset(seed=4)
    seen = played(env, 2)[-1][0]
    here = rollback_gym.snapshot(env)
    first = played(env, 12)
    observation, _ = rollback_gym.restore(env, here)
    assert pack(observation) == pack(seen)
    if name in PORTABLE:
        assert rollback_gym.snapshot(env) == here
    assert pack(played(env, 12)) == pack(first)


@pytest.mark.parametrize("name", PORTABLE)
def test_it_goes_into_bytes_and_into_an_environment_never_reset(name: str) -> None:
    env, fresh = made(name), made(name)
    env.reset(seed=4)
    played(env, 2)
    here = rollback_gym.snapshot(env)
    first = played(env, 12)
    rollback_gym.restore(fresh, Snapshot.from_bytes(here.to_bytes()))
    assert pack(played(fresh, 12)) == pack(first)


def test_what_cannot_leave_the_process_says_so() -> None:
    env = made("strange")
    env.reset(seed=4)
    env.step(0)
    here = rollback_gym.snapshot(env)
    with pytest.raises(rollback_gym.SnapshotNotPortable, match="Strange"):
        here.to_bytes()
    assert here == rollback_gym.snapshot(env)
    env.step(0)
    assert here != rollback_gym.snapshot(env)


def test_another_stack_is_refused() -> None:
    env, other = made("statistics"), made("frames")
    env.reset(seed=4)
    other.reset(seed=4)
    here = rollback_gym.snapshot(env)
    with pytest.raises(SnapshotMismatch, match="wrapped in FrameStackObservation"):
        rollback_gym.restore(other, here)
    longer = FrameStackObservation(other.env, 5)  # type: ignore[attr-defined]
    longer.reset(seed=4)
    with pytest.raises(SnapshotMismatch, match="queue of at most 5"):
        rollback_gym.restore(longer, rollback_gym.snapshot(other))


def test_a_hostile_layer_is_refused() -> None:
    env = RecordEpisodeStatistics(Rollback(gym.make("Rollback-MineSweeper-v0", rollback=False).unwrapped))
    env.reset(seed=1)
    here = rollback_gym.snapshot(env)
    for bad in (b"", pack({"env": 1}), pack([1]), 5, pack({"return_queue": ("deque", 100, ())})):
        forged = Snapshot(here.origin, here._game, (("RecordEpisodeStatistics", bad), *here.layers[1:]))
        with pytest.raises(SnapshotMismatch, match="RecordEpisodeStatistics"):
            rollback_gym.restore(env, forged)
