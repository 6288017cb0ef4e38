"""Environments that know nothing of snapshots, and some that make them hard."""

import random
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle

_OUTSIDE = {"steps": 0}


class Walk(gym.Env[Any, Any]):
    """A random walk along a line, over five cells either way; it ends, won, on the right and, lost, on the left."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-6, 6, (1,), np.int64)
        self.action_space = spaces.Discrete(2)
        self.place = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = int((options or {}).get("place", 0))
        return self.seen(), {"visited": [self.place]}

    def step(self, action: Any) -> Any:
        self.place += (1 if action else -1) * int(self.np_random.integers(1, 3))
        done = abs(self.place) >= 5
        return self.seen(), 1.0 if self.place >= 5 else 0.1, done, False, {"visited": [self.place]}

    def seen(self) -> Any:
        return np.array([np.clip(self.place, -6, 6)])


class EzWalk(Walk, EzPickle):
    """Pickle and deepcopy run its constructor again, and so start anew."""

    def __init__(self) -> None:
        Walk.__init__(self)
        EzPickle.__init__(self)


class HoldingWalk(Walk):
    """Holds such an environment, not as a wrapper does."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = EzWalk()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.inner.reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        return self.inner.step(action)


class Locked(Walk):
    """Holds what cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = (cell for cell in range(10))


class Outside(Walk):
    """Keeps its place where no attribute says it; a reset begins anew."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        _OUTSIDE["steps"] = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        _OUTSIDE["steps"] += 1
        observation, _, done, truncated, info = super().step(action)
        return observation, float(_OUTSIDE["steps"]), done, truncated, info


class Lawless(Walk):
    """Draws from the global generator: nothing brings it back."""

    def step(self, action: Any) -> Any:
        observation, _, done, truncated, info = super().step(action)
        return observation, random.random(), done, truncated, info


class Linked(Walk):
    """Two attributes are one object, and must stay so."""

    def __init__(self) -> None:
        super().__init__()
        self.trail: list[int] = []
        self.same_trail = self.trail

    def step(self, action: Any) -> Any:
        result = super().step(action)
        self.trail.append(self.place)
        return (result[0], float(len(self.same_trail)), *result[2:])
