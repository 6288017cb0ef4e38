"""Snapshots of environments that make them hard: exact, or refused, and never pretended."""

import copy
import random
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import rollback_gym
from rollback_gym import ReplayDiverged, Snapshot, SnapshotMismatch
from rollback_gym.core.attributes import NotCopyable
from rollback_gym.core.codec import pack
from rollback_gym.wrappers import Rollback, Snapshots
from tests.wrappers import hard

Env = gym.Env[Any, Any]
COPIED = [
    *(hard.Slots, hard.Views, hard.ViewsOfOtherKinds, hard.Closures, hard.BoundMethods, hard.WeakReferences),
    *(hard.Forgetful, hard.Generators, hard.MoreGenerators, hard.OwnState),
]
REPLAYED = [hard.ById, hard.Unreadable, hard.Elsewhere]


def actions(seed: int, n: int) -> list[int]:
    draw = random.Random(seed)
    return [draw.randrange(3) for _ in range(n)]


def played(env: Env, taken: list[int]) -> Any:
    """What comes of some actions, until the episode ends."""
    happened = []
    for action in taken:
        observation, reward, terminated, truncated, _ = env.step(action)
        happened.append((copy.deepcopy(observation), float(reward), terminated, truncated))
        if terminated or truncated:
            break
    return pack(tuple(happened))


FIRST, ONE, OTHER = actions(1, 6), actions(2, 50), actions(3, 50)


def truth(kind: Callable[[], Env], then: list[int]) -> Any:
    """What comes of it where nothing is ever taken or put back."""
    env = kind()
    env.reset(seed=5)
    played(env, FIRST)
    return played(env, then)


def begun(kind: Callable[[], Env], **options: Any) -> Snapshots:
    env = Snapshots(kind(), **options)
    env.reset(seed=5)
    played(env, FIRST)
    return env


@pytest.mark.parametrize("kind", [*COPIED, hard.SharedBits, *REPLAYED])
def test_every_branch_is_as_if_nothing_had_been_put_back(kind: Callable[[], Env]) -> None:
    expected = {name: truth(kind, then) for name, then in (("one", ONE), ("other", OTHER))}
    env = begun(kind)
    assert env.strategy == ("replay" if kind in REPLAYED else "deepcopy")
    here = rollback_gym.snapshot(env)
    assert played(env, ONE) == expected["one"]
    for name, then in (("other", OTHER), ("one", ONE), ("other", OTHER)):
        rollback_gym.restore(env, here)
        assert played(env, then) == expected[name]
    fresh = Snapshots(kind())
    rollback_gym.restore(fresh, Snapshot.from_bytes(here.to_bytes()))
    assert played(fresh, ONE) == expected["one"]


@pytest.mark.parametrize("kind", COPIED)
def test_copies_and_other_instances_are_free(kind: Callable[[], Env]) -> None:
    one, other = truth(kind, ONE), truth(kind, OTHER)
    env = begun(kind)
    here = rollback_gym.snapshot(env)
    (twin,) = rollback_gym.fork(env, 1)
    fresh = Snapshots(kind())
    fresh.reset(seed=99)
    rollback_gym.restore(fresh, here)
    assert played(twin, ONE) == one
    assert played(fresh, OTHER) == other
    assert played(env, ONE) == one
    rollback_gym.restore(twin, here)
    assert played(twin, OTHER) == other


@pytest.mark.parametrize("kind", [*REPLAYED, hard.SharedBits])
def test_no_copy_where_copies_are_not_like_the_original(kind: Callable[[], Env]) -> None:
    env = begun(kind)
    with pytest.raises(NotCopyable, match=r"gym\.make does not make it"):
        rollback_gym.fork(env, 1)
    assert played(env, ONE) == truth(kind, ONE)


def test_a_contradiction_is_noticed() -> None:
    env = begun(hard.LateGlobal, strategy="deepcopy")
    here = rollback_gym.snapshot(env)
    played(env, ONE)
    rollback_gym.restore(env, here)
    with pytest.raises(ReplayDiverged, match=r"another answer than the last time.*strategy='replay'"):
        played(env, ONE)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    again = begun(hard.LateGlobal, strategy="replay")
    here = rollback_gym.snapshot(again)
    for then in (ONE, OTHER, ONE):
        rollback_gym.restore(again, here)
        assert played(again, then) == truth(hard.LateGlobal, then)
        rollback_gym.restore(again, rollback_gym.snapshot(again))


def test_drawing_from_the_environments_generator_is_no_contradiction() -> None:
    env = Snapshots(gym.make("FrozenLake-v1"))
    env.reset(seed=1)
    here = rollback_gym.snapshot(env)
    seen = set()
    for draws in range(20):
        rollback_gym.restore(env, here)
        env.unwrapped.np_random.random(draws)
        there = rollback_gym.snapshot(env)
        assert (there == here) == (draws == 0)
        seen.add(int(env.step(1)[0]))
        fresh = Snapshots(gym.make("FrozenLake-v1"))
        rollback_gym.restore(fresh, Snapshot.from_bytes(there.to_bytes()))
        assert fresh.step(1)[0] == env.unwrapped.s
    assert len(seen) > 1


def test_another_episode_is_no_contradiction() -> None:
    env = Snapshots(gym.make("FrozenLake-v1"))
    for other in range(2, 8):
        env.reset(seed=1)
        here = rollback_gym.snapshot(env)
        env.reset(seed=other)
        assert rollback_gym.snapshot(env).state != here.state
        env.step(1)
        rollback_gym.restore(env, here)
        env.step(1)
    learning = Snapshots(gym.wrappers.NormalizeObservation(gym.make("CartPole-v1")))
    for _ in range(3):
        learning.reset(seed=1)
        learning.step(0)


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1", "LunarLander-v3"])
def test_a_wrapper_above_that_draws_is_put_back_from_bytes(name: str) -> None:
    if name == "LunarLander-v3":
        pytest.importorskip("Box2D", reason="Box2D is not installed: pip install 'gymnasium[box2d]'")

    def made() -> Env:
        return gym.wrappers.StickyAction(Snapshots(gym.make(name)), 0.5)

    env, fresh = made(), made()
    env.reset(seed=3)
    played(env, [1, 0])
    here = rollback_gym.snapshot(env)
    first = played(env, [0, 1] * 20)
    rollback_gym.restore(fresh, Snapshot.from_bytes(here.to_bytes()))
    assert rollback_gym.snapshot(fresh) == here
    assert played(fresh, [0, 1] * 20) == first
    rollback_gym.restore(env, here)
    assert played(env, [0, 1] * 20) == first


def test_what_can_no_longer_be_copied_is_played_again() -> None:
    env = Rollback(Snapshots(hard.Chain(), max_turns=50))
    env.reset(seed=5)
    with pytest.warns(UserWarning, match="playing again"):
        seen = [env.step(action)[1] for action in ONE[:30]]
    assert env.env.strategy == "replay"  # type: ignore[attr-defined]
    assert env.step(3 + 9)[4]["rollback"]["target"] == 20
    assert [env.step(action)[1] for action in ONE[20:29]] == seen[20:29]
    unseeded = Snapshots(hard.Chain())
    unseeded.reset()
    for action in ONE[:30]:
        unseeded.step(action)
    with pytest.raises(NotCopyable, match="recursion"):
        rollback_gym.snapshot(unseeded)


def test_what_an_environment_raises_at_a_trial_is_no_failure() -> None:
    env = Snapshots(hard.Refuses())
    env.reset(seed=5)
    assert env.strategy == "deepcopy"
    with pytest.raises(ValueError, match="illegal move"):
        env.step(2)


def test_an_action_mask_is_kept_at_a_trial() -> None:
    class Masked(hard.Refuses):
        def reset(self, **kwargs: Any) -> Any:
            return super().reset(**kwargs)[0], {"action_mask": np.array([1, 1, 0], np.int8)}

        def pay(self, action: int) -> float:
            nonlocal refused
            refused += action == 2
            return action

        def step(self, action: Any) -> Any:
            return (*super().step(action)[:4], {"action_mask": np.array([1, 1, 0], np.int8)})

    refused = 0
    Snapshots(Masked()).reset(seed=1)
    assert refused == 0


def test_what_is_told_may_be_anything() -> None:
    env = Snapshots(hard.Tells())
    env.reset(seed=5)
    *_, info = env.step(1)
    assert info["env"] is env.unwrapped
    here = rollback_gym.snapshot(env)
    info["n"].append("scribble")
    env.step(0)
    _, noted = rollback_gym.restore(env, here)
    assert noted["n"] == [1]
    assert noted["env"] is env.unwrapped


def test_what_was_shown_stays_what_it_was() -> None:
    env = Rollback(Snapshots(hard.OwnState(), max_turns=40))
    env.reset(seed=1)
    seen = [int(env.step(1)[0][0]) for _ in range(4)]
    assert seen == [1, 2, 3, 4]
    assert [int(node.observation[0]) for node in env.history.path] == [0, *seen]
    observation, *_, info = env.step(3 + 1)
    assert int(observation[0]) == 2
    assert info["seen"] == [1, 1]


@pytest.mark.parametrize("strategy", ["auto", "replay"])
def test_options_belong_to_the_user(strategy: Any) -> None:
    options = {"factor": 3, "table": np.array([1, 5, 7])}
    env = Snapshots(hard.Options(), strategy=strategy)
    env.reset(seed=1, options=options)
    assert options.keys() == {"factor", "table"}
    env.step(1)
    here = rollback_gym.snapshot(env)
    for _ in range(2):
        assert env.step(2)[1] == 21.0
        rollback_gym.restore(env, here)
    fresh = Snapshots(hard.Options())
    rollback_gym.restore(fresh, Snapshot.from_bytes(here.to_bytes()))
    assert fresh.step(2)[1] == 21.0


def test_an_environment_may_know_what_is_around_it() -> None:
    inner: Any = hard.Slots()
    env = Rollback(Snapshots(inner, max_turns=30))
    inner.outer, inner.around = env, lambda: env
    env.reset(seed=1)
    for _ in range(4):
        env.step(1)
    env.step(3 + 1)
    assert inner.outer is env
    assert inner.around() is env
    assert env.history.index == 5
    assert inner.total == 2


# What only draws or records.


def test_pictures_after_going_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame", reason="pygame is not installed: pip install 'gymnasium[classic-control]'")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for name, options in (("CartPole-v1", {}), ("FrozenLake-v1", {"is_slippery": False})):
        seeing = Snapshots(gym.make(name, render_mode="rgb_array", **options))
        seeing.reset(seed=3)
        start = rollback_gym.snapshot(seeing)  # before anything was drawn
        played(seeing, [1] * 6)
        picture, here = seeing.render(), rollback_gym.snapshot(seeing)
        rollback_gym.restore(seeing, start)
        assert not np.array_equal(seeing.render(), picture)
        rollback_gym.restore(seeing, here)
        assert np.array_equal(seeing.render(), picture)
        blind = Snapshots(gym.make(name, **options))
        rollback_gym.restore(blind, here)
        assert blind.unwrapped.render_mode is None
        other = Snapshots(gym.make(name, render_mode="rgb_array", **options))
        other.reset(seed=1)
        other.render()
        rollback_gym.restore(other, rollback_gym.snapshot(blind))
        assert np.array_equal(other.render(), picture)


def test_a_renderer_draws_its_own_copy() -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'gymnasium[mujoco]'")
    env = Snapshots(gym.make("Ant-v5"))
    env.reset(seed=1)
    (twin,) = rollback_gym.fork(env, 1)
    drawn, own = twin.unwrapped.mujoco_renderer, env.unwrapped.mujoco_renderer
    assert drawn.data is twin.unwrapped.data
    assert own.data is env.unwrapped.data
    assert drawn._viewers is not own._viewers


def test_a_film_shows_what_was_seen_and_no_trial() -> None:
    film = gym.wrappers.RenderCollection(
        gym.make("CliffWalking-v1", render_mode="ansi"), pop_frames=False, reset_clean=False
    )
    env = Snapshots(film)
    env.reset(seed=1)
    assert len(film.frame_list) == 1
    here = rollback_gym.snapshot(env)
    env.step(0)
    rollback_gym.restore(env, here)
    env.step(1)
    assert len(film.frame_list) == 3
    (twin,) = rollback_gym.fork(env, 1)
    twin.step(0)
    assert len(film.frame_list) == 3


# Bytes, and long episodes.


def test_a_history_grows_with_the_episode_and_not_with_its_square() -> None:
    def written(turns: int) -> int:
        class Long(hard.Slots):
            def step(self, action: Any) -> Any:
                return (*super().step(action)[:2], False, False, {})

        env = Rollback(Snapshots(Long(), strategy="replay", max_turns=turns), max_depth=3)
        env.reset(seed=1)
        for action in actions(1, turns - 1):
            env.step(action)
        here = rollback_gym.snapshot(env)
        flat = here.layers[0][1].history.flat(here._encode_point)
        data = here.to_bytes()
        assert Snapshot.from_bytes(data) == here
        return len(pack(flat))

    assert written(400) < 2.2 * written(200)


def test_a_history_from_bytes_goes_back_anywhere() -> None:
    def made() -> Rollback:
        return Rollback(Snapshots(hard.Closures(), max_turns=30))

    env, fresh = made(), made()
    env.reset(seed=1)
    for action in (1, 2, 3 + 0, 0, 2, 3 + 1, 1, 1):
        env.step(action)
    here = rollback_gym.snapshot(env)
    rollback_gym.restore(fresh, Snapshot.from_bytes(here.to_bytes()))
    assert rollback_gym.snapshot(fresh) == here
    for action in (3 + 2, 2, 1, 3 + 0, 0):
        mine, theirs = env.step(action), fresh.step(action)
        assert pack(mine[:4]) == pack(theirs[:4])
    assert rollback_gym.snapshot(fresh) == rollback_gym.snapshot(env)


def test_snapshots_that_nobody_keeps_are_gone() -> None:
    import weakref

    env = begun(hard.Slots, strategy="deepcopy")
    state = rollback_gym.snapshot(env).state
    first = weakref.ref(state.attributes)
    del state
    env.step(0)
    assert first() is None


def test_arguments() -> None:
    for bad in (True, 2.5, "5", 0, np.bool_(True), float("nan")):
        with pytest.raises(ValueError, match="max_turns must be"):
            Snapshots(hard.Slots(), max_turns=bad)  # type: ignore[arg-type]
    assert Snapshots(hard.Slots(), max_turns=np.int64(4)).max_turns == 4  # type: ignore[arg-type]
    assert Snapshots(gym.make("CartPole-v1", max_episode_steps=-1)).max_turns is None


def test_a_win_that_cannot_be_told_ends_the_episode() -> None:
    def won(observation: Any, reward: float, info: dict[str, Any]) -> bool:
        raise ZeroDivisionError

    env = begun(hard.Slots, won=won)
    with pytest.raises(ZeroDivisionError):
        played(env, ONE)
    assert env.outcome is rollback_gym.Outcome.ENDED
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


def test_episodes_without_a_seed_differ_from_instance_to_instance() -> None:
    def starts() -> list[float]:
        env = Snapshots(gym.make("CartPole-v1"), strategy="replay")
        return [float(env.reset()[0][0]) for _ in range(3)]

    assert starts() != starts()


def test_functions_among_the_arguments_are_named_and_not_located() -> None:
    def made(k: int) -> Snapshots:
        inner: Any = gym.make("CartPole-v1")
        inner.spec.kwargs["callback"] = (lambda: 1) if k else (lambda: 2)
        inner.spec.kwargs["thing"] = hard.Thing()
        inner.unwrapped.spec.kwargs.update(inner.spec.kwargs)
        return Snapshots(inner)

    env, other = made(0), made(1)
    env.reset(seed=1)
    rollback_gym.restore(other, rollback_gym.snapshot(env))


def test_another_function_in_the_same_place_is_another_environment() -> None:
    def made(pays: Callable[[int], int]) -> Snapshots:
        class Paying(hard.Slots):
            def begin(self) -> None:
                super().begin()
                self.pays = pays

            def pay(self, action: int) -> float:
                return self.pays(action)

        env = Snapshots(Paying(), strategy="deepcopy")
        env.reset()
        return env

    with pytest.raises(SnapshotMismatch):
        rollback_gym.restore(made(lambda action: action), rollback_gym.snapshot(made(lambda action: -action)))


def test_pickling_before_an_episode_and_not_after() -> None:
    import pickle

    env = Snapshots(gym.make("CartPole-v1"))
    again = pickle.loads(pickle.dumps(env))
    assert pack(again.reset(seed=1)[0]) == pack(env.reset(seed=1)[0])
    with pytest.raises(rollback_gym.SnapshotNotPortable, match="to_bytes"):
        pickle.dumps(env)


def test_vectors() -> None:
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    def made() -> Env:
        return Rollback(Snapshots(gym.make("CartPole-v1")), max_depth=5)

    alone = made()
    alone.reset(seed=3)
    envs = SyncVectorEnv([made] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=1)
    draw = random.Random(0)
    ended = np.zeros(3, bool)
    for turn in range(60):
        taken = np.array([3 if turn % 5 == 4 else draw.randrange(2), draw.randrange(2), draw.randrange(2)])
        shown, _, terminated, truncated, info = envs.step(taken)
        if not ended[2]:  # that somebody else goes back is nothing to the third
            seen = alone.step(int(taken[2]))
            assert pack(seen[0]) == pack(info["final_obs"][2] if seen[2] else shown[2])
        ended |= terminated | truncated
    assert ended[2]
    envs.close()


def test_warnings_are_none_where_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = begun(hard.Views)
        rollback_gym.restore(env, rollback_gym.snapshot(env))
