"""What is beneath `MultiAgentRollback` where it is not ours: a stack of PettingZoo objects, taken and put back.

The attributes of every object in the stack are taken, down to the environment itself (see core/attributes.py). An
environment of ours at the bottom gives its own snapshot instead, which is a reference.
"""

from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple, NoReturn

from rollback_gym.core import attributes
from rollback_gym.core.attributes import Attributes
from rollback_gym.core.errors import DataError, SnapshotNotPortable
from rollback_gym.core.history import Point
from rollback_gym.core.host import Host
from rollback_gym.core.snapshot import Layer, LevelName, Origin, Outcome, Snapshot
from rollback_gym.core.spaces import apart


class Held(NamedTuple):
    """What a stack holds at one moment. Immutable."""

    attributes: Attributes
    own: Snapshot | None
    """Of the environment at the bottom, where that is ours."""
    infos: dict[str, Any]
    """What the agents were told."""


class Game(NamedTuple):
    """The only level there is: an environment of others says nothing about its levels."""

    id: str
    locator: None = None
    task: str = ""

    @property
    def digest(self) -> str:
        """A hash of the name."""
        return sha256(self.id.encode()).hexdigest()


class PettingZooHost(Host):
    """Takes and puts back a stack of PettingZoo objects; owns the turns, which they know nothing of."""

    knows_losses = False

    def __init__(self, env: Any, max_turns: int | None) -> None:
        self._stack = stack_of(env)
        bottom = self._stack[-1]
        self._own = bottom if isinstance(bottom, Host) else None
        self._around = self._stack if self._own is None else self._stack[:-1]
        self._outside = [] if self._own is None else [self._own]
        self._infos: dict[str, Any] = {}
        self.max_turns = max_turns

    def begin(self, observations: dict[str, Any], infos: dict[str, Any]) -> None:
        """An episode has begun."""
        self._level = Game(self.origin.env)
        self._turn = 0
        self._outcome = Outcome.RUNNING
        self.shown(observations, infos)

    def shown(self, observations: dict[str, Any], infos: dict[str, Any]) -> None:
        """The environment has shown something new. Neither is to be changed any more."""
        self._observation, self._infos = observations, infos

    def end(self, truncated: bool) -> None:
        """No agent is left."""
        self._outcome = Outcome.TRUNCATED if truncated else Outcome.ENDED

    @property
    def seen(self) -> dict[str, Any]:
        """What the environment showed last, by agent; not to be changed."""
        return self._observation or {}

    # What a host provides: see core/host.py.

    @cached_property
    def origin(self) -> Origin:
        """What snapshots of this stack say they belong to."""
        bottom = type(self._stack[-1])
        around = " ".join(type(env).__name__ for env in self._stack[:-1])
        settings = (("wrappers", around), ("max_turns", self.max_turns))
        return Origin(f"{bottom.__module__}.{bottom.__qualname__}", settings, _Compared())

    @property
    def coder(self) -> "_Compared":
        """Says which moments are equal; they do not leave the process."""
        return _Compared()

    def state_digest(self) -> str:
        """A hash of what the stack holds: equal hashes mean equal games, in this process."""
        self._check_begun()
        return sha256(repr((self.origin.env, _Compared().encode(None, self.point().state))).encode()).hexdigest()

    def info(self) -> dict[str, Any]:
        """What the agents were told last."""
        return apart(self._infos)

    def point(self) -> Point:
        """See `Host.point`. Raises NotCopyable where something in the stack stands in the way."""
        own = None if self._own is None else self._own.snapshot()
        held = Held(attributes.take(self._around, self._outside), own, self._infos)
        return Point(held, None, self._observation)

    def accept_point(self, level: Any, point: Point) -> None:
        """See `Host.accept_point`."""
        held: Held = point.state
        if self._own is not None and held.own is not None:
            self._own.restore(held.own)
        attributes.put(held.attributes, self._around, self._outside)
        self._level = level
        self.shown(point.observation, held.infos)

    def snapshot(self, layers: tuple[Layer, ...] = ()) -> Snapshot:
        """See `Host.snapshot`; a layer with what was taken keeps it from being written as bytes."""
        self._check_begun()
        state, random, observation = self.point()
        game = (self._level, state, random, self._turn, self._outcome, observation)
        return Snapshot(self.origin, game, (*layers, (self.origin.env, state.attributes)))

    def find_level(self, name: LevelName) -> NoReturn:
        """None: these snapshots stay in the process."""
        raise DataError("snapshots of other people's PettingZoo environments stay in the process they were made in")

    def check_random(self, random: Any) -> None:
        """See `Host.check_random`: it is part of what the environment holds."""
        if random is not None:
            raise ValueError("expected no random state apart")

    def __reduce__(self) -> NoReturn:
        raise SnapshotNotPortable(
            f"{self.origin.env} under MultiAgentRollback cannot be pickled: make another one where it is needed, or "
            "copy.deepcopy it here."
        )


class _Compared:
    """States that can be compared, and nothing else."""

    def encode(self, level: Any, state: Held) -> Any:
        return state.attributes.key, None if state.own is None else hash(state.own)

    def decode(self, level: Any, data: Any) -> NoReturn:
        raise ValueError("what an environment of others holds is not written as bytes")


def stack_of(env: Any) -> list[Any]:
    """`env` and what is in it, outermost first: wrappers, PettingZoo's converters, and the environment itself."""
    from pettingzoo import AECEnv, ParallelEnv

    stack = []
    while isinstance(env, AECEnv | ParallelEnv):
        stack.append(env)
        held = vars(env)
        env = held.get("env", held.get("aec_env"))
    return stack
