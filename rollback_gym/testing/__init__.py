"""A check for environments of others: does going back keep its laws there?"""

from rollback_gym.testing.check import CheckFailed, Report, check_rollback_env

__all__ = ["CheckFailed", "Report", "check_rollback_env"]
