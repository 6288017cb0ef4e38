"""What the command line knows of each environment. A new one is a line in each table that it has something for."""

from typing import NamedTuple

from rollback_gym.registration import ALFWORLD, MINESWEEPER, SOKOBAN, WEBSHOP


class Room(NamedTuple):
    """What `rollback-gym list` says of an environment."""

    about: str
    options: str
    splits: tuple[str, ...]
    """Those that it may have; which there are can depend on the data."""


ROOMS = {
    ALFWORLD: Room(
        "Household tasks told in text, word for word as in ALFWorld on TextWorld.",
        "data, split, task_types, level, difficulty; max_turns, accept_put, shuffle_numbers; backend='textworld' "
        "for the genuine engine",
        ("train", "valid_seen", "valid_unseen"),
    ),
    MINESWEEPER: Room(
        "MineSweeper on boards of any size; RetroAgent's 6 x 6 with 3 mines unless told otherwise.",
        "preset, rows, columns, mines, first_click, opening, flags; split, level; max_turns; observation, actions, "
        "parser",
        ("train", "valid"),
    ),
    SOKOBAN: Room(
        "Sokoban in the rooms of RetroAgent, verl-agent, RAGEN and gym-sokoban, or of level files.",
        "preset, size, boxes, search_depth, generation_steps; data, split, level, min_distance, max_distance; "
        "max_turns, dead_end; observation, layout, actions, parser; compat, hash_seed",
        ("train", "valid"),
    ),
    WEBSHOP: Room(
        "Shopping by instruction, page for page as in WebShop, in a shop that is made here or in the official one.",
        "data, products, goals, preset, split, level, sampling, goal_seed; max_turns; observation, show_attributes; "
        "compat='original' or 'verl-agent'",
        ("test", "eval", "train"),
    ),
}
"""By registered id."""

COMMON_OPTIONS = "max_rollbacks, cost, targets, revive, refund, verb; oracle=True; rollback=False"
"""Of every environment: see `wrappers.Rollback`."""

BENCHES = {name: f"rollback_gym.envs.{name}.bench" for name in ("alfworld", "minesweeper", "sokoban", "webshop")} | {
    "snapshots": "rollback_gym.wrappers.bench",
    "memory": "rollback_gym.trainer.memory_bench",
}
"""Modules with `measures(data, games, seed, split, original)`, which yields `bench.Measure`s, and
`reference_missing(original)`."""
