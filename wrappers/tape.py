"""All that was done in an episode of a foreign environment: enough to do it again, and to notice a difference."""

import pickle
import zlib
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from rollback_gym.core.attributes import Attributes
from rollback_gym.core.codec import pack
from rollback_gym.core.errors import SnapshotNotPortable


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
    """The game after an action: what was done before, and, where it was taken, what the environment held.

    It stands for the state of a game whose state nobody can see: two moments are the same state if the same was done
    from the same start.
    """

    __slots__ = ("action", "attributes", "before", "check", "digest", "index", "info")

    def __init__(self, before: "Moment | None", action: Any, check: int, info: dict[str, Any] | None) -> None:
        self.before = before
        self.action = action
        """None at the start."""
        self.check = check
        """The fingerprint of what the environment answered."""
        self.info = info
        """None until it is played again, where the moment came from bytes."""
        self.index: int = 0 if before is None else before.index + 1
        self.attributes: Attributes | None = None
        self.digest: bytes = chained(b"" if before is None else before.digest, action, check)

    def back_to(self, other: "Moment | None") -> "tuple[Moment, ...]":
        """The moments after `other` up to this one, or all of them where `other` is none of its past."""
        moments = []
        moment: Moment | None = self
        while moment is not None and not (other is not None and moment.digest == other.digest):
            moments.append(moment)
            moment = moment.before
        return tuple(reversed(moments))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moment) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __copy__(self) -> "Moment":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Moment":
        return self

    def __reduce__(self) -> Any:
        raise SnapshotNotPortable("A moment of a foreign environment is not pickled: use Snapshot.to_bytes().")


class TapeCoder:
    """Moments as plain values."""

    def encode(self, level: Start, moment: Moment) -> Any:
        """The fingerprint of the start, then the action and the fingerprint of every step."""
        start, *rest = moment.back_to(None)
        return (start.check, *((later.action, later.check) for later in rest))

    def decode(self, level: Start, data: Any) -> Moment:
        """The inverse. Raises ValueError where `data` is no tape."""
        if not isinstance(data, tuple) or not data:
            raise ValueError("expected a tape")
        moment = Moment(None, None, _checked(data[0]), None)
        for step in data[1:]:
            if not isinstance(step, tuple) or len(step) != 2:
                raise ValueError("expected an action and a fingerprint")
            moment = Moment(moment, step[0], _checked(step[1]), None)
        return moment


def fingerprint(observation: Any, reward: float = 0.0, ended: tuple[bool, bool] = (False, False)) -> int:
    """A check sum over what an environment answered."""
    answer = pack((float(reward), *(bool(end) for end in ended)))
    return zlib.crc32(answer, _observed(observation, 0))


def _observed(observation: Any, crc: int) -> int:
    if isinstance(observation, np.ndarray) and not observation.dtype.hasobject:
        head = f"{observation.dtype.str}{observation.shape}".encode()
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


def chained(before: bytes, action: Any, check: int) -> bytes:
    """The digest of a moment, given the one before it."""
    try:
        written = pack(action)
    except SnapshotNotPortable:
        written = repr(action).encode()
    return blake2b(before + written + check.to_bytes(4, "big"), digest_size=16).digest()


def _checked(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise ValueError(f"expected a fingerprint, got {value!r}")
    return value
