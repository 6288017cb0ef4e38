"""The rollback action: the agent itself goes back to an earlier point of the episode."""

import math
import sys
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from rollback_gym.core import stack
from rollback_gym.core.history import History, Node
from rollback_gym.core.host import Host
from rollback_gym.core.options import count, flag
from rollback_gym.core.snapshot import FlatRun, Outcome, Run, Snapshot, check_settings, live
from rollback_gym.core.spaces import apart, fixed
from rollback_gym.wrappers.encodings import DiscreteEncoding, Request, encoding_for

Targets = Literal["any", "previous", "start"]
_FAILED = Outcome.FAILED  # to look a member up takes 80 ns, each time
_OPEN = (Outcome.RUNNING, _FAILED)
_new = tuple.__new__  # a NamedTuple's own constructor takes twice as long


class Rollback(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs, stack.Layered):
    """Adds `rollback(k)`: put the game into the state right after action k completed (k = 0: the start).

    Going back gives back the game, never what was spent: the turn and the rollback stay spent. Every action, a
    rollback and an invalid one too, gets the next action index, which is never used again in the episode.

    Action space: text stays text, with `rollback(3)` or `rollback(3, "why")`; `Discrete(n)` becomes
        `Discrete(n + max_depth)`, where n + d goes back d + 1 nodes; anything else becomes
        `OneOf((base, Discrete(max_turns + 1)))`.
    Observation: after a rollback, word for word what the target had.
    Reward of a rollback: minus `cost`, and with `refund` minus what the abandoned actions had earned, so that the
        return of an episode is the return of its active branch minus the costs.
    Info: adds `rollback_targets` (the legal k), after a rollback `rollback` (target, depth, reason, and the indices
        abandoned), after a refused one `invalid_action`, and `failed` where only a rollback can save the episode.

    Args:
        env: An environment with snapshots: a `SnapshotEnv`, or any in `Snapshots`.
        max_rollbacks: How many rollbacks an episode may hold; None for as many as there are turns.
        cost: Subtracted from the reward of each rollback that is carried out.
        targets: `"any"` node before the current one on the active branch, only the `"previous"` one, or only the
            `"start"`.
        revive: A lost game does not end the episode while a rollback is still possible.
        refund: Whether a rollback pays back what the abandoned actions earned.
        verb: The word for a rollback in text.
        max_depth: How far back a `Discrete` action can go; by default as far as turns allow.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        max_rollbacks: int | None = None,
        cost: float = 0.0,
        targets: Targets = "any",
        revive: bool = False,
        refund: bool = True,
        verb: str = "rollback",
        max_depth: int | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            max_rollbacks=max_rollbacks,
            cost=cost,
            targets=targets,
            revive=revive,
            refund=refund,
            verb=verb,
            max_depth=max_depth,
        )
        gym.Wrapper.__init__(self, env)
        base = stack.host(env)
        if targets not in ("any", "previous", "start"):
            raise ValueError(f"targets must be 'any', 'previous' or 'start', got {targets!r}.")
        self.max_rollbacks = None if max_rollbacks is None else count("max_rollbacks", max_rollbacks)
        self.cost = float(cost)
        if not np.isfinite(self.cost):
            raise ValueError(f"cost must be a finite number, got {cost!r}.")
        self.targets: Targets = targets
        self.revive = flag("revive", revive)
        self.refund = flag("refund", refund)
        if self.revive and not base.knows_losses:
            raise ValueError("revive needs to tell a loss from a win: pass Snapshots(env, won=...).")
        self.encoding = encoding_for(env.action_space, verb, base.max_turns, max_depth)
        self.action_space = self.encoding.space
        reach = self.encoding.max_depth if isinstance(self.encoding, DiscreteEncoding) else base.max_turns
        self._reach = sys.maxsize if reach is None else reach
        if stack.find(env, Rollback) is not None:
            raise TypeError("This environment is wrapped in Rollback already; once is enough.")
        noting = [wrapper for wrapper in stack.wrappers(env) if isinstance(wrapper, stack.Noting)]
        if any(not isinstance(wrapper, stack.Layered) for wrapper in noting):
            raise TypeError(f"{type(noting[0]).__name__} must be outside Rollback, to see rollbacks too. Wrap it last.")
        self._masked = isinstance(self.encoding, DiscreteEncoding)
        self._base = base
        self._bare = isinstance(env, Host)
        self._run: Run | None = None
        self._earlier: tuple[int, ...] | None = None
        """See `_before`; None until asked for after a restore."""
        self._settings = (
            ("max_rollbacks", self.max_rollbacks),
            ("cost", self.cost),
            ("targets", self.targets),
            ("revive", self.revive),
            ("refund", self.refund),
            ("verb", verb),
            ("max_depth", max_depth),
        )

    @property
    def history(self) -> History:
        """The tree of this episode so far. Raises ResetNeeded before the first reset or restore."""
        return self.layer().history

    @property
    def rollbacks(self) -> int:
        """Rollbacks carried out in this episode."""
        return self.layer().spent

    def legal_targets(self) -> tuple[int, ...]:
        """The action indices that the next action may go back to, ascending; none once the episode is over."""
        return self._behind() if self._base.outcome in _OPEN else ()

    def _behind(self) -> tuple[int, ...]:
        """What options and budget allow to go back to, whether or not the episode is over."""
        before = self._before()
        if not before or (self.max_rollbacks is not None and self.rollbacks >= self.max_rollbacks):
            return ()
        if self.targets == "previous":
            return before[-1:]
        reachable = before if len(before) <= self._reach else before[len(before) - self._reach :]
        # After a restore without the history, the path does not begin at the start.
        return reachable if self.targets == "any" else reachable[:1] if reachable[:1] == (0,) else ()

    def _before(self) -> tuple[int, ...]:
        """The action indices of the nodes on the path before the current one."""
        if self._earlier is None:
            self._earlier = tuple([node.index for node in self.history.path[:-1]])
        return self._earlier

    def turns_back(self, nodes: int) -> float:
        """The turns it takes to go back so many nodes on the path, by one rollback or several; infinity if it cannot
        be done with the rollbacks left.
        """
        before, spent = self._before(), self.rollbacks
        if self.targets == "start":
            turns = 1 if nodes == len(before) <= self._reach and before[:1] == (0,) else math.inf
        else:
            turns = -(-nodes // (1 if self.targets == "previous" else self._reach))
        left = math.inf if self.max_rollbacks is None else self.max_rollbacks - spent
        return turns if turns <= left and self._base.outcome in _OPEN else math.inf

    def action_masks(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        """(n + max_depth,) int8: 1 where an action is legal now. Raises TypeError but for `Discrete` actions."""
        if not isinstance(self.encoding, DiscreteEncoding):
            raise TypeError(f"Only Discrete actions have a mask; this action space is {self.action_space}.")
        self.layer()  # raises where no episode has begun
        failed = self._base.outcome is _FAILED
        own = 0 if failed else self._base.info().get("action_mask")
        return self.encoding.mask(own, self.legal_targets(), self._before())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see `SnapshotEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._run = Run(self._settings, History.begin(observation, self._base.point()), 0)
        self._earlier = ()
        return apart(observation), self.note(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a game action or go back; either spends a turn."""
        settings, history, spent = self._run or self.layer()
        if type(action) is not str:
            action = fixed(action)
        base, request = self._base, self.encoding.read(action, history)
        if request is not None:
            if base.outcome not in _OPEN:
                hint = " With revive=True a lost game may go back." if base.outcome is Outcome.LOST else ""
                raise ResetNeeded(f"The episode is over ({base.outcome}): call reset() or restore a snapshot.{hint}")
            return self._roll_back(action, request)
        if base.outcome is _FAILED:
            return self._give_up(action)
        observation, reward, terminated, truncated, info = self.env.step(self.encoding.game_action(action))
        terminated, reward = bool(terminated), float(reward)
        lost = terminated and base.outcome is Outcome.LOST
        before = (*self._before(), history.node.index)
        history = history.act(action, observation, reward, base.point(), info.get("invalid_action"), lost)
        self._run, self._earlier = _new(Run, (settings, history, spent)), before
        if lost and self.revive and not truncated and not base.last_turn and self._behind():
            base.hold()
            terminated = False
        return apart(observation), reward, terminated, truncated, self.note(info)

    def snapshot(self) -> Snapshot:
        """This wrapper and what it wraps; `rollback_gym.snapshot(env)` takes the wrappers above it as well."""
        if self._bare and self._run is not None:
            return self._base.snapshot((("Rollback", self._run),))
        return stack.snapshot(self)

    def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """Put `snapshot` back; see `rollback_gym.restore`."""
        return stack.restore(self, snapshot)

    # The wrapper's part of a snapshot: see core/stack.py.

    layer_name = "Rollback"

    def layer(self) -> Run:
        """What this wrapper knows of the episode. Raises ResetNeeded before the first reset or restore."""
        if self._run is None:
            raise ResetNeeded("No episode has begun: call reset() or restore a snapshot first.")
        return self._run

    def read_layer(self, value: Any, snapshot: Snapshot, decode: Any) -> Run:
        """The run in a snapshot, checked. Raises ValueError where it is none of this wrapper's."""
        if not isinstance(value, (Run, FlatRun)):
            raise ValueError("expected a history")
        check_settings(value.settings, self._settings, self.layer_name)
        run = live(value, decode)
        if run.history.index != snapshot.turn:
            raise ValueError(f"its history ends at {run.history.index}, its turn is {snapshot.turn}")
        return run

    def accept_layer(self, run: Run) -> None:
        """Take over what `read_layer` has checked."""
        if self._run is None or self._run.history.node is not run.history.node:
            self._earlier = None
        self._run = run

    def shown(self, observation: Any) -> Any:
        """What this wrapper showed last, whatever wrappers are beneath it."""
        return apart(self.history.node.observation)

    def note(self, info: dict[str, Any]) -> dict[str, Any]:
        """Add this wrapper's part to an info."""
        outcome = self._base.outcome
        info["rollback_targets"] = self._behind() if outcome in _OPEN else ()
        if outcome is _FAILED:
            info["failed"] = True
            info["admissible_actions"] = ()
        if self._masked:
            info["action_mask"] = self.action_masks()
        return info

    def _roll_back(self, action: Any, request: Request) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        run, before, base = self.layer(), self._before(), self._base
        history = run.history
        legal = self.legal_targets()
        if request.problem is not None or request.target not in legal:
            return self._refuse(action, request, legal)
        target = history.find(request.target)
        assert target is not None
        reward = (self._refund(history.node, target) if self.refund else 0.0) - self.cost
        went_back = history.go_back(target, action, reward, request.reason)
        note = {
            "target": target.index,
            "depth": history.node.depth - target.depth,
            "reason": request.reason,
            "abandoned": (*before[target.depth + 1 :], history.node.index),
        }
        self._earlier = before[: target.depth]
        self._run = Run(run.settings, went_back, run.spent + 1)
        base.go_back(target.point)
        truncated = base.spend_turn()
        info = self.note(base.info())
        info["rollback"] = note
        return apart(target.observation), reward, False, truncated, info

    def _refuse(
        self, action: Any, request: Request, legal: tuple[int, ...]
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        why = request.problem or self._why_not(request.target, legal)
        allowed = f"allowed targets: {', '.join(map(str, legal))}" if legal else "no rollback is allowed now"
        why = f"{why}; {allowed}."
        self._run = self.layer()._replace(history=self.history.refuse(action, request.reason, why))
        return self._spend(why)

    def _give_up(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        why = f"the game is lost and only a rollback can take it back; allowed: {self.legal_targets()}"
        node = self.history.node
        run = self.layer()
        self._earlier = (*self._before(), node.index)
        self._run = run._replace(history=run.history.act(action, node.observation, 0.0, node.point, why, True))
        return self._spend(why)

    def _spend(self, why: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """A turn on which nothing happened; it ends an episode that only a rollback could have saved."""
        base = self._base
        terminated = base.outcome is _FAILED
        if terminated:
            base.lose()
        truncated = base.spend_turn()
        info = self.note(base.info())
        info["invalid_action"] = why
        return apart(self.history.node.observation), 0.0, terminated, truncated, info

    def _why_not(self, target: int | None, legal: tuple[int, ...]) -> str:
        if self.max_rollbacks is not None and self.rollbacks >= self.max_rollbacks:
            return f"all {self.max_rollbacks} rollbacks are spent"
        if target == self.history.node.index:
            return f"{target} is the current node"
        if target in self._before():
            return f"only the {self.targets} node may be gone back to, not {target}"
        return f"there is no node {target} before the current one on the active branch"

    @staticmethod
    def _refund(node: Node, target: Node) -> float:
        removed = [gone.reward for gone in node.path[target.depth + 1 :]]
        return 0.0 - math.fsum(removed)
