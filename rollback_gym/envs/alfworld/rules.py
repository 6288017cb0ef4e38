"""ALFWorld's rules, as pure functions on `Level` and `State`: the simulator of `core.simulator`.

A command is looked up once, and a view's commands and texts are worked out once: see `tables`.
"""

from typing import Any

from rollback_gym.core.bits import numbers
from rollback_gym.core.simulator import Transition
from rollback_gym.envs.alfworld import text
from rollback_gym.envs.alfworld.codec import decode, encode
from rollback_gym.envs.alfworld.tables import Operation, Tables, place_at, remember, tables_of
from rollback_gym.envs.alfworld.types import NOTHING, Level, State

__all__ = ["actions", "begin", "decode", "encode", "step", "won"]

_new: Any = tuple.__new__  # a NamedTuple's own constructor takes twice as long


def begin(level: Level) -> tuple[State, str]:
    """The state that `level` starts in, and the first observation."""
    state = level.start
    if level.at[state.location]:
        view = _facing(tables_of(level), state)
    else:
        view = text.middle_of_room([receptacle.name for receptacle in level.receptacles])
    return state, text.opening(view, level.task)


def step(level: Level, state: State, action: str) -> Transition:
    """What the command `action` does in `state`.

    A command counts as in the original: written exactly as offered, but for spaces around it. Any other one changes
    nothing and is answered by "Nothing happens."; `Transition.invalid` then says why. The reward is 1.0 and the game
    over where the goal holds after the step. Raises TypeError for an action that is no str.
    """
    tables: Tables = level.memo.get("tables") or tables_of(level)
    try:
        operation = tables.operations.get(action)
    except TypeError:  # not hashable, so no str
        operation = None
    do, first, second = operation or _operation(tables, action)
    return do(tables, state, first, second)


def actions(level: Level, state: State) -> tuple[str, ...]:
    """The admissible commands, sorted as the original sorts them."""
    tables: Tables = level.memo.get("tables") or tables_of(level)
    location, held, opened, _, _, _, _, _, contents, located, _ = state
    view = (
        location,
        held,
        opened & tables.here_bits[location],
        tables.contents_at[location](contents),
        located[location] if held >= 0 and tables.knives >> held & 1 else 0,
    )
    return tables.commands.get(view) or remember(tables.commands, view, _commands(tables, state))


def won(level: Level, state: State) -> bool:
    """Whether the goal holds in `state`."""
    return tables_of(level).solved(state)


def _commands(tables: Tables, state: State) -> tuple[str, ...]:
    """The admissible commands: block by block in the order of the verbs, each block sorted."""
    location, held, contents = state.location, state.held, state.contents
    place = place_at(tables, location)
    things = tables.thing_names
    ajar = place.openable & state.opened
    shut = place.openable ^ ajar
    close = ["close " + name for name, r in place.receptacles if ajar >> r & 1] if ajar else []
    open_ = ["open " + name for name, r in place.receptacles if shut >> r & 1] if shut else []
    use: list[str] = []
    if tables.toggleable:
        switches = 0
        for _, r in place.receptacles:
            switches |= contents[r] & tables.toggleable
        use = sorted(["use " + things[o] for o in numbers(switches)])
    if held < 0:
        take = [
            f"take {things[o]} from {name}"
            for name, r in place.receptacles
            if not shut >> r & 1
            for o in numbers(contents[r] & tables.pickupable)
        ]
        take.sort()
        return (*close, *place.examine, *place.go, "help", "inventory", "look", *open_, *take, *use)
    thing, accepted = things[held], tables.level.accepts[held]
    cut = state.located[location] & tables.sliceable if tables.knives >> held & 1 else 0
    return (
        *([f"clean {thing} with {name}" for name in place.cleaners] if tables.cleanable >> held & 1 else ()),
        *close,
        *([f"cool {thing} with {name}" for name in place.coolers] if tables.coolable >> held & 1 else ()),
        *sorted([*place.examine, "examine " + thing]),
        *place.go,
        *([f"heat {thing} with {name}" for name in place.heaters] if tables.heatable >> held & 1 else ()),
        "help",
        "inventory",
        "look",
        *[f"move {thing} to {name}" for name, r in place.receptacles if accepted >> r & 1 and not shut >> r & 1],
        *open_,
        *sorted([f"slice {things[o]} with {thing}" for o in numbers(cut)]),
        *use,
    )


# --- What each command does ---------------------------------------------------------------------------------------


def _go(tables: Tables, state: State, receptacle: int, there: int) -> Transition:
    location, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale = state
    if there == location:
        return _refuse(tables, state, f"you are at the {tables.receptacle_names[receptacle]} already")
    state = _new(State, (there, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale))
    view = (receptacle, contents[receptacle], opened >> receptacle & 1)
    return _done(tables, state, tables.arrivals.get(view) or _arrival(tables, view))


def _open(tables: Tables, state: State, receptacle: int, _: int) -> Transition:
    location, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale = state
    name, bit = tables.receptacle_names[receptacle], 1 << receptacle
    if tables.location_of[receptacle] != location:
        return _refuse(tables, state, f"you are not at the {name}")
    if not tables.openable & bit:
        return _refuse(tables, state, f"the {name} cannot be opened")
    if opened & bit:
        return _refuse(tables, state, f"the {name} is open already")
    opened |= bit
    state = _new(State, (location, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale))
    return _done(tables, state, f"You open the {name}. {_view(tables, state, receptacle)}")


def _close(tables: Tables, state: State, receptacle: int, _: int) -> Transition:
    location, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale = state
    name, bit = tables.receptacle_names[receptacle], 1 << receptacle
    if tables.location_of[receptacle] != location:
        return _refuse(tables, state, f"you are not at the {name}")
    if not tables.openable & bit:
        return _refuse(tables, state, f"the {name} cannot be closed")
    if not opened & bit:
        return _refuse(tables, state, f"the {name} is closed already")
    opened ^= bit
    state = _new(State, (location, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale))
    return _done(tables, state, f"You close the {name}.")


def _take(tables: Tables, state: State, thing: int, receptacle: int) -> Transition:
    location, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale = state
    name, receptacle_name, bit = tables.thing_names[thing], tables.receptacle_names[receptacle], 1 << thing
    if tables.location_of[receptacle] != location:
        return _refuse(tables, state, f"you are not at the {receptacle_name}")
    if held >= 0:
        return _refuse(tables, state, f"your hands are full: you are carrying the {tables.thing_names[held]}")
    if not tables.pickupable & bit:
        return _refuse(tables, state, f"the {name} cannot be picked up")
    if tables.openable & ~opened & 1 << receptacle:
        return _refuse(tables, state, f"the {receptacle_name} is closed")
    if not contents[receptacle] & bit:
        return _refuse(tables, state, f"the {name} is not in or on the {receptacle_name}")
    contents = _with(contents, receptacle, contents[receptacle] ^ bit)
    if located[location] & bit:
        located = _with(located, location, located[location] ^ bit)
    if tables.shared >> receptacle & 1:
        stale = _with(stale, receptacle, stale[receptacle] | bit)
    state = _new(State, (location, thing, opened, clean, hot, cool, sliced, toggled, contents, located, stale))
    return _done(tables, state, f"You pick up the {name} from the {receptacle_name}.")


def _move(tables: Tables, state: State, thing: int, receptacle: int) -> Transition:
    location, held, opened, clean, hot, cool, sliced, toggled, contents, located, stale = state
    name, receptacle_name, bit = tables.thing_names[thing], tables.receptacle_names[receptacle], 1 << thing
    if tables.location_of[receptacle] != location:
        return _refuse(tables, state, f"you are not at the {receptacle_name}")
    if held != thing:
        return _refuse(tables, state, f"you are not carrying the {name}")
    if tables.openable & ~opened & 1 << receptacle:
        return _refuse(tables, state, f"the {receptacle_name} is closed")
    if not tables.level.accepts[thing] >> receptacle & 1:
        return _refuse(tables, state, f"the {name} does not belong in or on the {receptacle_name}")
    contents = _with(contents, receptacle, contents[receptacle] | bit)
    if bit & tables.visible[location] & ~located[location]:
        located = _with(located, location, located[location] | bit)
    if stale[receptacle] & bit:
        stale = _with(stale, receptacle, stale[receptacle] ^ bit)
    state = _new(State, (location, NOTHING, opened, clean, hot, cool, sliced, toggled, contents, located, stale))
    return _done(tables, state, f"You move the {name} to the {receptacle_name}.")


def _clean(tables: Tables, state: State, thing: int, receptacle: int) -> Transition:
    why = _unfit(tables, state, thing, receptacle, tables.cleaners, tables.cleanable, "cleaned")
    if why:
        return _refuse(tables, state, why)
    return _done(tables, state._replace(clean=state.clean | 1 << thing), _treated(tables, "clean", thing, receptacle))


def _heat(tables: Tables, state: State, thing: int, receptacle: int) -> Transition:
    why = _unfit(tables, state, thing, receptacle, tables.heaters, tables.heatable, "heated")
    if why:
        return _refuse(tables, state, why)
    bit = 1 << thing
    state = state._replace(hot=state.hot | bit, cool=state.cool & ~bit)
    return _done(tables, state, _treated(tables, "heat", thing, receptacle))


def _cool(tables: Tables, state: State, thing: int, receptacle: int) -> Transition:
    why = _unfit(tables, state, thing, receptacle, tables.coolers, tables.coolable, "cooled")
    if why:
        return _refuse(tables, state, why)
    bit = 1 << thing
    state = state._replace(hot=state.hot & ~bit, cool=state.cool | bit)
    return _done(tables, state, _treated(tables, "cool", thing, receptacle))


def _unfit(
    tables: Tables, state: State, thing: int, receptacle: int, appliances: int, able: int, done: str
) -> str | None:
    """Why `thing` cannot be cleaned, heated or cooled with `receptacle`. That it is closed is no reason."""
    name, receptacle_name = tables.thing_names[thing], tables.receptacle_names[receptacle]
    if tables.location_of[receptacle] != state.location:
        return f"you are not at the {receptacle_name}"
    if state.held != thing:
        return f"you are not carrying the {name}"
    if not able >> thing & 1:
        return f"the {name} cannot be {done}"
    if not appliances >> receptacle & 1:
        return f"nothing can be {done} with the {receptacle_name}"
    return None


def _treated(tables: Tables, verb: str, thing: int, receptacle: int) -> str:
    return f"You {verb} the {tables.thing_names[thing]} using the {tables.receptacle_names[receptacle]}."


def _slice(tables: Tables, state: State, thing: int, knife: int) -> Transition:
    name, knife_name, bit = tables.thing_names[thing], tables.thing_names[knife], 1 << thing
    if not tables.knives >> knife & 1:
        return _refuse(tables, state, f"the {knife_name} is no knife")
    if state.held != knife:
        return _refuse(tables, state, f"you are not carrying the {knife_name}")
    if not tables.sliceable & bit:
        return _refuse(tables, state, f"the {name} cannot be sliced")
    if not state.located[state.location] & bit:
        return _refuse(tables, state, f"the {name} is not here")
    state = state._replace(sliced=state.sliced | bit)
    return _done(tables, state, f"You sliced the {name} with the {knife_name}.")


def _use(tables: Tables, state: State, thing: int, _: int) -> Transition:
    name, bit = tables.thing_names[thing], 1 << thing
    if not tables.toggleable & bit:
        return _refuse(tables, state, f"the {name} has no switch")
    if not any(state.contents[r] & bit for r in tables.here[state.location]):
        return _refuse(tables, state, f"the {name} is not in or on a receptacle here")
    return _done(tables, state._replace(toggled=state.toggled | bit), f"You turn on the {name}.")


def _examine_receptacle(tables: Tables, state: State, receptacle: int, _: int) -> Transition:
    if tables.location_of[receptacle] != state.location:
        return _refuse(tables, state, f"you are not at the {tables.receptacle_names[receptacle]}")
    return _done(tables, state, _view(tables, state, receptacle))


def _examine_thing(tables: Tables, state: State, number: int, _: int) -> Transition:
    if state.held != number:
        return _refuse(tables, state, f"you are not carrying the {tables.thing_names[number]}")
    thing = tables.level.things[number]
    if thing.inside is not None:
        return _done(tables, state, text.container(thing.name, [tables.thing_names[o] for o in thing.inside]))
    clean, hot, cool, sliced, on = (
        bool(flags >> number & 1) for flags in (state.clean, state.hot, state.cool, state.sliced, state.toggled)
    )
    return _done(tables, state, text.thing(thing.name, clean, hot, cool, sliced, on))


def _inventory(tables: Tables, state: State, _: int, __: int) -> Transition:
    if state.held < 0:
        return _done(tables, state, text.EMPTY_HANDS)
    return _done(tables, state, f"You are carrying: {text.listing([tables.thing_names[state.held]])}.")


def _look(tables: Tables, state: State, _: int, __: int) -> Transition:
    if tables.here[state.location]:
        return _done(tables, state, _facing(tables, state))
    return _done(tables, state, text.middle_of_room(()))  # the original lists the receptacles only at the start


def _help(tables: Tables, state: State, _: int, __: int) -> Transition:
    return _done(tables, state, text.HELP)


def _unknown(tables: Tables, state: State, _: int, __: int) -> Transition:
    return _refuse(tables, state, "it is no command of this game, or names what this game does not have")


def _done(tables: Tables, state: State, feedback: str) -> Transition:
    if tables.solved(state):
        return Transition(state, 1.0, True, feedback, won=True)
    transition: Transition = _new(Transition, (state, 0.0, False, feedback, False, None))
    return transition


def _refuse(tables: Tables, state: State, why: str) -> Transition:
    over = tables.solved(state)
    return Transition(state, float(over), over, text.NOTHING_HAPPENS, over, f"Nothing happened: {why}.")


def _with(masks: tuple[int, ...], number: int, mask: int) -> tuple[int, ...]:
    return (*masks[:number], mask, *masks[number + 1 :])


# --- What is seen -------------------------------------------------------------------------------------------------


def _view(tables: Tables, state: State, receptacle: int) -> str:
    """What there is in or on the receptacle."""
    view = (receptacle, state.contents[receptacle], state.opened >> receptacle & 1)
    return tables.views.get(view) or remember(tables.views, view, _described(tables, *view))


def _arrival(tables: Tables, view: tuple[int, int, int]) -> str:
    feedback = f"You arrive at {tables.receptacle_names[view[0]]}. {_described(tables, *view)}"
    return remember(tables.arrivals, view, feedback)


def _described(tables: Tables, receptacle: int, contents: int, opened: int) -> str:
    name, openable = tables.receptacle_names[receptacle], bool(tables.openable >> receptacle & 1)
    return text.receptacle(name, openable, bool(opened), [tables.thing_names[o] for o in numbers(contents)])


def _facing(tables: Tables, state: State) -> str:
    """What `look` says at receptacles. An object lies "next to" one that it was taken out of."""
    here = tables.here[state.location]
    beside = [
        tables.thing_names[o] for o in numbers(state.located[state.location]) for r in here if state.stale[r] >> o & 1
    ]
    return text.facing([tables.receptacle_names[r] for r in here], beside)


# --- Reading a command --------------------------------------------------------------------------------------------

_ALONE = {"help": _help, "inventory": _inventory, "look": _look}
_ON_RECEPTACLE = {"open": _open, "close": _close, "examine": _examine_receptacle}
_ON_THING = {"examine": _examine_thing, "use": _use}
_ON_BOTH = {
    "take": (" from ", _take),
    "move": (" to ", _move),
    "clean": (" with ", _clean),
    "heat": (" with ", _heat),
    "cool": (" with ", _cool),
}


def _operation(tables: Tables, action: str) -> Operation:
    """What `action` means, whether or not it can be done now. Only what can ever be done is remembered."""
    if not isinstance(action, str):
        raise TypeError(f"an ALFWorld action is a str such as 'look', got {type(action).__name__}")
    command = action.strip()
    operation = _read(tables, command)
    return remember(tables.operations, command, operation) if operation else (_unknown, 0, 0)


def _read(tables: Tables, command: str) -> Operation | None:
    if command in _ALONE:
        return _ALONE[command], 0, 0
    verb, _, rest = command.partition(" ")
    things, receptacles = tables.thing_numbers, tables.receptacle_numbers
    if command.startswith("go to ") and command[6:] in receptacles:
        number = receptacles[command[6:]]
        return _go, number, tables.location_of[number]
    if verb in _ON_RECEPTACLE and rest in receptacles:
        return _ON_RECEPTACLE[verb], receptacles[rest], 0
    if verb in _ON_THING and rest in things:
        return _ON_THING[verb], things[rest], 0
    if verb in _ON_BOTH:
        joint, do = _ON_BOTH[verb]
        thing, _, receptacle = rest.partition(joint)
        if thing in things and receptacle in receptacles:
            return do, things[thing], receptacles[receptacle]
    if verb == "slice":
        thing, _, knife = rest.partition(" with ")
        if thing in things and knife in things:
            return _slice, things[thing], things[knife]
    return None
