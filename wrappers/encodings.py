"""How a rollback is written in an action space: as text, as a number, or as a choice of its own.

An encoding turns an action of the widened space into the game's own action or into a `Request` to go back. It
says nothing about whether going back is allowed.
"""

import operator
import re
from bisect import bisect_left
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from rollback_gym.core.history import History
from rollback_gym.core.options import count
from rollback_gym.core.spaces import AnyText

_MOST = 1 << 20
"""Numbers of actions: each step reports a mask as long as that."""


class Request(NamedTuple):
    """A wish to go back."""

    target: int | None
    """The action index to go back to; None where the action names none."""
    reason: str = ""
    problem: str | None = None
    """What is wrong with the way the action is written, else None."""


class Encoding(Protocol):
    """How rollbacks and game actions share one action space."""

    space: spaces.Space[Any]

    def read(self, action: Any, history: History) -> Request | None:
        """The rollback that `action` asks for; None for a game action."""

    def game_action(self, action: Any) -> Any:
        """The game's own action in `action`, which asks for no rollback."""

    def write(self, index: int, history: History) -> Any:
        """The action that goes back to `index`, which must be on the active branch."""


class TextEncoding:
    """`rollback(3)` or `rollback(3, "wrong drawer")`, whatever the case and the spaces."""

    def __init__(self, verb: str = "rollback") -> None:
        if not isinstance(verb, str) or not re.fullmatch(r"[^\W\d]\w*", verb):
            raise ValueError(f"The rollback verb must be one word of letters, got {verb!r}.")
        self.verb = verb
        self.space: spaces.Space[Any] = AnyText()
        self._starts = re.compile(rf"\s*{re.escape(verb)}(?!\w)", re.IGNORECASE)
        self._target = re.compile(rf"{re.escape(verb)}\s*\(\s*([0-9]{{1,18}})(?![0-9])", re.IGNORECASE)

    def read(self, action: Any, history: History) -> Request | None:
        """See `Encoding.read`. Whatever begins with the verb is meant as a rollback."""
        if not isinstance(action, str) or not self._starts.match(action):
            return None
        written = action.strip()
        match = self._target.match(written)
        # By hand: a pattern for the whole would take cubic time on the endless blanks that models fall into.
        rest = written[match.end() :].strip() if match else ""
        if match is None or not rest.endswith(")") or not (rest == ")" or rest.startswith(",")):
            return Request(None, problem=f"{_short(written)!r} is not of the form {self.verb}(index)")
        return Request(int(match[1]), _unquoted(rest[1:-1]))

    def game_action(self, action: Any) -> Any:
        """See `Encoding.game_action`."""
        return action

    def write(self, index: int, history: History) -> str:
        """See `Encoding.write`."""
        return f"{self.verb}({index})"


class DiscreteEncoding:
    """Actions 0 ... n-1 are the game's; action n+d goes back d+1 nodes on the path."""

    def __init__(self, base: spaces.Discrete, max_depth: int) -> None:
        if int(base.n) + max_depth > _MOST:
            raise ValueError(
                f"{base} and rollbacks {max_depth} nodes deep make more than {_MOST} actions: pass a smaller max_depth."
            )
        self.start = int(base.start)
        self.base = int(base.n)
        self.max_depth = max_depth
        self.space: spaces.Space[Any] = spaces.Discrete(self.base + max_depth, start=self.start)

    def read(self, action: Any, history: History) -> Request | None:
        """See `Encoding.read`."""
        try:
            depth = operator.index(action) - self.start - self.base
        except TypeError:
            return None  # no number of an action: the game's to refuse
        if depth < 0:
            return None
        if depth >= history.node.depth:
            return Request(None, problem=f"there are no {depth + 1} nodes to go back on the path")
        return Request(history.path[-2 - depth].index)

    def game_action(self, action: Any) -> Any:
        """See `Encoding.game_action`."""
        return action

    def write(self, index: int, history: History) -> int:
        """See `Encoding.write`."""
        indices = [node.index for node in reversed(history.path)]
        return self.start + self.base + indices.index(index) - 1

    def mask(self, base: Any, targets: tuple[int, ...], before: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int8]]:
        """(n + max_depth,) int8: 1 where an action is legal, given the game's own mask (None: all legal).

        `before` are the indices on the path before the current node, ascending; `targets` is a run of the last
        max_depth of them.
        """
        mask = np.zeros(self.base + self.max_depth, dtype=np.int8)
        mask[: self.base] = 1 if base is None else base
        if targets:
            deepest = self.base + len(before) - bisect_left(before, targets[0])
            mask[deepest - len(targets) : deepest] = 1
        return mask


class OneOfEncoding:
    """`(0, action)` is the game's action; `(1, k)` goes back to action index k."""

    def __init__(self, base: spaces.Space[Any], max_turns: int) -> None:
        self.space: spaces.Space[Any] = spaces.OneOf((base, spaces.Discrete(max_turns + 1)))

    def read(self, action: Any, history: History) -> Request | None:
        """See `Encoding.read`."""
        if not isinstance(action, tuple | list) or len(action) != 2 or action[0] not in (0, 1):
            raise TypeError(f"An action is (0, the game's action) or (1, an action index), got {action!r:.80}.")
        return Request(operator.index(action[1])) if action[0] == 1 else None

    def game_action(self, action: Any) -> Any:
        """See `Encoding.game_action`."""
        return action[1]

    def write(self, index: int, history: History) -> tuple[int, int]:
        """See `Encoding.write`."""
        return (1, index)


def encoding_for(space: spaces.Space[Any], verb: str, max_turns: int | None, max_depth: int | None) -> Encoding:
    """The encoding for a game's action space.

    Args:
        space: The game's own.
        verb: The word for a rollback in text.
        max_turns: How long an episode can be; None for no bound.
        max_depth: How far back a `Discrete` action can go; None for as far as turns allow.

    Raises:
        ValueError: if the widened space would have no bound, or an option is none.
    """
    if isinstance(space, spaces.Text):
        return TextEncoding(verb)
    if max_depth is not None:
        max_depth = count("max_depth", max_depth)
    if isinstance(space, spaces.Discrete):
        return DiscreteEncoding(space, _known(max_turns if max_depth is None else max_depth))
    return OneOfEncoding(space, _known(max_turns))


def _known(bound: int | None) -> int:
    """The size that an action space takes from how long an episode can be."""
    if bound is None:
        raise ValueError("The action space needs a bound on the turns: pass max_turns to Snapshots, or max_depth here.")
    return bound


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}..."


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
