"""Mistakes in ALFWorld."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.types import NOTHING, Level, State, TaskType
from rollback_gym.study.inject.types import Kind, Lapse, Step

_COMMAND = re.compile(
    r"(?P<verb>go|open|close|use|take|move|clean|heat|cool|slice|examine)(?: to)? "
    r"(?P<first>.+?)(?: (?:from|to|with) (?P<second>.+))?"
)
_TOOLS = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
_ABLE = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
_ASKED = {TaskType.CLEAN: "clean", TaskType.HEAT: "heat", TaskType.COOL: "cool"}
_JOINED = {"take": "from", "move": "to", "clean": "with", "heat": "with", "cool": "with", "slice": "with"}
_MISSPELLED = {
    "go to": ("walk to", "goto"),
    "take": ("pick up", "grab"),
    "move": ("put", "place"),
    "open": ("pull open",),
    "use": ("turn on", "switch on"),
    "clean": ("wash",),
    "heat": ("warm up",),
    "cool": ("chill",),
}


def lapses(level: Level, state: State, path: tuple[Step, ...], plan: tuple[str, ...], kind: Kind) -> Iterator[Lapse]:
    """See `inject.types.Lapses`."""
    match kind:
        case Kind.INTENT:
            return _misread(level, state)
        case Kind.WRONG_ARGUMENT:
            return _misnamed(level, state, plan)
        case Kind.FORGOTTEN_CONTEXT:
            return _forgotten(level, state, path)
        case Kind.FAILED_CALL:
            return _refused(level, plan)


class Command(NamedTuple):
    """A command, taken apart."""

    verb: str
    first: str
    second: str | None


def read(action: str) -> Command | None:
    """The parts of a command; None for one without an object, such as `look`."""
    match = _COMMAND.fullmatch(action)
    return Command(match["verb"], match["first"], match["second"]) if match else None


# --- Intent: another thing, another treatment, another place --------------------------------------------------------


def _misread(level: Level, state: State) -> Iterator[Lapse]:
    """Bring another thing than the goal asks for; or treat the right one otherwise, or bring it elsewhere."""
    goal = level.goal
    if state.held == NOTHING:
        for number, thing in enumerate(level.things):
            if not thing.pickupable or thing.type == goal.object_type:
                continue
            for home, contents in enumerate(state.contents):
                if contents >> number & 1:
                    place = level.receptacles[home]
                    fetch = (*_reach(level, state, home), f"take {thing.name} from {place.name}")
                    there = state._replace(location=place.location, opened=state.opened | 1 << home)
                    rest = _finished(level, there, number, _ASKED.get(goal.task_type))
                    yield Lapse(Kind.INTENT, f"{thing.name} from {place.name}", (*fetch, *rest))
        return
    held = level.things[state.held]
    if held.type != goal.object_type:
        rest = _finished(level, state, state.held, _ASKED.get(goal.task_type))
        if rest:
            yield Lapse(Kind.INTENT, held.name, rest)
        return
    for verb in _TOOLS:
        if verb != _ASKED.get(goal.task_type) and getattr(held, _ABLE[verb]):
            rest = _finished(level, state, state.held, verb)
            if rest:
                yield Lapse(Kind.INTENT, f"{verb} {held.name}", rest)
    for number, place in enumerate(level.receptacles):
        if level.accepts[state.held] >> number & 1 and place.type != goal.receptacle_type:
            away = (*_reach(level, state, number), f"move {held.name} to {place.name}")
            yield Lapse(Kind.INTENT, f"{held.name} to {place.name}", away)


def _finished(level: Level, state: State, thing: int, verb: str | None) -> tuple[str, ...]:
    """What the goal asks to do with a thing in hand, done with `thing` instead, and treated by `verb`."""
    goal, name = level.goal, level.things[thing].name
    done: list[str] = []
    if verb is not None and getattr(level.things[thing], _ABLE[verb]):
        tool = _first(level, _TOOLS[verb])
        if tool is not None:
            done += _reach(level, state, tool, inside=False)
            done.append(f"{verb} {name} with {level.receptacles[tool].name}")
            state = state._replace(location=level.receptacles[tool].location)
    if goal.task_type is TaskType.LOOK_IN_LIGHT:
        for number, lamp in enumerate(level.things):
            home = next((r for r, contents in enumerate(state.contents) if contents >> number & 1), None)
            if lamp.type == goal.lamp_type and home is not None:
                return (*done, *_reach(level, state, home, inside=False), f"use {lamp.name}")
    for number, place in enumerate(level.receptacles):
        if place.type == goal.receptacle_type and level.accepts[thing] >> number & 1:
            return (*done, *_reach(level, state, number), f"move {name} to {place.name}")
    return tuple(done)


def _reach(level: Level, state: State, receptacle: int, *, inside: bool = True) -> tuple[str, ...]:
    """Go to a receptacle, and open it where what is inside is wanted."""
    place = level.receptacles[receptacle]
    go = () if place.location == state.location else (f"go to {place.name}",)
    shut = inside and place.openable and not state.opened >> receptacle & 1
    return (*go, f"open {place.name}") if shut else go


def _first(level: Level, kind: str) -> int | None:
    return next((number for number, place in enumerate(level.receptacles) if place.type == kind), None)


# --- Wrong argument: the planned verb, and something else -----------------------------------------------------------


def _misnamed(level: Level, state: State, plan: tuple[str, ...]) -> Iterator[Lapse]:
    """The planned verb with other names, and the rest of the plan with these names in place of the right ones."""
    planned = read(plan[0]) if plan else None
    if planned is None:
        return
    for action in rules.actions(level, state):
        said = read(action)
        if said is None or said.verb != planned.verb or said == planned:
            continue
        instead = {planned.first: said.first}
        if planned.second is not None and said.second is not None:
            instead[planned.second] = said.second
        yield Lapse(Kind.WRONG_ARGUMENT, action, (action, *[_renamed(then, instead) for then in plan[1:]]))


def _renamed(action: str, instead: dict[str, str]) -> str:
    said = read(action)
    if said is None:
        return action
    first = instead.get(said.first, said.first)
    verb = "go to" if said.verb == "go" else said.verb
    if said.second is None:
        return f"{verb} {first}"
    return f"{verb} {first} {_JOINED[said.verb]} {instead.get(said.second, said.second)}"


# --- Forgotten context: undone, or done again -----------------------------------------------------------------------


def _forgotten(level: Level, state: State, path: tuple[Step, ...]) -> Iterator[Lapse]:
    """Undo what was done, the last action first and those before it after that; or do again what was done once."""
    offered = frozenset(rules.actions(level, state))
    undone = [_undone(level, step) for step in reversed(path)]
    for number, action in enumerate(undone):
        if action in offered:
            further = tuple([before for before in undone[number:] if before is not None])
            turn = len(path) - 1 - number
            yield Lapse(Kind.FORGOTTEN_CONTEXT, f"undo {path[turn].action} of {turn}", further)
    for number in range(len(path) - 1, -1, -1):
        if path[number].action in offered:
            again = tuple([step.action for step in path[number:]])
            yield Lapse(Kind.FORGOTTEN_CONTEXT, f"repeat {again[0]} of {number}", again)


def _undone(level: Level, step: Step) -> str | None:
    """What takes an action back; None where nothing does, such as for a way from the middle of the room."""
    said = read(step.action)
    match said:
        case Command("take", thing, str(place)):
            return f"move {thing} to {place}"
        case Command("move", thing, str(place)):
            return f"take {thing} from {place}"
        case Command("open", place, None):
            return f"close {place}"
        case Command("close", place, None):
            return f"open {place}"
        case Command("go", _, None):
            here = level.at[step.state.location]
            return f"go to {level.receptacles[here[0]].name}" if here else None
    return None


# --- Failed call: not understood, or too early ----------------------------------------------------------------------


def _refused(level: Level, plan: tuple[str, ...]) -> Iterator[Lapse]:
    """The planned action in other words, for a thing that there is not, or a step too early; then on with the plan."""
    if len(plan) < 2:
        return
    for call in _calls(level, plan):
        yield Lapse(Kind.FAILED_CALL, call, (call, *plan[1:]))


def _calls(level: Level, plan: tuple[str, ...]) -> Iterator[str]:
    planned = plan[0]
    for verb, others in _MISSPELLED.items():
        if planned.startswith(f"{verb} "):
            for other in others:
                yield f"{other}{planned.removeprefix(verb)}"
    said = read(planned)
    if said is not None:
        kind = said.first.rpartition(" ")[0]
        names = [place.name for place in level.receptacles] + [thing.name for thing in level.things]
        count = sum(name.rpartition(" ")[0] == kind for name in names)
        yield _renamed(planned, {said.first: f"{kind} {count + 1}"})
        yield _renamed(planned, {said.first: kind})
    yield from plan[1:3]
