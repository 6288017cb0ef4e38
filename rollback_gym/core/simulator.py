"""What a game must offer: pure functions on immutable values.

A *level* never changes during an episode; a *state* is a frozen, hashable value that holds everything
that does change. So a snapshot is a reference, two states can be compared, and an oracle can memoise.
A simulator knows nothing of Gymnasium, of turns, or of rolling back. A module of functions, or one object
without attributes that change, serves as a simulator.
"""

from typing import Any, NamedTuple, Protocol

State = Any
Action = Any
Observation = Any


class Transition(NamedTuple):
    """What one action did."""

    state: State
    """The state after the action; the same object where nothing changed."""
    reward: float
    terminated: bool
    """The game is over, won or lost."""
    feedback: Observation
    """What the player observes."""
    won: bool = False
    invalid: str | None = None
    """Why the action was inadmissible; None for an admissible one."""


class Coder(Protocol):
    """States as plain values, and back."""

    def encode(self, level: Any, state: State) -> Any:
        """`state` as nested tuples of None, bool, int, float, str and bytes; equal iff the states are equal."""

    def decode(self, level: Any, data: Any) -> State:
        """The inverse of `encode`. Raises ValueError where `data` is no state that `level` can be in."""


class SequelCoder:
    """A coder of states that hold all that was done: written one after another, each is what it adds to the last."""

    def encode(self, level: Any, state: State) -> Any:
        """See `Coder.encode`."""
        raise NotImplementedError

    def decode(self, level: Any, data: Any) -> State:
        """See `Coder.decode`."""
        raise NotImplementedError

    def encode_after(self, level: Any, state: State, before: State) -> Any:
        """As `encode`, for a reader who knows the state `before`."""
        raise NotImplementedError

    def decode_after(self, level: Any, data: Any, before: State) -> State:
        """The inverse of `encode_after`. Raises ValueError as `Coder.decode` does."""
        raise NotImplementedError


class Simulator(Coder, Protocol):
    """The game's rules. Every function is pure: the same arguments give the same result in every process."""

    def begin(self, level: Any) -> tuple[State, Observation]:
        """The state that `level` starts in, and the first observation."""

    def step(self, level: Any, state: State, action: Action) -> Transition:
        """What `action` does in `state`. Inadmissible actions answer as the original game does; none raises."""

    def actions(self, level: Any, state: State) -> tuple[Action, ...]:
        """The admissible actions, in a fixed order."""
