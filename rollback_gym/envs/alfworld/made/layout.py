"""From the number of a room to its layout: which receptacles stand where, and the fixtures.

A room is a rectangle with its furniture along the walls. Only two things of its geometry reach the player: names are
numbered in the order of the ids, which are made of coordinates, and receptacles before which the agent stands alike
(on one cell of a grid, turned to one wall, looking equally far down) share their location.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from rollback_gym.envs.alfworld.made.randomness import pick, scaled, stream, whole
from rollback_gym.envs.alfworld.made.rooms import OPENABLE, ROOM_KINDS, Fixture, Furniture, RoomKind, properties
from rollback_gym.envs.alfworld.made.world import PlacedObject, PlacedReceptacle

ROOMS_PER_KIND = 30
Point = tuple[float, float, float]


class Layout(NamedTuple):
    """A furnished room, before things are put in it."""

    kind: RoomKind
    start: str
    """The location in its middle where the agent begins, before no receptacle."""
    receptacles: tuple[PlacedReceptacle, ...]
    centres: tuple[Point, ...]
    """Where each receptacle is, in metres: x, height, z."""
    fixtures: tuple[PlacedObject, ...]


def kind_of(room: int) -> RoomKind:
    """The kind of the room with this number."""
    return next(kind for kind in ROOM_KINDS if kind.first <= room < kind.first + ROOMS_PER_KIND)


def has_lamp(room: int) -> bool:
    """Whether the room has a desk lamp."""
    return room % 3 in kind_of(room).lamps


@lru_cache(maxsize=256)
def furniture(room: int) -> tuple[tuple[Furniture, int, float], ...]:
    """What the room has of each type that it has: (type, how many at difficulty 1, threshold for `scaled`)."""
    present = []
    for item in kind_of(room).furniture:
        rng = stream("furniture", room, item.type)
        luck, count, threshold = rng.random(), whole(rng, item.low, item.high), rng.random()
        if luck < item.chance:
            present.append((item, count, threshold))
    return tuple(present)


@lru_cache(maxsize=256)
def lay_out(room: int, difficulty: float) -> Layout:
    """The layout of a room: always the same types of receptacles, and the more of them the higher the difficulty."""
    kind = kind_of(room)
    rng = stream("layout", room, difficulty)
    counts = {
        item.type: max(1, scaled(count, difficulty if item.grows else min(difficulty, 1.0), threshold))
        for item, count, threshold in furniture(room)
    }
    taken: set[str] = set()
    pieces = tuple(_pieces(rng, counts))
    receptacles = tuple(
        PlacedReceptacle(_receptacle_id(type, point, taken), type, location, type in OPENABLE)
        for type, point, location in pieces
    )
    centres = tuple(point for _, point, _ in pieces)
    fixtures = tuple(_fixtures(stream("fixtures", room), room, receptacles, centres, taken))
    start = _location(whole(rng, -3, 3) / 4, whole(rng, -3, 3) / 4, whole(rng, 0, 3), 30)
    return Layout(kind, start, receptacles, centres, fixtures)


def object_id(type: str, point: Point, taken: set[str]) -> str:
    """An id in ALFWorld's form for something at `point`, or a centimetre beside it where that id is taken."""
    x, height, z = point
    while (id := _id(type, x, height, z)) in taken:
        x += 0.01
    taken.add(id)
    return id


def around(rng: Random, centre: Point) -> Point:
    """A point in or on a receptacle."""
    x, height, z = centre
    return x + 0.5 * rng.random() - 0.25, height + 0.1 * rng.random(), z + 0.5 * rng.random() - 0.25


# --- Furniture ----------------------------------------------------------------------------------------------------


class _Form(NamedTuple):
    heights: tuple[float, ...]
    """Metres above the floor of those in one column, from the top down."""
    width: float
    """Metres of wall."""


_FORMS = {
    "Cabinet": _Form((2.05, 0.45), 0.6),
    "CoffeeMachine": _Form((0.93,), 0.3),
    "CounterTop": _Form((0.95,), 1.2),
    "Drawer": _Form((0.72, 0.5, 0.28), 0.5),
    "HandTowelHolder": _Form((1.45,), 0.4),
    "Microwave": _Form((0.92,), 0.5),
    "Shelf": _Form((1.6, 1.1, 0.55), 0.8),
    "SinkBasin": _Form((0.86,), 0.7),
    "StoveBurner": _Form((0.92,), 0.3),
    "Toaster": _Form((0.9,), 0.3),
    "ToiletPaperHanger": _Form((0.85,), 0.2),
    "TowelHolder": _Form((1.4,), 0.8),
}
_ON_THE_FLOOR = _Form((0.4,), 1.0)
_TABLES = ("CoffeeTable", "DiningTable", "Ottoman")
_BESIDE_DRAWERS = ("Desk", "Dresser", "SideTable")
_ON_COUNTER = ("CoffeeMachine", "Toaster")
# Where one looks, by wall: +z, +x, -z, -x.
_FACING = ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))
_STAND_OFF = 0.6
_CELL = 0.25

_Piece = tuple[str, Point, str]
"""(receptacle type, centre, location)"""


class _Spot(NamedTuple):
    """A place at a wall."""

    x: float
    z: float
    wall: int

    def piece(self, type: str, height: float, aside: float = 0.0, depth: float = 0.0) -> _Piece:
        """A receptacle here: `aside` metres along the wall, and `depth` metres from it into the room."""
        ahead_x, ahead_z = _FACING[self.wall]
        x, z = self.x + aside * ahead_z, self.z - aside * ahead_x
        location = _location(x - _STAND_OFF * ahead_x, z - _STAND_OFF * ahead_z, self.wall, _horizon(height))
        return type, (x - depth * ahead_x, height, z - depth * ahead_z), location


def _pieces(rng: Random, counts: dict[str, int]) -> Iterator[_Piece]:
    """Places `counts[type]` receptacles of each type."""
    columns = [
        (type, heights)
        for type, count in counts.items()
        if type not in _TABLES
        for heights in _columns(rng, type, count)
    ]
    spots = _spots(rng, [_FORMS.get(type, _ON_THE_FLOOR).width for type, _ in columns])
    standing = {type: spot for (type, _), spot in zip(columns, spots, strict=True)}
    for (type, heights), spot in zip(columns, spots, strict=True):
        neighbours = [other for other in _BESIDE_DRAWERS if other in standing] if type == "Drawer" else []
        if neighbours and rng.random() < 0.4:
            spot = standing[pick(rng, neighbours)]
        if type in _ON_COUNTER and rng.random() < 0.35:
            spot = standing["CounterTop"]
            yield spot.piece(type, heights[0], depth=-0.1)
        elif type == "StoveBurner":
            yield from (
                spot.piece(type, height, aside=0.3 * (number // 2), depth=0.2 * (number % 2))
                for number, height in enumerate(heights)
            )
        else:
            # The two doors of one cabinet are two centimetres apart, so they are opened from one place.
            yield from (spot.piece(type, height, depth=0.02 * number) for number, height in enumerate(heights))
    for type in _TABLES:
        for _ in range(counts.get(type, 0)):
            x, z, wall = 2 * rng.random() - 1, 2 * rng.random() - 1, whole(rng, 0, 3)
            yield _Spot(x, z, wall).piece(type, 0.4)


def _columns(rng: Random, type: str, count: int) -> Iterator[tuple[float, ...]]:
    """Splits `count` receptacles of a type into those that share a piece of wall; yields their heights."""
    heights = _FORMS.get(type, _ON_THE_FLOOR).heights
    left = count
    while left > 0:
        if type == "StoveBurner":
            column = heights * left
        elif type == "Cabinet":
            column = (pick(rng, heights),) * min(left, 2 if rng.random() < 0.2 else 1)
        else:
            column = heights[: min(left, whole(rng, 1, len(heights)))]
        yield column
        left -= len(column)


def _spots(rng: Random, widths: Sequence[float]) -> list[_Spot]:
    """Places at the walls of a room that is just large enough, in an order of their own."""
    order = sorted(range(len(widths)), key=[rng.random() for _ in widths].__getitem__)
    gap = 0.1 + 0.3 * rng.random()
    around = max(10.0, sum(widths) + gap * len(widths))
    across = around * (0.2 + 0.1 * rng.random())
    sides = (across, around / 2 - across) * 2
    spots = [_Spot(0.0, 0.0, 0)] * len(widths)
    cursor = 0.0
    for number in order:
        spots[number] = _on_wall(cursor + widths[number] / 2, sides)
        cursor += widths[number] + gap
    return spots


def _on_wall(distance: float, sides: Sequence[float]) -> _Spot:
    """The spot `distance` metres along the walls from a corner."""
    wall = 0
    while wall < 3 and distance > sides[wall]:
        distance -= sides[wall]
        wall += 1
    ahead_x, ahead_z = _FACING[wall]
    along, off = distance - sides[wall] / 2, sides[wall - 1] / 2
    return _Spot(ahead_x * off + ahead_z * along, ahead_z * off - ahead_x * along, wall)


# --- Fixtures -----------------------------------------------------------------------------------------------------


def _fixtures(
    rng: Random,
    room: int,
    receptacles: Sequence[PlacedReceptacle],
    centres: Sequence[Point],
    taken: set[str],
) -> Iterator[PlacedObject]:
    kind = kind_of(room)
    lamps = (Fixture("DeskLamp", on=kind.lamp_on),) if has_lamp(room) else ()
    for fixture in kind.fixtures + lamps:
        able = properties(fixture.type)
        for receptacle, centre in zip(receptacles, centres, strict=True):
            if receptacle.type == fixture.each:
                yield _belonging(fixture, receptacle, centre, able, taken)
        luck, count = rng.random(), whole(rng, 1, fixture.high)
        for _ in range(count if luck < fixture.chance and not fixture.each else 0):
            places = [number for number, receptacle in enumerate(receptacles) if receptacle.type in fixture.on]
            if places:
                number = pick(rng, places)
                holder = receptacles[number]
                id = object_id(fixture.type, around(rng, centres[number]), taken)
                yield PlacedObject(id, fixture.type, holder.location, holder.id, able)
            else:
                x, height, z = 6 * rng.random() - 3, 0.5 + rng.random(), 6 * rng.random() - 3
                id = object_id(fixture.type, (x, height, z), taken)
                yield PlacedObject(id, fixture.type, _location(x, z, whole(rng, 0, 3), 15), "", able)


def _belonging(
    fixture: Fixture, receptacle: PlacedReceptacle, centre: Point, able: tuple[str, ...], taken: set[str]
) -> PlacedObject:
    """The fixture of one receptacle, such as the sink around a sink basin."""
    if receptacle.type in fixture.on:
        id = object_id(fixture.type, centre, taken)
        return PlacedObject(id, fixture.type, receptacle.location, receptacle.id, able)
    x, height, z = centre
    outer_id, _, basin = receptacle.id.rpartition("_bar_")
    id = outer_id if basin == receptacle.type else object_id(fixture.type, (x, height + 0.15, z), taken)
    return PlacedObject(id, fixture.type, _location(x, z, 0, 15), "", able)


# --- Ids ----------------------------------------------------------------------------------------------------------


def _receptacle_id(type: str, point: Point, taken: set[str]) -> str:
    outer = type.removesuffix("Basin")
    id = object_id(outer, point, taken)
    return id if outer == type else f"{id}_bar_{type}"


def _id(type: str, *coordinates: float) -> str:
    return "_bar_".join([type, *map(_coordinate, coordinates)])


def _coordinate(metres: float) -> str:
    centimetres = round(metres * 100)
    whole_metres, rest = divmod(abs(centimetres), 100)
    return f"{'_minus_' if centimetres < 0 else '_plus_'}{whole_metres:02d}_dot_{rest:02d}"


def _location(x: float, z: float, facing: int, horizon: int) -> str:
    """Standing on the cell of a point, turned to a wall, and looking `horizon` degrees down."""
    numbers = (round(x / _CELL), round(z / _CELL), facing, horizon)
    return "_bar_".join(["loc", *(f"_minus_{-number}" if number < 0 else str(number) for number in numbers)])


def _horizon(height: float) -> int:
    """How far down one looks at something; 15 and 30 are kept for fixtures and the start."""
    if height > 1.5:
        return -30
    if height > 1.0:
        return 0
    return 45 if height > 0.65 else 60
