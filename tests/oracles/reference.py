"""L(s) in ALFWorld by brute force, and small worlds to try it on.

Knows nothing of structure: every command that the rules offer is tried, but for those that leave every precondition
and goal as it was (looking, and slicing: nothing asks for slices, or for `located` but slicing itself).
"""

import math
from collections import deque
from random import Random

from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.types import NOTHING, Goal, Level, Receptacle, State, TaskType, Thing

IDLE = ("look", "inventory", "help", "examine ", "slice ")


class TooManyStates(Exception):
    """The world is larger than the caller wants to search."""


def essence(state: State) -> State:
    """`state` without what no goal, and no command but the idle ones, depends on."""
    return state._replace(sliced=0, located=(0,) * len(state.located), stale=(0,) * len(state.stale))


def commands(level: Level, state: State) -> list[str]:
    """The commands that can matter."""
    return [action for action in rules.actions(level, state) if not action.startswith(IDLE)]


def won(level: Level, state: State) -> bool:
    """The goal, read off its PDDL formula."""
    goal = level.goal
    inside = [(thing, place) for place, mask in enumerate(state.contents) for thing in _numbers(mask)]
    if goal.task_type is TaskType.LOOK_IN_LIGHT:
        lit = any(
            level.things[thing].type == goal.lamp_type
            and level.things[thing].toggleable
            and state.toggled >> thing & 1
            and level.receptacles[place].location == state.location
            for thing, place in inside
        )
        return lit and state.held != NOTHING and level.things[state.held].type == goal.object_type
    placed = [
        (thing, place)
        for thing, place in inside
        if level.things[thing].type == goal.object_type and level.receptacles[place].type == goal.receptacle_type
    ]
    if goal.task_type is TaskType.PICK_TWO:
        return any(one != two and here == there for one, here in placed for two, there in placed)
    able, state_bits = {
        TaskType.PICK_AND_PLACE: (lambda thing: True, -1),
        TaskType.CLEAN: (lambda thing: thing.cleanable, state.clean),
        TaskType.HEAT: (lambda thing: thing.heatable, state.hot),
        TaskType.COOL: (lambda thing: thing.coolable, state.cool),
    }[goal.task_type]
    return any(able(level.things[thing]) and state_bits >> thing & 1 for thing, _ in placed)


def distances(level: Level, start: State, limit: int) -> dict[State, float]:
    """L of every state that can be reached from `start`, beyond a win too; raises TooManyStates beyond `limit`."""
    before: dict[State, list[State]] = {essence(start): []}
    ends, queue = [], deque(before)
    while queue:
        state = queue.popleft()
        if won(level, state):
            ends.append(state)
        for command in commands(level, state):
            after = essence(rules.step(level, state, command).state)
            if after not in before:
                if len(before) >= limit:
                    raise TooManyStates
                before[after] = []
                queue.append(after)
            before[after].append(state)
    found = dict.fromkeys(before, math.inf) | dict.fromkeys(ends, 0.0)
    queue.extend(ends)
    while queue:
        state = queue.popleft()
        for previous in before[state]:
            if found[previous] == math.inf:
                found[previous] = found[state] + 1
                queue.append(previous)
    return found


def distance(level: Level, start: State, limit: int, commands=commands) -> float:
    """L of one state, by breadth-first search forwards."""
    start = essence(start)
    seen, front, turns = {start}, [start], 0
    while front:
        if any(won(level, state) for state in front):
            return float(turns)
        turns += 1
        following = []
        for state in front:
            for command in commands(level, state):
                after = essence(rules.step(level, state, command).state)
                if after not in seen:
                    if len(seen) >= limit:
                        raise TooManyStates
                    seen.add(after)
                    following.append(after)
        front = following
    return math.inf


def concerned_commands(level: Level, state: State) -> list[str]:
    """`commands` without closing, and without taking, treating and using what is neither target nor lamp.

    None of these is ever needed: nothing asks for a closed place, and what is struck out of a solution leaves the
    hands empty where they were full. That keeps the search feasible in real games.
    """
    concerned = {level.goal.object_type, level.goal.lamp_type}
    kept = []
    for command in commands(level, state):
        verb, name, *_ = command.split(" ")
        if verb in ("go", "open", "move") or (verb != "close" and name in concerned):
            kept.append(command)
    return kept


def small_world(rng: Random, most_places: int = 5, most_things: int = 4) -> Level:
    """A level that need not be solvable or sensible, and that starts in any state.

    Shared places, things in several receptacles, things nobody accepts or can pick up, lamps that can be carried.
    """
    task_type = rng.choice(list(TaskType))
    lit = task_type is TaskType.LOOK_IN_LIGHT
    treated = {TaskType.CLEAN: "sinkbasin", TaskType.HEAT: "microwave", TaskType.COOL: "fridge"}
    tool = treated.get(task_type, "fridge")
    goal = Goal(
        task_type,
        "apple",
        "" if lit else rng.choice(["shelf", "shelf", "shelf", tool]),
        rng.choice(["desklamp", "desklamp", "desklamp", "apple"]) if lit else "",
    )
    spots = rng.randint(1, most_places)
    bare = rng.random() < 0.5
    kinds = [rng.choice(["shelf", "shelf", tool, "box"]) for _ in range(rng.randint(2, most_places))]
    if rng.random() < 0.8:
        kinds[:2] = [goal.receptacle_type or "shelf", tool]
    receptacles = tuple(
        Receptacle(f"{kind}_bar_{n}", f"{kind} {n + 1}", kind, rng.randrange(spots) + bare, rng.random() < 0.5)
        for n, kind in enumerate(kinds)
    )
    odd = 0.3 if rng.random() < 0.4 else 0.0
    things = tuple(
        _thing(rng, odd, n, rng.choice(["apple", "apple", goal.lamp_type or "apple", "book", "apple"]))
        for n in range(rng.randint(2, most_things))
    )
    every = (1 << len(receptacles)) - 1
    by_kind = {thing.type: rng.randint(0, every) | rng.choice([0, 1, every]) for thing in things}
    at = tuple(
        tuple(n for n, receptacle in enumerate(receptacles) if receptacle.location == spot)
        for spot in range(spots + bare)
    )
    carried = [n for n, thing in enumerate(things) if thing.pickupable]
    held = rng.choice(carried) if carried and rng.random() < 0.4 else NOTHING
    contents = [0] * len(receptacles)
    for n in range(len(things)):
        homes = 1 + (rng.random() < 0.25) - (n == held or rng.random() < 0.05)
        for place in rng.sample(range(len(receptacles)), homes):
            if receptacles[place].type != goal.receptacle_type or rng.random() < 0.3:
                contents[place] |= 1 << n
    some = (1 << len(things)) - 1
    hot, cool = rng.getrandbits(8) & rng.getrandbits(8) & some, rng.getrandbits(8) & rng.getrandbits(8) & some
    start = State(
        location=rng.randrange(len(at)),
        held=held,
        opened=rng.randint(0, every) & sum(1 << n for n, place in enumerate(receptacles) if place.openable),
        clean=rng.getrandbits(8) & rng.getrandbits(8) & some,
        hot=hot,
        cool=cool & ~hot,
        sliced=0,
        toggled=rng.getrandbits(8) & rng.getrandbits(8) & some,
        contents=tuple(contents),
        located=(0,) * len(at),
        stale=(0,) * len(receptacles),
    )
    return Level(
        id="small",
        locator=("small",),
        task="try it.",
        goal=goal,
        receptacles=receptacles,
        things=things,
        accepts=tuple(rng.randint(0, every) if odd else by_kind[thing.type] for thing in things),
        at=at,
        start=start,
        walkthrough=(),
    )


def _thing(rng: Random, odd: float, number: int, kind: str) -> Thing:
    pickupable, cleanable, heatable, coolable = (rng.random() >= odd for _ in range(4))
    return Thing(
        id=f"{kind}_bar_{number}",
        name=f"{kind} {number + 1}",
        type=kind,
        pickupable=pickupable and (kind != "desklamp" or rng.random() < 0.3),
        cleanable=cleanable,
        heatable=heatable,
        coolable=coolable,
        sliceable=False,
        toggleable=kind == "desklamp" or rng.random() < 0.4,
        inside=None,
    )


def _numbers(mask: int) -> list[int]:
    return [number for number in range(mask.bit_length()) if mask >> number & 1]
