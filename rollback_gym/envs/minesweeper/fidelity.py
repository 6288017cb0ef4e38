"""Plays boards here and in the original, side by side, and reports where they part.

The original is RetroAgent's `agent_system/environments/env_package/minesweeper`, from a checkout that the user has.
Its folder `game` is loaded by itself: the package around it needs Ray, and these two files need only NumPy.
"""

import importlib
import random
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rollback_gym.core.errors import DataError
from rollback_gym.envs.minesweeper import rules, text
from rollback_gym.envs.minesweeper.generator import Setup, generate
from rollback_gym.envs.minesweeper.types import BURIED, State

_PACKAGE = "_rollback_gym_original_minesweeper"
SENTENCES = (
    "<think>the corner</think><action>(1, 2)</action>",
    "<action>(3,4)</action>",
    "<think>a</think><action> open ( 2 , 5) or (1, 1) </action>",
    "<action>(1,  6 )</action> then <action>(2, 2)</action>",
    "<action>(1, 2, 3)</action>",
    "<action>row 1, column 2</action>",
    "</action>(1, 1)<action>(2, 2)",
    "</action>(1, 1)<action>(2, 2)</action>",
    "<action>(-1, 4)</action>",
    "<action>(007, 4)</action>",
    "<ACTION>(1, 1)</ACTION>",
    "(1, 1)",
    "",
)
"""What agents may say, for comparing the two projections."""


class Difference(NamedTuple):
    """Something that the two do not agree on."""

    board: str
    """The level's id."""
    turn: int
    """0 for the start."""
    action: str
    what: str
    """`mines`, `lost`, `text`, `reward`, `done` or `won`."""
    ours: Any
    theirs: Any


class Comparison(NamedTuple):
    """What was compared, and what came of it."""

    episodes: int
    steps: int
    differences: tuple[Difference, ...]
    """The first of each episode that has any."""


class Original(NamedTuple):
    """The original's class and projection."""

    game: Any
    """`MineSweeper(board_size=..., n_mines=...)`."""
    projection: Callable[[list[str]], Any]


def load_original(path: str | Path) -> Original:
    """The original at `path`: its folder `minesweeper`, or any folder above that holds one copy or several.

    Raises:
        DataError: if there is none.
    """
    here = Path(path)
    found = sorted(core.parent.parent for core in here.rglob("minesweeper/game/core.py"))
    if (here / "game" / "core.py").is_file():
        found.insert(0, here)
    if not found:
        raise DataError(f"There is no minesweeper/game/core.py under {here}; expected a checkout of RetroAgent.")
    for name, folder in ((_PACKAGE, found[0]), (f"{_PACKAGE}.game", found[0] / "game")):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
        for stale in [module for module in sys.modules if module.startswith(f"{name}.")]:
            del sys.modules[stale]
    game = importlib.import_module(f"{_PACKAGE}.game.env").MineSweeper
    return Original(game, importlib.import_module(f"{_PACKAGE}.projection").minesweeper_projection)


@contextmanager
def as_if_seeded(seed: int, size: int) -> Iterator[None]:
    """The global generator as it must be for the original to open where `seed` says; put back at the end."""
    before = np.random.get_state()
    np.random.seed(seed)
    np.random.rand(size, size)
    try:
        yield
    finally:
        np.random.set_state(before)


def compare(
    original: Original, *, steps: int, seed: int = 0, size: int = 6, mines: int = 3, flags: bool = False
) -> Comparison:
    """Play boards, each to its end, with clicks on closed, open and missing cells, until `steps` were compared.

    Seeds are drawn from those of the published runs. Nothing depends on anything but the arguments.
    """
    rng = random.Random(f"{seed} {size} {mines} {flags}")
    setup = Setup(rows=size, columns=size, mines=mines, flags=flags, original=True)
    episodes, compared, differences = 0, 0, []
    while compared < steps:
        played, difference = _episode(original, setup, rng.randrange(2**16 - 1), rng)
        episodes += 1
        compared += max(played, 1)
        if difference is not None:
            differences.append(difference)
    return Comparison(episodes, compared, tuple(differences))


def compare_projections(original: Original, sentences: tuple[str, ...] = SENTENCES) -> list[tuple[str, str, str]]:
    """The sentences that the two projections read differently: sentence, ours, theirs."""
    read, _ = original.projection(list(sentences))
    theirs = [f"({int(row)}, {int(column)})" for row, column in read]
    ours = [text.loose(sentence) for sentence in sentences]
    return [three for three in zip(sentences, ours, theirs, strict=True) if three[1] != three[2]]


def _episode(original: Original, setup: Setup, seed: int, rng: random.Random) -> tuple[int, Difference | None]:
    size = setup.rows
    level = generate(setup, seed)
    state, ours = rules.begin(level)
    with as_if_seeded(seed, size):
        theirs = original.game(board_size=size, n_mines=setup.mines, board_type="board")
        shown, _ = theirs.reset(seed)
        mines = [cell for cell, mine in enumerate(theirs.board_mine.flatten().tolist()) if mine]
    own = [cell for cell in range(size * size) if level.mines >> cell & 1]
    start: tuple[tuple[str, Any, Any], ...] = (
        ("mines", own, mines),
        ("text", ours, shown),
        ("lost", state.hit == BURIED, theirs.game_over),
    )
    for what, mine, other in start:
        if mine != other:
            return 0, Difference(level.id, 0, "", what, mine, other)
    for turn in range(1, 3 * size * size):
        kind, row, column = _move(level, state, rng)
        action = f"flag ({row}, {column})" if kind == "R" else f"({row}, {column})"
        state, reward, over, ours, won, _ = rules.step(level, state, action)
        shown, paid, done, info = theirs.step(kind, row, column)
        seen = (("text", ours, shown), ("reward", reward, paid), ("done", over, done), ("won", won, info["won"]))
        for what, mine, other in seen:
            if mine != other:
                return turn, Difference(level.id, turn, action, what, mine, other)
        if over:
            return turn, None
    return turn, None


def _move(level: Any, state: State, rng: random.Random) -> tuple[str, int, int]:
    """A click: often on a safe cell, so that games last; now and then on a mine, an open cell, or off the board."""
    size, draw = level.grid.rows, rng.random()
    if draw < 0.1:
        row, column = rng.randrange(-1, size + 3), rng.randrange(-1, size + 3)
    elif draw < 0.4:
        row, column = rng.randrange(1, size + 1), rng.randrange(1, size + 1)
    else:
        closed = [cell for cell in range(size * size) if level.layout.safe & ~state.opened >> cell & 1]
        row, column = divmod(rng.choice(closed or [0]), size)
        row, column = row + 1, column + 1
    flag = level.flags and rng.random() < 0.5
    if flag and rng.random() < 0.4:
        mines = [cell for cell in range(size * size) if level.mines & ~state.flags >> cell & 1]
        row, column = divmod(rng.choice(mines or [0]), size)
        row, column = row + 1, column + 1
    return ("R" if flag else "L"), row, column
