"""What becomes of each kind of object when an environment of others is taken and put back.

Most are copied. Some stay where they are and have their members taken ("inside": environments, closures), some are
asked for their own state ("native": an emulator, a physics engine, a random generator), some draw ("drawing"), and some
never change ("shared").
"""

import logging
import sys
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import EzPickle
from gymnasium.wrappers import HumanRendering, RecordVideo, RenderCollection

COPIED, INSIDE, NATIVE, DRAWING, SHARED, JUDGED = "", "inside", "native", "drawing", "shared", "judged"
"""JUDGED: of this kind, each object is looked at."""


RECORDING = (RecordVideo, RenderCollection, HumanRendering)
"""What these wrappers hold is what was seen, whatever was taken back."""


class Native(NamedTuple):
    """How an object that cannot be copied gives its state, and takes it back in place."""

    take: Callable[[Any], Any]
    """The state, a value that nobody changes any more."""
    put: Callable[[Any, Any], None]
    """Put such a value back into the object, exactly."""
    clone: Callable[[Any], Any] | None = None
    """Another object like this one; None where only its environment can make one."""


_NATIVE: dict[str, Native] = {}
_FIXED: dict[str, frozenset[str]] = {}
_RENDERERS: dict[str, dict[str, Callable[[], Any]]] = {}
_SHARED = (gym.Space, EnvSpec, type, logging.Logger)
_SHARED_NAMES = frozenset(
    f"rollback_gym.{name}"
    for name in (
        *("core.history.History", "core.history.Node", "core.history.Rollback", "core.snapshot.Snapshot"),
        *("core.attributes.Attributes", "wrappers.tape.Moment", "wrappers.tape.State"),
    )
)
"""Values of ours, which nobody changes: an environment may hold the wrapper that keeps them."""
_JUDGED = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_DRAWS = ("pygame", "pyglet", "glfw", "OpenGL", "matplotlib", "cv2", "gymnasium.envs.mujoco.mujoco_rendering")
_PLAYS = ("pygame.rect.", "pygame.math.", "pygame.sprite.")
"""What games hold their state in, though it comes with a library that draws."""


def register_native(
    kind: str,
    take: Callable[[Any], Any],
    put: Callable[[Any, Any], None],
    clone: Callable[[Any], Any] | None = None,
) -> None:
    """Teach snapshots of foreign environments about a kind of object that cannot be copied.

    Args:
        kind: The full name of the class, `"package.module.Class"`, so that nothing need be imported for it.
        take: Returns the whole state of such an object, random state included, as a value of its own.
        put: Puts a state back into an object of that kind.
        clone: Makes another such object in the same state; without it a copy of the environment is made by `gym.make`.
    """
    _NATIVE[kind] = Native(take, put, clone)
    _forget(kind)


def register_fixed(kind: str, *names: str) -> None:
    """Say that some attributes never change once an object of this kind is made, so that nothing need copy them.

    Args:
        kind: The full name of the class, `"package.module.Class"`; it holds for derived classes too.
        names: The attributes, such as a table of transitions.
    """
    _FIXED[kind] = _FIXED.get(kind, frozenset()) | frozenset(names)
    fixed.cache_clear()


def register_renderer(kind: str, **fresh: Callable[[], Any]) -> None:
    """Say which attributes of a renderer hold windows and the like: they are never taken.

    Args:
        kind: The full name of the class, which holds the rest as an environment does.
        fresh: For each such attribute, what makes its value in a copy, which must open windows of its own.
    """
    _RENDERERS[kind] = fresh
    _forget(kind)
    renderer.cache_clear()


class _Answers(dict[type, str]):
    """What becomes of objects of each kind; asked once."""

    def __missing__(self, kind: type) -> str:
        answer = self[kind] = _how(kind)
        return answer


HOW = _Answers()


def how(obj: Any) -> str:
    """What becomes of `obj`."""
    known = HOW[type(obj)]
    return _judged(obj) if known is JUDGED else known


def native(kind: type) -> Native:
    """The hooks of a kind that has some."""
    return _NATIVE[full_name(kind)]


@lru_cache(maxsize=1024)
def fixed(kind: type) -> frozenset[str]:
    """The attributes that never change in objects of this kind."""
    return frozenset().union(*(_FIXED.get(full_name(base), frozenset()) for base in kind.__mro__))


@lru_cache(maxsize=1024)
def renderer(kind: type) -> dict[str, Callable[[], Any]]:
    """The attributes that hold windows in objects of this kind, with what makes new ones."""
    return _RENDERERS.get(full_name(kind), {})


def full_name(kind: type) -> str:
    """As in `register_native`."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _how(kind: type) -> str:
    name = full_name(kind)
    if name in _NATIVE:
        return NATIVE
    if name in _RENDERERS or issubclass(kind, gym.Env | EzPickle | types.CellType):
        return INSIDE
    if name.startswith(tuple(f"{module}." for module in _DRAWS)) and not name.startswith(_PLAYS):
        return DRAWING
    if name in _SHARED_NAMES or issubclass(kind, _SHARED):
        return SHARED
    return JUDGED if issubclass(kind, _JUDGED) else COPIED


def _judged(obj: Any) -> str:
    if isinstance(obj, types.BuiltinFunctionType):
        # A list's own append must go on with the list.
        return SHARED if obj.__self__ is None or isinstance(obj.__self__, types.ModuleType | type) else COPIED
    if isinstance(obj, types.ModuleType):
        return SHARED if sys.modules.get(obj.__name__) is obj else COPIED
    return SHARED if _is_importable(obj) else INSIDE


def _is_importable(function: types.FunctionType) -> bool:
    """Whether it is part of a module or class, and not made anew, with variables of its own, at some time."""
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _forget(name: str) -> None:
    for known in [known for known in HOW if full_name(known) == name]:
        del HOW[known]
