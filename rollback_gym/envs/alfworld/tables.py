"""A level, compiled for `rules`: names to numbers, properties to bits, and what has been worked out so far.

The tables lie in `Level.memo`, are shared by all environments on the level, and grow only up to `REMEMBERED` entries
each: a full one is emptied. That never changes an answer, and threads may share a level: at worst two of them work out
the same thing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from rollback_gym.core.simulator import Transition
from rollback_gym.envs.alfworld.types import Level, State, TaskType, bits, visible

REMEMBERED = 1024
"""The most entries in each table of a level's memo."""

_MEMO = "tables"


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """What a location offers whatever lies there. Commands and names are sorted."""

    receptacles: tuple[tuple[str, int], ...]
    """(name, number)."""
    openable: int
    """Bits over R: the receptacles here that can be opened."""
    examine: tuple[str, ...]
    go: tuple[str, ...]
    cleaners: tuple[str, ...]
    heaters: tuple[str, ...]
    coolers: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """R receptacles, L locations, O objects. (Slots are read three times as fast as a NamedTuple's fields.)"""

    level: Level
    solved: Callable[[State], bool]
    """Whether the goal holds."""
    here: tuple[tuple[int, ...], ...]
    """(L,) the receptacles at each location."""
    here_bits: tuple[int, ...]
    """(L,) the same as bits."""
    contents_at: tuple[Callable[[tuple[int, ...]], Any], ...]
    """(L,) takes `State.contents` to the masks of the receptacles at the location."""
    visible: tuple[int, ...]
    """(L,) the bits that `State.located` keeps."""
    location_of: tuple[int, ...]
    """(R,)."""
    receptacle_names: tuple[str, ...]
    thing_names: tuple[str, ...]
    receptacle_numbers: dict[str, int]
    thing_numbers: dict[str, int]
    go: tuple[str, ...]
    """(R,) the commands, sorted."""
    go_rank: dict[str, int]
    """Command -> its place in `go`."""
    openable: int
    """Bits over R; so are the next four."""
    shared: int
    """Those that are not alone at their location."""
    cleaners: int
    heaters: int
    coolers: int
    pickupable: int
    """Bits over O; so are the next six."""
    cleanable: int
    heatable: int
    coolable: int
    sliceable: int
    toggleable: int
    knives: int
    operations: "dict[str, Operation]"
    """Command -> what it means."""
    places: dict[int, Place]
    commands: dict[tuple[Any, ...], tuple[str, ...]]
    """View -> the admissible commands."""
    views: dict[tuple[int, int, int], str]
    """(receptacle, contents, whether it is open) -> its description."""
    arrivals: dict[tuple[int, int, int], str]
    """The same -> what arriving at it says."""


Operation = tuple[Callable[[Tables, State, int, int], Transition], int, int]
"""What a command calls, with which numbers."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def tables_of(level: Level) -> Tables:
    """The tables of `level`, which are made on the first call."""
    tables: Tables | None = level.memo.get(_MEMO)
    if tables is None:
        tables = level.memo[_MEMO] = _compile(level)
    return tables


def remember(table: dict[_Key, _Value], key: _Key, value: _Value) -> _Value:
    """Puts `value` under `key`, and returns it."""
    if len(table) >= REMEMBERED:
        table.clear()
    table[key] = value
    return value


def _compile(level: Level) -> Tables:
    _, receptacle_names, receptacle_types, locations, openable = zip(*level.receptacles, strict=True)
    _, names, types, pickupable, cleanable, heatable, coolable, sliceable, toggleable, _ = zip(
        *level.things, strict=True
    )
    go = tuple(sorted(["go to " + name for name in receptacle_names]))
    return Tables(
        level=level,
        solved=_goal(level),
        here=level.at,
        here_bits=tuple([sum([1 << r for r in here]) for here in level.at]),
        contents_at=tuple([itemgetter(*here) if here else _nothing for here in level.at]),
        visible=visible(level.things, level.at),
        location_of=locations,
        receptacle_names=receptacle_names,
        thing_names=names,
        receptacle_numbers={name: number for number, name in enumerate(receptacle_names)},
        thing_numbers={name: number for number, name in enumerate(names)},
        go=go,
        go_rank={command: rank for rank, command in enumerate(go)},
        openable=bits(openable),
        shared=bits([len(level.at[location]) > 1 for location in locations]),
        cleaners=bits([kind == "sinkbasin" for kind in receptacle_types]),
        heaters=bits([kind == "microwave" for kind in receptacle_types]),
        coolers=bits([kind == "fridge" for kind in receptacle_types]),
        pickupable=bits(pickupable),
        cleanable=bits(cleanable),
        heatable=bits(heatable),
        coolable=bits(coolable),
        sliceable=bits(sliceable),
        toggleable=bits(toggleable),
        knives=bits([kind in ("knife", "butterknife") for kind in types]),
        operations={},
        places={},
        commands={},
        views={},
        arrivals={},
    )


def _nothing(_: tuple[int, ...]) -> tuple[()]:
    return ()


def place_at(tables: Tables, location: int) -> Place:
    """The place at `location`."""
    place = tables.places.get(location)
    if place is None:
        place = tables.places[location] = _place(tables, location)
    return place


def _place(tables: Tables, location: int) -> Place:
    names = tables.receptacle_names
    receptacles = sorted([(names[r], r) for r in tables.here[location]])
    go = tables.go
    # Names sort as the commands do, so cutting from the last keeps the ranks of the others.
    for name, _ in reversed(receptacles):
        rank = tables.go_rank["go to " + name]
        go = go[:rank] + go[rank + 1 :]

    def named(kind: int) -> tuple[str, ...]:
        return tuple([name for name, r in receptacles if kind >> r & 1]) if kind & here else ()

    here = tables.here_bits[location]
    return Place(
        receptacles=tuple(receptacles),
        openable=tables.openable & here,
        examine=tuple(["examine " + name for name, _ in receptacles]),
        go=go,
        cleaners=named(tables.cleaners),
        heaters=named(tables.heaters),
        coolers=named(tables.coolers),
    )


def _goal(level: Level) -> Callable[[State], bool]:
    """The goal, as a function of the state. Plain loops: it is asked after every action."""
    form, object_type, receptacle_type, lamp_type = level.goal
    wanted = bits([thing.type == object_type for thing in level.things])
    targets = [number for number, receptacle in enumerate(level.receptacles) if receptacle.type == receptacle_type]

    def put(state: State) -> bool:
        contents = state.contents
        for r in targets:  # noqa: SIM110
            if contents[r] & wanted:
                return True
        return False

    def put_two(state: State) -> bool:
        contents = state.contents
        for r in targets:
            both = contents[r] & wanted
            if both & both - 1:
                return True
        return False

    def put_changed(able: str, changed: str) -> Callable[[State], bool]:
        candidates = wanted & bits([getattr(thing, able) for thing in level.things])
        changed_in = attrgetter(changed)

        def check(state: State) -> bool:
            ready = candidates & changed_in(state)
            if ready:
                contents = state.contents
                for r in targets:
                    if contents[r] & ready:
                        return True
            return False

        return check

    lamps = bits([thing.type == lamp_type and thing.toggleable for thing in level.things])
    at = level.at

    def look(state: State) -> bool:
        lit = lamps & state.toggled
        if lit and state.held >= 0 and wanted >> state.held & 1:
            contents = state.contents
            for r in at[state.location]:
                if contents[r] & lit:
                    return True
        return False

    match form:
        case TaskType.PICK_AND_PLACE:
            return put
        case TaskType.PICK_TWO:
            return put_two
        case TaskType.CLEAN:
            return put_changed("cleanable", "clean")
        case TaskType.HEAT:
            return put_changed("heatable", "hot")
        case TaskType.COOL:
            return put_changed("coolable", "cool")
        case TaskType.LOOK_IN_LIGHT:
            return look
