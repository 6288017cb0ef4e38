"""Pictures: every kind of tile is told apart, and the coloured text is the text."""

import re
from itertools import combinations
from typing import Any

import gymnasium as gym
import numpy as np

from rollback_gym.envs.minesweeper import render, rules
from tests.envs.minesweeper import boards

BOARD = boards.level("*.* .*. ...", (1, 2), flags=True)


def test_coloured_text_is_the_text_in_colours() -> None:
    done = boards.play(BOARD, "flag (1, 1)", "(2, 2)")
    coloured = render.ansi(BOARD, done.state)
    assert coloured != done.feedback
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == done.feedback
    assert {"F", "*", "?", "3"} <= set(done.feedback)


def test_every_tile_looks_different() -> None:
    tiles = {letter: render._tile(letter) for letter in "?.12345678F*"}
    for tile in tiles.values():
        assert tile.shape == (render.TILE, render.TILE, 3)
        assert tile.dtype == np.uint8
    for one, other in combinations(tiles.values(), 2):
        assert (abs(one.astype(int) - other).max(axis=2) > 60).sum() > 20


def test_a_picture_shows_each_cell_where_it_is() -> None:
    done = boards.play(BOARD, "flag (1, 1)", "(2, 2)")
    picture = render.picture(BOARD, done.state)
    rows = [line.partition(": ")[2].split() for line in done.feedback.split("\n")]
    size = render.TILE
    assert picture.shape == (size * len(rows), size * len(rows[0]), 3)
    for row, letters in enumerate(rows):
        for column, letter in enumerate(letters):
            tile = picture[row * size : (row + 1) * size, column * size : (column + 1) * size]
            assert (tile == render._tile(letter)).all()


def test_a_picture_holds_nothing_that_the_player_cannot_see() -> None:
    one, other = boards.level("*.. ... ...", (2, 2)), boards.level("... ... ..*", (2, 2))
    assert rules.describe(one, one.start) == rules.describe(other, other.start)
    assert (render.picture(one, one.start) == render.picture(other, other.start)).all()


def test_render_modes() -> None:
    for mode, kind in (("ansi", str), ("rgb_array", np.ndarray), (None, type(None))):
        env: Any = gym.make("Rollback-MineSweeper-v0", render_mode=mode, disable_env_checker=True)
        env.reset(seed=0)
        assert isinstance(env.unwrapped.render(), kind)
    large = gym.make("Rollback-MineSweeper-v0", render_mode="rgb_array", preset="expert")
    large.reset(seed=0)
    assert large.render().shape == (512, 960, 3)  # type: ignore[union-attr]
