"""What plays: policies, what they are shown, and what they answer.

A policy keeps nothing from one episode to the next: `begin` gives it a seed, and from there on the same views get the
same answers. One that only sees what an agent may see is a `Policy`; one that looks at the state and asks the oracle
is a `KnowingPolicy`, and is another type, so that nothing cheats by accident.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from gymnasium import spaces

from rollback_gym.play.records import Call


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
    text: str | None = None
    """What a model wrote to take the action, else None."""


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
