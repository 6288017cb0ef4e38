"""An exact oracle for any simulator, by searching: for games of one's own that have few states."""

import math
from collections import deque
from functools import lru_cache
from typing import Any

from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.core.simulator import Simulator


class BreadthFirst:
    """L(s) as the depth at which a search from s, turn by turn, first finds a win.

    It asks the simulator for nothing but its admissible actions and what they do, so that it is as right as the rules
    are. A game whose L follows from a rule deserves an oracle that knows the rule: it will be a thousand times faster.

    Args:
        simulator: The rules; its states must be hashable, as `SnapshotEnv` asks.
        limit: How many states a search may look at.

    Raises:
        OracleBudgetExceeded: by every method, where `limit` states do not suffice.
    """

    def __init__(self, simulator: Simulator, *, limit: int = 100_000) -> None:
        self.simulator = simulator
        self.limit = limit
        self._ways = lru_cache(maxsize=4096)(self._way)

    def distance(self, level: Any, state: Any) -> float:
        """L(s); math.inf where no win can be reached."""
        way = self._ways(level, state)
        return math.inf if way is None else float(len(way))

    def plan(self, level: Any, state: Any) -> tuple[Any, ...]:
        """One shortest solution; empty where there is none."""
        return self._ways(level, state) or ()

    def optimal_actions(self, level: Any, state: Any) -> tuple[Any, ...]:
        """Every first action of a shortest solution, in the order of the admissible actions."""
        length = self.distance(level, state)
        if length == 0 or math.isinf(length):
            return ()
        return tuple(
            action
            for action in self.simulator.actions(level, state)
            if (done := self.simulator.step(level, state, action)).won
            or (not done.terminated and 1 + self.distance(level, done.state) == length)
        )

    def _way(self, level: Any, start: Any) -> tuple[Any, ...] | None:
        """A shortest solution; None where there is none."""
        came_from: dict[Any, tuple[Any, Any] | None] = {start: None}
        queue = deque([start])
        while queue:
            state = queue.popleft()
            for action in self.simulator.actions(level, state):
                done = self.simulator.step(level, state, action)
                if done.won:
                    return (*_actions(came_from, state), action)
                if done.terminated or done.state in came_from:
                    continue
                if len(came_from) >= self.limit:
                    raise OracleBudgetExceeded(
                        f"No win was found among the {self.limit} states nearest to this one of level {level.id!r}. "
                        "Pass a larger limit, or write an oracle that knows more than the rules."
                    )
                came_from[done.state] = (state, action)
                queue.append(done.state)
        return None


def _actions(came_from: dict[Any, tuple[Any, Any] | None], state: Any) -> tuple[Any, ...]:
    """The actions that lead to `state`."""
    actions = []
    while (step := came_from[state]) is not None:
        state, action = step
        actions.append(action)
    return tuple(reversed(actions))
