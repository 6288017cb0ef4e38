"""What an object holds under a name, read and written in place: attributes, slots, and the variables of functions."""

import types
from functools import lru_cache
from typing import Any

_FUNCTION = ("__defaults__", "__kwdefaults__", "__dict__")


def members(obj: Any) -> dict[str, Any]:
    """What `obj` holds, by name. A function holds its cells, and each of these a variable."""
    kind: Any = type(obj)
    if kind is types.CellType:
        try:
            return {"cell_contents": obj.cell_contents}
        except ValueError:
            return {}
    if kind is types.FunctionType:
        return {name: getattr(obj, name) for name in (*_FUNCTION, "__closure__")}
    held = dict(getattr(obj, "__dict__", {}))
    for name, slot in _slots(kind):
        try:
            held[name] = slot.__get__(obj)
        except AttributeError:
            continue
    return held


def set_members(obj: Any, held: dict[str, Any]) -> None:
    """Make `obj` hold this, and nothing else."""
    kind: Any = type(obj)
    if kind is types.CellType:
        if "cell_contents" in held:
            obj.cell_contents = held["cell_contents"]
        else:
            del obj.cell_contents
    elif kind is types.FunctionType:
        for name in _FUNCTION:  # its cells stay: they are set themselves
            setattr(obj, name, held[name])
    else:
        held = dict(held)
        for name, slot in _slots(kind):
            if name in held:
                slot.__set__(obj, held.pop(name))
            else:
                _clear(slot, obj)
        if hasattr(obj, "__dict__"):
            namespace = vars(obj)
            namespace.clear()
            namespace.update(held)


def empty(like: Any, cells: dict[int, types.CellType]) -> Any:
    """A new object of the same kind that holds nothing yet; a function gets its cells, by the ids of the old ones."""
    if isinstance(like, types.CellType):
        return types.CellType()
    if isinstance(like, types.FunctionType):
        closure = tuple(cells[id(cell)] for cell in like.__closure__ or ()) or None
        function = types.FunctionType(like.__code__, like.__globals__, like.__name__, None, closure)
        function.__qualname__ = like.__qualname__
        return function
    return object.__new__(type(like))


@lru_cache(maxsize=1024)
def _slots(kind: type) -> tuple[tuple[str, Any], ...]:
    """The slots of a class and its bases, each with the descriptor that reads and writes it."""
    return tuple(
        (name, value)
        for base in kind.__mro__
        if "__slots__" in vars(base)
        for name, value in vars(base).items()
        if isinstance(value, types.MemberDescriptorType)
    )


def _clear(slot: Any, obj: Any) -> None:
    try:
        slot.__delete__(obj)
    except AttributeError:
        return
