"""A snapshot: everything that decides the future of an episode, frozen.

Taking one is a handful of references. As bytes it is a header, a checksum and a compressed canonical value, and
names its environment and level instead of holding them, so that it can be restored in another process. Bytes are
never trusted: whatever they hold, reading them gives a snapshot or `SnapshotCorrupt`.
"""

import zlib
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple, Self

from rollback_gym.core.codec import pack, unpack
from rollback_gym.core.errors import SnapshotCorrupt, SnapshotMismatch
from rollback_gym.core.history import Decode, Encode, History, Point, chain, from_flat
from rollback_gym.core.simulator import Simulator

_MAGIC = b"RBGSNAP"
_VERSION = 1
_CHECK = 16
_MAX_BYTES = 1 << 28


class Outcome(StrEnum):
    """How an episode stands."""

    RUNNING = "running"
    WON = "won"
    FAILED = "failed"
    """Lost, but a rollback may still take it back."""
    LOST = "lost"
    TRUNCATED = "truncated"


class LevelName(NamedTuple):
    """What a snapshot from bytes knows of its level: enough to check one, and to find it again."""

    id: str
    digest: str
    locator: Any


class Run(NamedTuple):
    """What the Rollback wrapper adds: the history, and what was spent on going back."""

    settings: tuple[Any, ...]
    history: History
    spent: int
    """Rollbacks carried out."""


class FlatRun(NamedTuple):
    """A `Run` as it comes out of bytes, its states not yet read: that needs the level."""

    settings: tuple[Any, ...]
    flat: tuple[Any, ...]
    place: int
    spent: int


class Layer(NamedTuple):
    """One wrapper's part of a snapshot."""

    name: str
    value: Any
    """A Run or FlatRun, or plain data."""


class Snapshot:
    """Everything that decides an episode's future. Immutable, hashable, picklable.

    `==` compares all of it; `env.state_digest()` compares the game alone.

        >>> here = rollback_gym.snapshot(env)
        >>> env.step("open fridge 1")               # doctest: +SKIP
        >>> observation, info = rollback_gym.restore(env, here)

    Attributes:
        env: The name of the environment.
        settings: What the environment was made with, as far as it decides the future.
        level: The level itself, or its name where the snapshot came from bytes.
        point: The game's state and random state; still encoded where the snapshot came from bytes.
        turn: Turns spent.
        outcome: How the episode stands.
        observation: The last observation.
        layers: The wrappers' parts, outermost first.
    """

    __slots__ = (
        "_key",
        "env",
        "layers",
        "level",
        "observation",
        "outcome",
        "point",
        "settings",
        "simulator",
        "turn",
    )

    def __init__(
        self,
        env: str,
        settings: tuple[Any, ...],
        simulator: Simulator | None,
        level: Any,
        point: Any,
        turn: int,
        outcome: Outcome,
        observation: Any,
        layers: tuple[Layer, ...],
    ) -> None:
        self.env = env
        self.settings = settings
        self.simulator = simulator
        self.level = level
        self.point = point
        self.turn = turn
        self.outcome = outcome
        self.observation = observation
        self.layers = layers
        self._key: bytes | None = None

    @property
    def history(self) -> History | None:
        """The history, where the Rollback wrapper was part of what was captured and nothing is encoded still."""
        for layer in self.layers:
            if isinstance(layer.value, Run):
                return layer.value.history
        return None

    def to_bytes(self, history: bool = True) -> bytes:
        """This snapshot as bytes, for this machine or another.

        Args:
            history: False leaves the history tree out, which makes the bytes small. A restored environment then
                plays on just the same, but cannot be rolled back to before this snapshot.

        Raises:
            SnapshotNotPortable: if a part of it cannot leave this process.
        """
        layers = tuple((layer.name, self._flat_layer(layer, history)) for layer in self.layers)
        body = zlib.compress(pack((*self._head(), self.level.locator, layers)), 6)
        return _MAGIC + bytes([_VERSION]) + _checksum(body) + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The snapshot that `to_bytes` wrote; it is checked against its level when it is restored.

        Raises:
            SnapshotCorrupt: if `data` is not such bytes, whole and undamaged.
        """
        body = _body(data)
        try:
            env, settings, level_id, digest, point, turn, outcome, observation, locator, layers = unpack(body)
            for text in (env, level_id, digest, outcome):
                if not isinstance(text, str):
                    raise ValueError("expected text")
            if type(turn) is not int or turn < 0 or not isinstance(settings, tuple):
                raise ValueError("expected turns and settings")
            level = LevelName(level_id, digest, locator)
            return cls(
                env,
                settings,
                None,
                level,
                point,
                turn,
                Outcome(outcome),
                observation,
                tuple(_layer_from(layer) for layer in layers),
            )
        except (ValueError, TypeError) as error:
            raise SnapshotCorrupt(f"These bytes are no snapshot: {error}. Expected what to_bytes() wrote.") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return self is other or self._canonical() == other._canonical()

    def __hash__(self) -> int:
        return int.from_bytes(self._canonical()[:8], "big", signed=True)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"Snapshot({self.env}, level={self.level.id!r}, turn={self.turn}, {self.outcome})"

    def encode_point(self, point: Any) -> Any:
        """`point` as plain values."""
        if self.simulator is None:
            return point
        return (self.simulator.encode(self.level, point.state), point.random)

    def _head(self) -> tuple[Any, ...]:
        point = self.encode_point(self.point)
        return (
            self.env,
            self.settings,
            self.level.id,
            self.level.digest,
            point,
            self.turn,
            str(self.outcome),
            self.observation,
        )

    def _flat_layer(self, layer: Layer, history: bool) -> Any:
        run = layer.value
        if isinstance(run, Run):
            kept = run.history if history else run.history.cut()
            return ("run", run.settings, kept.flat(self.encode_point), kept.node.index, run.spent)
        if isinstance(run, FlatRun):
            return ("run", *run)
        return ("plain", run)

    def _canonical(self) -> bytes:
        if self._key is None:
            layers = tuple((layer.name, self._layer_key(layer)) for layer in self.layers)
            self._key = blake2b(pack((*self._head(), layers)), digest_size=20).digest()
        return self._key

    def _layer_key(self, layer: Layer) -> Any:
        run = layer.value
        if isinstance(run, Run):
            return (run.settings, run.history.digest(self.encode_point), run.history.node.index, run.spent)
        if isinstance(run, FlatRun):
            digest = b""
            for index, entry in enumerate(run.flat[1:], start=run.flat[0]):
                digest = chain(digest, index, entry)
            return (run.settings, digest, run.place, run.spent)
        return run


def live(run: Run | FlatRun, decode: Decode) -> Run:
    """`run` with its states read.

    Raises:
        ValueError: if it is no run that could have happened.
    """
    if isinstance(run, Run):
        return run
    history = from_flat(run.flat, decode)
    if history.node.index != run.place:
        raise ValueError("the history does not end where it says")
    return Run(run.settings, history, run.spent)


def _layer_from(layer: Any) -> Layer:
    name, value = layer
    if not isinstance(name, str) or not isinstance(value, tuple) or not value:
        raise ValueError("expected a wrapper's name and its part")
    if value[0] == "plain" and len(value) == 2:
        return Layer(name, value[1])
    kind, settings, flat, place, spent = value
    counts = type(place) is int and type(spent) is int and spent >= 0
    flat_history = isinstance(flat, tuple) and len(flat) > 1 and type(flat[0]) is int
    if kind != "run" or not isinstance(settings, tuple) or not counts or not flat_history:
        raise ValueError("expected a run")
    return Layer(name, FlatRun(settings, flat, place, spent))


def _body(data: bytes) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise SnapshotCorrupt(f"Expected bytes from Snapshot.to_bytes(), got {type(data).__name__}.")
    data = bytes(data)
    start = len(_MAGIC) + 1
    if data[: len(_MAGIC)] != _MAGIC or len(data) <= start + _CHECK:
        raise SnapshotCorrupt(
            f"These {len(data)} bytes are no snapshot: expected them to begin with {_MAGIC!r} and go on. "
            "Were they written by Snapshot.to_bytes(), and read to the end?"
        )
    if data[len(_MAGIC)] != _VERSION:
        raise SnapshotCorrupt(
            f"This snapshot has format {data[len(_MAGIC)]}; this release reads format {_VERSION}. "
            "Read it with the release that wrote it."
        )
    check, body = data[start : start + _CHECK], data[start + _CHECK :]
    if check != _checksum(body):
        raise SnapshotCorrupt("The snapshot's checksum does not match: bytes are missing or were changed on the way.")
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(body, _MAX_BYTES)
    except zlib.error as error:
        raise SnapshotCorrupt(f"The snapshot cannot be unpacked: {error}.") from error
    if not inflater.eof or inflater.unused_data:
        raise SnapshotCorrupt(f"The snapshot is cut off, has a tail, or unpacks to over {_MAX_BYTES >> 20} MiB.")
    return plain


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=_CHECK).digest()


def check_belongs(snapshot: Snapshot, env: str, settings: tuple[Any, ...]) -> None:
    """Raise SnapshotMismatch unless `snapshot` was made by an environment like this one."""
    if snapshot.env != env:
        raise SnapshotMismatch(
            f"This snapshot belongs to environment {snapshot.env!r}; expected one of {env!r}. "
            f"Restore it into an environment of {snapshot.env!r}."
        )
    if snapshot.settings != settings:
        raise SnapshotMismatch(
            f"This snapshot was made with settings {_listed(snapshot.settings)}; this environment has "
            f"{_listed(settings)}. Make the environment with the same settings."
        )


def _listed(settings: tuple[Any, ...]) -> str:
    return ", ".join(f"{pair[0]}={pair[1]!r}" if isinstance(pair, tuple) and len(pair) == 2 else repr(pair)
                     for pair in settings)  # fmt: skip


__all__ = ["Decode", "Encode", "Layer", "LevelName", "Outcome", "Point", "Run", "Snapshot"]
