"""What the command line knows of each environment. A new one is a line in each table that it has something for."""

from typing import NamedTuple

from rollback_gym.registration import ALFWORLD


class Room(NamedTuple):
    """What `rollback-gym list` says of an environment."""

    about: str
    options: str


ROOMS = {
    ALFWORLD: Room(
        "Household tasks told in text, word for word as in ALFWorld on TextWorld.",
        "data, split, task_types, level, difficulty; max_turns, accept_put, shuffle_numbers; backend='textworld' "
        "for the genuine engine",
    ),
}
"""By registered id."""

COMMON_OPTIONS = "max_rollbacks, cost, targets, revive, refund, verb; oracle=True; rollback=False"
"""Of every environment: see `wrappers.Rollback`."""

BENCHES = {"alfworld": "rollback_gym.envs.alfworld.bench"}
"""Modules with `measures(data, games, seed) -> Iterator[bench.Measure]`."""
