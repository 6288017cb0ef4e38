"""Snapshots of a whole stack of wrappers, from outside.

`gym.make` returns wrappers that forward no methods, and some of them count: a `TimeLimit` over a restored
environment would go on counting. So a snapshot is taken of the stack, a layer per wrapper that has a part in the
future, and put back into a stack of the same shape, which need not have been reset before. The stack ends at its
*host*, which owns the game.
"""

import copy
from typing import Any, ClassVar, TypeVar

import gymnasium as gym
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from rollback_gym.core import counting
from rollback_gym.core.errors import SnapshotMismatch
from rollback_gym.core.history import Decode
from rollback_gym.core.host import Host
from rollback_gym.core.options import count
from rollback_gym.core.snapshot import Layer, Snapshot, check_belongs
from rollback_gym.core.spaces import apart

EnvT = TypeVar("EnvT", bound="gym.Env[Any, Any]")
WrapperT = TypeVar("WrapperT", bound="gym.Wrapper[Any, Any, Any, Any]")


class Noting:
    """A wrapper of ours that adds to the info of a restored environment."""

    def note(self, info: dict[str, Any]) -> dict[str, Any]:
        """Add this wrapper's part to `info`, and return it."""
        raise NotImplementedError

    def shown(self, observation: Any) -> Any:
        """What this wrapper shows where the environment beneath it shows `observation`."""
        return observation


class Layered(Noting):
    """A wrapper of ours with a part in snapshots."""

    layer_name: ClassVar[str]

    def layer(self) -> Any:
        """This wrapper's part, immutable."""
        raise NotImplementedError

    def read_layer(self, value: Any, snapshot: Snapshot, decode: Decode) -> Any:
        """`value` checked and decoded, changing nothing. Raises ValueError where it does not belong here."""
        raise NotImplementedError

    def accept_layer(self, value: Any) -> None:
        """Take over what `read_layer` returned."""
        raise NotImplementedError


def snapshot(env: gym.Env[Any, Any]) -> Snapshot:
    """Everything that decides the future of `env`, its wrappers' counters included.

    It takes constant time, but for wrappers of others that remember: what they remember is copied.

    Raises:
        TypeError: if `env` has no snapshots.
        ResetNeeded: if no episode has begun.
    """
    layers: list[Layer] = []
    inner: Any = env
    while not isinstance(inner, Host):
        if isinstance(inner, Layered):
            layers.append((inner.layer_name, inner.layer()))
        elif isinstance(inner, TimeLimit):
            layers.append(("TimeLimit", (inner._max_episode_steps, inner._elapsed_steps)))
        elif not isinstance(inner, gym.Wrapper):
            raise _no_host(inner)
        elif counting.counts(inner):
            layers.append((type(inner).__name__, counting.take(inner)))
        inner = inner.env
    return inner.snapshot(tuple(layers))


def restore(env: gym.Env[Any, Any], snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
    """Put `snapshot` back into `env`, and return the observation and info of that moment.

    After it the same actions give the same observations, rewards, endings and truncation as after the snapshot.
    `env` need not have been reset.

    Raises:
        SnapshotMismatch: if the snapshot belongs to another environment, level or stack of wrappers; `env` is left as
            it was.
    """
    if not isinstance(snapshot, Snapshot):
        raise TypeError(f"Expected a Snapshot, got {type(snapshot).__name__}. From bytes: Snapshot.from_bytes(data).")
    around, base = _unstacked(env)
    check_belongs(snapshot, base.origin)
    level, point = base.read_snapshot(snapshot)
    read = _read_layers(around, snapshot, lambda data, shown, before: base.decode_point(level, data, shown, before))
    if not _was_reset(around, base):
        _reset(env, base, level)

    base.accept(snapshot, level, point)
    for wrapper, value in read:
        if isinstance(wrapper, Layered):
            wrapper.accept_layer(value)
        elif isinstance(wrapper, TimeLimit):
            wrapper._elapsed_steps = value
        else:
            counting.put(wrapper, value)
    observation, info = apart(snapshot.observation), base.info()
    for wrapper in reversed(around):
        if isinstance(wrapper, Noting):
            observation, info = wrapper.shown(observation), wrapper.note(info)
        else:
            observation = counting.shown(wrapper, observation)
    return observation, info


def host(env: gym.Env[Any, Any]) -> Host:
    """The part of `env` that owns the game. Raises TypeError where there is none."""
    return _unstacked(env)[1]


def find(env: gym.Env[Any, Any], kind: type[WrapperT]) -> WrapperT | None:
    """The outermost wrapper of this kind around the host of `env`, if there is one."""
    return next((wrapper for wrapper in wrappers(env) if isinstance(wrapper, kind)), None)


def wrappers(env: gym.Env[Any, Any]) -> tuple[Any, ...]:
    """The wrappers around the host of `env`, outermost first."""
    return tuple(_unstacked(env)[0])


def fork(env: EnvT, n: int) -> list[EnvT]:
    """`n` environments equal to `env` at this moment, each free to go its own way; `env` is untouched."""
    return [copy.deepcopy(env) for _ in range(count("n", n))]


def _read_layers(wrappers: list[Any], snapshot: Snapshot, decode: Decode) -> list[tuple[Any, Any]]:
    """The wrappers that have a part in `snapshot`, each with its part, checked."""
    given = snapshot.layers
    read: list[tuple[Any, Any]] = []
    used = 0
    for wrapper in wrappers:
        name, value = given[used] if used < len(given) else (None, None)
        if isinstance(wrapper, TimeLimit):
            counted = name == "TimeLimit"
            read.append((wrapper, _elapsed(wrapper, value) if counted else snapshot.turn))
            used += counted
        elif isinstance(wrapper, Layered) or counting.counts(wrapper):
            own = wrapper.layer_name if isinstance(wrapper, Layered) else type(wrapper).__name__
            if name != own:
                raise SnapshotMismatch(
                    f"This environment is wrapped in {own}; the snapshot was made without it, or under other wrappers. "
                    "Make it with rollback_gym.snapshot(env) of an environment that is wrapped alike."
                )
            try:
                part = (
                    wrapper.read_layer(value, snapshot, decode)
                    if isinstance(wrapper, Layered)
                    else counting.read(wrapper, value)
                )
            except ValueError as error:
                raise SnapshotMismatch(f"The snapshot's part for {name} does not fit: {error}") from error
            read.append((wrapper, part))
            used += 1
    if used < len(given):
        raise SnapshotMismatch(
            f"The snapshot was made under {given[used][0]}, which this environment lacks. Wrap it likewise."
        )
    return read


def _elapsed(wrapper: TimeLimit[Any, Any], value: Any) -> int:
    limit, elapsed = value if isinstance(value, tuple) and len(value) == 2 else (None, None)
    if limit != wrapper._max_episode_steps:
        raise SnapshotMismatch(
            f"The snapshot was made with max_episode_steps={limit}; this environment has "
            f"{wrapper._max_episode_steps}. Make it with the same limit."
        )
    if type(elapsed) is not int or elapsed < 0:
        raise SnapshotMismatch(f"The snapshot's TimeLimit has counted {elapsed!r} steps; expected a whole number.")
    return elapsed


def _reset(env: gym.Env[Any, Any], base: Host, level: Any) -> None:
    """Reset a stack that never was, since Gymnasium's checking wrappers insist on it."""
    base._resumed = level
    try:
        env.reset()
    finally:
        base._resumed = None


def _was_reset(wrappers: list[Any], base: Host) -> bool:
    for wrapper in wrappers:
        if isinstance(wrapper, OrderEnforcing):
            if not wrapper.has_reset:
                return False
        elif isinstance(wrapper, PassiveEnvChecker) and not wrapper.checked_reset:
            return False
    return base.begun


def _unstacked(env: Any) -> tuple[list[Any], Host]:
    """The wrappers around a host, outermost first, and the host."""
    wrappers: list[Any] = []
    while not isinstance(env, Host):
        if not isinstance(env, gym.Wrapper):
            raise _no_host(env)
        wrappers.append(env)
        env = env.env
    return wrappers, env


def _no_host(env: Any) -> TypeError:
    return TypeError(
        f"{type(env).__name__} has no snapshots of its own. Wrap it: rollback_gym.wrappers.Snapshots(env) gives them "
        "to any Gymnasium environment."
    )
