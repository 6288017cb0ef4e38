"""A solution of a generated world, put together by hand: where to go, what to take, what to do with it."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product

from rollback_gym.envs.alfworld.made.world import PlacedObject, PlacedReceptacle, World, names
from rollback_gym.envs.alfworld.types import TaskType

DEVICES = {TaskType.CLEAN: "SinkBasin", TaskType.HEAT: "Microwave", TaskType.COOL: "Fridge"}
"""The receptacle type that changes an object as the task wants it."""
_VERBS = {TaskType.CLEAN: "clean", TaskType.HEAT: "heat", TaskType.COOL: "cool"}


def solve(world: World, task_type: TaskType, object_type: str, target_type: str) -> tuple[str, ...]:
    """The commands that win; arguments as in `render_goal`.

    The choice of objects and receptacles minds what must be opened and what shares a location, which makes it as
    short as can be in all but odd cases. The world must hold what the task needs, and all that opens be closed.
    """
    called = names([*(r.id for r in world.receptacles), *(o.id for o in world.objects)])
    where = {receptacle.id: receptacle for receptacle in world.receptacles}
    sources = [thing for thing in world.objects if thing.type == object_type and thing.receptacle]
    targets = [receptacle for receptacle in world.receptacles if receptacle.type == target_type]

    def take(thing: PlacedObject) -> tuple[PlacedReceptacle, bool, str]:
        place = where[thing.receptacle]
        return place, True, f"take {called[thing.id]} from {called[place.id]}"

    def put(thing: PlacedObject, place: PlacedReceptacle) -> tuple[PlacedReceptacle, bool, str]:
        return place, True, f"move {called[thing.id]} to {called[place.id]}"

    if task_type is TaskType.LOOK_IN_LIGHT:
        lamps = [thing for thing in world.objects if thing.type == target_type and thing.receptacle]
        routes = [
            [take(thing), (where[lamp.receptacle], False, f"use {called[lamp.id]}")]
            for thing, lamp in product(sources, lamps)
        ]
    elif task_type is TaskType.PICK_TWO:
        pairs = permutations(_easiest(sources, where), 2)
        routes = [
            [take(one), put(one, target), take(other), put(other, target)]
            for (one, other), target in product(pairs, targets)
        ]
    elif task_type is TaskType.PICK_AND_PLACE:
        routes = [[take(thing), put(thing, target)] for thing, target in product(sources, targets)]
    else:
        verb, device_type = _VERBS[task_type], DEVICES[task_type]
        devices = [receptacle for receptacle in world.receptacles if receptacle.type == device_type]
        routes = [
            [take(thing), (device, False, f"{verb} {called[thing.id]} with {called[device.id]}"), put(thing, target)]
            for thing, device, target in product(sources, devices, targets)
        ]
    return min((tuple(_commands(route, world.start, called)) for route in routes), key=len)


def _easiest(sources: Sequence[PlacedObject], where: dict[str, PlacedReceptacle]) -> Sequence[PlacedObject]:
    """Three of the sources; those that lie open come first."""
    return sorted(sources, key=lambda thing: where[thing.receptacle].openable)[:3]


def _commands(route: Sequence[tuple[PlacedReceptacle, bool, str]], start: str, called: dict[str, str]) -> Iterator[str]:
    """The commands of a route of stops (place, whether it must be open, command), with going and opening in between."""
    here, opened = start, set()
    for place, open_it, command in route:
        if place.location != here:
            here = place.location
            yield f"go to {called[place.id]}"
        if open_it and place.openable and place.id not in opened:
            opened.add(place.id)
            yield f"open {called[place.id]}"
        yield command
