"""Exact L(s), the fewest turns still needed from a state, and what it says of the actions of an episode."""

from rollback_gym.oracles.grading import Grade, grade, regret
from rollback_gym.oracles.lookup import Oracle, for_env, register
from rollback_gym.oracles.pivots import Assessment, Pivots, assessments, pivots
from rollback_gym.oracles.search import BreadthFirst

__all__ = [
    "Assessment",
    "BreadthFirst",
    "Grade",
    "Oracle",
    "Pivots",
    "assessments",
    "for_env",
    "grade",
    "pivots",
    "register",
    "regret",
]
