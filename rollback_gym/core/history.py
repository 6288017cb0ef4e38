"""The tree of everything an agent did in an episode.

A `History` is an immutable value: adding to it gives a new one that shares all the old entries, so keeping one is
free. Entries form a log in the order of their action indices; nodes among them also form a tree, in which the
active branch leads from node 0 to the current node. Entries are linked to what came before, never to what came
after, and are written flat: linked objects would overflow the recursion limit in pickle and deepcopy.

Where many agents act, what each has of its own (actions, observations, rewards, reasons) is a dict by agent.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple, Self

from gymnasium.utils.env_checker import data_equivalence

from rollback_gym.core.codec import pack


class Point(NamedTuple):
    """What a rollback puts back: the game, and nothing of what was spent."""

    state: Any
    random: Any
    """The random state, which decides what the environment draws next."""
    observation: Any
    """What the game showed, before any wrapper changed it."""


Reward = Any
"""A float; where many agents act, a dict of floats by agent."""


class _Entry:
    """Common to nodes and rollbacks. Not to be changed once made."""

    __slots__ = ("_digest", "before", "index")

    index: int
    """The action index."""
    before: "Node | Rollback | None"
    """The entry with the previous action index."""


class Node(_Entry):
    """The game right after an action; node 0 is the game after reset."""

    __slots__ = ("action", "depth", "failed", "invalid", "observation", "parent", "point", "reward")

    def __init__(
        self,
        index: int,
        before: "Node | Rollback | None",
        parent: "Node | None",
        action: Any,
        observation: Any,
        reward: Reward,
        point: Point,
        invalid: Any = None,
        failed: bool = False,
    ) -> None:
        self.index = index
        self.before = before
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.action = action
        self.observation = observation
        self.reward = reward
        """What the environment paid, without refunds and costs."""
        self.point = point
        self.invalid = invalid
        """Why the action was inadmissible, else None."""
        self.failed = failed
        """The action lost the game."""
        self._digest: bytes | None = None

    @property
    def path(self) -> "tuple[Node, ...]":
        """The nodes from node 0 to this one."""
        nodes = []
        node: Node | None = self
        while node is not None:
            nodes.append(node)
            node = node.parent
        return tuple(reversed(nodes))

    def __repr__(self) -> str:
        return f"Node({self.index}, action={self.action!r})"


class Rollback(_Entry):
    """A rollback action, carried out or refused. An event in the log, not a node of the tree."""

    __slots__ = ("action", "invalid", "reason", "reward", "source", "target")

    def __init__(
        self,
        index: int,
        before: "Node | Rollback",
        source: Node,
        target: Node | None,
        action: Any,
        reward: Reward,
        reason: Any,
        invalid: Any = None,
    ) -> None:
        self.index = index
        self.before = before
        self.source = source
        """The current node when the action was taken."""
        self.target = target
        """The node that the game went back to; None for a refused rollback."""
        self.action = action
        self.reward = reward
        """Refund minus cost."""
        self.reason = reason
        """What the agent gave as its reason; may be empty."""
        self.invalid = invalid
        """Why the rollback was refused, else None."""
        self._digest: bytes | None = None

    @property
    def abandoned(self) -> tuple[int, ...]:
        """The action indices of the nodes that this rollback took off the active branch."""
        return () if self.target is None else tuple(n.index for n in self.source.path[self.target.depth + 1 :])

    def __repr__(self) -> str:
        return f"Rollback({self.index}, target={self.target and self.target.index})"


Entry = Node | Rollback
Encode = Callable[[Point, Point | None], Any]
"""Writes a point's state and random state as plain values, given the point of the node before."""
Decode = Callable[[Any, Any, Point | None], Point]
"""The inverse, given what `Encode` wrote, the observation, and the point of the node before."""


class History:
    """All entries so far, and the place in the tree. Immutable."""

    __slots__ = ("last", "node")

    def __init__(self, last: Entry, node: Node) -> None:
        self.last = last
        """The entry with the highest action index."""
        self.node = node
        """The current node: the end of the active branch."""

    @classmethod
    def begin(cls, observation: Any, point: Point, index: int = 0) -> "History":
        """A history that holds only its first node."""
        root = Node(index, None, None, None, observation, 0.0, point)
        return cls(root, root)

    def act(
        self,
        action: Any,
        observation: Any,
        reward: Reward,
        point: Point,
        invalid: Any = None,
        failed: bool = False,
    ) -> "History":
        """The history after a game action."""
        last = self.last
        node = Node(last.index + 1, last, self.node, action, observation, reward, point, invalid, failed)
        return History(node, node)

    def go_back(self, target: Node, action: Any, reward: Reward, reason: Any) -> "History":
        """The history after a rollback to `target`, which must be on the active branch before the current node."""
        event = Rollback(self.last.index + 1, self.last, self.node, target, action, reward, reason)
        return History(event, target)

    def refuse(self, action: Any, reason: Any, invalid: Any) -> "History":
        """The history after a rollback that was not carried out."""
        return History(
            Rollback(self.last.index + 1, self.last, self.node, None, action, 0.0, reason, invalid), self.node
        )

    @property
    def index(self) -> int:
        """The highest action index so far."""
        return self.last.index

    @property
    def path(self) -> tuple[Node, ...]:
        """The active branch: the nodes from node 0 to the current one."""
        return self.node.path

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Nodes and rollbacks, by action index."""
        return tuple(reversed(list(self._backwards())))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node of the tree, abandoned branches included, by action index."""
        return tuple(entry for entry in self.entries if isinstance(entry, Node))

    @property
    def rollbacks(self) -> tuple[Rollback, ...]:
        """Every rollback, refused ones included, by action index."""
        return tuple(entry for entry in self.entries if isinstance(entry, Rollback))

    def find(self, index: int) -> Node | None:
        """The node on the active branch with this action index, or None."""
        node: Node | None = self.node
        while node is not None and node.index > index:
            node = node.parent
        return node if node is not None and node.index == index else None

    def _backwards(self) -> Iterator[Entry]:
        entry: Entry | None = self.last
        while entry is not None:
            yield entry
            entry = entry.before

    def __len__(self) -> int:
        """How many actions were taken."""
        return sum(1 for _ in self._backwards()) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        if self.last.index != other.last.index or self.node.index != other.node.index:
            return False
        for mine, theirs in zip(self._backwards(), other._backwards(), strict=False):
            if mine is theirs:
                return True
            if mine.index != theirs.index or not _alike(mine, theirs):
                return False
        return True

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return from_flat, (self.flat(_bare), _point)

    def __repr__(self) -> str:
        return f"History(index={self.index}, path={tuple(node.index for node in self.path)})"

    def flat(self, encode: Encode) -> tuple[Any, ...]:
        """The history as one flat tuple: the first index, then a tuple per entry."""
        entries = self.entries
        return (entries[0].index, *(_flat_entry(entry, encode) for entry in entries))

    def cut(self) -> "History":
        """A history that starts at the current node and goes on counting, without anything before."""
        node = self.node
        root = Node(self.index, None, None, None, node.observation, 0.0, node.point, node.invalid, node.failed)
        return History(root, root)

    def digest(self, encode: Encode) -> bytes:
        """A hash of every entry, chained: what was hashed before is not hashed again."""
        pending: list[Entry] = []
        digest = b""
        for entry in self._backwards():
            if entry._digest is not None:
                digest = entry._digest
                break
            pending.append(entry)
        for entry in reversed(pending):
            digest = chain(digest, entry.index, _flat_entry(entry, encode))
            entry._digest = digest
        return digest


def chain(before: bytes, index: int, flat_entry: tuple[Any, ...]) -> bytes:
    """The digest of an entry, given the one before it."""
    return blake2b(pack((before, index, flat_entry)), digest_size=16).digest()


def from_flat(flat: Any, decode: Decode) -> History:
    """The inverse of `History.flat`, by doing again what was done.

    Raises:
        ValueError: if `flat` is no history: a wrong shape, or a rollback to where none could go.
    """
    if not isinstance(flat, tuple) or len(flat) < 2 or type(flat[0]) is not int or flat[0] < 0:
        raise ValueError("expected a history: a first index and its entries")
    first, root, *entries = flat
    before = History.begin(None, Point(None, None, None), first - 1)
    history = _acted(before, root, decode, None)
    node = history.node
    node = Node(first, None, None, None, node.observation, 0.0, node.point, node.invalid, node.failed)
    history = History(node, node)
    for entry in entries:
        is_node = isinstance(entry, tuple) and len(entry) == 7
        history = _acted(history, entry, decode, history.node.point) if is_node else _again(history, entry)
    return history


def _acted(history: History, entry: Any, decode: Decode, before: Point | None) -> History:
    if not isinstance(entry, tuple) or len(entry) != 7:
        raise ValueError("expected a node")
    action, observation, reward, point, invalid, failed, shown = entry
    if not _is_reward(reward) or not isinstance(invalid, str | dict | None) or not isinstance(failed, bool):
        raise ValueError("expected a node's reward, validity and failure")
    if shown is not None and not (isinstance(shown, tuple) and len(shown) == 1):
        raise ValueError("expected what the game showed")
    point = decode(point, observation if shown is None else shown[0], before)
    return history.act(action, observation, reward, point, invalid, failed)


def _again(history: History, entry: Any) -> History:
    if not isinstance(entry, tuple) or len(entry) != 5:
        raise ValueError("expected a node or a rollback")
    target, action, reward, reason, invalid = entry
    if not _is_reward(reward) or not isinstance(reason, str | dict):
        raise ValueError("expected a rollback's reward and reason")
    if target is None:
        if not isinstance(invalid, str | dict):
            raise ValueError("a refused rollback must say why")
        return history.refuse(action, reason, invalid)
    node = history.find(target) if type(target) is int else None
    if node is None or node is history.node:
        raise ValueError(f"a rollback to {target!r}, which is not before the current node on its branch")
    return history.go_back(node, action, reward, reason)


def _flat_entry(entry: Entry, encode: Encode) -> tuple[Any, ...]:
    if isinstance(entry, Node):
        shown, kept = entry.point.observation, entry.observation
        # Mostly no wrapper changes it; then it is written once.
        changed = None if isinstance(shown, str) and isinstance(kept, str) and shown == kept else (shown,)
        point = encode(entry.point, None if entry.parent is None else entry.parent.point)
        return (entry.action, kept, _flat_reward(entry.reward), point, entry.invalid, entry.failed, changed)
    target = None if entry.target is None else entry.target.index
    return (target, entry.action, _flat_reward(entry.reward), entry.reason, entry.invalid)


def _flat_reward(reward: Reward) -> Reward:
    return {agent: float(one) for agent, one in reward.items()} if isinstance(reward, dict) else float(reward)


def _is_reward(value: Any) -> bool:
    return all(isinstance(one, float) for one in (value.values() if isinstance(value, dict) else (value,)))


def _bare(point: Point, before: Point | None) -> tuple[Any, Any]:
    return point.state, point.random


def _point(bare: tuple[Any, Any], observation: Any, before: Point | None) -> Point:
    return Point(*bare, observation)


def _alike(mine: Entry, theirs: Entry) -> bool:
    same: bool = data_equivalence(_flat_entry(mine, _bare), _flat_entry(theirs, _bare), exact=True)
    return type(mine) is type(theirs) and same
