"""The original environments, loaded to be played beside ours: RetroAgent's from a checkout, gym-sokoban's installed.

Nothing of them is changed, but that RetroAgent's `hash` may be told a PYTHONHASHSEED, and that modules which they
import and never use in play are stood in for where they are missing.
"""

import importlib
import io
import random
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from rollback_gym.core.errors import DataError, MissingExtra
from rollback_gym.envs.sokoban.hashing import string_hash
from rollback_gym.envs.sokoban.types import WORDS

_PACKAGE = "agent_system.environments.env_package.sokoban"
_UNUSED = ("matplotlib", "matplotlib.pyplot", "matplotlib.animation", "torch", "transformers")


class Answer(NamedTuple):
    """What an original says to an action."""

    text: str
    reward: float
    done: bool
    won: bool


class Original(Protocol):
    """An original environment, at one size."""

    def reset(self, seed: int) -> str:
        """Begin an episode, and return the room as text with numbered rows."""

    def step(self, action: str) -> Answer:
        """Take one of `WORDS`, or `still`."""


class RetroAgent:
    """The environment of RetroAgent (verl-agent's and RAGEN's), from a checkout.

    Args:
        path: The folder `sokoban` of its `env_package`, or any folder above.
        hash_seed: The PYTHONHASHSEED to go by where a room fails; None for this process's own.

    Raises:
        DataError: if it is not there.
        MissingExtra: if gym-sokoban is not installed, which it builds on.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        size: int = 6,
        boxes: int = 2,
        search_depth: int = 100,
        max_turns: int = 30,
        hash_seed: int | None = 0,
    ) -> None:
        module, projection = _load_retroagent(Path(path))
        self._projection = projection
        if hash_seed is not None:
            module.hash = lambda text: string_hash(text, hash_seed)
        made = {"dim_room": (size, size), "num_boxes": boxes, "search_depth": search_depth, "max_steps": max_turns}
        self._env = module.SokobanEnv("text_with_row_numbers", reset=False, **made)

    def reset(self, seed: int) -> str:
        """See `Original`."""
        with redirect_stdout(io.StringIO()):  # it prints each retry
            text: str = self._env.reset(seed=seed)[0]
        return text

    def step(self, action: str) -> Answer:
        """See `Original`."""
        text, reward, done, info = self._env.step(_number(action))
        return Answer(text, float(reward), bool(done), bool(info["won"]))

    def project(self, sentences: Sequence[str]) -> list[str]:
        """What it understands sentences of an agent to mean, as `WORDS` or `still`."""
        numbers, _ = self._projection(list(sentences))
        return [("still", *WORDS)[number] for number in numbers]


class GymSokoban:
    """gym-sokoban 0.0.6, seeded as it can be: by the global generators.

    Raises:
        MissingExtra: if it is not installed.
    """

    def __init__(self, *, size: int = 10, boxes: int = 4, max_turns: int = 120) -> None:
        made = {"dim_room": (size, size), "num_boxes": boxes, "max_steps": max_turns}
        self._env = _gym_sokoban().SokobanEnv(reset=False, **made)

    def reset(self, seed: int) -> str:
        """See `Original`."""
        with _seeded(seed), redirect_stdout(io.StringIO()), _quiet():
            self._env.reset(render_mode="tiny_rgb_array")
        return self._text()

    def step(self, action: str) -> Answer:
        """See `Original`."""
        _, reward, done, info = self._env.step(_number(action), observation_mode="tiny_rgb_array")
        return Answer(self._text(), float(reward), bool(done), bool(info.get("all_boxes_on_target", False)))

    def _text(self) -> str:
        room, fixed = self._env.room_state, self._env.room_fixed
        shown = np.where((room == 5) & (fixed == 2), 6, room).tolist()
        return "\n".join(f"{number}: {' '.join('#_O√XPS'[cell] for cell in row)}" for number, row in enumerate(shown))


def _number(action: str) -> int:
    return WORDS.index(action) + 1 if action in WORDS else 0


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """The global generators seeded; put back at the end."""
    before, numpy_before = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of old packages."""
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _gym_sokoban() -> Any:
    with _quiet():
        try:
            return importlib.import_module("gym_sokoban.envs.sokoban_env")
        except ImportError as error:
            raise MissingExtra(
                f"gym-sokoban cannot be imported ({error}). For a comparison: pip install gym-sokoban==0.0.6 "
                "'setuptools<81', and then gym, on which it is built."
            ) from error


def _load_retroagent(path: Path) -> tuple[Any, Any]:
    """The module with its environment, and its projection."""
    found = sorted(file.parent.parent for file in path.rglob("sokoban/sokoban/room_utils.py"))
    if (path / "sokoban" / "room_utils.py").is_file():
        found.insert(0, path)
    if not found:
        raise DataError(f"There is no sokoban/sokoban/room_utils.py under {path}; expected a checkout of RetroAgent.")
    _gym_sokoban()
    before = dict(sys.modules)
    try:
        for name in _UNUSED:
            if name not in sys.modules:
                sys.modules[name] = _stand_in(name)
        parts = _PACKAGE.split(".")
        for count in range(1, len(parts) + 1):
            package = types.ModuleType(".".join(parts[:count]))
            package.__path__ = [str(found[0])] if count == len(parts) else []
            sys.modules[package.__name__] = package
        with _quiet():
            env = importlib.import_module(f"{_PACKAGE}.sokoban.env")
            return env, importlib.import_module(f"{_PACKAGE}.projection").sokoban_projection
    finally:
        for name in [name for name in sys.modules if name in _UNUSED or name.partition(".")[0] == "agent_system"]:
            if name in before:
                sys.modules[name] = before[name]
            else:
                del sys.modules[name]


def _stand_in(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__getattr__ = lambda name: object  # type: ignore[method-assign]
    return module
