"""Pictures of a board: coloured text, and flat tiles drawn here, digits too, so that no font is needed."""

from functools import lru_cache
from typing import Any

import numpy as np

from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.types import Level, State

TILE = 32
"""The side of a cell in pixels."""

Picture = np.ndarray[Any, np.dtype[np.uint8]]
Colour = tuple[int, int, int]

_NUMBERS: dict[str, Colour] = {
    "1": (25, 80, 210),
    "2": (30, 130, 50),
    "3": (210, 40, 40),
    "4": (20, 25, 120),
    "5": (125, 25, 30),
    "6": (0, 125, 130),
    "7": (20, 20, 20),
    "8": (115, 115, 115),
}
_OPEN: Colour = (232, 233, 236)
_LINE: Colour = (205, 207, 212)
_CLOSED: Colour = (158, 166, 179)
_LIGHT: Colour = (186, 193, 204)
_DARK: Colour = (128, 136, 150)
_HIT: Colour = (226, 72, 66)
_INK: Colour = (30, 32, 38)

_STYLES = {
    "?": "90",
    ".": "2",
    "F": "1;91",
    "*": "1;97;41",
    "1": "94",
    "2": "32",
    "3": "91",
    "4": "35",
    "5": "31",
    "6": "36",
    "7": "1",
    "8": "37",
}
"""Of the terminal's own sixteen colours, which are readable on light and dark."""

_GLYPHS = {
    "1": "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    "2": ".###. #...# ....# ...#. ..#.. .#... #####",
    "3": ".###. #...# ....# ..##. ....# #...# .###.",
    "4": "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
    "5": "##### #.... ####. ....# ....# #...# .###.",
    "6": ".###. #.... #.... ####. #...# #...# .###.",
    "7": "##### ....# ...#. ..#.. ..#.. ..#.. ..#..",
    "8": ".###. #...# #...# .###. #...# #...# .###.",
}
"""Digits of 5 by 7 dots."""


def ansi(level: Level, state: State) -> str:
    """The board's text, its cells coloured by terminal escapes; without these it is the observation."""
    board: str = rules.describe(level, state)
    lines = []
    for line in board.split("\n"):
        head, _, cells = line.partition(": ")
        lines.append(f"{head}: " + " ".join([_coloured(cell) for cell in cells.split(" ")]))
    return "\n".join(lines)


def picture(level: Level, state: State) -> Picture:
    """(TILE * rows, TILE * columns, 3) uint8: the board, a tile a cell."""
    board = rules.describe(level, state).split("\n")
    rows = [np.concatenate([_tile(cell) for cell in line.partition(": ")[2].split(" ")], axis=1) for line in board]
    return np.concatenate(rows, axis=0)


def _coloured(cell: str) -> str:
    return f"\x1b[{_STYLES[cell]}m{cell}\x1b[0m"


@lru_cache(maxsize=16)
def _tile(cell: str) -> Picture:
    """(TILE, TILE, 3) uint8; `cell` is its letter in the text."""
    closed = cell in "?F"
    tile = np.empty((TILE, TILE, 3))
    tile[:] = _CLOSED if closed else _HIT if cell == "*" else _OPEN
    if closed:
        tile[:2], tile[:, :2] = _LIGHT, _LIGHT
        tile[-2:], tile[:, -2:] = _DARK, _DARK
    else:
        tile[0], tile[:, 0] = _LINE, _LINE
    if cell in _NUMBERS:
        _paint(tile, _digit(cell), _NUMBERS[cell])
    elif cell == "*":
        _paint(tile, _mine(), _INK)
        _paint(tile, _disc(13.5, 13.0, 1.8), (245, 245, 245))
    elif cell == "F":
        x, y = _points()
        _paint(tile, _cover((abs(x - 12.5) < 1.1) & (y > 7) & (y < 25)), _INK)
        _paint(tile, _cover((abs(x - 16) < 7) & (y > 23) & (y < 26)), _INK)
        _paint(tile, _cover((x > 13) & (x < 24) & (abs(y - 12) < (24 - x) / 2)), _NUMBERS["3"])
    picture = np.rint(tile).astype(np.uint8)
    picture.flags.writeable = False
    return picture


def _digit(cell: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    dots = np.array([[dot == "#" for dot in line] for line in _GLYPHS[cell].split()], dtype=float)
    cover = np.zeros((TILE, TILE))
    high = np.kron(dots, np.ones((3, 3)))
    top, left = (TILE - high.shape[0] + 1) // 2, (TILE - high.shape[1] + 1) // 2
    cover[top : top + high.shape[0], left : left + high.shape[1]] = high
    return cover


def _mine() -> np.ndarray[Any, np.dtype[np.float64]]:
    x, y = _points()
    x, y = x - TILE / 2, y - TILE / 2
    spikes = (np.minimum(abs(x), abs(y)) < 1.1) & (np.maximum(abs(x), abs(y)) < 11)
    slanted = (np.minimum(abs(x - y), abs(x + y)) < 1.6) & (np.maximum(abs(x), abs(y)) < 7.6)
    return _cover((x**2 + y**2 < 7.5**2) | spikes | slanted)


def _disc(x: float, y: float, radius: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    across, down = _points()
    return _cover((across - x) ** 2 + (down - y) ** 2 < radius**2)


_FINE = 4
"""Points a pixel, in each direction: edges come out smooth."""


def _points() -> tuple[Any, Any]:
    """Where the points are, in pixels."""
    at = (np.arange(TILE * _FINE) + 0.5) / _FINE
    across, down = np.meshgrid(at, at)
    return across, down


def _cover(points: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(TILE, TILE) the share of each pixel's points that are in a shape."""
    share: np.ndarray[Any, np.dtype[np.float64]] = points.reshape(TILE, _FINE, TILE, _FINE).mean(axis=(1, 3))
    return share


def _paint(tile: Any, cover: Any, colour: Colour) -> None:
    tile += cover[:, :, None] * (np.array(colour) - tile)
