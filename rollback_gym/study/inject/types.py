"""The values that mistakes are made of."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple, Protocol


class Kind(StrEnum):
    """What kind of mistake an agent makes. An action can be several: what differs is what is done next."""

    INTENT = "intent"
    """The task misread: work on the wrong object, or towards the wrong goal."""
    FAILED_CALL = "failed_call"
    """An action that the environment refuses, and going on as if it had been carried out.

    The refused call changes nothing, so L stays as it is, and the call alone is no error, only a turn. The error is
    the action after it, which takes for granted what did not happen. So this kind is a pair.
    """
    WRONG_ARGUMENT = "wrong_argument"
    """The right verb with the wrong object, option, place or direction."""
    FORGOTTEN_CONTEXT = "forgotten_context"
    """What was done is undone or repeated, or what was seen is ignored."""


class Step(NamedTuple):
    """An action on the way to where the agent is."""

    state: Any
    """Before it."""
    action: str


class Lapse(NamedTuple):
    """What an agent would do out of one mistake, if nobody stopped it. A proposal: nothing says that it is an error."""

    kind: Kind
    aim: str
    """What it is after, so that one who follows lapses can stay with one; unique among those of a kind and state."""
    actions: tuple[str, ...]
    """One at least."""


class Lapses(Protocol):
    """Proposes mistakes in one environment; pure, and always in the same order."""

    def __call__(
        self, level: Any, state: Any, path: tuple[Step, ...], plan: tuple[str, ...], kind: Kind
    ) -> Iterator[Lapse]:
        """The lapses of a kind from `state`.

        `path` leads there from the start, and `plan` is a shortest solution that the agent was about to follow.
        """
