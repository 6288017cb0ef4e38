"""Environments in which going back is an action: O(1) snapshots, rollback, and exact L(s) oracles.

>>> import gymnasium as gym
>>> import rollback_gym
>>> env = gym.make("Rollback-ALFWorld-v0")
>>> observation, info = env.reset(seed=0)
>>> here = rollback_gym.snapshot(env)
"""

from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.errors import (
    DataError,
    MissingExtra,
    OracleBudgetExceeded,
    ReplayDiverged,
    RollbackGymError,
    SnapshotCorrupt,
    SnapshotMismatch,
    SnapshotNotPortable,
)
from rollback_gym.core.history import History, Node, Point, Rollback
from rollback_gym.core.simulator import Simulator, Transition
from rollback_gym.core.snapshot import Outcome, Snapshot
from rollback_gym.core.stack import fork, restore, snapshot
from rollback_gym.registration import levels, register

register()

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "History",
    "MissingExtra",
    "Node",
    "OracleBudgetExceeded",
    "Outcome",
    "Point",
    "ReplayDiverged",
    "Rollback",
    "RollbackGymError",
    "Simulator",
    "Snapshot",
    "SnapshotCorrupt",
    "SnapshotEnv",
    "SnapshotMismatch",
    "SnapshotNotPortable",
    "Transition",
    "fork",
    "levels",
    "restore",
    "snapshot",
]
