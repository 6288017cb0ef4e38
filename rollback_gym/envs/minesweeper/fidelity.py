"""Plays boards here and in the original, side by side, and reports where they part.

The original is RetroAgent's `agent_system/environments/env_package/minesweeper`, from a checkout that the user has.
Its folder `game` is loaded by itself: the package around it needs Ray, and these two files need only NumPy.
"""

import importlib
import random
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rollback_gym.core.errors import DataError
from rollback_gym.envs.minesweeper import rules, text
from rollback_gym.envs.minesweeper.generator import Setup, generate
from rollback_gym.envs.minesweeper.types import BURIED, State
from rollback_gym.fidelity import Comparison, first_difference

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
    original: Original,
    seeds: Iterable[int],
    steps: int = 1000,
    seed: int = 0,
    *,
    size: int = 6,
    mines: int = 3,
    flags: bool = False,
) -> Iterator[Comparison]:
    """Play the boards of `seeds`, each to its end or for `steps`, with clicks on closed, open and missing cells.

    What is played depends on nothing but the arguments.
    """
    setup = Setup(rows=size, columns=size, mines=mines, flags=flags, original=True)
    for board in seeds:
        yield _play(original, setup, board, steps, random.Random(f"{seed} {board} {size} {mines} {flags}"))


def compare_projections(original: Original, sentences: tuple[str, ...] = SENTENCES) -> list[tuple[str, str, str]]:
    """The sentences that the two projections read differently: sentence, ours, theirs."""
    read, _ = original.projection(list(sentences))
    theirs = [f"({int(row)}, {int(column)})" for row, column in read]
    ours = [text.loose(sentence) for sentence in sentences]
    return [three for three in zip(sentences, ours, theirs, strict=True) if three[1] != three[2]]


def _play(original: Original, setup: Setup, seed: int, steps: int, rng: random.Random) -> Comparison:
    size = setup.rows
    level = generate(setup, seed)
    state, observation = rules.begin(level)
    with as_if_seeded(seed, size):
        game = original.game(board_size=size, n_mines=setup.mines, board_type="board")
        shown, _ = game.reset(seed)
        mines = [cell for cell, mine in enumerate(game.board_mine.flatten().tolist()) if mine]
    own = [cell for cell in range(size * size) if level.mines >> cell & 1]
    ours: dict[str, Any] = {"mines": own, "observation": observation, "lost": state.hit == BURIED}
    theirs: dict[str, Any] = {"mines": mines, "observation": shown, "lost": game.game_over}
    difference = first_difference(0, "", ours, theirs)
    turn, over, won = 0, False, False
    counts: Counter[str] = Counter()
    while turn < steps and not over and difference is None:
        turn += 1
        kind, row, column = _move(level, state, rng)
        action = f"flag ({row}, {column})" if kind == "R" else f"({row}, {column})"
        state, reward, over, observation, won, invalid = rules.step(level, state, action)
        shown, paid, done, info = game.step(kind, row, column)
        counts["(refused)" if invalid is not None else "flag" if kind == "R" else "open"] += 1
        ours = {"observation": observation, "reward": reward, "done": over, "won": won}
        theirs = {"observation": shown, "reward": paid, "done": done, "won": info["won"]}
        difference = first_difference(turn, action, ours, theirs)
    return Comparison(level.id, turn, won, counts, difference)


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
