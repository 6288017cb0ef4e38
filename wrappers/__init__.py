"""Wrappers: snapshots for any environment, the rollback action, and what an oracle knows in `info`.

`MultiAgentRollback` is for PettingZoo, which is imported only when it is asked for.
"""

from typing import TYPE_CHECKING, Any

from rollback_gym.wrappers.dead_end import DeadEnd
from rollback_gym.wrappers.oracle_info import OracleInfo
from rollback_gym.wrappers.rollback import Rollback
from rollback_gym.wrappers.snapshots import Snapshots

if TYPE_CHECKING:
    from rollback_gym.wrappers.multi_agent import MultiAgentRollback

__all__ = ["DeadEnd", "MultiAgentRollback", "OracleInfo", "Rollback", "Snapshots"]


def __getattr__(name: str) -> Any:
    if name == "MultiAgentRollback":
        from rollback_gym.wrappers.multi_agent import MultiAgentRollback

        return MultiAgentRollback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
