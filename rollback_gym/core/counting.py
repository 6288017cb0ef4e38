"""Wrappers of others that count or remember, above a host: what they hold is part of a snapshot.

What they hold is written as plain values where it can be, so that it goes into bytes, and else copied as it is.
"""

import types
import warnings
from collections import deque
from functools import lru_cache
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector.utils import concatenate
from gymnasium.wrappers import (
    FrameStackObservation,
    MaxAndSkipObservation,
    NormalizeObservation,
    OrderEnforcing,
    PassiveEnvChecker,
    TransformAction,
    TransformObservation,
    TransformReward,
)
from gymnasium.wrappers.utils import RunningMeanStd

from rollback_gym.core import attributes, kinds
from rollback_gym.core.attributes import Attributes
from rollback_gym.core.codec import pack, unpack
from rollback_gym.core.errors import SnapshotNotPortable
from rollback_gym.core.spaces import apart

_WITHOUT_STATE = (OrderEnforcing, PassiveEnvChecker, TransformAction, TransformObservation, TransformReward)
_TRANSPARENT = (OrderEnforcing, PassiveEnvChecker, TransformAction, TransformReward)
"""They show what is beneath them."""
_FIXED = (gym.Env, gym.Space, EnvSpec, type, types.FunctionType, types.MethodType, types.ModuleType)
_OURS = "rollback_gym."
_DEQUE, _MEANS = "deque", "RunningMeanStd"


def counts(env: Any) -> bool:
    """Whether `env` is somebody else's wrapper that may hold what decides the future."""
    kind: Any = type(env)
    return _counts(kind)


@lru_cache(maxsize=256)
def _counts(kind: type) -> bool:
    return (
        issubclass(kind, gym.Wrapper)
        and not (issubclass(kind, _WITHOUT_STATE) and kind.__module__.startswith("gymnasium."))
        and not issubclass(kind, kinds.RECORDING)
        and not kind.__module__.startswith(_OURS)
    )


def take(wrapper: gym.Wrapper[Any, Any, Any, Any]) -> bytes | Attributes:
    """What `wrapper` holds now: plain values as bytes, anything else as it is."""
    try:
        return pack({name: _plain(value) for name, value in _held(wrapper).items()})
    except SnapshotNotPortable:
        return attributes.take((wrapper,), _beneath(wrapper))


def read(wrapper: gym.Wrapper[Any, Any, Any, Any], value: Any) -> Any:
    """`value` checked, changing nothing. Raises ValueError where it is not what such a wrapper holds."""
    if isinstance(value, Attributes):
        return value
    if not isinstance(value, bytes):
        raise ValueError("expected what a wrapper holds")
    held = unpack(value)
    own = _held(wrapper)
    if not isinstance(held, dict) or held.keys() != own.keys():
        raise ValueError(f"expected the attributes {', '.join(own)}")
    return {name: _thawed(item, own[name]) for name, item in held.items()}


def put(wrapper: gym.Wrapper[Any, Any, Any, Any], value: Any) -> None:
    """Take over what `read` returned."""
    if isinstance(value, Attributes):
        attributes.put(value, (wrapper,), _beneath(wrapper))
    else:
        vars(wrapper).update(value)


def shown(wrapper: gym.Wrapper[Any, Any, Any, Any], observation: Any) -> Any:
    """What `wrapper`, put back, shows where the environment beneath it shows `observation`."""
    if type(wrapper) in _TRANSPARENT:
        return observation
    if isinstance(wrapper, FrameStackObservation):
        stacked: Any = wrapper.stacked_obs
        return apart(concatenate(wrapper.env.observation_space, wrapper.obs_queue, stacked))
    if isinstance(wrapper, MaxAndSkipObservation):
        return wrapper._obs_buffer.max(axis=0)
    if isinstance(wrapper, NormalizeObservation):
        return _without_learning(wrapper, observation)
    if isinstance(wrapper, gym.ObservationWrapper):
        before = take(wrapper)
        seen = wrapper.observation(observation)
        put(wrapper, read(wrapper, before))
        return seen
    if wrapper._observation_space is not None and not isinstance(wrapper, _WITHOUT_STATE):
        warnings.warn(
            f"{type(wrapper).__name__} changes observations in a way that is not known here: this restore returns what "
            "the environment beneath it shows. Put rollback_gym.wrappers.Snapshots outside it.",
            stacklevel=3,
        )
    return observation


def _beneath(wrapper: Any) -> list[Any]:
    """Everything that `wrapper` is put around."""
    inner = []
    while isinstance(wrapper, gym.Wrapper):
        wrapper = wrapper.env
        inner.append(wrapper)
    return inner


def _without_learning(wrapper: Any, observation: Any) -> Any:
    updates = wrapper.update_running_mean
    wrapper.update_running_mean = False
    try:
        return wrapper.observation(observation)
    finally:
        wrapper.update_running_mean = updates


def _held(wrapper: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(wrapper).items() if not isinstance(value, _FIXED)}


def _plain(value: Any) -> Any:
    if isinstance(value, deque):
        return (_DEQUE, value.maxlen, tuple(_plain(item) for item in value))
    if type(value) is RunningMeanStd:
        return (_MEANS, dict(vars(value)))
    if isinstance(value, tuple):
        return ("tuple", *(_plain(item) for item in value))
    return value


def _thawed(value: Any, own: Any) -> Any:
    """The inverse of `_plain`; `own` is what the wrapper holds in this place."""
    if isinstance(own, deque):
        if not (isinstance(value, tuple) and len(value) == 3 and value[0] == _DEQUE and value[1] == own.maxlen):
            raise ValueError(f"expected a queue of at most {own.maxlen}")
        return deque((_thawed(item, None) for item in value[2]), maxlen=own.maxlen)
    if type(own) is RunningMeanStd:
        kind, held = value if isinstance(value, tuple) and len(value) == 2 else (None, None)
        if kind != _MEANS or not isinstance(held, dict) or held.keys() != vars(own).keys():
            raise ValueError("expected a running mean")
        means = RunningMeanStd.__new__(RunningMeanStd)
        vars(means).update(held)
        return means
    if isinstance(value, tuple):
        return tuple(_thawed(item, None) for item in value[1:])
    return value
