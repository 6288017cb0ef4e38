"""The rollback action where many act: agents propose to go back, and a rule decides whether all of them do."""

import copy
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence

from rollback_gym.core.errors import MissingExtra, ReplayDiverged, SnapshotMismatch
from rollback_gym.core.history import Entry, History, Node
from rollback_gym.core.host import Host
from rollback_gym.core.options import count, flag
from rollback_gym.core.snapshot import FlatRun, Layer, Run, Snapshot, check_belongs, check_settings, live
from rollback_gym.core.spaces import apart, fixed
from rollback_gym.wrappers.consensus import Ballot, Consensus, Proposal, Rule, decide, find_rule
from rollback_gym.wrappers.encodings import DiscreteEncoding, Encoding, encoding_for
from rollback_gym.wrappers.multi_agent_host import PettingZooHost, stack_of

Agent = Any
Noop = Any | Mapping[Agent, Any] | Callable[[Agent], Any]
_LAYER = "MultiAgentRollback"


class Lived(NamedTuple):
    """One step of an agent's private history."""

    action_index: int
    action: Any
    """What it did; None where it was not its turn, or at the start."""
    observation: Any
    """What it saw after it; None where it was not shown anything."""
    reward: float


class MultiAgentRollback:
    """Adds going back to a PettingZoo environment, Parallel or AEC, and makes it one that has snapshots.

    An agent proposes to go back as it does in `Rollback`: `rollback(3)` in text, an action more in `Discrete`, a choice
    in `OneOf`. The `consensus` decides. If it is to go back, the whole game does, for everybody: what others did in
    that step is not done, who died since is alive again, and everybody is told. If not, the proposal is a no-op of the
    one who made it.

    Index: every step gets the next action index. In a Parallel environment a step is everybody's; in an AEC environment
        it is one agent's, but for the steps of the dead, which have none.
    Proposals: in a Parallel environment those of the same step count together. In an AEC environment a proposal stands
        until its maker's next turn is over, or a rollback is made: so it is the proposals of one cycle that count.
    Conflicts: see `consensus.favourite`: the target that most propose, and of several the latest.
    Reward of a rollback: with `refund`, minus what each agent had earned with what was abandoned; minus `cost` for
        those who are charged. So the undiscounted return of each agent is that of the active branch minus its costs.
    Info, for each agent: `action_index`, `rollback_targets` (the legal targets), `action_mask` with Discrete actions;
        `rollback` after one: `target`, `depth`, `abandoned` (indices), `voters` (all who proposed to go back),
        `proposers` (of this target), `reasons` (by voter); `proposals` where some did not win: target and reason by
        agent; `invalid_action` for a proposal that was none.
    Observation: as before; after a rollback word for word what it was at the target. An `action_mask` in it is widened
        with the action space, and says what is legal now.
    Snapshots: `snapshot()` and `restore(snapshot)` are complete, for the researcher. They take constant time and go
        into bytes where the environment is ours; of others the attributes are copied at each step. See `core.snapshot`.
    Ends: the episode is over when no agent is left, and cannot be gone back from then.

    `MultiAgentRollback(env)` gives a `ParallelRollback` or an `AECRollback`, after what `env` is.

    Args:
        env: A PettingZoo environment, with its wrappers.
        consensus: `"any"` (one is enough), `"majority"` (more than half of those alive), `"all"`, or a function from a
            `Ballot` to a target or None.
        noop: What is done in the name of an agent whose proposal is lost: an action, a dict of them by agent, or a
            function of the agent. By default what the environment's own `noop(agent)` says. Where there is none, a
            Parallel environment is refused; in an AEC environment the agent, having spoken, has to move all the same.
        max_rollbacks: How many rollbacks an episode may hold, whoever proposes them; None for no limit.
        cost: Subtracted from the reward of those charged for a rollback; a number, or a dict by agent.
        charge: Who is charged: the `"voters"`, or `"all"`.
        refund: Whether a rollback pays back what the abandoned steps earned.
        verb: The word for a rollback in text.
        max_turns: The index that truncates the episode. An environment of ours brings its own; the step limit of any
            other is part of the game, and goes back with it, so without `max_turns` an episode may never end.
        max_depth: How far back a rollback can go, in steps; by default as far as turns allow.

    Raises:
        ReplayDiverged: at the first reset, if the environment, put back, does not answer the same actions alike: it
            keeps something where it cannot be taken, such as a global random generator.
        NotCopyable: at the first reset, if it holds what cannot be copied.
        MissingExtra: if PettingZoo is not installed.
    """

    env: Any
    agents: list[Agent]

    def __new__(cls, env: Any = None, **options: Any) -> "MultiAgentRollback":
        """Of the kind that `env` is."""
        if cls is MultiAgentRollback:
            return object.__new__(_kind(env))
        return object.__new__(cls)

    def __init__(
        self,
        env: Any,
        *,
        consensus: Consensus | Rule = "majority",
        noop: Noop | None = None,
        max_rollbacks: int | None = None,
        cost: float | Mapping[Agent, float] = 0.0,
        charge: Literal["voters", "all"] = "voters",
        refund: bool = True,
        verb: str = "rollback",
        max_turns: int | None = None,
        max_depth: int | None = None,
    ) -> None:
        self._options = {name: value for name, value in locals().items() if name not in ("self", "env", "__class__")}
        super().__init__(env)  # type: ignore[call-arg]  # PettingZoo's own base wrapper
        if any(isinstance(inner, MultiAgentRollback) for inner in stack_of(env)):
            raise TypeError("This environment is wrapped in MultiAgentRollback already; once is enough.")
        name, self._rule = find_rule(consensus)
        self.max_rollbacks = None if max_rollbacks is None else count("max_rollbacks", max_rollbacks)
        self.cost = {agent: float(own) for agent, own in cost.items()} if isinstance(cost, Mapping) else float(cost)
        if not all(map(math.isfinite, self.cost.values() if isinstance(self.cost, dict) else (self.cost,))):
            raise ValueError(f"cost must be a finite number, or a dict of them by agent, got {cost!r}.")
        if charge not in ("voters", "all"):
            raise ValueError(f"charge must be 'voters' or 'all', got {charge!r}.")
        self.charge = charge
        self.refund = flag("refund", refund)
        self.max_turns = self._bound(env, None if max_turns is None else count("max_turns", max_turns))
        self._host: Host = env if isinstance(env, Host) else PettingZooHost(env, self.max_turns)
        self._depth = None if max_depth is None else count("max_depth", max_depth)
        self._reach = next((bound for bound in (self._depth, self.max_turns) if bound is not None), sys.maxsize)
        self._verb = verb
        self._encodings: dict[Agent, Encoding] = {}
        self._observation_spaces: dict[Agent, spaces.Space[Any]] = {}
        own_noop = getattr(stack_of(env)[-1], "noop", None)
        self._noop = own_noop if noop is None and callable(own_noop) else noop
        self._check_agents(getattr(env, "possible_agents", ()))
        self._run: Run | None = None
        self._earlier: tuple[Node, tuple[int, ...]] | None = None
        """The current node, and what `_before` says of it."""
        self._verified = isinstance(env, Host)
        self._settings = (
            ("consensus", name),
            ("max_rollbacks", self.max_rollbacks),
            ("cost", json.dumps(self.cost, sort_keys=True)),
            ("charge", charge),
            ("refund", self.refund),
            ("verb", verb),
            ("max_turns", self.max_turns),
            ("max_depth", max_depth),
        )

    # The spaces.

    def encoding(self, agent: Agent) -> Encoding:
        """How this agent writes a rollback."""
        if agent not in self._encodings:
            space = self.env.action_space(agent)
            self._encodings[agent] = encoding_for(space, self._verb, self.max_turns, self._depth)
        return self._encodings[agent]

    def action_space(self, agent: Agent) -> spaces.Space[Any]:
        """The environment's, widened by going back."""
        return self.encoding(agent).space

    def observation_space(self, agent: Agent) -> spaces.Space[Any]:
        """The environment's; an action mask in it is as wide as the action space."""
        if agent not in self._observation_spaces:
            space, encoding = self.env.observation_space(agent), self.encoding(agent)
            mask = space.get("action_mask") if isinstance(space, spaces.Dict) else None
            if mask is not None and isinstance(encoding, DiscreteEncoding):
                widened = spaces.Box(0, 1, (encoding.base + encoding.max_depth,), mask.dtype)  # type: ignore[arg-type]
                space = spaces.Dict({**space.spaces, "action_mask": widened})
            self._observation_spaces[agent] = space
        return self._observation_spaces[agent]

    # The episode so far.

    @property
    def history(self) -> History:
        """The tree of this episode; actions, observations and rewards are dicts by agent.

        Raises ResetNeeded before the first reset or restore.
        """
        return self._layer().history

    @property
    def rollbacks(self) -> int:
        """Rollbacks carried out in this episode."""
        return self._layer().spent

    def private_history(self, agent: Agent) -> tuple[Lived, ...]:
        """What this agent did, saw and got on the active branch, and nothing of what was abandoned.

        It is read off the tree that all agents share, so no two of them can differ about what happened. Of an AEC
        environment, an observation is there where it was the agent's turn next.
        """
        return tuple(
            Lived(node.index, (node.action or {}).get(agent), apart(node.observation.get(agent)), reward)
            for node in self.history.path
            for reward in [node.reward.get(agent, 0.0) if isinstance(node.reward, dict) else 0.0]
            if agent in node.observation or agent in (node.action or {}) or reward
        )

    def legal_targets(self) -> tuple[int, ...]:
        """The action indices that may be gone back to now, ascending; none once the episode is over."""
        spent = self.max_rollbacks is not None and self.rollbacks >= self.max_rollbacks
        before = self._before()
        return () if spent or not self._speakers() else before[max(0, len(before) - self._reach) :]

    def _before(self) -> tuple[int, ...]:
        """The action indices of the nodes on the path before the current one."""
        node = self.history.node
        if self._earlier is None or self._earlier[0] is not node:
            self._earlier = node, tuple([passed.index for passed in node.path[:-1]])
        return self._earlier[1]

    def _layer(self) -> Run:
        if self._run is None:
            raise ResetNeeded("No episode has begun: call reset() or restore a snapshot first.")
        return self._run

    def _speakers(self) -> tuple[Agent, ...]:
        """Who is alive, and could propose."""
        raise NotImplementedError

    # Proposing and deciding.

    def _heard(self, agent: Agent, action: Any) -> Proposal | str | None:
        """The proposal in an action; a sentence where it is one that cannot be followed; None for a game action."""
        request = self.encoding(agent).read(action, self.history)
        if request is None:
            return None
        legal = self.legal_targets()
        if request.problem is None and request.target in legal:
            assert request.target is not None
            return Proposal(agent, request.target, request.reason)
        allowed = f"allowed targets: {', '.join(map(str, legal))}" if legal else "no rollback is allowed now"
        return f"{request.problem or f'{request.target} cannot be gone back to'}; {allowed}."

    def _decided(self, proposals: Iterable[Proposal]) -> int | None:
        return decide(self._rule, Ballot(self._speakers(), tuple(proposals)))

    def _go_back(
        self, actions: dict[Agent, Any], index: int, proposals: tuple[Proposal, ...]
    ) -> tuple[dict[Agent, float], dict[str, Any], bool]:
        """Put the game back; what each agent gets for it, what all are told, and whether that was the last turn."""
        run, host = self._layer(), self._host
        node, target = run.history.node, run.history.find(index)
        assert target is not None
        removed = node.path[target.depth + 1 :]
        host.go_back(target.point)
        voters = tuple(proposal.agent for proposal in proposals)
        rewards = {agent: self._settled(agent, removed, voters) for agent in self.env.agents}
        votes = {proposal.agent: (proposal.target, proposal.reason) for proposal in proposals}
        history = run.history.go_back(target, actions, rewards, votes)
        self._run = Run(run.settings, history, run.spent + 1)
        told = {
            "target": index,
            "depth": len(removed),
            "abandoned": tuple(gone.index for gone in removed),
            "voters": voters,
            "proposers": tuple(proposal.agent for proposal in proposals if proposal.target == index),
            "reasons": {proposal.agent: proposal.reason for proposal in proposals},
        }
        return rewards, told, host.spend_turn()

    def _settled(self, agent: Agent, removed: tuple[Node, ...], voters: tuple[Agent, ...]) -> float:
        """The refund and cost of a rollback."""
        refund = 0.0 - math.fsum(node.reward.get(agent, 0.0) for node in removed) if self.refund else 0.0
        charged = self.charge == "all" or agent in voters
        cost = self.cost.get(agent, 0.0) if isinstance(self.cost, dict) else self.cost
        return refund - cost if charged else refund

    def _acted(self, actions: dict[Agent, Any], rewards: dict[Agent, float], invalid: dict[Agent, str]) -> None:
        """Note a step of the game, of which the host knows already."""
        run, point = self._layer(), self._host.point()
        before = (*self._before(), run.history.node.index)
        history = run.history.act(actions, point.observation, rewards, point, invalid or None)
        self._run, self._earlier = run._replace(history=history), (history.node, before)

    def _noop_of(self, agent: Agent) -> Any:
        noop = self._noop
        if callable(noop):
            return noop(agent)
        return noop[agent] if isinstance(noop, Mapping) else noop

    # What agents are shown and told.

    def _shown(self, agent: Agent, observation: Any, speaks: bool) -> Any:
        """An observation for somebody who may change it, its mask widened."""
        observation = apart(observation)
        space = self.observation_space(agent)
        if isinstance(observation, dict) and isinstance(space, spaces.Dict) and "action_mask" in space.spaces:
            mask = self._mask(agent, observation["action_mask"], speaks)
            if mask is not None:
                observation["action_mask"] = mask.astype(observation["action_mask"].dtype)
        return observation

    def _told(
        self, agent: Agent, info: Any, observation: Any, speaks: bool, more: Mapping[str, Any], invalid: str | None
    ) -> Any:
        """An info, with what is added here; `observation` is the environment's own."""
        if not isinstance(info, dict):
            return info
        info = {**info, "action_index": self.history.index, **copy.deepcopy(dict(more))}
        info["rollback_targets"] = self.legal_targets() if speaks else ()
        own = observation.get("action_mask") if isinstance(observation, dict) else None
        mask = self._mask(agent, info.get("action_mask") if own is None else own, speaks)
        if mask is not None:
            info["action_mask"] = mask
        if invalid is not None:
            info["invalid_action"] = invalid
        return info

    def _mask(self, agent: Agent, own: Any, speaks: bool) -> np.ndarray[Any, np.dtype[np.int8]] | None:
        encoding = self.encoding(agent)
        if not isinstance(encoding, DiscreteEncoding):
            return None
        return encoding.mask(own, self.legal_targets() if speaks else (), self._before())

    @staticmethod
    def _proposed(proposals: Iterable[Proposal]) -> dict[str, Any]:
        """What is told of proposals that did not win."""
        standing = {proposal.agent: {"target": proposal.target, "reason": proposal.reason} for proposal in proposals}
        return {"proposals": standing} if standing else {}

    # Snapshots.

    def snapshot(self) -> Snapshot:
        """Everything that decides the future of this episode, history and turns spent included.

        Raises ResetNeeded if no episode has begun.
        """
        return self._host.snapshot(((_LAYER, self._layer()), *self._layers()))

    def _layers(self) -> tuple[Layer, ...]:
        """What a kind of environment adds to a snapshot."""
        return ()

    def _put_back(self, snapshot: Snapshot) -> dict[str, Any]:
        """Restore all but what a kind of environment adds; the layers of `snapshot` by their names.

        Raises SnapshotMismatch if it belongs elsewhere; nothing is changed then.
        """
        if not isinstance(snapshot, Snapshot):
            raise TypeError(
                f"Expected a Snapshot, got {type(snapshot).__name__}. From bytes: Snapshot.from_bytes(data)."
            )
        host = self._host
        check_belongs(snapshot, host.origin)
        layers = dict(snapshot.layers)
        value = layers.get(_LAYER)
        if not isinstance(value, Run | FlatRun):
            raise SnapshotMismatch("The snapshot was made without MultiAgentRollback. Take it with env.snapshot().")
        check_settings(value.settings, self._settings, _LAYER)
        level, point = host.read_snapshot(snapshot)
        try:
            run = live(value, lambda data, shown, before: host.decode_point(level, data, shown, before))
            if run.history.index != snapshot.turn:
                raise ValueError(f"it ends at {run.history.index}, its turn is {snapshot.turn}")
            _check_history(run.history)
        except ValueError as error:
            raise SnapshotMismatch(f"The snapshot's history does not fit: {error}") from error
        if isinstance(host, PettingZooHost) and not host.begun:
            self.env.reset()
        host.accept(snapshot, level, point)
        self._run = run
        return layers

    def restore(self, snapshot: Snapshot) -> Any:
        """Put `snapshot` back; what comes back is what `reset` gives in this kind of environment."""
        raise NotImplementedError

    def __deepcopy__(self, memo: dict[int, Any]) -> "MultiAgentRollback":
        twin = type(self)(copy.deepcopy(self.env, memo), **self._options)
        twin._verified = self._verified
        memo[id(self)] = twin
        if self._run is not None:
            twin.restore(self.snapshot())
        return twin

    # Whether the environment can be put back at all.

    def _verify(self) -> None:
        """At the first reset: play a little, put the game back, and play the same again."""
        host = self._host
        if self._verified or not isinstance(host, PettingZooHost):
            return
        before = host.point()
        answers = []
        for _ in range(2):
            answers.append(self._played())
            host.go_back(before)
        if not data_equivalence(answers[0], answers[1]):
            raise ReplayDiverged(
                f"{self.env}, put back, answers the same actions differently: it keeps a part of its state where it "
                "cannot be taken, such as a global random generator or an object of a library that draws. "
                "rollback_gym.core.attributes.register_native teaches how such an object gives its state."
            )
        self._verified = True

    def _played(self) -> list[Any]:
        """What the environment beneath answers to a few actions, always the same ones."""
        raise NotImplementedError

    def _bound(self, env: Any, max_turns: int | None) -> int | None:
        """The turns that an episode can have."""
        bottom = stack_of(env)[-1]
        if not isinstance(bottom, Host):
            return max_turns
        if max_turns is not None:
            raise ValueError(f"{bottom} counts its own turns: pass max_turns to it, not to MultiAgentRollback.")
        return bottom.max_turns

    def _check_agents(self, agents: Iterable[Agent]) -> None:
        for agent in agents:
            self.encoding(agent)
            if self._noop is None:
                continue
            noop, space = self._noop_of(agent), self.env.action_space(agent)
            if not space.contains(noop):
                raise ValueError(f"noop must be an action of {agent!r}, one of {space}; got {noop!r}.")


def sampler(env: Any) -> Callable[[Agent, Any, Any], Any]:
    """Draws actions of agents, always the same ones, from what they see and are told; heeds action masks."""
    drawn_from: dict[Agent, spaces.Space[Any]] = {}

    def draw(agent: Agent, observation: Any, info: Any) -> Any:
        if agent not in drawn_from:
            drawn_from[agent] = copy.deepcopy(env.action_space(agent))
            drawn_from[agent].seed(0)
        for told in (observation, info):
            if isinstance(told, dict) and "action_mask" in told:
                return drawn_from[agent].sample(mask=told["action_mask"])
        return drawn_from[agent].sample()

    return draw


def all_fixed(actions: Mapping[Agent, Any]) -> dict[Agent, Any]:
    """Actions as values that nobody changes any more."""
    return {agent: fixed(action) for agent, action in actions.items()}


def _check_history(history: History) -> None:
    """Raise ValueError unless everything in it is by agent."""
    for entry in history.entries:
        if not all(isinstance(one, dict) for one in _by_agent(entry)):
            raise ValueError(f"entry {entry.index} is not one of many agents")


def _by_agent(entry: Entry) -> tuple[Any, ...]:
    """What of an entry is a dict by agent."""
    if isinstance(entry, Node):
        return (entry.observation,) if entry.parent is None else (entry.observation, entry.action, entry.reward)
    return (entry.action, entry.reason) if entry.target is None else (entry.action, entry.reason, entry.reward)


def _kind(env: Any) -> type[MultiAgentRollback]:
    try:
        from pettingzoo import AECEnv, ParallelEnv
    except ImportError as error:
        raise MissingExtra("MultiAgentRollback needs PettingZoo: pip install 'rollback-gym[pettingzoo]'.") from error
    from rollback_gym.wrappers.multi_agent_aec import AECRollback
    from rollback_gym.wrappers.multi_agent_parallel import ParallelRollback

    if isinstance(env, ParallelEnv):
        return ParallelRollback
    if isinstance(env, AECEnv):
        return AECRollback
    raise TypeError(f"Expected a ParallelEnv or an AECEnv of PettingZoo, got {type(env).__name__}.")
