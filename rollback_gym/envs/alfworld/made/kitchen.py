"""Kitchens of six places, as small as ALFWorld's rules allow something to be gone wrong in: difficulty 0.

Every rule, text and goal is ALFWorld's, and L is exact. Only fewer things are about: six places with five things, all
of different kinds, in four kinds of tasks. Nothing begins behind a closed door. A model that learns from scratch on a
CPU gets somewhere here.
"""

from random import Random

from rollback_gym.envs.alfworld.made.layout import object_id
from rollback_gym.envs.alfworld.made.randomness import pick
from rollback_gym.envs.alfworld.made.rooms import CLEANABLE, CONTAINS, COOLABLE, HEATABLE, OPENABLE, properties
from rollback_gym.envs.alfworld.made.solution import DEVICES
from rollback_gym.envs.alfworld.made.world import PlacedObject, PlacedReceptacle, World
from rollback_gym.envs.alfworld.types import TaskType

TASKS = (TaskType.PICK_AND_PLACE, TaskType.CLEAN, TaskType.HEAT, TaskType.COOL)
PLACES = ("SinkBasin", "Microwave", "Fridge", "CounterTop", "DiningTable", "SideTable")
THINGS = ("Apple", "Bowl", "Bread", "Cup", "Egg", "Lettuce", "Mug", "Pan", "Plate", "Potato", "Tomato")
SIZE = 5
"""How many things there are."""
ROOM = 0
"""The number of the room; all others have higher ones."""
_ABLE = {TaskType.CLEAN: CLEANABLE, TaskType.HEAT: HEATABLE, TaskType.COOL: COOLABLE}
_OPEN = tuple(place for place in PLACES if place not in OPENABLE)


def task(rng: Random, task_type: TaskType) -> tuple[str, str]:
    """The type of a thing, and of the place that it is to be brought to; `task_type` is one of `TASKS`."""
    object_type = pick(rng, tuple(thing for thing in THINGS if thing in _ABLE.get(task_type, THINGS)))
    targets = [place for place in PLACES if object_type in CONTAINS[place] and place != DEVICES.get(task_type)]
    return object_type, pick(rng, tuple(place for place in targets if place != "SinkBasin"))


def furnish(rng: Random, task_type: TaskType, object_type: str, target_type: str) -> World:
    """The kitchen of a task; what is asked for is neither where it belongs nor where it is treated."""
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
