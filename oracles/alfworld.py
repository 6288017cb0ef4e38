"""Exact L(s) for ALFWorld: the fewest turns until the goal first holds, from any state.

No search. Any place is one action away, so as a function of where the agent stands L takes only two values,
``turns`` at the locations ``starts`` and ``turns + 1`` at all others. Such a pair is an `Outlook`; doing something
first, and choosing between two ways, turn outlooks into outlooks (`_first`, `_best`). So L is computed backwards
along the few forms that a shortest solution can take, and remembered for the state without the agent's location.

Why these forms suffice
-----------------------
A *job* is a take, a put, a clean/heat/cool or a use. A solution costs its jobs, a move wherever two consecutive
jobs lie at different locations, and an opening for every closed receptacle that is taken from or put into. Nothing
asks for a closed receptacle, an object's slices or what was looked at, so closing, slicing and looking are left out.
Take a shortest solution and look only at the things its win rests on: one target, two for PICK_TWO, a target and a
lamp for LOOK_IN_LIGHT.

1. Jobs on other things can be struck out, except that another thing in hand must be put down once before the first
   take. Striking out adds no move (places obey the triangle inequality) and no opening.
2. *One target, to be placed.* If it is taken again after being put down, strike out the last such put and take: it
   is then in hand in between, and all that followed still works, unless the win was to clean, heat or cool it while
   the struck put kept it in the goal (it was in several receptacles at once). Then put it there at the end instead:
   two jobs fewer, one job and at most one move more. So: take it at most once, and not at all if it is in hand; make
   it clean, hot or cool where asked; put it in the goal, unless it lies there besides being in hand.
3. *Look in light.* The target is taken at most once, as in 2. The use can come last: the final place has the lamp.
   Moving a lamp there costs two jobs and saves one move at most, except the put of a lamp that is in hand to begin
   with. So: take the target, go to where a lamp is by then, use it unless it was used.
4. *Two targets in g.* If one lies in g and is never taken out, only the other counts, by 2 (and the one
   that lies there may be in hand too: by 1 it is put away). Else let both be put in g.
   With one take and one put each (none to take for what is in hand), the order of the jobs is the form
   take a, put a, take b, put b. A solution with a further take has a further put too: two jobs more. Let a be what
   is taken first (or in hand). The form visits a's first home, g, b's first home, g; the longer solution visits a's
   first home, b's first home and g at least. That is two moves fewer at most, and it opens no less. So the form is
   never longer.

Receptacles opened on the way serve again: `closed` loses what was used, and where something is put away
first, the closed places that could serve again are tried one by one.

The tests compare all of this with brute-force search over every state of small worlds.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.types import NOTHING, Level, State, TaskType

Outlook = tuple[float, int]
"""(turns, starts): L is `turns` at the locations in `starts` (bits over L), and `turns` + 1 at every other."""
Homes = dict[int, int]
"""The receptacles (bits over R) that each target or lamp (its bit over O) is in; things that are nowhere are absent."""

_WON: Outlook = (0, -1)
_NEVER: Outlook = (math.inf, 0)
_MEMO = "oracle"
_REMEMBERED = 1024
"""The most outlooks kept in a level's memo; it is emptied beyond that."""


def distance(level: Level, state: State) -> float:
    """L(s): the fewest turns until the goal first holds, a whole number; math.inf if it never can."""
    turns, starts = _outlook(level, state)
    return float(turns if starts >> state.location & 1 else turns + 1)


def optimal_actions(level: Level, state: State) -> tuple[str, ...]:
    """Every first action of a shortest solution, sorted; none if the state is won or can never be."""
    left = distance(level, state)
    if left in (0, math.inf):
        return ()
    room = _room(level)
    turns, starts = _outlook(level, state)
    found = [
        action
        for action in rules.actions(level, state)
        if action.startswith(room.useful) and distance(level, rules.step(level, state, action).state) < left
    ]
    if turns < left:
        found += [f"go to {place.name}" for place in level.receptacles if starts >> place.location & 1]
    return tuple(sorted(set(found)))


def plan(level: Level, state: State) -> tuple[str, ...]:
    """One shortest solution: the first optimal action each time. Empty if there is nothing to do or no solution."""
    actions = []
    while best := optimal_actions(level, state):
        actions.append(best[0])
        state = rules.step(level, state, best[0]).state
    return tuple(actions)


@dataclass(frozen=True, eq=False, slots=True)
class _Room:
    """What a level contributes to L and never changes. Receptacles and things are single bits here."""

    task_type: TaskType
    movable: int
    """Bits over O: the targets (of the goal's type, and cleanable ... where asked) that can be picked up."""
    lamps: int
    tracked: int
    """Bits over O: targets, also those that cannot be picked up, and lamps."""
    progress: str
    """The field of State that says which targets are clean ..., or which lamps are on; empty where none matters."""
    goals: int
    """Bits over R: the receptacles of the goal's type."""
    goals_for: dict[int, int]
    """Those of `goals` that accept a target."""
    tools: int
    """Bits over L: where targets are made clean, hot or cool."""
    openable: int
    where: dict[int, int]
    """The location (a bit over L) of a receptacle."""
    beside: dict[int, int]
    """The receptacles at the location of a receptacle, itself among them."""
    useful: tuple[str, ...]
    """How actions begin that can bring a win nearer, moves apart."""
    spans: dict[int, int] = field(default_factory=dict)
    outlooks: dict[object, Outlook] = field(default_factory=dict)

    def span(self, receptacles: int) -> int:
        """The locations of `receptacles`."""
        span = self.spans.get(receptacles)
        if span is None:
            span = 0
            for receptacle in _bits(receptacles):
                span |= self.where[receptacle]
            self.spans[receptacles] = span
        return span


# What makes a target ready: its action, the field of State, the flag of Thing, and the types of receptacle.
_TREATMENTS = {
    TaskType.CLEAN: ("clean", "clean", "cleanable", ("sinkbasin",)),
    TaskType.HEAT: ("heat", "hot", "heatable", ("microwave",)),
    TaskType.COOL: ("cool", "cool", "coolable", ("fridge",)),
}


def _room(level: Level) -> _Room:
    known: _Room | None = level.memo.get(_MEMO)
    if known is not None:
        return known
    room = level.memo[_MEMO] = _survey(level)
    return room


def _survey(level: Level) -> _Room:
    goal = level.goal
    verb, progress, flag, tools = _TREATMENTS.get(goal.task_type, ("", "", "", ()))
    lit = goal.task_type is TaskType.LOOK_IN_LIGHT
    targets = {
        number: thing
        for number, thing in enumerate(level.things)
        if thing.type == goal.object_type and (not flag or getattr(thing, flag))
    }
    lamps = {
        number: thing
        for number, thing in enumerate(level.things)
        if lit and thing.type == goal.lamp_type and thing.toggleable
    }
    places = list(enumerate(level.receptacles))
    goals = _union(1 << number for number, place in places if not lit and place.type == goal.receptacle_type)
    useful = ["open ", "move "]
    useful += [f"take {thing.name} from " for thing in (*targets.values(), *lamps.values()) if thing.pickupable]
    useful += [f"{verb} {thing.name} with " for thing in targets.values() if verb]
    useful += [f"use {thing.name}" for thing in lamps.values()]
    return _Room(
        task_type=goal.task_type,
        movable=_union(1 << number for number, thing in targets.items() if thing.pickupable),
        lamps=_union(1 << number for number in lamps),
        tracked=_union(1 << number for number in (*targets, *lamps)),
        progress="toggled" if lit else progress,
        goals=goals,
        goals_for={1 << number: level.accepts[number] & goals for number in targets},
        tools=_union(1 << place.location for _, place in places if place.type in tools),
        openable=_union(1 << number for number, place in places if place.openable),
        where={1 << number: 1 << place.location for number, place in places},
        beside={1 << number: _union(1 << other for other in level.at[place.location]) for number, place in places},
        useful=tuple(dict.fromkeys(useful)),
    )


def _outlook(level: Level, state: State) -> Outlook:
    room = _room(level)
    homes: Homes = {}
    place = 1
    tracked = room.tracked
    for contents in state.contents:
        contents &= tracked
        while contents:
            thing = contents & -contents
            homes[thing] = homes.get(thing, 0) | place
            contents ^= thing
        place <<= 1
    done = getattr(state, room.progress) & tracked if room.progress else tracked
    # Of an untracked thing in hand only the places that accept it matter, of a closed receptacle only whether
    # it is one of those, holds a target, or is a goal.
    held, away, concerned = 0, NOTHING, room.goals
    for places in homes.values():
        concerned |= places
    if state.held != NOTHING:
        held, away = 1 << state.held & tracked, level.accepts[state.held]
        concerned |= away
    closed = room.openable & ~state.opened & concerned
    key = (held, away, closed, done, *homes.items())
    outlook = room.outlooks.get(key)
    if outlook is None:
        if len(room.outlooks) >= _REMEMBERED:
            room.outlooks.clear()
            room.spans.clear()
        if away == NOTHING:
            outlook = _empty_handed(room, closed, done, homes)
        else:
            outlook = _holding(room, closed, done, homes, held, away)
        room.outlooks[key] = outlook
    return outlook


def _empty_handed(room: _Room, closed: int, done: int, homes: Homes) -> Outlook:
    """With nothing in hand: take a target, and finish with it; or bring two."""
    if _placed(room, done, homes):
        return _WON
    best = _NEVER
    sites = [(thing, home) for thing, places in homes.items() if thing & room.movable for home in _bits(places)]
    for thing, home in sites:
        rest = _finish(room, closed & ~home, done, homes, thing, homes[thing] & ~home)
        best = _best(best, _first(2 if closed & home else 1, room.where[home], rest))
    if room.task_type is TaskType.PICK_TWO:
        best = _bring_two(room, closed, sites, best)
    return best


def _holding(room: _Room, closed: int, done: int, homes: Homes, held: int, away: int) -> Outlook:
    """With something in hand: finish with it if it is a target, or put it away where it is accepted (`away`).

    `held` is its bit if it is tracked, else 0.
    """
    if _placed(room, done, homes):
        return _WON
    best = _NEVER
    if held & room.movable:
        best = _finish(room, closed, done, homes, held, homes.get(held, 0))
    # Where it is put matters if it is a lamp, or one of two targets and put in a goal. Elsewhere it is as good as gone:
    # by 1, 2 and 4 it need not be taken again.
    telling = 0
    if held & room.lamps:
        telling = away
    elif held and room.task_type is TaskType.PICK_TWO:
        telling = away & room.goals
    rest = _empty_handed(room, closed, done, homes)
    open_places, closed_places = away & ~telling & ~closed, away & ~telling & closed
    best = _best(best, _first(1, room.span(open_places), rest))
    best = _best(best, _first(2, room.span(closed_places), rest))
    # A place that is opened for it can serve again. Where opening all of them at once gains nothing, one does not.
    if again := closed_places & (room.goals | _union(homes.values())):
        gain = _empty_handed(room, closed & ~again, done, homes)
        if gain != rest and _first(2, room.span(again), gain)[0] <= best[0]:
            telling |= again
    for place in _bits(telling):
        then = {**homes, held: homes.get(held, 0) | place} if held else homes
        rest = _empty_handed(room, closed & ~place, done, then)
        best = _best(best, _first(2 if closed & place else 1, room.where[place], rest))
    return best


def _placed(room: _Room, done: int, homes: Homes) -> bool:
    """Whether the goal holds by what lies where."""
    occupied = 0 if room.task_type is TaskType.PICK_TWO else room.goals
    for thing, places in homes.items():
        if thing & done and places & room.goals & occupied:
            return True
        if room.task_type is TaskType.PICK_TWO:
            occupied |= places
    return False


def _finish(room: _Room, closed: int, done: int, homes: Homes, thing: int, elsewhere: int) -> Outlook:
    """With the target `thing` in hand, which lies `elsewhere` too: win with it."""
    if room.task_type is TaskType.LOOK_IN_LIGHT:
        lit = dark = 0
        for lamp, places in homes.items():
            if lamp & room.lamps:
                places = elsewhere if lamp == thing else places
                if lamp & done:
                    lit |= places
                else:
                    dark |= places
        return (0, room.span(lit)) if lit else (1, room.span(dark)) if dark else _NEVER
    goals = room.goals_for[thing]
    if room.task_type is TaskType.PICK_TWO:
        goals &= _union(places for other, places in homes.items() if other != thing)
    if usable := goals & ~closed:
        put: Outlook = (1, room.span(usable))
    elif goals:
        put = (2, room.span(goals))
    else:
        put = _NEVER
    if thing & done:
        return put
    return _first(1, room.tools, _WON if elsewhere & room.goals else put)


def _bring_two(room: _Room, closed: int, sites: list[tuple[int, int]], best: Outlook) -> Outlook:
    """Take a, put it in a goal, take b, put it there too; or `best` if that is shorter."""
    for a, home_a in sites:
        beside_a = room.beside[home_a]
        for b, home_b in sites:
            if a == b:
                continue
            beside_b = room.beside[home_b]
            apart = beside_a != beside_b
            turns = 4 + apart + bool(closed & home_a) + bool(closed & home_b & ~home_a)
            if turns > best[0]:
                continue
            goals = room.goals_for[a] & room.goals_for[b]
            usable = goals & ~closed | goals & (home_a | home_b)
            # Moves from home a to the goal, to home b and back, and the goal's opening; `apart` is counted already.
            if usable & beside_b:
                pass
            elif goals & beside_b or usable & beside_a:
                turns += 1
            elif goals & beside_a or usable:
                turns += 2 if apart else 3
            elif goals:
                turns += 3 if apart else 4
            else:
                continue
            best = _best(best, (turns, room.where[home_a]))
    return best


def _first(cost: int, where: int, rest: Outlook) -> Outlook:
    """Do something that costs `cost` actions at any of the locations `where`, then what `rest` says."""
    if not where:
        return _NEVER
    turns, starts = rest
    if where & starts:
        return cost + turns, where & starts
    return cost + turns + 1, where


def _best(one: Outlook, other: Outlook) -> Outlook:
    """The better of two ways at every location: a way with fewer turns is nowhere the worse one."""
    if one[0] == other[0]:
        return one[0], one[1] | other[1]
    return min(one, other)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low
        mask ^= low


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
