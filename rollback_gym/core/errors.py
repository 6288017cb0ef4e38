"""Every error that rollback-gym raises on purpose, under one root.

A message says what was wrong, what was expected, and what to do about it.
"""


class RollbackGymError(Exception):
    """The root: catch this to catch whatever rollback-gym reports about a user's input."""


class SnapshotCorrupt(RollbackGymError, ValueError):
    """The bytes are not a whole, undamaged snapshot of a version this release reads."""


class SnapshotMismatch(RollbackGymError, ValueError):
    """The snapshot is whole, but belongs to another environment, level or wrapper stack."""


class SnapshotNotPortable(RollbackGymError, TypeError):
    """The snapshot holds something that cannot leave this process."""


class ReplayDiverged(RollbackGymError, RuntimeError):
    """Replaying recorded actions gave another observation than the recorded one."""


class DataError(RollbackGymError, ValueError):
    """Game data is missing, empty, damaged, of a foreign kind, or has no such level."""


class OracleBudgetExceeded(RollbackGymError, RuntimeError):
    """An exact L(s) takes longer to find than an oracle may search; it gives no other."""


class RecordError(RollbackGymError, ValueError):
    """A line of a run's file is not the record of an episode; the message names the line and the field."""


class RecordCutOff(RecordError):
    """The last line of a run's file was not written to its end: the run was interrupted there."""


class PolicyError(RollbackGymError, RuntimeError):
    """A policy cannot act: its script is at an end, its model does not answer, or it does not fit the environment."""


class RunMismatch(RollbackGymError, ValueError):
    """A file holds the records of another run than the one that is to be continued in it."""


class RunStopped(RollbackGymError, RuntimeError):
    """What stops this episode would stop every other one of the run: a refused key, a model that there is not."""


class MissingExtra(RollbackGymError, ImportError):
    """An optional dependency is needed; the message names the extra that brings it."""


class ConfigError(RollbackGymError, ValueError):
    """A setting of a configuration is unknown, of a wrong type, out of range, or does not go with another."""
