"""Going back together where all agents act at once."""

from collections.abc import Mapping
from typing import Any

from gymnasium.error import ResetNeeded
from pettingzoo.utils.wrappers import BaseParallelWrapper

from rollback_gym.core.history import History
from rollback_gym.core.snapshot import Outcome, Run, Snapshot
from rollback_gym.core.spaces import apart
from rollback_gym.wrappers.consensus import Proposal
from rollback_gym.wrappers.multi_agent import Agent, MultiAgentRollback, all_fixed, sampler
from rollback_gym.wrappers.multi_agent_host import PettingZooHost

Answer = tuple[dict[Agent, Any], dict[Agent, float], dict[Agent, bool], dict[Agent, bool], dict[Agent, Any]]
_TRIED = 15


class ParallelRollback(MultiAgentRollback, BaseParallelWrapper):  # type: ignore[misc]
    """See `MultiAgentRollback`."""

    def __init__(self, env: Any, **options: Any) -> None:
        MultiAgentRollback.__init__(self, env, **options)
        if self._noop is None:
            raise ValueError(
                "Where all act at once, an agent whose proposal is lost has to do something: pass noop=, an action, a "
                "dict of them by agent, or a function of the agent."
            )

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode; observations and infos by agent."""
        observations, infos = self.env.reset(seed=seed, options=options)
        host = self._host
        if isinstance(host, PettingZooHost):
            host.begin(apart(observations), apart(infos))
            self._verify()
        self.agents = list(self.env.agents)
        point = host.point()
        self._run = Run(self._settings, History.begin(point.observation, point), 0)
        return self._answered(point.observation, host.info())

    def step(self, actions: Mapping[Agent, Any]) -> Answer:
        """Take a step of all who are alive, or go back."""
        self._layer()
        if not self.agents:
            raise ResetNeeded("The episode is over: call reset() or restore a snapshot.")
        strangers = [agent for agent in actions if agent not in self.agents]
        if strangers:
            raise ValueError(f"There are actions of {strangers}; those alive are {self.agents}.")
        actions = all_fixed(actions)
        heard = {agent: self._heard(agent, action) for agent, action in actions.items()}
        said = [heard.get(agent) for agent in self.agents]
        proposals = tuple(one for one in said if isinstance(one, Proposal))
        target = self._decided(proposals)
        if target is not None:
            return self._all_back(actions, target, proposals)
        taken = {
            agent: self.encoding(agent).game_action(action) if heard[agent] is None else self._noop_of(agent)
            for agent, action in actions.items()
        }
        invalid = {agent: why for agent, why in heard.items() if isinstance(why, str)}
        return self._played_on(actions, taken, proposals, invalid)

    def restore(self, snapshot: Snapshot) -> Any:
        """Put `snapshot` back; observations and infos of that moment, by agent.

        Raises SnapshotMismatch if it belongs to another environment or other settings; nothing is changed then.
        """
        self._put_back(snapshot)
        self.agents = [] if self._host.outcome is not Outcome.RUNNING else list(self.env.agents)
        return self._answered(snapshot.observation, self._host.info())

    def _speakers(self) -> tuple[Agent, ...]:
        return tuple(self.agents)

    def _played_on(
        self,
        actions: dict[Agent, Any],
        taken: dict[Agent, Any],
        proposals: tuple[Proposal, ...],
        invalid: dict[Agent, str],
    ) -> Answer:
        observations, rewards, terminations, truncations, infos = self.env.step(taken)
        rewards = {agent: float(reward) for agent, reward in rewards.items()}
        terminations, truncations = _flags(terminations), _flags(truncations)
        self.agents = list(self.env.agents)
        host = self._host
        if isinstance(host, PettingZooHost):
            host.shown(apart(observations), apart(infos))
            if not self.agents:
                host.end(all(truncations.values()))
            if host.spend_turn():
                truncations |= dict.fromkeys(self.agents, True)
                self.agents = []
        odd = {agent: info["invalid_action"] for agent, info in infos.items() if "invalid_action" in info} | invalid
        self._acted(actions, rewards, odd)
        shown, told = self._answered(observations, infos, self._proposed(proposals), invalid)
        return shown, rewards, terminations, truncations, told

    def _all_back(self, actions: dict[Agent, Any], target: int, proposals: tuple[Proposal, ...]) -> Answer:
        rewards, told, cut = self._go_back(actions, target, proposals)
        alive = list(rewards)
        self.agents = [] if cut else list(alive)
        seen, infos = self.history.node.observation, self._host.info()
        observations, infos = self._answered(
            {agent: seen[agent] for agent in alive}, {agent: infos[agent] for agent in alive}, {"rollback": told}
        )
        return observations, rewards, dict.fromkeys(alive, False), dict.fromkeys(alive, cut), infos

    def _answered(
        self,
        observations: Mapping[Agent, Any],
        infos: Mapping[Agent, Any],
        more: Mapping[str, Any] | None = None,
        invalid: Mapping[Agent, str] | None = None,
    ) -> tuple[dict[Agent, Any], dict[Agent, Any]]:
        shown = {agent: self._shown(agent, seen, agent in self.agents) for agent, seen in observations.items()}
        told = {
            agent: self._told(
                agent, info, observations[agent], agent in self.agents, more or {}, (invalid or {}).get(agent)
            )
            if agent in observations
            else info
            for agent, info in infos.items()
        }
        return shown, told

    def _played(self) -> list[Any]:
        draw, answers = sampler(self.env), []
        observations, infos = self._host.point().observation, self._host.info()
        for _ in range(_TRIED):
            if not self.env.agents:
                break
            actions = {agent: draw(agent, observations.get(agent), infos.get(agent)) for agent in self.env.agents}
            observations, rewards, terminations, truncations, infos = self.env.step(actions)
            answers.append(apart((observations, dict(rewards), terminations, truncations)))
        return answers


def _flags(values: Mapping[Agent, Any]) -> dict[Agent, bool]:
    return {agent: bool(value) for agent, value in values.items()}
