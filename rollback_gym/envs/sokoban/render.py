"""Pictures of a room: coloured text for terminals, and flat tiles of 32 by 32 pixels."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rollback_gym.envs.sokoban import text
from rollback_gym.envs.sokoban.types import Level, State

TILE = 32
"""Pixels."""

Picture = np.ndarray[Any, np.dtype[np.uint8]]
Colour = tuple[int, int, int]

_LAYOUT = text.LAYOUTS["plain"]
_STYLES = {
    text.WALL: "\x1b[90;100m",
    text.FLOOR: "\x1b[90m",
    text.TARGET: "\x1b[1;31m",
    text.BOX: "\x1b[1;33m",
    text.BOX_ON_TARGET: "\x1b[1;32m",
    text.PLAYER: "\x1b[1;36m",
    text.PLAYER_ON_TARGET: "\x1b[1;35m",
}
_PLAIN = "\x1b[0m"


def ansi(level: Level, state: State) -> str:
    """The room in colours, two characters a cell, one row a line."""
    room = _LAYOUT.describe(level, state)
    return "\n".join("".join(f"{_STYLES[symbol]}{symbol} {_PLAIN}" for symbol in row) for row in room.split("\n"))


def rgb(level: Level, state: State) -> Picture:
    """(height * 32, width * 32, 3) uint8."""
    tiles = _tiles()
    rows = _LAYOUT.describe(level, state).split("\n")
    return np.concatenate([np.concatenate([tiles[symbol] for symbol in row], axis=1) for row in rows], axis=0)


# --- The tiles -----------------------------------------------------------------------------------------------------

_FLOOR: Colour = (238, 232, 220)
_SEAM: Colour = (226, 219, 205)
_STONE: Colour = (92, 99, 112)
_MORTAR: Colour = (70, 76, 88)
_RING: Colour = (206, 66, 70)
_WOOD: Colour = (214, 160, 84)
_BEAM: Colour = (150, 100, 44)
_DONE: Colour = (104, 176, 96)
_DONE_BEAM: Colour = (52, 112, 56)
_BODY: Colour = (52, 108, 196)
_EDGE: Colour = (28, 62, 122)
_FACE: Colour = (250, 222, 186)

Shape = Callable[[Any, Any], Any]
"""Whether points at x (right) and y (down), in pixels from the middle of the tile, are in it."""
Layers = list[tuple[Shape, Colour]]
"""What is painted, from the bottom up."""

_SAMPLES = 4
"""Per pixel and axis: edges are drawn smooth."""


@cache
def _tiles() -> dict[str, Picture]:
    """The tile of each symbol."""
    tiles: dict[str, Layers] = {
        text.WALL: [(_everywhere, _MORTAR), (_bricks, _STONE)],
        text.FLOOR: _GROUND,
        text.TARGET: [*_GROUND, *_GOAL],
        text.BOX: [*_GROUND, *_crate(_WOOD, _BEAM)],
        text.BOX_ON_TARGET: [*_GROUND, *_GOAL, *_crate(_DONE, _DONE_BEAM)],
        text.PLAYER: [*_GROUND, *_FIGURE],
        text.PLAYER_ON_TARGET: [*_GROUND, *_GOAL, *_FIGURE],
    }
    return {symbol: _painted(layers) for symbol, layers in tiles.items()}


def _painted(layers: Layers) -> Picture:
    across = (np.arange(TILE * _SAMPLES) + 0.5) / _SAMPLES - TILE / 2
    x, y = np.meshgrid(across, across)
    fine = np.zeros((TILE * _SAMPLES, TILE * _SAMPLES, 3))
    for shape, colour in layers:
        fine[shape(x, y)] = colour
    coarse = fine.reshape(TILE, _SAMPLES, TILE, _SAMPLES, 3).mean(axis=(1, 3))
    tile: Picture = coarse.round().astype(np.uint8)
    return tile


def _everywhere(x: Any, y: Any) -> Any:
    return np.ones_like(x, dtype=bool)


def _seams(x: Any, y: Any) -> Any:
    return np.maximum(abs(x), abs(y)) > TILE / 2 - 0.5


def _bricks(x: Any, y: Any) -> Any:
    """Three courses, every other one shifted by half a brick."""
    course = np.floor((y + TILE / 2) / (TILE / 4))
    along = (x + TILE / 2 + course % 2 * TILE / 4) % (TILE / 2)
    return (along > 1) & ((y + TILE / 2) % (TILE / 4) > 1)


def _disc(radius: float, right: float = 0, down: float = 0) -> Shape:
    return lambda x, y: (x - right) ** 2 + (y - down) ** 2 <= radius**2


def _square(half: float, corner: float = 2.0) -> Shape:
    """A square with round corners."""

    def shape(x: Any, y: Any) -> Any:
        beyond_x, beyond_y = np.maximum(abs(x) - half + corner, 0), np.maximum(abs(y) - half + corner, 0)
        return beyond_x**2 + beyond_y**2 <= corner**2

    return shape


def _cross(half: float, thick: float) -> Shape:
    """Two diagonal beams."""
    return lambda x, y: (np.maximum(abs(x), abs(y)) <= half) & (np.minimum(abs(x - y), abs(x + y)) <= thick * 2**0.5)


_GROUND: Layers = [(_everywhere, _FLOOR), (_seams, _SEAM)]
_GOAL: Layers = [(_square(14.5), _RING), (_square(11.5), _FLOOR), (_disc(4), _RING)]
_FIGURE: Layers = [
    (_disc(10.5), _EDGE),
    (_disc(9), _BODY),
    (_disc(2.8, -3.8, -2), _FACE),
    (_disc(2.8, 3.8, -2), _FACE),
    (_disc(1.3, -3.6, -1.6), _EDGE),
    (_disc(1.3, 4, -1.6), _EDGE),
]


def _crate(boards: Colour, beams: Colour) -> Layers:
    return [(_square(12.5), beams), (_square(10, 0.5), boards), (_cross(10, 1.4), beams)]
