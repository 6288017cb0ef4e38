"""The published settings, by name."""

from typing import NamedTuple

from rollback_gym.envs.sokoban.generator import Method


class Preset(NamedTuple):
    """What was played, and for how long. Sources: the configurations of each project."""

    method: Method
    size: tuple[int, int]
    boxes: int
    search_depth: int
    max_turns: int
    layout: str
    dead_end: int | None
    """An episode is lost where more moves than this are needed; None where nothing ends it."""


PRESETS = {
    "retroagent": Preset("ragen", (6, 6), 2, 100, 30, "rows", 100),
    "verl-agent": Preset("ragen", (6, 6), 1, 30, 15, "tabs", None),
    "ragen": Preset("ragen", (6, 6), 1, 300, 100, "plain", None),
    "gym-sokoban": Preset("gym-sokoban", (10, 10), 4, 300, 120, "rows", None),
    "boxoban": Preset("gym-sokoban", (10, 10), 4, 300, 120, "rows", None),
}
"""gym-sokoban and Boxoban show pictures; their text is RetroAgent's."""
