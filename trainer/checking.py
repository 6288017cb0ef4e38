"""Plain data, as it comes out of a YAML file, as frozen dataclasses; what is wrong is said in one sentence.

A field's type says what it takes. `Annotated[float, Within(0, 1)]` says which numbers, `Literal` which words; a union
of both takes either.
"""

import difflib
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from rollback_gym.core.errors import ConfigError

T = TypeVar("T")


class Within(NamedTuple):
    """Numbers from `low` to `high`; None where there is no end."""

    low: float | None = None
    high: float | None = None
    above: bool = False
    """`low` itself is too low."""

    def holds(self, number: float) -> bool:
        """Whether a number is one of them. Not-a-number never is."""
        low = -float("inf") if self.low is None else self.low
        high = float("inf") if self.high is None else self.high
        return (low < number if self.above else low <= number) and number <= high

    def __str__(self) -> str:
        low = "" if self.low is None else f"above {self.low:g}" if self.above else f"at least {self.low:g}"
        high = "" if self.high is None else f"at most {self.high:g}"
        return " and ".join(part for part in (low, high) if part) or "a number"


Share = Annotated[float, Within(0, 1)]
Positive = Annotated[float, Within(0, above=True)]
NotNegative = Annotated[float, Within(0)]
NotPositive = Annotated[float, Within(high=0)]
Count = Annotated[int, Within(1)]
Number = Annotated[int, Within(0)]


def build(kind: type[T], data: Any, where: str = "") -> T:
    """`data` as a `kind`, which is a dataclass whose fields have defaults.

    Args:
        kind: The dataclass.
        data: A mapping; what it leaves out has its default.
        where: What the user calls it, such as `rl`; empty for the whole.

    Raises:
        ConfigError: naming the field, what it holds, and what was expected.
    """
    named = where or "The config"
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise ConfigError(f"{named} must be settings with names, got {data!r}.")
    data = {"on" if name is True else name: value for name, value in data.items()}  # YAML takes on for true
    hints = get_type_hints(kind, include_extras=True)
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name in data:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, 1)
            guess = f" Did you mean {close[0]}?" if close else ""
            raise ConfigError(f"{_joined(where, name)} is no setting; {named} has {', '.join(known)}.{guess}")
    given = {name: _value(hints[name], value, _joined(where, name)) for name, value in data.items()}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.default is MISSING and field.default_factory is MISSING and field.name not in given:
            raise ConfigError(f"{_joined(where, field.name)} must be given.")
    try:
        return kind(**given)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{named}: {error}") from None


def check_url(where: str, url: str | None, example: str) -> None:
    """Raise ConfigError unless `url` is one, and holds no password: configs are written down."""
    parts = urlsplit(url or "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{where} must be an address such as {example}, got {url!r}.")
    if parts.username or parts.password or parts.query:
        raise ConfigError(f"{where} is written down, so it must hold no password and no query.")


def _joined(where: str, name: Any) -> str:
    return f"{where}.{name}" if where else str(name)


def _value(hint: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        value = _value(inner[0], value, where)
        for limit in inner[1:]:
            if isinstance(limit, Within) and not limit.holds(value):
                raise ConfigError(f"{where} must be {limit}, got {value!r}.")
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        words = [part for part in inner if get_origin(part) is Literal]
        others = [part for part in inner if part is not type(None) and part not in words]
        worded = bool(words) and isinstance(value, str) and _number(value) is None
        return _value((words if worded else others)[0], value, where)
    if origin is Literal:
        if value not in inner:
            raise ConfigError(f"{where} must be {_either(inner)}, got {value!r}.")
        return value
    if is_dataclass(hint):
        return build(hint, value, where)  # type: ignore[arg-type]
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where} must be a list, got {value!r}.")
        return tuple(_value(inner[0], one, f"{where}[{place}]") for place, one in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where} must be settings with names, got {value!r}.")
        return dict(value)
    return _plain(hint, value, where)


def _plain(hint: Any, value: Any, where: str) -> Any:
    if hint is float:
        number = _number(value)
        if number is None:
            raise ConfigError(f"{where} must be a number, got {value!r}.")
        return number
    expected = {int: "a whole number", bool: "true or false", str: "a text"}[hint]
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(f"{where} must be {expected}, got {value!r}.")
    return value


def _number(value: Any) -> float | None:
    """YAML takes 1e-6, without a point, for a text."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _either(words: tuple[Any, ...]) -> str:
    told = [str(word) for word in words]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} or {told[-1]}"
