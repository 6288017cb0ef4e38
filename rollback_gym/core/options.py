"""What an environment or a wrapper is made with, checked."""

from typing import Any

import numpy as np


def count(name: str, value: Any, least: int = 0) -> int:
    """`value` as a plain whole number, numpy's too. Raises ValueError, by the option's name, if it is below `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """`value` as a plain bool, numpy's too. Raises ValueError, naming the option, unless it is one."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)
