"""Where `rollback-gym fidelity` finds the games of each environment, and the original that plays them as well."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from rollback_gym.cli.errors import Refused
from rollback_gym.fidelity import Comparison


class Source(NamedTuple):
    """The games of an environment, to be compared."""

    ids: Sequence[str]
    compare: Callable[[str, bytes, int, int], Comparison]
    """(id, content, steps, seed) -> what came of it."""
    read: Callable[[str], bytes] = str.encode
    """The content of a game; of one that comes from a seed, its id is all there is."""
    steps: int = 60
    """Actions in a game, unless asked for others."""


def _alfworld(data: str | None, split: str | None, original: str | None) -> Source:
    from rollback_gym.envs.alfworld.env import games
    from rollback_gym.envs.alfworld.fidelity import compare

    if original is not None:
        raise Refused("ALFWorld's original is an installed package, not a checkout; leave --original out.")

    def one(id: str, content: bytes, steps: int, seed: int) -> Comparison:
        return next(compare([(id, content)], steps, seed))

    found = games(data)
    return Source(found.ids(split), one, found.read)


def _minesweeper(data: str | None, split: str | None, original: str | None) -> Source:
    from rollback_gym.envs.minesweeper.fidelity import compare, load_original
    from rollback_gym.envs.minesweeper.generator import LevelIds, read_id

    if data is not None:
        raise Refused("MineSweeper's boards come from seeds, not from data; leave --data out.")
    if original is None:
        raise Refused("Pass the original: --original with the path of a checkout of RetroAgent.")
    loaded = load_original(original)

    def one(id: str, content: bytes, steps: int, seed: int) -> Comparison:
        return next(compare(loaded, [read_id(id)[0]], steps, seed))

    return Source(LevelIds(split or "train"), one)


def _sokoban(data: str | None, split: str | None, original: str | None) -> Source:
    from rollback_gym.core.errors import MissingExtra
    from rollback_gym.envs.sokoban.fidelity import compare
    from rollback_gym.envs.sokoban.originals import GymSokoban, Original, RetroAgent
    from rollback_gym.envs.sokoban.seeds import Ids

    if data is not None:
        raise Refused("The originals make their rooms from seeds; leave --data out.")
    ids = Ids(split or "train")
    preset = "gym-sokoban" if original is None else "retroagent"

    @cache
    def made(steps: int) -> Original:
        return GymSokoban(max_turns=steps) if original is None else RetroAgent(original, max_turns=steps)

    try:
        made(1)
    except MissingExtra as error:
        raise Refused(f"{error} RetroAgent's Sokoban is compared with --original, and needs it, too.") from error

    def one(id: str, content: bytes, steps: int, seed: int) -> Comparison:
        return next(compare(made(steps), [int(id.partition("/")[2])], seed, max_turns=steps, preset=preset))

    return Source(ids, one, steps=120 if original is None else 30)


def _webshop(data: str | None, split: str | None, original: str | None) -> Source:
    from rollback_gym.envs.webshop.data import open_catalogue
    from rollback_gym.envs.webshop.env import LevelIds, numbers_of
    from rollback_gym.envs.webshop.fidelity import compare, differing_goal, goals_for
    from rollback_gym.envs.webshop.original import Original
    from rollback_gym.envs.webshop.rules import WebShopRules

    if original is None:
        raise Refused(
            "Pass the original: --original with the path of a checkout of WebShop, or of the copy inside verl-agent or "
            "RetroAgent: the folder that holds web_agent_site."
        )
    sold = open_catalogue(data)
    theirs = Original(original, sold)
    goals = goals_for(theirs, sold, "synthetic", 0)
    rules = WebShopRules(compat="verl-agent" if theirs.is_copy else "original")
    preset = "verl-agent" if theirs.is_copy else "webshop"
    ids = LevelIds("synthetic", numbers_of(goals, preset, split or "all"))
    differing = differing_goal(goals, theirs)

    def one(id: str, content: bytes, steps: int, seed: int) -> Comparison:
        played = next(compare(theirs, goals, rules, [int(id.partition("/")[2])], steps, seed))
        return played if differing is None else played._replace(difference=differing)

    return Source(ids, one, steps=15)


SOURCES: dict[str, Callable[[str | None, str | None, str | None], Source]] = {
    "alfworld": _alfworld,
    "minesweeper": _minesweeper,
    "sokoban": _sokoban,
    "webshop": _webshop,
}
"""(data, split, original) -> the games."""
