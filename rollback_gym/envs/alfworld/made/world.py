"""A world before it is played, and how it is written down as a PDDL problem in ALFWorld's form."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from rollback_gym.envs.alfworld.types import TaskType


class PlacedReceptacle(NamedTuple):
    """A receptacle as the problem states it."""

    id: str
    """In ALFWorld's form, such as `Drawer_bar__minus_00_dot_33_bar__plus_00_dot_70_bar__plus_00_dot_41`."""
    type: str
    """As files spell it, such as `SinkBasin`."""
    location: str
    openable: bool


class PlacedObject(NamedTuple):
    """An object as the problem states it, a fixture too."""

    id: str
    type: str
    location: str
    receptacle: str = ""
    """The id of what it is in or on; empty for what stands or hangs on its own."""
    properties: tuple[str, ...] = ()
    """The one-place predicates that hold of it at the start: `pickupable`, `isCool` ..."""
    inside: str = ""
    """The id of the object that it is inside of (a fork in a bowl); for ever, whatever is done with either."""


class World(NamedTuple):
    """Everything that a problem states but the goal."""

    start: str
    """The location where the agent begins."""
    receptacles: tuple[PlacedReceptacle, ...]
    objects: tuple[PlacedObject, ...]
    contains: tuple[tuple[str, str], ...]
    """(receptacle type, object type): what may be put where."""


def _put(conditions: str) -> str:
    return f"""\
(exists (?r - receptacle)
  (exists (?o - object)
    (and (objectType ?o {{object}}Type) (receptacleType ?r {{target}}Type) (inReceptacle ?o ?r){conditions})))"""


_GOALS = {
    TaskType.PICK_AND_PLACE: _put(""),
    TaskType.CLEAN: _put(" (cleanable ?o) (isClean ?o)"),
    TaskType.HEAT: _put(" (heatable ?o) (isHot ?o)"),
    TaskType.COOL: _put(" (coolable ?o) (isCool ?o)"),
    TaskType.PICK_TWO: """\
(exists (?r - receptacle)
  (exists (?o1 - object)
    (and (objectType ?o1 {object}Type) (receptacleType ?r {target}Type) (inReceptacle ?o1 ?r)
      (exists (?o2 - object)
        (and (not (= ?o1 ?o2)) (objectType ?o2 {object}Type) (inReceptacle ?o2 ?r))))))""",
    TaskType.LOOK_IN_LIGHT: """\
(exists (?ot - object ?r - receptacle ?a - agent ?l - location)
  (and (objectType ?ot {target}Type) (toggleable ?ot) (isToggled ?ot)
    (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))
(exists (?o - object ?a - agent)
  (and (objectType ?o {object}Type) (holds ?a ?o)))""",
}

_AGENT = "agent1"
# The domain names these types, so every problem declares them.
_OBJECT_TYPES = ("Knife", "ButterKnife")
_RECEPTACLE_TYPES = ("SinkBasin", "Microwave", "Fridge")


def render_goal(task_type: TaskType, object_type: str, target_type: str) -> str:
    """The goal formula; `target_type` is a receptacle's type or, for LOOK_IN_LIGHT, the lamp's (`DeskLamp`)."""
    return _GOALS[task_type].replace("{object}", object_type).replace("{target}", target_type)


def render_problem(name: str, world: World, goal: str) -> str:
    """The PDDL problem called `name`: `world`, where `goal` (see `render_goal`) is to be reached."""
    receptacles, objects = world.receptacles, world.objects
    locations = {world.start, *(r.location for r in receptacles), *(o.location for o in objects)}
    receptacle_types = {*_RECEPTACLE_TYPES, *(r.type for r in receptacles)}
    object_types = {*_OBJECT_TYPES, *(o.type for o in objects)}
    declarations = [
        (_AGENT, "agent"),
        *((f"{kind}Type", "otype") for kind in sorted(object_types)),
        *((f"{kind}Type", "rtype") for kind in sorted(receptacle_types)),
        *((o.id, "object") for o in objects),
        *((r.id, "receptacle") for r in receptacles),
        *((location, "location") for location in sorted(locations)),
    ]
    facts = [
        *(("receptacleType", r.id, f"{r.type}Type") for r in receptacles),
        *(("objectType", o.id, f"{o.type}Type") for o in objects),
        *(("canContain", f"{holder}Type", f"{held}Type") for holder, held in world.contains),
        *((predicate, o.id) for o in objects for predicate in o.properties),
        *(("openable", r.id) for r in receptacles if r.openable),
        ("atLocation", _AGENT, world.start),
        *(("inReceptacle", o.id, o.receptacle) for o in objects if o.receptacle),
        *(("inReceptacleObject", o.id, o.inside) for o in objects if o.inside),
        *(("receptacleAtLocation", r.id, r.location) for r in receptacles),
        *(("objectAtLocation", o.id, o.location) for o in objects),
    ]
    return (
        f"(define (problem {name})\n(:domain alfred)\n"
        f"(:objects\n{_lines(f'{id} - {kind}' for id, kind in declarations)})\n"
        f"(:init\n{_lines('(' + ' '.join(fact) + ')' for fact in facts)})\n"
        f"(:goal (and\n{_lines(goal.splitlines())}))\n)\n"
    )


def _lines(rows: Iterable[str]) -> str:
    return "".join(f"  {row}\n" for row in rows)


def names(ids: Iterable[str]) -> dict[str, str]:
    """What the player calls each id, such as `drawer 3`: per kind, numbers are dealt downward in the order of ids."""
    counts: Counter[str] = Counter()
    called = {}
    for id, written in sorted(((id.lower(), id) for id in ids), reverse=True):
        kind = id.split("_bar_", 1)[0] + ("basin" if "basin" in id else "")
        counts[kind] += 1
        called[written] = f"{kind} {counts[kind]}"
    return called
