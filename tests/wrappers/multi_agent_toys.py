"""A small game for many agents, who die one by one: a corridor each, a pit behind, a goal ahead, and a wind."""

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from gymnasium.utils.seeding import np_random
from pettingzoo import ParallelEnv
from pettingzoo.utils import parallel_to_aec

from rollback_gym.core.spaces import AnyText

WORDS = ("left", "right", "wait")
AGENTS = ("walker_0", "walker_1", "walker_2")


class Corridors(ParallelEnv, EzPickle):  # type: ignore[misc]
    """Everybody is paid for every step by where they are; who falls or arrives is out. The wind is drawn as it blows.

    A copy of it starts anew: `EzPickle` runs its constructor.
    """

    metadata = {"name": "corridors_v0", "render_modes": [], "is_parallelizable": True}  # noqa: RUF012
    render_mode = None

    def __init__(self, text: bool = False, masked: bool = False, steps: int = 40) -> None:
        EzPickle.__init__(self, text, masked, steps)
        self.possible_agents = list(AGENTS)
        self.text, self.masked, self.steps = text, masked, steps
        seen = spaces.Box(-10, 10, (3,), np.int64)
        mask = spaces.Box(0, 1, (3,), np.int8)
        space = spaces.Dict({"observation": seen, "action_mask": mask}) if masked else seen
        self.observation_spaces = dict.fromkeys(AGENTS, space)
        self.action_spaces = {agent: AnyText() if text else spaces.Discrete(3) for agent in AGENTS}
        self.place = np.zeros(3, np.int64)

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None or not hasattr(self, "rng"):
            self.rng = np_random(seed)[0]
        self.agents = list(AGENTS)
        self.place[:] = 0  # in place: what was shown before must not change
        self.wind = 0
        self.time = 0
        return {agent: self.seen(agent) for agent in self.agents}, {agent: {"wind": self.wind} for agent in self.agents}

    def seen(self, agent: str) -> Any:
        me = AGENTS.index(agent)
        seen = np.roll(self.place, -me)
        mask = np.array([1, 1, self.wind == 0], np.int8)
        return {"observation": seen, "action_mask": mask} if self.masked else seen

    def step(self, actions: dict[str, Any]) -> Any:
        acting = list(self.agents)
        self.time += 1
        for agent in acting:
            word = actions[agent] if self.text else WORDS[int(actions[agent])]
            self.place[AGENTS.index(agent)] += {"left": -1, "right": 1}.get(word, 0)
        self.wind = int(self.rng.integers(-1, 2))
        place = {agent: int(self.place[AGENTS.index(agent)]) for agent in acting}
        ended = {agent: not -2 < place[agent] < 3 for agent in acting}
        cut = dict.fromkeys(acting, self.time >= self.steps)
        self.agents = [agent for agent in acting if not (ended[agent] or cut[agent])]
        rewards = {agent: place[agent] / 4 + self.wind / 8 for agent in acting}
        observations = {agent: self.seen(agent) for agent in acting}
        return observations, rewards, ended, cut, {agent: {"wind": self.wind} for agent in acting}

    def close(self) -> None:
        pass

    def render(self) -> None:
        pass


def in_turn(**options: Any) -> Any:
    """The same, one after the other."""
    return parallel_to_aec(Corridors(**options))
