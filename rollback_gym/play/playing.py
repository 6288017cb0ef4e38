"""One episode: a policy meets an environment, and a record comes of it."""

import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import gymnasium as gym

from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.history import Entry, History, Node
from rollback_gym.core.snapshot import Outcome
from rollback_gym.core.stack import find
from rollback_gym.play.policies import AnyPolicy, Choice, GoingBack, KnowingPolicy, Policy, Truth, Turn, View
from rollback_gym.play.recording import record
from rollback_gym.play.records import Call, Episode, Made

_OPEN = (Outcome.RUNNING, Outcome.FAILED)


def play(
    env: gym.Env[Any, Any],
    policy: AnyPolicy,
    *,
    id: str,
    made: Made,
    seed: int,
    options: Mapping[str, Any] | None = None,
    policy_seed: int = 0,
    oracle: bool = True,
) -> Episode:
    """Play one episode to its end, and record it.

    Args:
        env: An environment in the `Rollback` wrapper, made as `made` says.
        policy: Who plays.
        id: The episode's, unique in its run; with `policy_seed` it decides what a policy leaves to chance.
        made: How `env` was made.
        seed: For `reset`.
        options: For `reset`, too.
        policy_seed: See `id`.
        oracle: Whether to record L, grades and pivots, where there is an oracle.

    Raises:
        TypeError: if `env` has no history.
    """
    given = dict(options or {})
    observation, info = env.reset(seed=seed, options=given or None)
    table = Table(env)
    policy.begin(chance(policy_seed, id))
    turns = [first_turn(observation, info)]
    calls: dict[int, Call] = {}
    injected: dict[int, str] = {}
    seconds: dict[int, float] = {}
    while table.open:
        choice = choose(policy, table, tuple(turns), info)
        began = time.perf_counter()
        _, _, _, _, info = env.step(choice.action)
        last = table.history.last
        seconds[last.index] = time.perf_counter() - began
        if choice.call is not None:
            calls[last.index] = choice.call
        if choice.injected is not None:
            injected[last.index] = choice.injected
        turns.append(turn(last, info, choice.call))
    base = table.base
    return record(
        table.history,
        id=id,
        made=made,
        name=base.name,
        level=base.level,
        seed=seed,
        outcome=base.outcome,
        max_turns=base.max_turns,
        policy={"name": policy.name, "seed": policy_seed, **policy.settings()},
        oracle=table.oracle if oracle else None,
        options=given,
        calls=calls,
        injected=injected,
        seconds=seconds,
    )


def chance(policy_seed: int, id: str) -> int:
    """The seed for what a policy leaves to chance in the episode `id`."""
    return int.from_bytes(blake2b(f"{policy_seed}:{id}".encode(errors="surrogatepass"), digest_size=8).digest(), "big")


def choose(policy: AnyPolicy, table: "Table", turns: tuple[Turn, ...], info: Mapping[str, Any]) -> Choice:
    """What `policy` answers, shown what it may see. Raises TypeError where that is no `Choice`."""
    view = table.view(turns, info)
    if isinstance(policy, KnowingPolicy):
        choice = policy.act_knowing(view, table.truth())
    else:
        assert isinstance(policy, Policy)
        choice = policy.act(view)
    if not isinstance(choice, Choice):
        raise TypeError(f"The policy {policy.name!r} must answer with a play.policies.Choice, got {choice!r:.80}.")
    return choice


def first_turn(observation: Any, info: Mapping[str, Any]) -> Turn:
    """What an agent sees at the start."""
    return Turn(0, None, observation, admissible=_offered(info), targets=_targets(info))


def turn(entry: Entry, info: Mapping[str, Any], call: Call | None = None) -> Turn:
    """What an agent sees of the action that was just taken, where `info` came with it."""
    offered, targets = _offered(info), _targets(info)
    text, problem = (None, None) if call is None else (call.text, call.problem)
    if isinstance(entry, Node):
        assert entry.parent is not None
        return Turn(
            entry.index,
            entry.action,
            entry.observation,
            parent=entry.parent.index,
            invalid=entry.invalid,
            failed=entry.failed,
            admissible=offered,
            targets=targets,
            text=text,
            problem=problem,
        )
    return Turn(
        entry.index,
        entry.action,
        (entry.target or entry.source).observation,
        parent=entry.source.index,
        invalid=entry.invalid,
        target=None if entry.target is None else entry.target.index,
        reason=entry.reason,
        rollback=True,
        admissible=offered,
        targets=targets,
        text=text,
        problem=problem,
    )


class Table:
    """An environment with an episode in it, and what can be known of it.

    Raises:
        TypeError: if `env` has no snapshots or no history.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        from rollback_gym.wrappers import Rollback

        base, wrapper = env.unwrapped, find(env, Rollback)
        if not isinstance(base, SnapshotEnv) or wrapper is None:
            raise TypeError(
                f"An episode is recorded from its history, which {type(base).__name__} does not keep here. Leave out "
                "rollback=False; max_rollbacks=0 forbids rollbacks."
            )
        self.base: SnapshotEnv[Any, Any] = base
        self._wrapper = wrapper
        self.oracle = oracle_of(env)

    @property
    def open(self) -> bool:
        """Whether another action may be taken."""
        return self.base.outcome in _OPEN

    @property
    def history(self) -> History:
        """The tree so far."""
        return self._wrapper.history

    @property
    def refund(self) -> bool:
        """Whether a rollback pays back what the abandoned actions earned."""
        return self._wrapper.refund

    def view(self, turns: tuple[Turn, ...], info: Mapping[str, Any]) -> View:
        """What an agent may see."""
        seen = {name: value for name, value in info.items() if name != "oracle"}
        base, wrapper = self.base, self._wrapper
        verb = wrapper.encoding.verb if hasattr(wrapper.encoding, "verb") else GoingBack().verb
        return View(
            base.name,
            base.level.task,
            turns,
            seen,
            wrapper.action_space,
            self._go_back(),
            GoingBack(verb, wrapper.max_rollbacks, wrapper.targets, wrapper.revive),
            base.max_turns,
        )

    def truth(self) -> Truth:
        """What no agent may see."""
        base = self.base
        return Truth(base.level, base.state, self.oracle, self.history)

    def _go_back(self) -> Callable[[int, str], Any]:
        history, encoding = self.history, self._wrapper.encoding

        def go_back(index: int, reason: str = "") -> Any:
            action = encoding.write(index, history)
            return f'{action[:-1]}, "{reason}")' if reason and isinstance(action, str) else action

        return go_back


def oracle_of(env: gym.Env[Any, Any]) -> Any:
    """The oracle for `env`; None where there is none."""
    from rollback_gym.oracles.lookup import for_env

    try:
        return for_env(env)
    except TypeError:
        return None


def _offered(info: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(info.get("admissible_actions", ()))


def _targets(info: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(info.get("rollback_targets", ()))
