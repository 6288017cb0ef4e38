"""Pictures: what is where, and that the kinds of tile can be told apart."""

import re
from itertools import combinations
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from rollback_gym.envs.sokoban import render
from rollback_gym.envs.sokoban.data import parse
from rollback_gym.envs.sokoban.env import SokobanEnv
from rollback_gym.envs.sokoban.text import LAYOUTS, SYMBOLS
from rollback_gym.envs.sokoban.types import State

LEVEL = parse(["######", "#@$*.#", "######"], "row")


def tile(picture: Any, row: int, column: int) -> Any:
    return picture[row * 32 : (row + 1) * 32, column * 32 : (column + 1) * 32]


def test_a_picture_is_made_of_tiles() -> None:
    picture = render.rgb(LEVEL, LEVEL.start)
    assert (picture.shape, picture.dtype) == ((96, 192, 3), np.uint8)
    for column, symbol in enumerate("#PX√O#"):
        assert (tile(picture, 1, column) == render._tiles()[symbol]).all()
    on_target = render.rgb(LEVEL, State(10, LEVEL.start.boxes))
    assert (tile(on_target, 1, 4) == render._tiles()["S"]).all()
    assert (tile(on_target, 1, 1) == render._tiles()["_"]).all()


def test_tiles_differ_clearly() -> None:
    for one, other in combinations(SYMBOLS, 2):
        apart = np.abs(render._tiles()[one].astype(int) - render._tiles()[other]).max(axis=2)
        assert (apart > 60).mean() > 0.1, (one, other)


def test_coloured_text_is_the_room() -> None:
    text = render.ansi(LEVEL, LEVEL.start)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert plain.replace(" ", "") == LAYOUTS["plain"].describe(LEVEL, LEVEL.start)
    assert text.split("\n")[1].count("\x1b[1;32m") == 1


@pytest.mark.parametrize(("mode", "kind"), [("ansi", str), ("rgb_array", np.ndarray), (None, type(None))])
def test_through_the_environment(mode: str | None, kind: type) -> None:
    env = gym.make("Rollback-Sokoban-v0", render_mode=mode)
    env.reset(seed=0)
    before = env.unwrapped.render()
    assert isinstance(before, kind)
    for move in ("up", "left", "down", "right"):
        env.step(move)
    if mode is not None:
        assert np.any(np.asarray(env.unwrapped.render()) != np.asarray(before))


def test_nothing_to_show_yet() -> None:
    with pytest.raises(ResetNeeded):
        SokobanEnv(render_mode="ansi").render()
