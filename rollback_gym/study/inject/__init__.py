"""Mistakes put in on purpose, of four kinds, each defined for every environment and verified by the oracle.

>>> from rollback_gym.study.inject import Kind, errors, game_of
>>> found = list(errors(game_of(env), env.unwrapped.state, (), Kind.INTENT))    # doctest: +SKIP

What an agent would do out of a mistake is a `Lapse`; as far as the oracle says that it raised L, it is an `Error`.
Where a kind is impossible in a state there is no error of it.
"""

from rollback_gym.study.inject.games import ENVIRONMENTS, Game, check_env, game, game_of
from rollback_gym.study.inject.measure import Error, draw, errors, measured
from rollback_gym.study.inject.types import Kind, Lapse, Step

__all__ = [
    "ENVIRONMENTS",
    "Error",
    "Game",
    "Kind",
    "Lapse",
    "Step",
    "check_env",
    "draw",
    "errors",
    "game",
    "game_of",
    "measured",
]
