"""Environments in which going back is an action: O(1) snapshots, rollback, and exact L(s) oracles."""
