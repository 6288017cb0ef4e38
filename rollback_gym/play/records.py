"""The record of an episode: everything that happened, enough to play it again word for word.

A run is a file of JSON Lines, an episode a line. Here is what a line holds; `read` and `write` stand below.
"""

from typing import Any, NamedTuple

SCHEMA = "rollback-gym/episode/1"


class Made(NamedTuple):
    """How the environment was made: `gym.make(id, **kwargs)`, all plain values."""

    id: str
    kwargs: dict[str, Any]


class Call(NamedTuple):
    """One exchange with a model: all that was sent, and all that came back."""

    messages: tuple[dict[str, str], ...]
    """Chat messages, `{"role": ..., "content": ...}`."""
    text: str
    """The raw answer."""
    seconds: float
    problem: str | None = None
    """Why no action could be read from the answer, else None."""
    usage: dict[str, Any] = {}
    """What the server reported: tokens, the reason it stopped."""


class Act(NamedTuple):
    """One action: a node of the tree, or a rollback."""

    index: int
    """The action index, from 1."""
    kind: str
    """`"game"` or `"rollback"`."""
    parent: int
    """The node that the action was taken in."""
    action: Any
    """What was given to `env.step`."""
    observation: Any
    reward: float
    invalid: str | None
    """Why the action was inadmissible, else None."""
    failed: bool
    """The action lost the game; with `revive` a rollback may follow."""
    target: int | None
    """Of a rollback that was carried out: the node that the game went back to."""
    reason: str
    """Of a rollback: what the agent gave as its reason; may be empty."""
    abandoned: tuple[int, ...]
    """Of a rollback: the action indices that it took off the active branch."""
    previous: float | None
    """L before the action; None where there is no oracle."""
    distance: float | None
    """L after it."""
    grade: str | None
    """`oracles.Grade`; None where L was infinite before, and without an oracle."""
    pivotal: bool
    """L was finite before and is larger after; never of a rollback."""
    injected: str | None
    """The kind of error that was put in on purpose here, else None (`study.inject`)."""
    call: Call | None
    """The exchange with the model; None for a policy that asks none."""
    seconds: float
    """The time that the environment took."""


class Episode(NamedTuple):
    """A whole episode."""

    id: str
    """Unique in its run: level, seed and repetition."""
    made: Made
    level: str
    seed: int
    task: str
    kind: str
    """The task type, where the environment has several (ALFWorld's six); else the environment's name."""
    policy: dict[str, Any]
    """`{"name": ..., **settings}`: what the policy was made from, without secrets."""
    observation: Any
    """What node 0 showed."""
    distance: float | None
    """L(start); None where there is no oracle."""
    acts: tuple[Act, ...]
    outcome: str
    """`Outcome`: won, lost, failed or truncated."""
    total: float
    """The undiscounted return."""
    max_turns: int
    pivots: tuple[int, ...]
    """The action indices of the pivotal mistakes, abandoned branches included."""
    wasted: int
    """Turns spent after the first pivot; of a won episode, only those beyond what was needed before it."""
