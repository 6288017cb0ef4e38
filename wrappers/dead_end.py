"""The ending "no solution left", which needs a solver: so it is a wrapper, and no rule of a game."""

import math
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.core.snapshot import Snapshot, check_settings
from rollback_gym.core.stack import Layered
from rollback_gym.oracles.lookup import for_env


class DeadEnd(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs, Layered):
    """Ends an episode as lost where the oracle knows no way to win it.

    Put it beneath `Rollback`: then a dead position counts as lost, and `revive` lets the agent go back out of it.

    Termination: also a position from which L(s), the fewest turns still needed, is infinite or above `limit`. It is
        judged after an admissible action that did not end the episode anyway, as RetroAgent does in Sokoban. The
        reward is left as it is.
    Info: adds `dead_end` (True) where it ends the episode.

    Args:
        env: An environment that there is an oracle for.
        limit: More turns than this count as no way at all; None for no limit.
    """

    layer_name = "DeadEnd"

    def __init__(self, env: gym.Env[Any, Any], *, limit: int | None = None) -> None:
        RecordConstructorArgs.__init__(self, limit=limit)
        gym.Wrapper.__init__(self, env)
        self._distance = for_env(env).distance  # raises where there is no oracle
        base = env.unwrapped
        assert isinstance(base, SnapshotEnv)
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0):
            raise ValueError(f"limit must be None or a whole number of at least 0, got {limit!r}.")
        limit = None if limit is None else int(limit)
        self.limit = limit
        self._most = math.inf if limit is None else limit
        self._base = base
        self._settings = (("limit", limit),)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, and end the episode where nothing can come of it.

        Raises:
            OracleBudgetExceeded: if whether anything can come of it takes too long to find out. The episode is over.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        base = self._base
        if not (terminated or truncated or "invalid_action" in info):
            try:
                distance = self._distance(base.level, base.state)
            except OracleBudgetExceeded as error:
                base.lose()  # nobody above has heard of this action: going on would tear history and game apart
                raise OracleBudgetExceeded(
                    f"{error} Or play without this ending: make the environment with dead_end=False."
                ) from error
            if distance > self._most or distance == math.inf:
                base.lose()
                info["dead_end"] = terminated = True
        return observation, float(reward), terminated, truncated, info

    # The wrapper's part of a snapshot: see core/stack.py.

    def layer(self) -> Any:
        """What this wrapper was made with."""
        return self._settings

    def read_layer(self, value: Any, snapshot: Snapshot, decode: Any) -> Any:
        """`value`, if it is this wrapper's. Raises SnapshotMismatch where it is another one's."""
        check_settings(value, self._settings, self.layer_name)
        return value

    def accept_layer(self, value: Any) -> None:
        """Nothing: this wrapper has no state."""

    def note(self, info: dict[str, Any]) -> dict[str, Any]:
        """Nothing is added to the info of a restored environment."""
        return info
