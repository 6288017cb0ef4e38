"""Exact L(s): the fewest turns still needed from a state."""
