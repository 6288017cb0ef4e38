"""A snapshot: everything that decides the future of an episode, frozen.

Taking one is a handful of references. As bytes it is a header, a checksum and a compressed canonical value, and
names its environment and level instead of holding them, so that it can be restored in another process. Bytes are
never trusted: whatever they hold, reading them gives a snapshot or `SnapshotCorrupt`.
"""

import zlib
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple, Self

from rollback_gym.core.attributes import Attributes
from rollback_gym.core.codec import pack, unpack
from rollback_gym.core.errors import SnapshotCorrupt, SnapshotMismatch, SnapshotNotPortable
from rollback_gym.core.history import Decode, History, Point, chain, from_flat
from rollback_gym.core.simulator import Coder, SequelCoder

_MAGIC = b"RBGSNAP"
_VERSION = 1
_CHECK = 16
_MAX_TURNS = 1 << 62
_MAX_BYTES = 1 << 26


class Outcome(StrEnum):
    """How an episode stands."""

    RUNNING = "running"
    WON = "won"
    FAILED = "failed"
    """Lost, but a rollback may still take it back."""
    LOST = "lost"
    ENDED = "ended"
    """Over, and the environment does not say whether that is a win."""
    TRUNCATED = "truncated"


class LevelName(NamedTuple):
    """What a snapshot from bytes knows of its level: enough to check one, and to find it again."""

    id: str
    digest: str
    locator: Any


class Origin(NamedTuple):
    """What kind of environment a snapshot belongs to."""

    env: str
    settings: tuple[tuple[str, Any], ...]
    """What the environment was made with, as far as it decides the future."""
    coder: Coder | None
    """None in a snapshot from bytes."""


class Run(NamedTuple):
    """The Rollback wrapper's part: the history, and what was spent on going back."""

    settings: tuple[tuple[str, Any], ...]
    history: History
    spent: int
    """Rollbacks carried out."""


class FlatRun(NamedTuple):
    """A `Run` as it comes out of bytes, its states not yet read: that needs the level."""

    settings: tuple[tuple[str, Any], ...]
    flat: tuple[Any, ...]
    place: int
    spent: int


Layer = tuple[str, Any]
"""One wrapper's part of a snapshot: its name, and a Run, a FlatRun or plain data."""


class Snapshot:
    """Everything that decides an episode's future. Immutable, hashable, picklable.

    `==` compares all of it; `env.state_digest()` compares the game alone.

        >>> here = rollback_gym.snapshot(env)
        >>> env.step("open fridge 1")               # doctest: +SKIP
        >>> observation, info = rollback_gym.restore(env, here)

    Args:
        origin: Which environment made it.
        game: (level, state, random state, turns spent, outcome, last observation); in a snapshot from bytes the level
            is a LevelName and the state still encoded.
        layers: The wrappers' parts, outermost first.
    """

    __slots__ = ("_game", "_key", "layers", "origin")

    def __init__(
        self, origin: Origin, game: tuple[Any, Any, Any, int, Outcome, Any], layers: tuple[Layer, ...]
    ) -> None:
        self.origin = origin
        self._game = game
        self.layers = layers
        self._key: bytes | None = None

    @property
    def level(self) -> Any:
        """The level itself, or its LevelName where the snapshot came from bytes."""
        return self._game[0]

    @property
    def state(self) -> Any:
        """The state of the game; still encoded where the snapshot came from bytes."""
        return self._game[1]

    @property
    def random(self) -> Any:
        """The random state."""
        return self._game[2]

    @property
    def turn(self) -> int:
        """Turns spent."""
        return self._game[3]

    @property
    def outcome(self) -> Outcome:
        """How the episode stands."""
        return self._game[4]

    @property
    def observation(self) -> Any:
        """The last observation."""
        return self._game[5]

    @property
    def history(self) -> History | None:
        """The history, where the Rollback wrapper was part of what was captured and nothing is encoded still."""
        return next((value.history for _, value in self.layers if isinstance(value, Run)), None)

    def to_bytes(self, history: bool = True) -> bytes:
        """This snapshot as bytes, for this machine or another.

        Args:
            history: False leaves the history tree out, which makes the bytes small. A restored environment then
                plays on just the same, but cannot be rolled back to before this snapshot.

        Raises:
            SnapshotNotPortable: if a part of it cannot leave this process.
            ValueError: if the history is to be left out of a lost episode, which only going back can save.
        """
        if not history and self.outcome is Outcome.FAILED:
            raise ValueError("This episode is lost unless it goes back, for which it needs its history: keep that.")
        layers = tuple((name, self._flat_layer(name, value, history)) for name, value in self.layers)
        if not _are_settings(self.origin.settings):
            raise SnapshotNotPortable(
                f"Not all settings of {self.origin.env!r} are None, bool, int, float or str, as `settings()` of an "
                f"environment must return them: {self.origin.settings!r:.200}."
            )
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
            env, settings, level_id, digest, state, random, turn, outcome, observation, locator, layers = unpack(body)
            for text in (env, level_id, digest, outcome):
                if not isinstance(text, str):
                    raise ValueError("expected text")
            if type(turn) is not int or not 0 <= turn < _MAX_TURNS or not _are_settings(settings):
                raise ValueError("expected turns and settings")
            level = LevelName(level_id, digest, locator)
            game = (level, state, random, turn, Outcome(outcome), observation)
            return cls(Origin(env, settings, None), game, tuple(_layer_from(layer) for layer in layers))
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
        return f"Snapshot({self.origin.env}, level={self.level.id!r}, turn={self.turn}, {self.outcome})"

    def _encode_point(self, point: Point, before: Point | None) -> Any:
        coder = self.origin.coder
        if before is not None and isinstance(coder, SequelCoder):
            return (coder.encode_after(self.level, point.state, before.state), point.random)
        return (self._encoded(point.state), point.random)

    def _encoded(self, state: Any) -> Any:
        coder = self.origin.coder
        return state if coder is None else coder.encode(self.level, state)

    def _head(self) -> tuple[Any, ...]:
        level, state, random, turn, outcome, observation = self._game
        env, settings, _ = self.origin
        state = self._encoded(state)
        return (env, settings, level.id, level.digest, state, random, turn, str(outcome), observation)

    def _flat_layer(self, name: str, value: Any, history: bool) -> Any:
        if isinstance(value, Run):
            kept = value.history if history else value.history.cut()
            return ("run", value.settings, kept.flat(self._encode_point), kept.node.index, value.spent)
        if isinstance(value, FlatRun):
            return ("run", *value)
        if isinstance(value, Attributes):
            raise SnapshotNotPortable(
                f"{name} holds what cannot be written as bytes. Keep this snapshot inside the process, or leave that "
                "wrapper out."
            )
        return ("plain", value)

    def _canonical(self) -> bytes:
        if self._key is None:
            layers = tuple((name, self._layer_key(value)) for name, value in self.layers)
            self._key = blake2b(pack((*self._head(), layers)), digest_size=20).digest()
        return self._key

    def _layer_key(self, value: Any) -> Any:
        if isinstance(value, Run):
            history = value.history
            return (value.settings, history.digest(self._encode_point), history.node.index, value.spent)
        if isinstance(value, FlatRun):
            digest = b""
            for index, entry in enumerate(value.flat[1:], start=value.flat[0]):
                digest = chain(digest, index, entry)
            return (value.settings, digest, value.place, value.spent)
        return value.key if isinstance(value, Attributes) else value


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
    done = sum(rollback.target is not None for rollback in history.rollbacks)
    if done > run.spent or (done < run.spent and history.entries[0].index == 0):
        raise ValueError(f"the history holds {done} rollbacks, and {run.spent} are counted")
    return Run(run.settings, history, run.spent)


def _are_settings(value: Any) -> bool:
    """Names with plain values: nothing that compares oddly or prints at length."""
    return isinstance(value, tuple) and all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and (pair[1] is None or isinstance(pair[1], bool | int | float | str))
        for pair in value
    )


def _layer_from(layer: Any) -> Layer:
    name, value = layer
    if not isinstance(name, str) or not isinstance(value, tuple) or not value:
        raise ValueError("expected a wrapper's name and its part")
    if value[0] == "plain" and len(value) == 2:
        return (name, value[1])
    kind, settings, flat, place, spent = value
    counts = type(place) is int and type(spent) is int and spent >= 0
    flat_history = isinstance(flat, tuple) and len(flat) > 1 and type(flat[0]) is int
    if kind != "run" or not _are_settings(settings) or not counts or not flat_history:
        raise ValueError("expected a run")
    return (name, FlatRun(settings, flat, place, spent))


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


def check_belongs(snapshot: Snapshot, origin: Origin) -> None:
    """Raise SnapshotMismatch unless `snapshot` was made by an environment of this origin."""
    given = snapshot.origin
    if given is origin:
        return
    if given.env != origin.env:
        raise SnapshotMismatch(
            f"This snapshot belongs to environment {given.env!r}; expected one of {origin.env!r}. "
            f"Restore it into an environment of {given.env!r}."
        )
    check_settings(given.settings, origin.settings, "environment")


def check_settings(given: tuple[Any, ...], own: tuple[tuple[str, Any], ...], where: str) -> None:
    """Raise SnapshotMismatch, naming the first difference, unless the settings are equal."""
    if given is own or given == own:
        return
    for setting in own:
        if setting not in given:
            made = [pair[1] for pair in given if isinstance(pair, tuple) and len(pair) == 2 and pair[0] == setting[0]]
            raise SnapshotMismatch(
                f"This snapshot was made with {setting[0]}={made[0] if made else 'nothing'!r}; the {where} here has "
                f"{setting[0]}={setting[1]!r}. Make it with the same settings."
            )
    raise SnapshotMismatch(f"This snapshot was made with settings {given!r}; the {where} here has {own!r}.")
