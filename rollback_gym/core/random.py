"""The state of a random generator as an immutable value."""

from typing import Any

import numpy as np


def random_state(generator: np.random.Generator) -> tuple[Any, ...]:
    """The generator's whole state, as nested tuples of plain values."""
    state: Any = generator.bit_generator.state
    if state["bit_generator"] == "PCG64":  # as below, three times as fast
        inner = (("inc", state["state"]["inc"]), ("state", state["state"]["state"]))
        counted, left = ("has_uint32", state["has_uint32"]), ("uinteger", state["uinteger"])
        return (("bit_generator", "PCG64"), counted, ("state", inner), left)
    frozen: tuple[Any, ...] = _freeze(state)
    return frozen


def set_random_state(generator: np.random.Generator, state: Any) -> None:
    """Put `random_state(...)` back.

    Raises:
        ValueError: if `state` is not the state of a generator of this kind.
    """
    try:
        generator.bit_generator.state = _thaw(state)
    except (TypeError, LookupError, ValueError, OverflowError, AttributeError) as error:
        kind = type(generator.bit_generator).__name__
        raise ValueError(f"no state of a {kind} random generator: {error}") from error


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _freeze(item)) for key, item in sorted(value.items()))
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, tuple(value.tolist()))
    return value


def _thaw(value: Any) -> Any:
    if isinstance(value, tuple):
        if len(value) == 3 and value[0] == "array":
            return np.array(value[2], dtype=value[1])
        return {key: _thaw(item) for key, item in value}
    return value
