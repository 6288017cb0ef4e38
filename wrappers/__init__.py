"""Gymnasium wrappers: snapshots for any environment, the rollback action, and what an oracle knows in `info`."""

from rollback_gym.wrappers.dead_end import DeadEnd
from rollback_gym.wrappers.oracle_info import OracleInfo
from rollback_gym.wrappers.rollback import Rollback
from rollback_gym.wrappers.snapshots import Snapshots

__all__ = ["DeadEnd", "OracleInfo", "Rollback", "Snapshots"]
