"""The space of texts: every string, with nothing refused."""

import copy
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory

T = TypeVar("T")

_SAMPLED = "abcdefghijklmnopqrstuvwxyz 0123456789"


class AnyText(spaces.Text):
    """Every string: line breaks, any alphabet, the empty string.

    Gymnasium's own `Text` refuses whatever is not in a list of characters, and has a maximal length. Samples are
    short and of lower-case letters, digits and spaces.
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(max_length=64, min_length=0, charset=_SAMPLED, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string."""
        return isinstance(x, str)

    def __repr__(self) -> str:
        return "AnyText()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText)

    __hash__ = None  # type: ignore[assignment]


@create_shared_memory.register(AnyText)
def _refuse_shared_memory(space: AnyText, n: int = 1, ctx: Any = None) -> Any:
    """Gymnasium's shared memory for texts hands out strings of zeros; say so instead."""
    raise TypeError(
        "Text observations do not go through Gymnasium's shared memory (it returns strings of zeros): "
        'pass shared_memory=False to AsyncVectorEnv, or vector_kwargs={"shared_memory": False} to gym.make_vec.'
    )


def apart(observation: T) -> T:
    """`observation` for somebody who may change it, while we keep ours."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, np.ndarray):
        return observation.copy()
    return copy.deepcopy(observation)


def fixed(action: Any) -> Any:
    """`action` as a value that nobody changes any more; a number of numpy's as a plain one."""
    if isinstance(action, np.generic):
        return action.item()
    return apart(action)
