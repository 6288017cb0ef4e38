"""Sokoban for two players in one room, who move at the same time: a PettingZoo environment.

>>> from rollback_gym.envs import sokoban_two
>>> env = sokoban_two.parallel_env()                                # doctest: +SKIP
>>> observations, infos = env.reset(seed=0)                         # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

from rollback_gym.core.errors import MissingExtra

if TYPE_CHECKING:
    from rollback_gym.envs.sokoban_two.parallel import TwoPlayerSokoban


def parallel_env(**options: Any) -> "TwoPlayerSokoban":
    """The environment in which both act at once; see `TwoPlayerSokoban` for the options.

    Raises:
        MissingExtra: if PettingZoo is not installed.
    """
    try:
        import pettingzoo  # noqa: F401
    except ImportError as error:
        raise MissingExtra("Sokoban for two needs PettingZoo: pip install 'rollback-gym[pettingzoo]'.") from error
    from rollback_gym.envs.sokoban_two.parallel import TwoPlayerSokoban

    return TwoPlayerSokoban(**options)


def env(**options: Any) -> Any:
    """The same where one acts after the other, by PettingZoo's `parallel_to_aec`; a turn is done once both have."""
    parallel = parallel_env(**options)
    from pettingzoo.utils import parallel_to_aec

    return parallel_to_aec(parallel)
