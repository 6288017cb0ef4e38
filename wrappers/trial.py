"""Which way of putting an environment of others back keeps its promise: found out by trying."""

import copy
import zlib
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from rollback_gym.core import attributes, kinds
from rollback_gym.core.attributes import NotCopyable
from rollback_gym.wrappers.tape import fingerprint

_TURNS = 16


def copying(
    stack: Sequence[gym.Env[Any, Any]], outside: Sequence[Any], info: dict[str, Any]
) -> Literal["native", "deepcopy"] | None:
    """How a copy of what `stack` holds puts it back: three random branches from here agree as they should, and leave no
    trace. None where they do not, and then the stack is anywhere.
    """
    try:
        before = attributes.take(stack, outside)
        answers = []
        for branch in (0, 1, 0):
            answers.append(_played(_unseen(stack), info, branch))
            attributes.put(before, stack, outside)
    except NotCopyable:
        return None
    if answers[0] != answers[2]:
        return None
    return "native" if attributes.has_native(before) else "deepcopy"


def replays(stack: Sequence[gym.Env[Any, Any]], seed: int, options: Any) -> bool:
    """Whether a reset with this seed and the same actions gives the same, twice. The stack is anywhere afterwards."""
    answers = []
    for _ in range(2):
        observation, info = stack[0].reset(seed=seed, options=copy.deepcopy(options))
        answers.append([fingerprint(observation), *_played(_unseen(stack), info, 0)])
    return answers[0] == answers[1]


def _unseen(stack: Sequence[gym.Env[Any, Any]]) -> gym.Env[Any, Any]:
    """The part of the stack beneath all that records or shows what happens: nobody should see a trial."""
    recording = [place for place, layer in enumerate(stack) if isinstance(layer, kinds.RECORDING)]
    return stack[recording[-1] + 1] if recording else stack[0]


def _played(env: gym.Env[Any, Any], info: dict[str, Any], branch: int) -> list[int]:
    """The fingerprints of the answers to a few actions, always the same ones for a branch."""
    space = copy.deepcopy(env.action_space)
    space.seed(branch)
    answers: list[int] = []
    for _ in range(_TURNS):
        try:
            observation, reward, terminated, truncated, info = env.step(_sample(space, info))
        except Exception as error:  # whatever an environment of others answers to a senseless action
            return [*answers, zlib.crc32(type(error).__name__.encode())]
        answers.append(fingerprint(observation, float(reward), (bool(terminated), bool(truncated))))
        if terminated or truncated:
            break
    return answers


def _sample(space: gym.Space[Any], info: dict[str, Any]) -> Any:
    mask: Any = info.get("action_mask")
    if isinstance(space, gym.spaces.Discrete) and np.shape(mask) == (space.n,) and np.any(mask):
        return space.sample(mask=np.asarray(mask, dtype=np.int8))
    return space.sample()
