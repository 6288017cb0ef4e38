"""What plays: policies, what they are shown, and what they answer.

A policy keeps nothing from one episode to the next: `begin` gives it a seed, and from there on the same views get the
same answers. One that only sees what an agent may see is a `Policy`; one that looks at the state and asks the oracle
is a `KnowingPolicy`, and is another type, so that nothing cheats by accident.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from gymnasium import spaces

from rollback_gym.core.errors import PolicyError
from rollback_gym.core.history import History
from rollback_gym.play.records import Call

T = TypeVar("T")


class Turn(NamedTuple):
    """One action as the agent saw it; turn 0 is the start."""

    index: int  # type: ignore[assignment]  # a tuple's method, which nobody misses here
    """The action index."""
    action: Any
    """None at the start."""
    observation: Any
    parent: int = 0
    """The node that the action was taken in."""
    invalid: str | None = None
    """Why the action was inadmissible, else None."""
    failed: bool = False
    """The action lost the game; only a rollback may follow."""
    target: int | None = None
    """Of a rollback that was carried out: the node that the game went back to."""
    reason: str = ""
    """Of a rollback: what the agent gave as its reason."""
    rollback: bool = False
    """The action asked to go back, whether or not it was carried out."""
    admissible: tuple[Any, ...] = ()
    """What was offered after it; empty where nothing was, or nobody wrote it down."""
    targets: tuple[int, ...] = ()
    """Where the agent might go back to after it."""
    text: str | None = None
    """What a model wrote to take the action, else None."""
    problem: str | None = None
    """Why no action could be read from that, else None."""


class GoingBack(NamedTuple):
    """What the environment allows of rollbacks; see `wrappers.Rollback`."""

    verb: str = "rollback"
    most: int | None = None
    """How many an episode may hold; None for any number."""
    targets: str = "any"
    revive: bool = False


class View(NamedTuple):
    """All that an agent may see when it acts."""

    env: str
    """The environment's name: `alfworld`, `webshop` ..."""
    task: str
    turns: tuple[Turn, ...]
    """Everything so far, by action index, from the start on."""
    info: Mapping[str, Any]
    """What the environment said beside the last observation; what an oracle may have added is left out."""
    action_space: spaces.Space[Any]
    go_back: Callable[[int, str], Any]
    """The action that goes back to an action index, with a reason, which only texts can hold."""
    going_back: GoingBack = GoingBack()
    max_turns: int | None = None
    """The turn that cuts the episode off."""

    @property
    def observation(self) -> Any:
        """What the agent sees now."""
        return self.turns[-1].observation


class Truth(NamedTuple):
    """What no agent may see."""

    level: Any
    state: Any
    oracle: Any
    """An `oracles.Oracle`."""
    history: History
    """The tree with the state of every node."""


class Choice(NamedTuple):
    """What a policy answers."""

    action: Any
    """For `env.step`."""
    call: Call | None = None
    """The exchange with the model that led to it, where one did."""
    injected: str | None = None
    """The kind of error that this is on purpose, else None."""


@runtime_checkable
class Policy(Protocol):
    """Plays by what an agent may see."""

    name: str

    def begin(self, seed: int) -> None:
        """A new episode; `seed` decides every choice that is left to chance in it."""

    def act(self, view: View) -> Choice:
        """The next action."""

    def settings(self) -> dict[str, Any]:
        """What it was made from, plain and without secrets: `make_policy(name, **settings)` makes it again."""


@runtime_checkable
class KnowingPolicy(Protocol):
    """Plays by what no agent may see: for data, upper bounds and controlled experiments."""

    name: str

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""

    def act_knowing(self, view: View, truth: Truth) -> Choice:
        """The next action."""

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""


AnyPolicy = Policy | KnowingPolicy


class RandomPolicy:
    """Takes an admissible action at random, and now and then goes back to a random node.

    Args:
        rollbacks: The chance of a rollback on a turn that allows one.
    """

    name = "random"

    def __init__(self, rollbacks: float = 0.0) -> None:
        self.rollbacks = chance_of("rollbacks", rollbacks)
        self._random = np.random.default_rng(0)

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""
        self._random = np.random.default_rng(seed)

    def act(self, view: View) -> Choice:
        """See `Policy.act`."""
        targets = view.turns[-1].targets
        if targets and (view.info.get("failed") or self._random.random() < self.rollbacks):
            return Choice(view.go_back(pick(self._random, targets), ""))
        return Choice(any_action(view, self._random))

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return {"rollbacks": self.rollbacks}


class ScriptedPolicy:
    """Takes the actions of a list, one after the other.

    Args:
        actions: What `env.step` is given, turn by turn. Where it ends before the episode does, the rest is `then`.
        then: The action after the last one; None makes an error of that.
    """

    name = "scripted"

    def __init__(self, actions: Sequence[Any], then: Any = None) -> None:
        if isinstance(actions, str):
            raise ValueError(f"actions must be a list of actions, got the text {actions!r:.60}.")
        self.actions = tuple(actions)
        self.then = then

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""

    def act(self, view: View) -> Choice:
        """See `Policy.act`. Raises PolicyError after the last action."""
        turn = view.turns[-1].index
        if turn < len(self.actions):
            return Choice(self.actions[turn])
        if self.then is None:
            raise PolicyError(
                f"The script has {len(self.actions)} actions, and the episode goes on after them. Give more, or "
                f"then=ACTION for the rest, or make the environment with max_turns={len(self.actions)}."
            )
        return Choice(self.then)

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return {"actions": self.actions, "then": self.then}


class OraclePolicy:
    """Plays optimally: an action of a shortest solution, drawn where there are several; goes back where that is nearer.

    Args:
        rollbacks: Whether it goes back, to the nearest node (of several, the latest), where 1 + L there is less
            than L here.
    """

    name = "oracle"

    def __init__(self, rollbacks: bool = True) -> None:
        if not isinstance(rollbacks, bool):
            raise ValueError(f"rollbacks must be true or false, got {rollbacks!r}.")
        self.rollbacks = rollbacks
        self._random = np.random.default_rng(0)

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""
        self._random = np.random.default_rng(seed)

    def act_knowing(self, view: View, truth: Truth) -> Choice:
        """See `KnowingPolicy.act_knowing`. Raises PolicyError where there is no oracle, or actions are not texts."""
        if truth.oracle is None or not isinstance(view.action_space, spaces.Text):
            raise PolicyError(f"No oracle knows {view.env} with the actions {view.action_space}; try another policy.")
        level, targets = truth.level, view.turns[-1].targets if self.rollbacks else ()
        here = truth.oracle.distance(level, truth.state)
        if targets:
            nodes = [node for node in truth.history.path if node.index in targets]
            lengths = [(truth.oracle.distance(level, node.point.state), -node.index) for node in nodes]
            there, index = min(lengths)
            if 1 + there < here:
                return Choice(view.go_back(-index, f"from there it takes {there:.0f} turns"))
        best = () if view.info.get("failed") else truth.oracle.optimal_actions(level, truth.state)
        return Choice(pick(self._random, best) if best else any_action(view, self._random))

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return {"rollbacks": self.rollbacks}


def any_action(view: View, random: np.random.Generator) -> Any:
    """An admissible action of the game at random; where none is offered, one that does nothing."""
    space = view.action_space
    if not isinstance(space, spaces.Text):
        space.seed(int(random.integers(2**31)))
        mask = view.info.get("action_mask")
        return space.sample() if mask is None else space.sample(mask=mask)
    offered = view.turns[-1].admissible
    action = pick(random, offered) if offered else ""
    return f"search[{_query(view.task, random)}]" if action == SEARCH else action


SEARCH = "search[<your query>]"
"""How WebShop offers a search."""


def _query(task: str, random: np.random.Generator) -> str:
    """Some words of the task, in a row."""
    words = re.findall(r"\w+", task) or [""]
    begin = int(random.integers(len(words)))
    return " ".join(words[begin : begin + 1 + int(random.integers(4))])


def pick(random: np.random.Generator, among: Sequence[T]) -> T:
    """One of them."""
    return among[int(random.integers(len(among)))]


def chance_of(name: str, value: Any) -> float:
    """`value` as a probability. Raises ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}.")
    return float(value)


_KNOWN = {
    "random": "rollback_gym.play.policies:RandomPolicy",
    "scripted": "rollback_gym.play.policies:ScriptedPolicy",
    "oracle": "rollback_gym.play.policies:OraclePolicy",
    "noisy-oracle": "rollback_gym.play.noisy:NoisyOraclePolicy",
    "endpoint": "rollback_gym.play.endpoint:EndpointPolicy",
    "local": "rollback_gym.trainer.policy:LocalPolicy",
}


def make_policy(name: str, **settings: Any) -> AnyPolicy:
    """The policy `name`, made with `settings`.

    Args:
        name: One of `policy_names()`, or `module:thing` for one of your own: whatever `thing(**settings)` returns.
        settings: What its class takes.

    Raises:
        ValueError: if there is no such policy, or it does not take these settings.
    """
    where = _KNOWN.get(name, name)
    module, colon, thing = where.partition(":")
    if not colon:
        raise ValueError(f"No policy {name!r}; there are {', '.join(_KNOWN)}, and module:thing for one of your own.")
    try:
        maker = getattr(import_module(module), thing)
    except (ModuleNotFoundError, AttributeError) as error:
        if name in _KNOWN:
            raise
        raise ValueError(f"No policy {name!r}: {error}.") from error
    try:
        inspect.signature(maker).bind(**settings)
    except TypeError as error:
        takes = ", ".join(inspect.signature(maker).parameters) or "no settings"
        raise ValueError(f"The policy {name!r}: {error}; it takes {takes}.") from None
    policy: AnyPolicy = maker(**settings)
    if not isinstance(policy, Policy | KnowingPolicy):
        raise ValueError(f"{name!r} makes a {type(policy).__name__}, which is no policy: see play.policies.Policy.")
    return policy


def remake_policy(made: Mapping[str, Any]) -> AnyPolicy:
    """The policy of an episode, from `Episode.policy`."""
    return make_policy(made["name"], **{name: value for name, value in made.items() if name not in ("name", "seed")})


def policy_names() -> tuple[str, ...]:
    """What `make_policy` knows by name."""
    return tuple(_KNOWN)
