"""Snapshots of environments of others: every strategy, every kind of environment, and those that cannot be put back."""

import copy
import json
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import FrameStackObservation, RecordEpisodeStatistics, TimeLimit

import rollback_gym
from rollback_gym import (
    ReplayDiverged,
    Snapshot,
    SnapshotCorrupt,
    SnapshotMismatch,
    SnapshotNotPortable,
)
from rollback_gym.core.attributes import NotCopyable
from rollback_gym.core.codec import pack
from rollback_gym.wrappers import Rollback, Snapshots
from tests.wrappers import foreign

Env = gym.Env[Any, Any]
CLASSIC = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1", "Pendulum-v1"]
TOY = ["FrozenLake-v1", "CliffWalking-v1", "Blackjack-v1", "Taxi-v4"]


def made(name: str) -> Env:
    if name.startswith("MiniGrid"):
        pytest.importorskip("minigrid", reason="minigrid is not installed (the dev extra brings it)")
    if name.startswith("ALE"):
        ale_py = pytest.importorskip("ale_py", reason="ale-py is not installed (the dev extra brings it)")
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        gym.register_envs(ale_py)
    if name in ("HalfCheetah-v5", "Ant-v5"):
        pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'gymnasium[mujoco]'")
    if name == "LunarLander-v3":
        pytest.importorskip("Box2D", reason="Box2D is not installed: pip install 'gymnasium[box2d]'")
    still = {"repeat_action_probability": 0.0} if name.endswith("/still") else {}
    return gym.make(name.removesuffix("/still"), **still)


def played(env: Env, n: int, seed: int = 1) -> Any:
    """What comes of n actions, always the same."""
    space = copy.deepcopy(env.action_space)
    space.seed(seed)
    happened = []
    for _ in range(n):
        result = env.step(space.sample())
        result[4].get("episode", {}).pop("t", None)  # the time it took
        happened.append(result)
        if result[2] or result[3]:
            break
    return pack(tuple(happened))


STRATEGIES = {
    **dict.fromkeys([*CLASSIC, *TOY, "MiniGrid-DoorKey-5x5-v0"], "deepcopy"),
    **dict.fromkeys(["ALE/Pong-v5/still", "HalfCheetah-v5", "Ant-v5"], "native"),
    **dict.fromkeys(["ALE/Pong-v5", "LunarLander-v3"], "replay"),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_well_known_environments_come_back(name: str) -> None:
    env = Snapshots(made(name))
    env.reset(seed=3)
    assert env.strategy == STRATEGIES[name]
    env.step(_first(env))
    if env.outcome is not rollback_gym.Outcome.RUNNING:
        env.reset(seed=4)
    here = rollback_gym.snapshot(env)
    first = played(env, 40)
    observation, info = rollback_gym.restore(env, here)
    assert pack(observation) == pack(here.observation)
    assert info["turn"] == here.turn
    assert played(env, 40) == first
    for _ in range(10):
        rollback_gym.restore(env, here)
        assert played(env, 40) == first

    rollback_gym.restore(env, here)
    twin = copy.deepcopy(env)
    assert played(twin, 40) == first
    assert rollback_gym.snapshot(env) == here
    assert played(env, 40) == first

    for given in (here, Snapshot.from_bytes(here.to_bytes())):
        fresh = Snapshots(made(name))
        observation, _ = rollback_gym.restore(fresh, given)
        assert pack(observation) == pack(here.observation)
        assert rollback_gym.snapshot(fresh) == here
        assert played(fresh, 40) == first


def _first(env: Env) -> Any:
    space = copy.deepcopy(env.action_space)
    space.seed(0)
    return space.sample()


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [
        (foreign.Walk, "deepcopy"),
        (foreign.EzWalk, "deepcopy"),
        (foreign.HoldingWalk, "deepcopy"),
        (foreign.Linked, "deepcopy"),
        (foreign.Locked, "replay"),
        (foreign.Outside, "replay"),
    ],
)
def test_the_strategy_that_keeps_its_promise_is_found(kind: Callable[[], Env], strategy: str) -> None:
    env = Snapshots(kind())
    env.reset(seed=5)
    assert env.strategy == strategy
    env.step(1)
    here = rollback_gym.snapshot(env)
    first = played(env, 20)
    for _ in range(10):
        rollback_gym.restore(env, here)
        assert played(env, 20) == first
    fresh = Snapshots(kind())
    rollback_gym.restore(fresh, Snapshot.from_bytes(here.to_bytes()))
    assert played(fresh, 20) == first


def test_what_depends_on_the_outside_is_refused() -> None:
    with pytest.raises(ReplayDiverged, match="outside itself"):
        Snapshots(foreign.Lawless()).reset(seed=0)
    env = Snapshots(foreign.Lawless(), strategy="replay")
    env.reset(seed=0)
    env.step(1)
    here = rollback_gym.snapshot(env)
    env.step(0)
    with pytest.raises(ReplayDiverged, match="action 1"):
        rollback_gym.restore(env, here)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


def test_a_strategy_that_does_not_fit_is_refused() -> None:
    env = Snapshots(foreign.Locked(), strategy="deepcopy")
    env.reset(seed=0)
    with pytest.raises(NotCopyable, match="Locked"):
        rollback_gym.snapshot(env)
    with pytest.raises(ValueError, match="strategy"):
        Snapshots(foreign.Walk(), strategy="magic")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="has snapshots already"):
        Snapshots(gym.make("Rollback-Sokoban-v0"))


@pytest.mark.parametrize("strategy", ["auto", "deepcopy", "native", "replay"])
def test_wrappers_beneath_and_above_come_back(strategy: Any) -> None:
    def wrapped() -> Env:
        inner = FrameStackObservation(TimeLimit(foreign.Walk(), 12), 2)
        return RecordEpisodeStatistics(Snapshots(inner, strategy=strategy, max_turns=30))

    env = wrapped()
    env.reset(seed=2)
    env.step(0)
    here = rollback_gym.snapshot(env)
    first = played(env, 20)
    rollback_gym.restore(env, here)
    assert played(env, 20) == first
    fresh = wrapped()
    rollback_gym.restore(fresh, Snapshot.from_bytes(here.to_bytes()))
    assert played(fresh, 20) == first


def test_the_environment_stays_the_same_object() -> None:
    env = Snapshots(gym.make("CartPole-v1"))
    env.reset(seed=0)
    inner, space = env.unwrapped, env.action_space
    here = rollback_gym.snapshot(env)
    env.step(1)
    rollback_gym.restore(env, here)
    assert env.unwrapped is inner
    assert env.action_space is space


def test_sampling_is_the_agents_and_goes_on() -> None:
    env = Snapshots(gym.make("CartPole-v1"))
    env.reset(seed=0)
    env.action_space.seed(0)
    here = rollback_gym.snapshot(env)
    first = [env.action_space.sample() for _ in range(20)]
    rollback_gym.restore(env, here)
    assert [env.action_space.sample() for _ in range(20)] != first


def test_auto_begins_the_episode_that_was_asked_for() -> None:
    plain, env = gym.make("CartPole-v1"), Snapshots(gym.make("CartPole-v1"))
    assert pack(plain.reset(seed=9)[0]) == pack(env.reset(seed=9)[0])
    plain.step(1)
    env.step(1)
    assert pack(plain.reset()[0]) == pack(env.reset()[0])


def test_an_episode_without_a_seed_stays_in_the_process() -> None:
    env = Snapshots(foreign.Walk(), strategy="deepcopy")
    env.reset()
    here = rollback_gym.snapshot(env)
    first = played(env, 20)
    rollback_gym.restore(env, here)
    assert played(env, 20) == first
    with pytest.raises(SnapshotNotPortable, match="seed"):
        here.to_bytes()
    env.reset()
    assert rollback_gym.snapshot(env) != here
    drawn = Snapshots(foreign.Walk(), strategy="replay")
    drawn.reset(seed=1)
    drawn.reset()
    assert rollback_gym.snapshot(drawn).to_bytes()


def test_options_are_kept() -> None:
    env = Snapshots(foreign.Walk())
    env.reset(seed=1, options={"place": 3})
    env.step(0)
    here = rollback_gym.snapshot(env)
    fresh = Snapshots(foreign.Walk())
    observation, info = rollback_gym.restore(fresh, Snapshot.from_bytes(here.to_bytes()))
    assert pack(observation) == pack(here.observation)
    assert info["visited"] == [int(observation[0])]
    env.reset(seed=1)
    env.step(0)
    assert rollback_gym.snapshot(env) != here


def test_what_is_handed_out_is_nobodys_but_the_users() -> None:
    env = Snapshots(foreign.Walk())
    observation, info = env.reset(seed=1)
    here = rollback_gym.snapshot(env)
    observation += 100
    info["visited"].append("scribble")
    restored, noted = rollback_gym.restore(env, here)
    assert restored[0] == 0
    assert noted["visited"] == [0]


def test_snapshots_of_others_are_refused() -> None:
    walk, cart = Snapshots(foreign.Walk()), Snapshots(gym.make("CartPole-v1"))
    walk.reset(seed=1)
    cart.reset(seed=1)
    with pytest.raises(SnapshotMismatch, match="belongs to environment"):
        rollback_gym.restore(cart, rollback_gym.snapshot(walk))
    other = Snapshots(gym.make("CartPole-v1", sutton_barto_reward=True))
    with pytest.raises(SnapshotMismatch, match="kwargs"):
        rollback_gym.restore(other, rollback_gym.snapshot(cart))


def test_hostile_tapes_are_refused() -> None:
    env = Snapshots(foreign.Walk())
    env.reset(seed=1)
    env.step(1)
    here = rollback_gym.snapshot(env)
    level = here.level
    fresh = Snapshots(foreign.Walk())
    tapes = (None, (), (1, 2), (None, 1, (1, 2, 3, 4)), (None, 1.5), (None, -1), (None, 1, 2), (None, 2**32), (5, 1))
    for state in tapes:
        head = (here.origin.env, here.origin.settings, level.id, level.digest, state, None, 1, "running", 0)
        data = _forged((*head, level.locator, ()))
        with pytest.raises((SnapshotMismatch, SnapshotCorrupt)):
            rollback_gym.restore(fresh, Snapshot.from_bytes(data))
    for locator in (None, ("a", None), (-1, None), (1, 5), (2, None)):
        head = (here.origin.env, here.origin.settings, level.id, level.digest, (None, 0), None, 1, "running", 0)
        with pytest.raises(SnapshotMismatch):
            rollback_gym.restore(fresh, Snapshot.from_bytes(_forged((*head, locator, ()))))
    wrong = (here.origin.env, here.origin.settings, level.id, level.digest, (None, 7, ("x", 8)), None, 1, "running", 0)
    with pytest.raises(ReplayDiverged):
        rollback_gym.restore(fresh, Snapshot.from_bytes(_forged((*wrong, level.locator, ()))))


def _forged(values: Any) -> bytes:
    import zlib

    from rollback_gym.core.snapshot import _MAGIC, _VERSION, _checksum

    body = zlib.compress(pack(values))
    return _MAGIC + bytes([_VERSION]) + _checksum(body) + body


# Rollback on environments of others.


@pytest.mark.parametrize("strategy", ["deepcopy", "replay"])
def test_an_agent_goes_back(strategy: Any) -> None:
    env = Rollback(Snapshots(gym.make("CartPole-v1"), strategy=strategy))
    start, _ = env.reset(seed=1)
    assert env.action_space == gym.spaces.Discrete(2 + 500)
    seen = [start] + [env.step(action)[0] for action in (0, 1, 0)]
    observation, reward, _, _, info = env.step(2 + 1)  # two nodes back: to action 1
    assert pack(observation) == pack(seen[1])
    assert reward == -2.0
    assert info["rollback"]["abandoned"] == (2, 3)
    assert info["rollback_targets"] == (0,)
    assert info["action_mask"].sum() == 3
    assert [pack(env.step(action)[0]) for action in (1, 0)] == [pack(seen[2]), pack(seen[3])]


def test_a_fall_is_taken_back() -> None:
    def lost(observation: Any, reward: float, info: dict[str, Any]) -> bool:
        return False

    env = Rollback(Snapshots(gym.make("CartPole-v1"), won=lost), revive=True, max_rollbacks=3)
    env.reset(seed=1)
    terminated, info = False, {}
    while "failed" not in info:
        _, _, terminated, _, info = env.step(0)
    assert not terminated
    _, _, terminated, _, info = env.step(2 + 3)
    assert not terminated
    assert "failed" not in info
    assert not env.step(1)[2]
    with pytest.raises(ValueError, match="won="):
        Rollback(Snapshots(gym.make("CartPole-v1")), revive=True)


def test_every_kind_of_action_space() -> None:
    env = Rollback(Snapshots(gym.make("Pendulum-v1")))
    env.reset(seed=0)
    assert isinstance(env.action_space, gym.spaces.OneOf)
    first = env.step((0, np.array([0.5], np.float32)))[0]
    env.step((0, np.array([-0.5], np.float32)))
    assert pack(env.step((1, 1))[0]) == pack(first)
    with pytest.raises(ValueError, match="max_turns"):
        Rollback(Snapshots(foreign.Walk()))
    assert Rollback(Snapshots(foreign.Walk()), max_depth=4).action_space == gym.spaces.Discrete(6)


def test_a_time_limit_beneath_goes_back_and_max_turns_does_not() -> None:
    env = Rollback(Snapshots(TimeLimit(foreign.Outside(), 4), max_turns=9), targets="any")
    env.reset(seed=11)
    for _ in range(3):
        env.step(0 if env.unwrapped.place > 0 else 1)
        env.step(2)  # and back
    truncated = False
    while not truncated:
        _, _, terminated, truncated, _ = env.step(0 if env.unwrapped.place > 0 else 1)
        assert not terminated
    assert env.get_wrapper_attr("turn") == 9


def test_json_of_the_spec() -> None:
    env = Rollback(Snapshots(gym.make("CartPole-v1")))
    spec = env.spec
    assert spec is not None
    assert json.loads(spec.to_json())
    again = gym.make(spec)
    assert [type(layer).__name__ for layer in rollback_gym.core.stack.wrappers(again)] == ["Rollback"]
