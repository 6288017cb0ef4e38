"""The laws every environment keeps, as one state machine that steps, snapshots, restores, goes back, copies and
serialises in any order, and checks the environment against a model of its own.

`laws_of(make, act, cost=...)` gives a test class for the environment that `make` makes.
"""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import rollback_gym
from rollback_gym import Outcome, Snapshot

Make = Callable[[], gym.Env[Any, Any]]
Act = Callable[[gym.Env[Any, Any], dict[str, Any], int], Any]


class Seen(NamedTuple):
    """What the model knows of a node."""

    observation: Any
    digest: str
    reward: float


class Model(NamedTuple):
    """The episode as the laws say it must be."""

    seen: dict[int, Seen]
    path: tuple[int, ...]
    index: int
    earned: float
    costs: float
    observation: Any
    info: dict[str, Any]


class Kept(NamedTuple):
    snapshot: Snapshot
    data: bytes
    model: Model


def rollback_wrapper(env: gym.Env[Any, Any]) -> Any:
    """The Rollback wrapper in a stack."""
    from rollback_gym.wrappers.rollback import Rollback

    while not isinstance(env, Rollback):
        env = env.env  # type: ignore[attr-defined]
    return env


def same(a: Any, b: Any) -> bool:
    """Equality that looks into arrays."""
    from rollback_gym.core.codec import pack

    return pack(a) == pack(b)


def laws_of(make: Make, act: Act, *, cost: float, levels: int = 5) -> type[RuleBasedStateMachine]:
    """The state machine for `make()`, whose rollbacks cost `cost`; `act(env, info, n)` picks its n-th game action."""

    class Laws(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.env = make()
            self.kept: list[Kept] = []
            self.states: dict[Any, str] = {}

        @initialize(seed=st.integers(0, levels))
        def reset(self, seed: int) -> None:
            observation, info = self.env.reset(seed=seed)
            digest = self.env.unwrapped.state_digest()
            self.model = Model({0: Seen(observation, digest, 0.0)}, (0,), 0, 0.0, 0.0, observation, info)
            assert info["rollback_targets"] == ()

        # Acting.

        @property
        def running(self) -> bool:
            return self.env.unwrapped.outcome is Outcome.RUNNING

        @property
        def open(self) -> bool:
            return self.env.unwrapped.outcome in (Outcome.RUNNING, Outcome.FAILED)

        def perform(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            result = self.env.step(action)
            observation, _, terminated, truncated, info = result
            assert self.env.observation_space.contains(observation)
            assert not (terminated and truncated)
            assert info["action_index"] == info["turn"] == self.model.index + 1
            assert self.open is not (terminated or truncated)
            if truncated:
                assert not info["won"]
            return result

        @precondition(lambda self: self.running)
        @rule(choice=st.integers(0, 10**6))
        def play(self, choice: int) -> None:
            self.game_action(act(self.env, self.model.info, choice))

        def game_action(self, action: Any) -> None:
            before = self.env.unwrapped.state_digest()
            observation, reward, _, _, info = self.perform(action)
            digest = self.env.unwrapped.state_digest()
            if "invalid_action" in info:
                assert digest == before
            index = self.model.index + 1
            self.model = self.model._replace(
                seen={**self.model.seen, index: Seen(observation, digest, reward)},
                path=(*self.model.path, index),
                index=index,
                earned=self.model.earned + reward,
                observation=observation,
                info=info,
            )

        @precondition(lambda self: self.open and self.model.info["rollback_targets"])
        @rule(data=st.data())
        def go_back(self, data: st.DataObject) -> None:
            target = data.draw(st.sampled_from(self.model.info["rollback_targets"]))
            wrapper = rollback_wrapper(self.env)
            observation, reward, terminated, _, info = self.perform(wrapper.encoding.write(target, wrapper.history))
            seen = self.model.seen[target]
            assert same(observation, seen.observation)
            assert self.env.unwrapped.state_digest() == seen.digest
            assert not terminated
            place = self.model.path.index(target)
            assert info["rollback"]["target"] == target
            assert info["rollback"]["abandoned"] == self.model.path[place + 1 :]
            self.model = self.model._replace(
                path=self.model.path[: place + 1],
                index=self.model.index + 1,
                earned=self.model.earned + reward,
                costs=self.model.costs + cost,
                observation=observation,
                info=info,
            )

        @precondition(lambda self: self.open)
        @rule(data=st.data())
        def go_where_none_may(self, data: st.DataObject) -> None:
            wrapper = rollback_wrapper(self.env)
            if not hasattr(wrapper.encoding, "verb"):
                return
            anywhere = st.integers(0, self.model.index + 2).filter(
                lambda index: index not in self.model.info["rollback_targets"]
            )
            before = self.env.unwrapped.state_digest()
            observation, reward, _, _, info = self.perform(f"rollback({data.draw(anywhere)})")
            assert reward == 0.0
            assert "invalid_action" in info
            assert "rollback" not in info
            assert self.env.unwrapped.state_digest() == before
            assert same(observation, self.model.observation)
            self.model = self.model._replace(index=self.model.index + 1, info=info)

        # Keeping and putting back.

        @rule()
        def snapshot(self) -> None:
            taken = rollback_gym.snapshot(self.env)
            self.kept.append(Kept(taken, taken.to_bytes(), self.model))

        @precondition(lambda self: self.kept)
        @rule(data=st.data(), from_bytes=st.booleans(), fresh=st.booleans())
        def restore(self, data: st.DataObject, from_bytes: bool, fresh: bool) -> None:
            kept = data.draw(st.sampled_from(self.kept))
            if fresh:
                self.env = make()
            given = Snapshot.from_bytes(kept.data) if from_bytes else kept.snapshot
            assert given == kept.snapshot
            assert hash(given) == hash(kept.snapshot)
            observation, info = rollback_gym.restore(self.env, given)
            assert same(observation, kept.model.observation)
            for key in ("action_index", "turn", "won", "rollback_targets", "admissible_actions", "task"):
                assert same(info[key], kept.model.info[key]), key
            assert rollback_gym.snapshot(self.env) == kept.snapshot
            self.model = kept.model

        @precondition(lambda self: self.running)
        @rule(choices=st.lists(st.integers(0, 10**6), max_size=10))
        def future_repeats(self, choices: list[int]) -> None:
            here = rollback_gym.snapshot(self.env)
            info = self.model.info
            first = self.futures(choices, info)
            rollback_gym.restore(self.env, here)
            assert same(self.futures(choices, info), first)
            rollback_gym.restore(self.env, here)

        def futures(self, choices: list[int], info: dict[str, Any]) -> Any:
            happened = []
            for choice in choices:
                targets = info["rollback_targets"]
                if targets and choice % 4 == 0:
                    wrapper = rollback_wrapper(self.env)
                    action = wrapper.encoding.write(targets[choice % len(targets)], wrapper.history)
                else:
                    action = act(self.env, info, choice)
                result = self.env.step(action)
                happened.append(result)
                info = result[4]
                if result[2] or result[3]:
                    break
            return tuple(happened)

        @rule(how=st.sampled_from(["deepcopy", "pickle", "fork"]), swap=st.booleans())
        def copied(self, how: str, swap: bool) -> None:
            here = rollback_gym.snapshot(self.env)
            if how == "deepcopy":
                twin = copy.deepcopy(self.env)
            elif how == "pickle":
                twin = pickle.loads(pickle.dumps(self.env))
            else:
                (twin,) = rollback_gym.fork(self.env, 1)
            assert rollback_gym.snapshot(twin) == here
            assert rollback_wrapper(twin).history == rollback_wrapper(self.env).history
            if self.running:
                twin.step(act(twin, self.model.info, 1))
                assert rollback_gym.snapshot(self.env) == here
                rollback_gym.restore(twin, here)
            if swap:
                self.env = twin

        # What holds always.

        @invariant()
        def index_and_path_agree(self) -> None:
            history = rollback_wrapper(self.env).history
            assert history.index == self.model.index == self.env.unwrapped.turn
            assert tuple(node.index for node in history.path) == self.model.path
            assert [entry.index for entry in history.entries] == list(range(self.model.index + 1))
            assert all(same(node.observation, self.model.seen[node.index].observation) for node in history.path)

        @invariant()
        def return_is_that_of_the_branch(self) -> None:
            branch = sum(self.model.seen[index].reward for index in self.model.path)
            assert math.isclose(self.model.earned, branch - self.model.costs, abs_tol=1e-9)

        @invariant()
        def kept_snapshots_never_change(self) -> None:
            if self.kept:
                kept = self.kept[self.model.index % len(self.kept)]
                assert kept.snapshot.to_bytes() == kept.data

        @invariant()
        def digests_are_equal_iff_states_are(self) -> None:
            env = self.env.unwrapped
            key = (env.level.digest, env.state)
            digest = self.states.setdefault(key, env.state_digest())
            assert digest == env.state_digest()
            assert len(set(self.states.values())) == len(self.states)

    return Laws


def law_settings(examples: int, steps: int) -> settings:
    """How long to search: no deadline, since machines differ."""
    return settings(max_examples=examples, stateful_step_count=steps, deadline=None)
