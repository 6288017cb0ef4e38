"""Kitchens of six places, in ALFWorld's own format: small enough for a model that learns from scratch on a CPU.

Every rule, text and goal is ALFWorld's, and L is exact. Only fewer things are about: six places with five things, all
of different kinds, in four kinds of tasks. Nothing begins behind a closed door.
"""

from pathlib import Path
from random import Random
from typing import NamedTuple

from rollback_gym.envs.alfworld.export import export
from rollback_gym.envs.alfworld.made.layout import object_id
from rollback_gym.envs.alfworld.made.randomness import pick, stream
from rollback_gym.envs.alfworld.made.rooms import CLEANABLE, CONTAINS, COOLABLE, HEATABLE, OPENABLE, properties
from rollback_gym.envs.alfworld.made.solution import DEVICES, solve
from rollback_gym.envs.alfworld.made.world import (
    PlacedObject,
    PlacedReceptacle,
    World,
    render_goal,
    render_problem,
)
from rollback_gym.envs.alfworld.problem import Game
from rollback_gym.envs.alfworld.types import TaskType

TASKS = {
    TaskType.PICK_AND_PLACE: "put a {object} in {target}.",
    TaskType.CLEAN: "put a clean {object} in {target}.",
    TaskType.HEAT: "put a hot {object} in {target}.",
    TaskType.COOL: "put a cool {object} in {target}.",
}
PLACES = ("SinkBasin", "Microwave", "Fridge", "CounterTop", "DiningTable", "SideTable")
THINGS = ("Apple", "Bowl", "Bread", "Cup", "Egg", "Lettuce", "Mug", "Pan", "Plate", "Potato", "Tomato")
SIZE = 5
_ABLE = {TaskType.CLEAN: CLEANABLE, TaskType.HEAT: HEATABLE, TaskType.COOL: COOLABLE}
_OPEN = tuple(place for place in PLACES if place not in OPENABLE)


class Kitchen(NamedTuple):
    """A kitchen, and what is to be done in it."""

    world: World
    task_type: TaskType
    object_type: str
    target_type: str


def kitchen(number: int, split: str) -> Kitchen:
    """The kitchen of this number; the same in every process."""
    rng = stream("small kitchen", split, number)
    task_type = pick(rng, tuple(TASKS))
    object_type = pick(rng, tuple(thing for thing in THINGS if thing in _ABLE.get(task_type, THINGS)))
    targets = [place for place in PLACES if object_type in CONTAINS[place] and place != DEVICES.get(task_type)]
    target_type = pick(rng, tuple(place for place in targets if place != "SinkBasin"))
    return Kitchen(_world(rng, task_type, object_type, target_type), task_type, object_type, target_type)


def write(folder: Path, count: int, split: str) -> None:
    """Write so many kitchens as games of a split, for `data=folder`."""
    for number in range(count):
        made = kitchen(number, split)
        about = made.task_type, made.object_type, made.target_type
        name = f"{made.task_type}-{made.object_type}-None-{made.target_type}-{number}"
        place = folder / split / name / f"trial_{number:05d}"
        place.mkdir(parents=True, exist_ok=True)
        sentence = TASKS[made.task_type].format(object=made.object_type.lower(), target=made.target_type.lower())
        problem = render_problem(f"plan_{number}", made.world, render_goal(*about))
        path = place / "game.tw-pddl"
        export(Game(str(path), problem, sentence, solve(made.world, *about)), path, overwrite=True)


def _world(rng: Random, task_type: TaskType, object_type: str, target_type: str) -> World:
    taken: set[str] = set()
    receptacles = tuple(_receptacle(place, number, taken) for number, place in enumerate(PLACES))
    where = {receptacle.type: receptacle for receptacle in receptacles}
    others = [thing for thing in THINGS if thing != object_type]
    rng.shuffle(others)
    objects = []
    for number, thing in enumerate([object_type, *others[: SIZE - 1]]):
        barred = {target_type, DEVICES.get(task_type)} if thing == object_type else set()
        holder = where[pick(rng, tuple(of for of in _OPEN if thing in CONTAINS[of] and of not in barred))]
        id = object_id(thing, (number / 4, 1.0, 0.5), taken)
        objects.append(PlacedObject(id, thing, holder.location, holder.id, properties(thing)))
    held = sorted(of.type for of in objects)
    contains = tuple((place, thing) for place in sorted(PLACES) for thing in held if thing in CONTAINS[place])
    return World("loc_bar_0_bar_0_bar_0_bar_30", receptacles, tuple(objects), contains)


def _receptacle(place: str, number: int, taken: set[str]) -> PlacedReceptacle:
    id = object_id(place.removesuffix("Basin"), (float(number + 1), 1.0, 2.0), taken)
    id = f"{id}_bar_{place}" if place.endswith("Basin") else id
    return PlacedReceptacle(id, place, f"loc_bar_{number + 1}_bar_4_bar_0_bar_45", place in OPENABLE)
