"""Gymnasium wrappers: the rollback action, and what an oracle knows in `info`."""

from rollback_gym.wrappers.dead_end import DeadEnd
from rollback_gym.wrappers.oracle_info import OracleInfo
from rollback_gym.wrappers.rollback import Rollback

__all__ = ["DeadEnd", "OracleInfo", "Rollback"]
