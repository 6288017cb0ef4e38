"""The genuine engine: TextWorld's PDDL environment under ALFWorld's own naming, playing one game.

It is three orders of magnitude slower than `rules`, and here to be compared with. Needs the extra `alfworld`.
"""

import os
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rollback_gym.core.errors import MissingExtra
from rollback_gym.envs.alfworld.data import VARIABLE
from rollback_gym.envs.alfworld.types import NOTHING, Level, State, visible

Fact = tuple[str, ...]
"""A predicate and its arguments, in lower case."""

# The translator from PDDL keeps its options and its output in globals, and all engines parse with one parser.
_engine_lock = threading.Lock()
# Engines that no game uses. Each maps its own copy of a 34 MB library, and unloading one crashes the interpreter when
# it exits, so they are used again.
_idle: list[Any] = []


class TextWorldGame:
    """One game in the genuine engine.

    Games may be played in several threads, but each in one. When a game is closed or deleted, the next one uses its
    engine, which is 34 MB.
    """

    def __init__(self, content: Mapping[str, Any], names: Mapping[str, str] | None = None) -> None:
        """Load a game.

        Args:
            content: The JSON of a game file, as `problem.read_content` returns it. No file is read or written.
            names: PDDL id -> the name that the player reads, for those that shall not have the name that ALFWorld
                gives when it evaluates.

        Raises:
            MissingExtra: if TextWorld or ALFWorld is not installed.
        """
        self._env = _environment()
        self._release = weakref.finalize(self, _idle.append, self._env)
        self._release.atexit = False
        with _alone():
            self._env.load(dict(content))
        for id, info in self._env._entity_infos.items():
            info.name = (names or {}).get(id, info.name)

    def reset(self) -> tuple[str, tuple[str, ...]]:
        """Begin the game: the first observation, and the admissible commands in the engine's order."""
        with _alone():
            state = self._env.reset()
        return state.feedback, tuple(state["admissible_commands"])

    def step(self, command: str) -> tuple[str, tuple[str, ...], bool]:
        """What `command` is answered by, the admissible commands after it, and whether the game is won."""
        with _alone():
            state, _, _ = self._env.step(command)
        return state.feedback, tuple(state["admissible_commands"]), bool(state["won"])

    def facts(self) -> frozenset[Fact]:
        """What holds now: the facts that never change, the planner's state, and `not_inreceptacle` as the texts see it.

        The engine keeps two records. The C library decides what can be done and what is won; a second one in Python
        answers the texts, and alone knows the negative facts.
        """
        import fast_downward

        problem = self._env.unwrapped._pddl_state
        atoms = (fast_downward.Atom * problem.downward_lib.get_state_size())()
        problem.downward_lib.get_state(atoms)
        changing, holding = set(), set()
        for atom in atoms:
            sign, _, rest = atom.name.partition(" ")
            predicate, _, arguments = rest.rstrip(")").partition("(")
            changing.add(predicate)
            if sign == "Atom":
                holding.add((predicate, *filter(None, arguments.split(", "))))
        for fact in problem.facts:
            if fact.name == "not_inreceptacle" or fact.name.removeprefix("not_") not in changing:
                holding.add((fact.name, *(argument.name for argument in fact.arguments)))
        return frozenset(holding)

    def close(self) -> None:
        """Leave the engine to the next game. This one cannot be used afterwards."""
        self._release()
        self._env = None


def state_of(level: Level, facts: frozenset[Fact]) -> State:
    """The state of `level` in which `facts` hold: the inverse of what compiling its problem did.

    Raises KeyError where the facts belong to another level.
    """
    receptacles = {receptacle.id: number for number, receptacle in enumerate(level.receptacles)}
    things = {thing.id: number for number, thing in enumerate(level.things)}
    locations = {
        location: level.receptacles[receptacles[receptacle]].location
        for predicate, receptacle, location in (fact for fact in facts if fact[0] == "receptacleatlocation")
    }
    at = held = None
    flags = dict.fromkeys(("opened", "isclean", "ishot", "iscool", "issliced", "istoggled"), 0)
    contents, stale = [0] * len(receptacles), [0] * len(receptacles)
    located = [0] * len(level.at)
    for predicate, *arguments in facts:
        match predicate, arguments:
            case "atlocation", [_, location]:
                at = locations.get(location, level.start.location)
            case "holds", [_, thing]:
                held = things[thing]
            case "opened", [receptacle]:
                flags[predicate] |= 1 << receptacles[receptacle]
            case (("isclean" | "ishot" | "iscool" | "issliced" | "istoggled"), [thing]):
                flags[predicate] |= 1 << things[thing]
            case "inreceptacle", [thing, receptacle]:
                contents[receptacles[receptacle]] |= 1 << things[thing]
            case "not_inreceptacle", [thing, receptacle]:
                if len(level.at[level.receptacles[receptacles[receptacle]].location]) > 1:
                    stale[receptacles[receptacle]] |= 1 << things[thing]
            case "objectatlocation", [thing, location] if location in locations:
                located[locations[location]] |= 1 << things[thing]
    if at is None:
        raise KeyError("atlocation")
    return State(
        location=at,
        held=NOTHING if held is None else held,
        opened=flags["opened"],
        clean=flags["isclean"],
        hot=flags["ishot"],
        cool=flags["iscool"],
        sliced=flags["issliced"],
        toggled=flags["istoggled"],
        contents=tuple(contents),
        located=tuple(mask & seen for mask, seen in zip(located, visible(level.things, level.at), strict=True)),
        stale=tuple(stale),
    )


def _environment() -> Any:
    try:
        return _idle.pop()
    except IndexError:
        pass
    # Importing alfworld points this variable at a folder of its own, for child processes too.
    chosen = os.environ.get(VARIABLE)
    try:
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld.envs.pddl import PddlEnv

        return AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))
    except ImportError as error:
        raise MissingExtra(
            f"the genuine ALFWorld engine is not installed ({error}); pip install 'rollback-gym[alfworld]'"
        ) from error
    finally:
        if chosen is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = chosen


@contextmanager
def _alone() -> Iterator[None]:
    """Guards what engines share, and puts back what the translator changes of the interpreter."""
    with _engine_lock:
        argv, stdout = sys.argv, sys.stdout
        try:
            yield
        finally:
            sys.argv, sys.stdout = argv, stdout
