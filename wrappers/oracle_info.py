"""What an exact oracle knows, in `info["oracle"]`."""

import math
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from rollback_gym.core import stack
from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.history import Node
from rollback_gym.core.options import flag
from rollback_gym.oracles.grading import grade, is_pivotal, regret
from rollback_gym.oracles.lookup import Oracle, for_env
from rollback_gym.wrappers.rollback import Rollback


class OracleInfo(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs, stack.Noting):
    """Adds `info["oracle"]`, a dict of floats, bools and strings; what does not apply is absent.

    - `distance`: L(s), the fewest turns still needed without going back; infinity where the goal is out of reach.
    - `distance_with_rollback`: the fewest turns still needed if going back is allowed: the least of `distance` and,
      for each node that can be gone back to, L there and the turns of the rollbacks (one; several where the wrapper
      allows only short ones).
    - `previous`: L before the action.
    - `pivotal`: the action was a pivotal mistake: `previous` is finite, and `distance` larger. Never of a rollback.
    - `regret` and `grade`: 1 + distance - previous where `previous` is finite, and its name (`oracles.Grade`). A
      rollback is measured by `distance_with_rollback`, before and after.
    - `justified`, of a rollback: going back, its own turn included, costs no more than going on would have.
    - `budget_fatal`: after this action the turns left do not suffice any more; before it they did.
    - `optimal_actions`, a tuple, where asked for.

    Args:
        env: An environment that there is an oracle for, with the Rollback wrapper or without.
        optimal_actions: Whether to add `optimal_actions`.
    """

    def __init__(self, env: gym.Env[Any, Any], *, optimal_actions: bool = False) -> None:
        RecordConstructorArgs.__init__(self, optimal_actions=optimal_actions)
        gym.Wrapper.__init__(self, env)
        for_env(env)  # raises where there is none
        self.optimal_actions = flag("optimal_actions", optimal_actions)
        base = env.unwrapped
        assert isinstance(base, SnapshotEnv)
        self._base = base
        self._rollback = stack.find(env, Rollback)
        self._lengths: list[tuple[Node, float]] = []
        """L at every node of the active branch; only ever a copy of what the history and the oracle say."""

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy, which would follow the nodes one by one and run out of stack."""
        return {**self.__dict__, "_lengths": []}

    @property
    def oracle(self) -> Oracle:
        """Who is asked."""
        return for_env(self._base)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self.note(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, and judge it."""
        if not self._base.begun:
            return self.env.step(action)  # type: ignore[return-value]  # which raises
        previous, previous_with_rollback = self._view()
        observation, reward, terminated, truncated, info = self.env.step(action)
        note = self.note(info)["oracle"]
        note["previous"] = previous
        went_back = "rollback" in info
        distance, turn, cap = note["distance"], self._base.turn, self._base.max_turns
        note["pivotal"] = not went_back and is_pivotal(previous, distance)
        if went_back:
            note["justified"] = 1 + distance <= previous
            before, after = previous_with_rollback, note["distance_with_rollback"]
        else:
            before, after = previous, distance
        if not math.isinf(before):
            note["regret"] = regret(before, after)
            note["grade"] = str(grade(note["regret"]))
        note["budget_fatal"] = turn - 1 + previous <= cap < turn + distance
        return observation, float(reward), terminated, truncated, info

    def note(self, info: dict[str, Any]) -> dict[str, Any]:
        """Add what the oracle knows of the state, whatever led to it."""
        distance, with_rollback = self._view()
        note: dict[str, Any] = {"distance": distance, "distance_with_rollback": with_rollback}
        if self.optimal_actions:
            note["optimal_actions"] = self.oracle.optimal_actions(self._base.level, self._base.state)
        info["oracle"] = note
        return info

    def _view(self) -> tuple[float, float]:
        """L of the state, without and with going back."""
        if self._rollback is None:
            distance = self.oracle.distance(self._base.level, self._base.state)
            return distance, distance
        self._follow(self._rollback.history.node)
        lengths = self._lengths
        least = distance = lengths[-1][1]
        if self._rollback.legal_targets():
            for back in range(1, len(lengths)):
                least = min(least, self._rollback.turns_back(back) + lengths[-1 - back][1])
        return distance, least

    def _follow(self, node: Node) -> None:
        """Make `_lengths` those of the path to `node`, keeping what is known."""
        known, fresh = self._lengths, []
        at: Node | None = node
        while at is not None and not (at.depth < len(known) and known[at.depth][0] is at):
            fresh.append(at)
            at = at.parent
        del known[0 if at is None else at.depth + 1 :]
        level = self._base.level
        known.extend((node, self.oracle.distance(level, node.point.state)) for node in reversed(fresh))
