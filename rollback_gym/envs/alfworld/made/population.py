"""Puts things into a room, so that a task can be done there and is not done already."""

from collections.abc import Iterator, Sequence
from itertools import chain
from random import Random

from rollback_gym.envs.alfworld.made.layout import Layout, around, object_id
from rollback_gym.envs.alfworld.made.randomness import pick, scaled, weighted, whole
from rollback_gym.envs.alfworld.made.rooms import (
    CAPACITY,
    CONTAINS,
    COOLABLE,
    FITS_IN_HOLDER,
    HOLDERS,
    Stock,
    properties,
)
from rollback_gym.envs.alfworld.made.solution import DEVICES
from rollback_gym.envs.alfworld.made.world import PlacedObject, World
from rollback_gym.envs.alfworld.types import TaskType

_NESTED = 0.05
"""How many of the bowls, pans ... have something inside."""
_ENOUGH = 1_000


def populate(
    rng: Random, layout: Layout, task_type: TaskType, object_type: str, target_type: str, difficulty: float
) -> World:
    """The world of a task (see `render_goal`) in a room; the higher the difficulty, the more of each type of object."""
    needed = 2 if task_type is TaskType.PICK_TWO else 1
    # Where putting is all that is asked, nothing may lie there yet; and nothing waits in the sink to be cleaned.
    avoided = DEVICES.get(task_type, target_type)
    # As in the official games, what the task is about comes cold out of the fridge, unless cooling it is the task.
    chilled = object_type in COOLABLE and task_type is not TaskType.COOL

    counts = [(stock, _count(rng, stock, difficulty)) for stock in layout.kind.stock]
    free: dict[str, list[int]] = {}
    for number, receptacle in enumerate(layout.receptacles):
        free.setdefault(receptacle.type, []).append(number)
    space = [CAPACITY.get(receptacle.type, _ENOUGH) for receptacle in layout.receptacles]
    taken = {fixture.id for fixture in layout.fixtures}
    things = []
    for stock, count in counts:
        wanted = stock.type == object_type
        able = properties(stock.type)
        for _ in range(max(count, needed) if wanted else count):
            places = [
                (place, weight)
                for place, weight in stock.places.items()
                if place in free and not (wanted and place == avoided)
            ]
            place = weighted(rng, places)
            number = pick(rng, free[place])
            space[number] -= 1
            if not space[number]:
                free[place].remove(number)
                if not free[place]:
                    del free[place]
            holder = layout.receptacles[number]
            cold = ("isCool",) if wanted and chilled and place == "Fridge" else ()
            id = object_id(stock.type, around(rng, layout.centres[number]), taken)
            things.append(PlacedObject(id, stock.type, holder.location, holder.id, (*able, *cold)))
    objects = tuple(chain(layout.fixtures, _nested(rng, things)))
    return World(layout.start, layout.receptacles, objects, _contains(layout, objects))


def _count(rng: Random, stock: Stock, difficulty: float) -> int:
    # Draws the same whatever the difficulty is, so that a higher one only adds.
    luck, count, threshold = rng.random(), whole(rng, 1, 3), rng.random()
    return scaled(count, difficulty, threshold) if luck < stock.chance else 0


def _nested(rng: Random, things: Sequence[PlacedObject]) -> Iterator[PlacedObject]:
    """The things, some of them inside of a bowl, pan ... that lies in the same receptacle."""
    holders = {thing.receptacle: thing.id for thing in things if thing.type in HOLDERS and rng.random() < _NESTED}
    for thing in things:
        fits = thing.type in FITS_IN_HOLDER and thing.receptacle in holders
        yield thing._replace(inside=holders.pop(thing.receptacle)) if fits else thing


def _contains(layout: Layout, objects: Sequence[PlacedObject]) -> tuple[tuple[str, str], ...]:
    receptacle_types = sorted({receptacle.type for receptacle in layout.receptacles})
    object_types = sorted({thing.type for thing in objects})
    return tuple(
        (holder, held) for holder in receptacle_types for held in object_types if held in CONTAINS.get(holder, ())
    )
