"""All that was done in an episode of a foreign environment: enough to do it again, and to notice a difference."""

import pickle
import zlib
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from rollback_gym.core.attributes import Attributes
from rollback_gym.core.codec import pack
from rollback_gym.core.errors import SnapshotNotPortable
from rollback_gym.core.simulator import SequelCoder


class Start(NamedTuple):
    """How an episode began; the level of a foreign environment."""

    id: str
    digest: str
    task: str
    seed: int | None
    """None for an episode that was begun without one: it cannot be begun again."""
    options: Any
    """As given to `reset`; a level with options that are no plain values cannot leave the process either."""

    @property
    def locator(self) -> Any:
        """What begins such an episode again."""
        if self.seed is None:
            raise SnapshotNotPortable(
                "This episode was begun without a seed, so that no other process can begin it again: call "
                "reset(seed=...), or make the environment with Snapshots(env, strategy='replay'), which draws one."
            )
        return (self.seed, self.options)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Start":
        return self


class Moment:
    """The game after an action, as what was done before; it stands for the state of a game whose state nobody can see:
    two moments are the same if the same was done from the same start.
    """

    __slots__ = ("action", "before", "check", "digest", "drawn", "index", "info", "left")

    def __init__(
        self, before: "Moment | None", action: Any, check: int, info: dict[str, Any] | None, drawn: Any = None
    ) -> None:
        self.before = before
        self.action = action
        """At the start, the digest of how it began: what is done since is not the same in another episode."""
        self.check = check
        """The fingerprint of what the environment answered."""
        self.info = info
        """None until it is played again, where the moment came from bytes."""
        self.drawn = drawn
        """The random state that the action was taken with, if somebody had drawn from it since `before`."""
        self.left: int | None = None
        """A hash, in this process, of the random state that the action left."""
        self.index: int = 0 if before is None else before.index + 1
        question = asked(before, action, drawn)
        self.digest: bytes = blake2b(question + check.to_bytes(4, "big"), digest_size=16).digest()

    def back_to(self, other: "Moment | None") -> "tuple[Moment, ...]":
        """The moments after `other` up to this one, or all of them from the start if `other` is none of its past."""
        moments = []
        moment: Moment | None = self
        while moment is not None and not (other is not None and moment == other):
            moments.append(moment)
            moment = moment.before
        return tuple(reversed(moments))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moment) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> Any:
        raise SnapshotNotPortable(
            "What was done in an environment of others is not pickled: write the snapshot with to_bytes(), and restore "
            "it into an environment that was made where it is needed."
        )


class State:
    """A moment and, where they were taken, the attributes of the environment. Immutable."""

    __slots__ = ("attributes", "drawn", "moment")

    def __init__(self, moment: Moment, attributes: Attributes | None, drawn: Any = None) -> None:
        self.moment = moment
        self.attributes = attributes
        self.drawn = drawn
        """The random state, if somebody had drawn from it since the moment."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and (self.moment, self.drawn) == (other.moment, other.drawn)

    def __hash__(self) -> int:
        return hash((self.moment, self.drawn))

    def __copy__(self) -> "State":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "State":
        return self


class TapeCoder(SequelCoder):
    """States as what was done: from the start, or since the state before."""

    def encode(self, level: Start, state: State) -> Any:
        """What was drawn since, the fingerprint of the start, then every step: action, fingerprint and, where somebody
        had drawn before it, the random state.
        """
        start, *rest = state.moment.back_to(None)
        return (state.drawn, start.check, *map(_step, rest))

    def encode_after(self, level: Start, state: State, before: State) -> Any:
        """None instead of the start, then the steps since `before`; all of it if that is none of its past."""
        later = state.moment.back_to(before.moment)
        if later and later[0].before is None:
            return self.encode(level, state)
        return (state.drawn, None, *map(_step, later))

    def decode(self, level: Start, data: Any) -> State:
        """The inverse of `encode`. Raises ValueError where `data` is no tape."""
        if not isinstance(data, tuple) or len(data) < 2:
            raise ValueError("expected a tape")
        return _played(Moment(None, level.digest, _checked(data[1]), None), data)

    def decode_after(self, level: Start, data: Any, before: State) -> State:
        """The inverse of `encode_after`. Raises ValueError where `data` is no tape."""
        if isinstance(data, tuple) and len(data) > 1 and data[1] is None:
            return _played(before.moment, data)
        return self.decode(level, data)


def fingerprint(observation: Any, reward: float = 0.0, ended: tuple[bool, bool] = (False, False)) -> int:
    """A check sum over what an environment answered."""
    answer = pack((float(reward), *(bool(end) for end in ended)))
    return zlib.crc32(answer, _observed(observation, 0))


def asked(before: Moment | None, action: Any, drawn: Any) -> bytes:
    """All that is asked of an environment by an action: where it is taken, and with which random state; hashed."""
    try:
        written = pack((action, drawn))
    except SnapshotNotPortable:
        written = repr((action, drawn)).encode(errors="surrogatepass")
    return blake2b((b"" if before is None else before.digest) + written, digest_size=16).digest()


def _step(moment: Moment) -> tuple[Any, ...]:
    step = (moment.action, moment.check)
    return step if moment.drawn is None else (*step, moment.drawn)


def _played(moment: Moment, data: tuple[Any, ...]) -> State:
    drawn, _, *steps = data
    for step in steps:
        if not isinstance(step, tuple) or len(step) not in (2, 3):
            raise ValueError("expected an action, a fingerprint and a random state, if any")
        moment = Moment(moment, step[0], _checked(step[1]), None, *map(_random, step[2:]))
    return State(moment, None, _random(drawn))


def _random(state: Any) -> Any:
    if not isinstance(state, tuple | None):
        raise ValueError(f"expected a random state, got {state!r:.60}")
    return state


def _observed(observation: Any, crc: int) -> int:
    if isinstance(observation, np.ndarray):
        head = f"{observation.dtype.str}{observation.shape}".encode()
        if observation.dtype.hasobject:
            return _observed(observation.tolist(), zlib.crc32(head, crc))
        return zlib.crc32(np.ascontiguousarray(observation).data, zlib.crc32(head, crc))
    if isinstance(observation, dict):
        for name in sorted(observation, key=str):
            crc = _observed(observation[name], zlib.crc32(str(name).encode("utf-8", "surrogatepass"), crc))
        return crc
    if isinstance(observation, tuple | list):
        for item in observation:
            crc = _observed(item, crc)
        return zlib.crc32(b"end", crc)
    try:
        return zlib.crc32(pack(observation), crc)
    except SnapshotNotPortable:
        return zlib.crc32(pickle.dumps(observation, protocol=4), crc)


def _checked(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise ValueError(f"expected a fingerprint, got {value!r}")
    return value
