"""The laws that `MultiAgentRollback` keeps: state machines that step, propose, snapshot, restore and copy in any order.

As in tests/laws.py, the environment is checked against a model of its own.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import rollback_gym
from rollback_gym import Snapshot
from rollback_gym.core.codec import pack

Make = Callable[[], Any]
Act = Callable[[Any, str, int], Any]


class Seen(NamedTuple):
    """What the model knows of a node."""

    observations: dict[str, Any]
    agents: tuple[str, ...]
    rewards: dict[str, float]
    selected: str | None = None


class Model(NamedTuple):
    """The episode as the laws say it must be."""

    seen: dict[int, Seen]
    path: tuple[int, ...]
    index: int
    earned: dict[str, float]
    costs: dict[str, float]
    standing: dict[str, tuple[int, int]] = {}  # noqa: RUF012
    """In an AEC environment: the target that each proposes, and its turn when it did."""
    turns: dict[str, int] = {}  # noqa: RUF012
    """In an AEC environment: the turns that each has taken."""
    taken: dict[str, float] = {}  # noqa: RUF012
    """In an AEC environment: what each was told that it got."""


class Kept(NamedTuple):
    snapshot: Snapshot
    model: Model
    data: bytes | None


def same(one: Any, other: Any) -> bool:
    return pack(one) == pack(other)


def added(totals: dict[str, float], more: dict[str, float]) -> dict[str, float]:
    return {agent: totals.get(agent, 0.0) + more.get(agent, 0.0) for agent in {*totals, *more}}


def winner(targets: list[int], alive: int, consensus: str) -> int | None:
    """By the sentences in the documentation."""
    enough = {"any": len(targets) >= 1, "majority": 2 * len(targets) > alive, "all": len(targets) == alive}[consensus]
    if not targets or not enough:
        return None
    most = max(targets.count(target) for target in targets)
    return max(target for target in targets if targets.count(target) == most)


class Common(RuleBasedStateMachine):
    """What both kinds share."""

    make: Make
    cost: float
    portable: bool
    env: Any
    model: Model

    def __init__(self) -> None:
        super().__init__()
        self.env = self.make()
        self.kept: list[Kept] = []

    @property
    def open(self) -> bool:
        raise NotImplementedError

    def check_restored(self, kept: Kept) -> None:
        raise NotImplementedError

    def some_step(self, choice: int) -> Any:
        raise NotImplementedError

    def went_back(self, target: int, rewards: dict[str, float], voters: list[str], told: dict[str, Any]) -> None:
        place = self.model.path.index(target)
        gone = self.model.path[place + 1 :]
        assert told["target"] == target
        assert told["abandoned"] == gone
        assert told["depth"] == len(gone)
        assert list(told["voters"]) == voters
        costs = dict.fromkeys(voters, self.cost)
        for agent in self.model.seen[target].agents:
            refund = sum(self.model.seen[index].rewards.get(agent, 0.0) for index in gone)
            assert math.isclose(rewards[agent], -refund - costs.get(agent, 0.0), abs_tol=1e-9)
        self.model = self.model._replace(
            path=self.model.path[: place + 1],
            index=self.model.index + 1,
            earned=added(self.model.earned, rewards),
            costs=added(self.model.costs, costs),
            standing={},
        )

    @rule()
    def snapshot(self) -> None:
        taken = self.env.snapshot()
        self.kept.append(Kept(taken, self.model, taken.to_bytes() if self.portable else None))

    @precondition(lambda self: self.kept)
    @rule(data=st.data(), fresh=st.booleans(), from_bytes=st.booleans())
    def restore(self, data: st.DataObject, fresh: bool, from_bytes: bool) -> None:
        kept = data.draw(st.sampled_from(self.kept))
        if fresh:
            self.env = self.make()
        given = kept.snapshot
        if from_bytes and kept.data is not None:
            given = Snapshot.from_bytes(kept.data)
            assert given == kept.snapshot
        self.model = kept.model
        restored = self.env.restore(given)
        self.check_restored(kept)
        if restored is not None:
            observations, infos = restored
            assert all(same(observations[agent], self.node.observations[agent]) for agent in self.env.agents)
            assert all(infos[agent]["action_index"] == self.model.index for agent in self.env.agents)
        assert self.env.snapshot() == kept.snapshot

    @precondition(lambda self: self.open)
    @rule(choices=st.lists(st.integers(0, 10**6), max_size=8))
    def future_repeats(self, choices: list[int]) -> None:
        here = self.env.snapshot()
        futures = []
        for _ in range(2):
            happened = []
            for choice in choices:
                if self.env.agents:
                    happened.append(self.some_step(choice))
            futures.append(happened)
            self.env.restore(here)
        assert same(*futures)
        assert self.env.snapshot() == here

    @rule(swap=st.booleans())
    def copied(self, swap: bool) -> None:
        here = self.env.snapshot()
        (twin,) = rollback_gym.fork(self.env, 1)
        assert twin.history == self.env.history
        mine, self.env = self.env, twin
        if self.env.agents:
            self.some_step(3)
        self.env = mine
        assert self.env.snapshot() == here
        if swap:
            self.env = twin
            twin.restore(here)

    @property
    def node(self) -> Seen:
        return self.model.seen[self.model.path[-1]]

    @invariant()
    def index_and_path_agree(self) -> None:
        history = self.env.history
        assert history.index == self.model.index
        assert tuple(node.index for node in history.path) == self.model.path
        assert [entry.index for entry in history.entries] == list(range(self.model.index + 1))

    @invariant()
    def return_of_each_is_that_of_the_branch(self) -> None:
        for agent in self.env.possible_agents:
            branch = sum(self.model.seen[index].rewards.get(agent, 0.0) for index in self.model.path)
            expected = branch - self.model.costs.get(agent, 0.0)
            assert math.isclose(self.model.earned.get(agent, 0.0), expected, abs_tol=1e-9)

    @invariant()
    def private_histories_are_the_branch(self) -> None:
        for agent in self.env.possible_agents:
            lived = self.env.private_history(agent)
            assert {one.action_index for one in lived} <= set(self.model.path)
            for one in lived:
                seen = self.model.seen[one.action_index]
                assert same(one.observation, seen.observations.get(agent))
                assert one.reward == seen.rewards.get(agent, 0.0)


def bare(observation: Any) -> Any:
    """Without the mask, which is of what is legal now."""
    if isinstance(observation, dict):
        return {name: value for name, value in observation.items() if name != "action_mask"}
    return observation


def parallel_laws(
    make: Make, act: Act, *, cost: float, consensus: str, portable: bool = False
) -> type[RuleBasedStateMachine]:
    """The machine for `make()`, in which all act at once; `act(env, agent, n)` is the agent's n-th game action."""

    class Laws(Common):
        @property
        def open(self) -> bool:
            return bool(self.env.agents)

        @initialize(seed=st.integers(0, 3))
        def reset(self, seed: int) -> None:
            observations, infos = self.env.reset(seed=seed)
            self.model = Model({0: Seen(observations, tuple(self.env.agents), {})}, (0,), 0, {}, {})
            assert all(infos[agent]["rollback_targets"] == () for agent in self.env.agents)

        @precondition(lambda self: self.open)
        @rule(data=st.data())
        def step(self, data: st.DataObject) -> None:
            alive = list(self.env.agents)
            legal = self.env.legal_targets()
            wishes: dict[str, int | None] = {
                agent: data.draw(st.one_of(st.none(), st.sampled_from(legal))) if legal else None for agent in alive
            }
            history = self.env.history
            actions = {
                agent: act(self.env, agent, data.draw(st.integers(0, 10**6)))
                if wish is None
                else self.env.encoding(agent).write(wish, history)
                for agent, wish in wishes.items()
            }
            targets = [wish for wish in wishes.values() if wish is not None]
            agreed = winner(targets, len(alive), consensus)
            plain = None
            if targets and agreed is None:  # a lost proposal is a no-op
                here = self.env.snapshot()
                plain = self.env.step(
                    {agent: self.noop(agent) if wishes[agent] is not None else actions[agent] for agent in alive}
                )
                self.env.restore(here)
            observations, rewards, terminated, truncated, infos = self.env.step(actions)
            if agreed is not None:
                node = self.model.seen[agreed]
                assert set(rewards) == set(node.agents)
                assert all(same(bare(observations[agent]), bare(node.observations[agent])) for agent in node.agents)
                assert not any(terminated.values())
                assert self.env.agents == ([] if any(truncated.values()) else list(node.agents))
                voters = [agent for agent in alive if wishes[agent] is not None]
                for agent in node.agents:
                    self.told = infos[agent]["rollback"]
                self.went_back(agreed, rewards, voters, self.told)
                return
            if plain is not None:
                assert same(plain[:4], (observations, rewards, terminated, truncated))
                told = {agent: infos[agent]["proposals"] for agent in alive}
                assert all(set(one) == {agent for agent in alive if wishes[agent] is not None} for one in told.values())
            index = self.model.index + 1
            node = Seen(observations, tuple(self.env.agents), rewards)
            self.model = self.model._replace(
                seen={**self.model.seen, index: node},
                path=(*self.model.path, index),
                index=index,
                earned=added(self.model.earned, rewards),
            )

        def noop(self, agent: str) -> Any:
            return self.env._noop_of(agent)

        def some_step(self, choice: int) -> Any:
            legal = self.env.legal_targets()
            actions = {agent: act(self.env, agent, choice + n) for n, agent in enumerate(self.env.agents)}
            if legal and choice % 3 == 0:
                back = legal[choice % len(legal)]
                history = self.env.history
                actions = {agent: self.env.encoding(agent).write(back, history) for agent in self.env.agents}
            return self.env.step(actions)

        def check_restored(self, kept: Kept) -> None:
            assert tuple(self.env.agents) in (self.node.agents, ())

        @invariant()
        def observations_fit_their_spaces(self) -> None:
            for agent, seen in self.node.observations.items():
                assert self.env.observation_space(agent).contains(seen)

        @invariant()
        def private_histories_are_the_branch(self) -> None:
            for agent in self.env.possible_agents:
                for one in self.env.private_history(agent):
                    seen = self.model.seen[one.action_index]
                    assert same(bare(one.observation), bare(seen.observations.get(agent)))
                    assert one.reward == seen.rewards.get(agent, 0.0)

    Laws.make, Laws.cost, Laws.portable = staticmethod(make), cost, portable
    return Laws


def aec_laws(make: Make, act: Act, *, cost: float, consensus: str, moves: bool = False) -> type[RuleBasedStateMachine]:
    """The machine for `make()`, in which one acts after the other; `moves` where there is no no-op."""

    class Laws(Common):
        @property
        def open(self) -> bool:
            return bool(self.env.agents)

        @property
        def speakers(self) -> list[str]:
            env = self.env
            return [agent for agent in env.agents if not (env.terminations[agent] or env.truncations[agent])]

        @initialize(seed=st.integers(0, 3))
        def reset(self, seed: int) -> None:
            self.env.reset(seed=seed)
            self.model = Model({0: self.looked({})}, (0,), 0, {}, {})

        def looked(self, rewards: dict[str, float]) -> Seen:
            selected = self.env.env.agent_selection  # when turns run out, the first to be buried is selected above it
            observations = {selected: self.env.observe(selected)} if selected in self.env.agents else {}
            return Seen(observations, tuple(self.env.agents), rewards, selected)

        @precondition(lambda self: self.open)
        @rule(data=st.data())
        def step(self, data: st.DataObject) -> None:
            env = self.env
            agent = env.agent_selection
            observation, reward, terminated, truncated, info = env.last()
            assert env.observation_space(agent).contains(observation)
            taken = added(self.model.taken, {agent: reward})
            self.model = self.model._replace(taken=taken)
            if terminated or truncated:
                env.step(None)
                standing = {one: said for one, said in self.model.standing.items() if one in self.speakers}
                self.model = self.model._replace(standing=standing)
                return
            legal = info["rollback_targets"]
            assert legal == env.legal_targets()
            wish = data.draw(st.one_of(st.none(), st.sampled_from(legal))) if legal else None
            turn = self.model.turns.get(agent, 0)
            standing = dict(self.model.standing)
            if wish is None:
                if agent in standing and standing[agent][1] < turn:
                    del standing[agent]
                env.step(act(env, agent, data.draw(st.integers(0, 10**6))))
                self.played(agent, standing)
                return
            standing[agent] = (wish, turn)
            alive = self.speakers
            voters = [one for one in env.agents if one in standing]
            agreed = winner([standing[one][0] for one in voters], len(alive), consensus)
            env.step(env.encoding(agent).write(wish, env.history))
            if agreed is not None:
                node = self.model.seen[agreed]
                assert env.agents == list(node.agents)
                rewards = dict(env.rewards)
                self.went_back(agreed, rewards, voters, env.infos[env.agents[0]]["rollback"])
                if not any(env.truncations.values()):
                    assert env.agent_selection == node.selected
                    for one, seen in node.observations.items():
                        assert same(bare(env.observe(one)), bare(seen))
            elif moves:
                self.model = self.model._replace(index=self.model.index + 1, standing=standing)
                assert env.agent_selection == agent
            else:
                self.played(agent, standing)

        def played(self, agent: str, standing: dict[str, tuple[int, int]]) -> None:
            rewards = dict(self.env.rewards)
            index = self.model.index + 1
            self.model = self.model._replace(
                seen={**self.model.seen, index: self.looked(rewards)},
                path=(*self.model.path, index),
                index=index,
                earned=added(self.model.earned, rewards),
                standing={one: said for one, said in standing.items() if one in self.speakers},
                turns={**self.model.turns, agent: self.model.turns.get(agent, 0) + 1},
            )

        def some_step(self, choice: int) -> Any:
            env = self.env
            agent = env.agent_selection
            observation, reward, terminated, truncated, _ = env.last()
            happened = (agent, observation, reward, terminated, truncated)
            if terminated or truncated:
                env.step(None)
                return happened
            legal = env.legal_targets()
            if legal and choice % 3 == 0:
                env.step(env.encoding(agent).write(legal[choice % len(legal)], env.history))
            else:
                env.step(act(env, agent, choice))
            return (*happened, dict(env.rewards))

        def check_restored(self, kept: Kept) -> None:
            told = [info.get("proposals", {}) for info in self.env.infos.values()]
            assert all(set(one) == set(self.model.standing) for one in told)

        @invariant()
        def what_was_told_and_what_is_owed_is_what_was_earned(self) -> None:
            for agent in self.env.possible_agents:
                owed = self.env._cumulative_rewards.get(agent, 0.0) if agent in self.env.agents else 0.0
                told = self.model.taken.get(agent, 0.0)
                assert math.isclose(told + owed, self.model.earned.get(agent, 0.0), abs_tol=1e-9)

        @invariant()
        def proposals_stand_as_long_as_they_should(self) -> None:
            assert {one.agent: one.target for one in self.env._standing()} == {
                agent: said[0] for agent, said in self.model.standing.items()
            }

        @invariant()
        def private_histories_are_the_branch(self) -> None:
            for agent in self.env.possible_agents:
                for one in self.env.private_history(agent):
                    seen = self.model.seen[one.action_index]
                    assert same(bare(one.observation), bare(seen.observations.get(agent)))
                    assert one.reward == seen.rewards.get(agent, 0.0)

    Laws.make, Laws.cost, Laws.portable = staticmethod(make), cost, False
    return Laws
