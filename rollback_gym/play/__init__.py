"""Agents that play the environments, and the records of what they did."""
