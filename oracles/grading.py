"""How good an action was, given L before and after it."""

import math
from enum import StrEnum


class Grade(StrEnum):
    """An action's grade, by its regret."""

    OPTIMAL = "optimal"
    """Regret 0: the way got shorter by one."""
    WASTE = "waste"
    """Regret 1: a turn spent, nothing lost."""
    DETOUR = "detour"
    """Regret 2: one turn more is needed than before."""
    SETBACK = "setback"
    """Regret 3 or more."""
    FATAL = "fatal"
    """The goal is out of reach."""


def regret(previous: float, distance: float) -> float:
    """The turns that an action lost against an optimal one: 1 + L(s') - L(s), for a finite L(s) = `previous`."""
    return 1.0 + distance - previous


def grade(regret: float) -> Grade:
    """The grade for a regret (a whole number of at least 0, or infinity)."""
    if math.isinf(regret):
        return Grade.FATAL
    if regret >= 3:
        return Grade.SETBACK
    return (Grade.OPTIMAL, Grade.WASTE, Grade.DETOUR)[max(0, int(regret))]


def is_pivotal(previous: float, distance: float) -> bool:
    """Whether an action that took L from `previous` to `distance` is a pivotal mistake (PivotOPD, section 2)."""
    return previous < distance and not math.isinf(previous)
