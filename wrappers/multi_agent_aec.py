"""Going back together where agents act in turn."""

from typing import Any, NamedTuple, cast

from gymnasium.error import ResetNeeded
from pettingzoo.utils.wrappers import BaseWrapper

from rollback_gym.core.errors import SnapshotMismatch
from rollback_gym.core.history import History
from rollback_gym.core.snapshot import Layer, Run, Snapshot
from rollback_gym.core.spaces import apart
from rollback_gym.wrappers.consensus import Proposal
from rollback_gym.wrappers.multi_agent import Agent, MultiAgentRollback, all_fixed, sampler
from rollback_gym.wrappers.multi_agent_host import PettingZooHost

_TRIED = 30
_LAYER = "Turns"


class Spoken(NamedTuple):
    """A proposal that stands."""

    proposal: Proposal
    moves: bool
    """Its maker, who has no no-op, still has to move in this turn."""


class AECRollback(MultiAgentRollback, BaseWrapper):  # type: ignore[misc]
    """See `MultiAgentRollback`."""

    _host: PettingZooHost

    def __init__(self, env: Any, **options: Any) -> None:
        MultiAgentRollback.__init__(self, env, **options)
        # A rollback may be in the midst of a cycle, which PettingZoo's converter does not expect.
        self.metadata = {**env.metadata, "is_parallelizable": False}
        self._spoken: dict[Agent, Spoken] = {}

    def _bound(self, env: Any, max_turns: int | None) -> int | None:
        """An environment of ours counts everybody's turn as one."""
        bound = super()._bound(env, max_turns)
        return bound if bound is None or max_turns is not None else bound * len(env.possible_agents)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode."""
        self.env.reset(seed=seed, options=options)
        self._host.begin(self._seen(), {})
        self._verify()
        self._spoken = {}
        self._skip_agent_selection = None
        point = self._host.point()
        self._run = Run(self._settings, History.begin(point.observation, point), 0)
        self._cumulative_rewards: dict[Agent, float] = {}
        self._follow({})

    def step(self, action: Any) -> None:
        """Take a step of the agent whose turn it is, or go back."""
        self._layer()
        if not self.agents:
            raise ResetNeeded("The episode is over: call reset() or restore a snapshot.")
        agent = self.agent_selection
        if self._dead(agent):
            self._bury(action)
            return
        action = all_fixed({agent: action})[agent]
        self._cumulative_rewards[agent] = 0.0
        heard = self._heard(agent, action)
        if heard is None:
            spoken = self._spoken.pop(agent, None)
            if spoken is not None and spoken.moves:
                self._spoken[agent] = Spoken(spoken.proposal, False)
            self._play(agent, action, self.encoding(agent).game_action(action))
        elif isinstance(heard, str):
            self._lose(agent, action, heard)
        else:
            self._spoken[agent] = Spoken(heard, self._noop is None)
            target = self._decided(self._standing())
            if target is None:
                self._lose(agent, action, None)
            else:
                self._all_back({agent: action}, target)

    def observe(self, agent: Agent) -> Any:
        """What `agent` sees."""
        return self._shown(agent, self.env.observe(agent), self._on_turn(agent))

    def restore(self, snapshot: Snapshot) -> None:
        """Put `snapshot` back.

        Raises SnapshotMismatch if it belongs to another environment or other settings; nothing is changed then.
        """
        if isinstance(snapshot, Snapshot) and _LAYER not in dict(snapshot.layers):
            raise SnapshotMismatch("The snapshot was made of a Parallel environment; this is an AEC environment.")
        agents, selection, rewards, cumulative, terminations, truncations, spoken = self._put_back(snapshot)[_LAYER]
        self._spoken = {agent: Spoken(Proposal(agent, *proposal), moves) for agent, *proposal, moves in spoken}
        self._cumulative_rewards = dict(cumulative)
        self.agents, self.agent_selection, self.rewards = list(agents), selection, dict(rewards)
        self.terminations, self.truncations = dict(terminations), dict(truncations)
        self._tell({})

    def _layers(self) -> tuple[Layer, ...]:
        spoken = tuple((*said.proposal, said.moves) for said in self._spoken.values())
        kept = (self.rewards, self._cumulative_rewards, self.terminations, self.truncations)
        return ((_LAYER, (tuple(self.agents), self.agent_selection, *map(apart, kept), spoken)),)

    # What a step does.

    def _play(self, agent: Agent, action: Any, taken: Any, invalid: str | None = None) -> None:
        self.env.step(taken)
        # A stale reward of who was buried already is nobody's.
        rewards = {one: float(self.env.rewards.get(one, 0.0)) for one in self.env.agents}
        over = all(self.env.terminations[one] or self.env.truncations[one] for one in self.env.agents)
        if over:
            self._host.end(all(self.env.truncations[one] for one in self.env.agents))
        self._host.shown(self._seen(), {})
        cut = self._host.spend_turn()
        self._acted({agent: action}, rewards, {} if invalid is None else {agent: invalid})
        self._follow(rewards, cut, {}, {} if invalid is None else {agent: invalid})

    def _lose(self, agent: Agent, action: Any, invalid: str | None) -> None:
        """A proposal that does not win."""
        if self._noop is not None:
            self._play(agent, action, self._noop_of(agent), invalid)
            return
        run = self._layer()
        votes = {said.proposal.agent: tuple(said.proposal[1:]) for said in self._spoken.values()}
        why = {} if invalid is None else {agent: invalid}
        self._run = run._replace(history=run.history.refuse({agent: action}, votes, why))
        self._follow(dict.fromkeys(self.agents, 0.0), self._host.spend_turn(), {}, why)

    def _all_back(self, actions: dict[Agent, Any], target: int) -> None:
        rewards, told, cut = self._go_back(actions, target, self._standing())
        self._spoken = {}
        self._follow(rewards, cut, {"rollback": told})

    def _bury(self, action: Any) -> None:
        """The step of an agent that is dead, which takes it out; it has no index."""
        agent = self.agent_selection
        if action is not None:
            raise ValueError(f"{agent!r} is dead: the only action left to it is None, got {action!r}.")
        self._spoken.pop(agent, None)
        if self.env.terminations.get(agent) or self.env.truncations.get(agent):
            self.env.step(None)
            self._follow(dict.fromkeys(self.env.agents, 0.0))
        else:  # alive beneath: the turns ran out here
            self._was_dead_step(None)

    # What stands.

    def _follow(
        self,
        rewards: dict[Agent, float],
        cut: bool = False,
        more: dict[str, Any] | None = None,
        invalid: dict[Agent, str] | None = None,
    ) -> None:
        """Take over who is there, whose turn it is, and what everybody got."""
        env = self.env
        self.agents, self.agent_selection = list(env.agents), env.agent_selection
        self.terminations = {agent: bool(env.terminations[agent]) for agent in self.agents}
        self.truncations = {agent: cut or bool(env.truncations[agent]) for agent in self.agents}
        self.rewards = {agent: rewards.get(agent, 0.0) for agent in self.agents}
        before = self._cumulative_rewards
        self._cumulative_rewards = {agent: before.get(agent, 0.0) + self.rewards[agent] for agent in self.agents}
        self._spoken = {agent: said for agent, said in self._spoken.items() if agent in self._speakers()}
        self._tell(more or {}, invalid or {})
        if cut:
            self._deads_step_first()

    def _tell(self, more: dict[str, Any], invalid: dict[Agent, str] | None = None) -> None:
        more = self._proposed(self._standing()) | more
        self.infos = {
            agent: self._told(
                agent,
                apart(self.env.infos.get(agent, {})),
                self._host.seen.get(agent),
                self._on_turn(agent),
                more,
                (invalid or {}).get(agent),
            )
            for agent in self.agents
        }

    def _seen(self) -> dict[Agent, Any]:
        """What whose turn it is sees."""
        agent = self.env.agent_selection
        return {agent: apart(self.env.observe(agent))} if agent in self.env.agents else {}

    def _standing(self) -> tuple[Proposal, ...]:
        return tuple(self._spoken[agent].proposal for agent in self.agents if agent in self._spoken)

    def _dead(self, agent: Agent) -> bool:
        return bool(self.terminations.get(agent) or self.truncations.get(agent))

    def _speakers(self) -> tuple[Agent, ...]:
        return tuple(agent for agent in self.agents if not self._dead(agent))

    def _on_turn(self, agent: Agent) -> bool:
        return cast(bool, agent == self.agent_selection and agent in self._speakers())

    def _played(self) -> list[Any]:
        env, draw, answers = self.env, sampler(self.env), []
        for _ in range(_TRIED):
            if not env.agents:
                break
            agent = env.agent_selection
            observation, reward, terminated, truncated, info = env.last()
            answers.append(apart((agent, observation, reward, terminated, truncated)))
            env.step(None if terminated or truncated else draw(agent, observation, info))
        return answers
