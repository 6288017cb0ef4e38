"""NamedTuples as JSON and back, as their annotations say; and the JSON Schema that says the same to others.

The annotations that are understood are those that records are made of: str, int, float, bool, Any, None in a union,
`dict[str, ...]`, `tuple[..., ...]`, and other NamedTuples. JSON is strict: a number that it cannot hold is written as
the text "inf", "-inf" or "nan".
"""

import ast
import inspect
import math
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

_Reader = Callable[[Any], Any]
_MISSING = object()
_BEYOND = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_ARRAY = ("array", "dtype", "shape")


class Misfit(ValueError):
    """A value is not of the shape that was expected. `where` leads to it, as in `acts[3].reward`."""

    def __init__(self, what: str, *where: str) -> None:
        super().__init__(what)
        self.what = what
        self.where = where

    def under(self, name: str) -> "Misfit":
        """The same, seen from one level up."""
        return Misfit(self.what, name, *self.where)

    def __str__(self) -> str:
        path = "".join(step if step.startswith("[") else f".{step}" for step in self.where).lstrip(".")
        return f"{path}: {self.what}" if path else self.what


def plain(value: Any) -> Any:
    """`value` of None, bool, int, float, str, dict and tuple only, as it will be read back from JSON.

    A list becomes a tuple, a number of NumPy's a plain one, an array `{"array": nested tuples, "dtype", "shape"}`.

    Raises:
        TypeError: for anything else.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _beyond(value)
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return plain(value.item())
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": plain(value.tolist()), "dtype": value.dtype.name, "shape": value.shape}
    raise TypeError(
        f"A record holds plain values and arrays of numbers, not {type(value).__name__}: {value!r:.60}. "
        "Convert it before it is recorded."
    )


def lifted(value: Any) -> Any:
    """The inverse of `plain`, as far as actions need it: with the arrays as arrays.

    Raises:
        ValueError: where what says that it is an array is none.
    """
    if isinstance(value, tuple):
        return tuple(lifted(item) for item in value)
    if isinstance(value, dict):
        if sorted(value) == sorted(_ARRAY):
            return np.array(value["array"], dtype=value["dtype"]).reshape(value["shape"])
        return {name: lifted(item) for name, item in value.items()}
    return value


def to_json(value: Any, shape: Any) -> Any:
    """`value`, which is a `shape`, as what `json.dumps(..., allow_nan=False)` takes."""
    return _writer(shape)(value)


def from_json(value: Any, shape: Any) -> Any:
    """The inverse of `to_json`. Raises Misfit where `value` has another shape."""
    return _reader(shape)(value)


def schema(shape: Any) -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `to_json` writes; its descriptions are the docstrings."""
    definitions: dict[str, Any] = {}
    of_this = _schema(shape, definitions)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **of_this, "$defs": definitions}


def _beyond(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


@cache
def _writer(shape: Any) -> Callable[[Any], Any]:
    if _is_record(shape):
        fields = [(name, _writer(kind)) for name, kind in get_type_hints(shape).items()]
        return lambda value: {name: write(getattr(value, name)) for name, write in fields}
    if _is_union(shape):
        inner = _writer(_something(shape))
        return lambda value: None if value is None else inner(value)
    if get_origin(shape) is tuple:
        item = _writer(get_args(shape)[0])
        return lambda value: [item(one) for one in value]
    if shape is float:
        return lambda value: float(value) if math.isfinite(value) else _beyond(value)
    if shape is int or shape is bool:
        return shape  # a number of NumPy's too
    return plain


@cache
def _reader(shape: Any) -> _Reader:
    if _is_record(shape):
        return _record_reader(shape)
    if _is_union(shape):
        inner = _reader(_something(shape))
        return lambda value: None if value is None else inner(value)
    if get_origin(shape) is tuple:
        item = _reader(get_args(shape)[0])
        return lambda value: tuple(_each(enumerate(_checked(value, list, "a list")), item))
    if get_origin(shape) is dict:
        held = _reader(get_args(shape)[1])
        return lambda value: _dict(_checked(value, dict, "an object"), held)
    if shape is Any:
        return plain
    if shape is float:
        return _float
    names = {str: "a text", int: "a whole number", bool: "true or false"}
    return lambda value: _checked(value, shape, names[shape])


def _record_reader(shape: Any) -> _Reader:
    readers = [(name, _reader(kind)) for name, kind in get_type_hints(shape).items()]
    known, defaults = {name for name, _ in readers}, shape._field_defaults

    def read(value: Any) -> Any:
        given = _checked(value, dict, "an object")
        if not given.keys() <= known:
            unknown = min(given.keys() - known)
            raise Misfit(f"there is no such field in {shape.__name__}; a newer release may have written it", unknown)
        fields = []
        for name, reader in readers:
            one = given.get(name, _MISSING)
            if one is _MISSING:
                if name not in defaults:
                    raise Misfit("is missing", name)
                fields.append(defaults[name])
                continue
            try:
                fields.append(reader(one))
            except Misfit as misfit:
                raise misfit.under(name) from None
        return shape(*fields)

    return read


def _each(items: Iterable[tuple[int, Any]], reader: _Reader) -> Iterator[Any]:
    for index, item in items:
        try:
            yield reader(item)
        except Misfit as misfit:
            raise misfit.under(f"[{index}]") from None


def _dict(value: dict[str, Any], reader: _Reader) -> dict[str, Any]:
    read = {}
    for name, item in value.items():
        try:
            read[name] = reader(item)
        except Misfit as misfit:
            raise misfit.under(name) from None
    return read


def _checked(value: Any, kind: type, name: str) -> Any:
    if type(value) is not kind:
        raise Misfit(f"expected {name}, got {value!r:.60}")
    return value


def _float(value: Any) -> float:
    if type(value) in (int, float):
        try:
            return float(value)
        except OverflowError:
            raise Misfit("the number is too large") from None
    if isinstance(value, str) and value in _BEYOND:
        return _BEYOND[value]
    raise Misfit(f'expected a number, "inf", "-inf" or "nan", got {value!r:.60}')


def _schema(shape: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if _is_record(shape):
        if shape.__name__ not in definitions:
            definitions[shape.__name__] = {}
            definitions[shape.__name__] = _record_schema(shape, definitions)
        return {"$ref": f"#/$defs/{shape.__name__}"}
    if _is_union(shape):
        return {"anyOf": [_schema(_something(shape), definitions), {"type": "null"}]}
    if get_origin(shape) is tuple:
        return {"type": "array", "items": _schema(get_args(shape)[0], definitions)}
    if get_origin(shape) is dict:
        return {"type": "object", "additionalProperties": _schema(get_args(shape)[1], definitions)}
    if shape is float:
        return {"anyOf": [{"type": "number"}, {"enum": list(_BEYOND)}]}
    return {} if shape is Any else {"type": {str: "string", int: "integer", bool: "boolean"}[shape]}


def _record_schema(shape: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    notes = _field_notes(shape)
    hints = get_type_hints(shape)
    properties = {
        name: {**_schema(kind, definitions), **({"description": notes[name]} if name in notes else {})}
        for name, kind in hints.items()
    }
    return {
        "type": "object",
        "description": inspect.cleandoc(shape.__doc__),
        "properties": properties,
        "required": [name for name in hints if name not in shape._field_defaults],
        "additionalProperties": False,
    }


def _field_notes(shape: Any) -> dict[str, str]:
    """The docstring below each field, which Python itself does not keep."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(shape))).body
    assert isinstance(body, ast.ClassDef)
    notes: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant(value=str(note))):
                notes[name] = inspect.cleandoc(note)
    return notes


def _is_record(shape: Any) -> bool:
    return isinstance(shape, type) and hasattr(shape, "_field_defaults")


def _is_union(shape: Any) -> bool:
    return get_origin(shape) in (Union, types.UnionType)


def _something(union: Any) -> Any:
    """What a union with None holds besides None."""
    (inner,) = (kind for kind in get_args(union) if kind is not type(None))
    return inner
