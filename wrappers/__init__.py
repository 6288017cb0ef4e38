"""Gymnasium wrappers: the rollback action, and what an oracle knows in `info`."""
