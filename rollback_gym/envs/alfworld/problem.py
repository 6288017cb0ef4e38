"""Reads ALFWorld's game files, and compiles a game into a `Level`.

A `game.tw-pddl` is JSON: a PDDL domain and a text grammar (see `dialect`), a PDDL problem (see `parse`) and a
walkthrough.
"""

import json
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.dialect import check_rules
from rollback_gym.envs.alfworld.parse import parse, short, without_suffix
from rollback_gym.envs.alfworld.types import NOTHING, Level, Receptacle, State, Thing, visible


class Game(NamedTuple):
    """What a game file says, checked but not yet compiled."""

    where: str
    """The file, for messages."""
    problem: str
    """PDDL."""
    task: str
    """The instruction, such as `put a hot apple in fridge.`"""
    walkthrough: tuple[str, ...]


def read_game(data: bytes, where: str) -> Game:
    """The game in the bytes of a `game.tw-pddl` file; `where` names the file in messages.

    Raises DataError for a file that is damaged, foreign, not solvable, or made for other rules than ALFWorld's.
    """
    content = read_content(data, where)
    task = check_rules(content["pddl_domain"], content["grammar"], where)
    return Game(where, content["pddl_problem"], task, tuple(content["walkthrough"]))


def read_content(data: bytes, where: str) -> dict[str, Any]:
    """The JSON of a game file, whatever its rules: what the genuine engine plays.

    It has the texts `pddl_domain`, `grammar` and `pddl_problem`, and `walkthrough`, a list of commands. Raises
    DataError for a file that is damaged, foreign or not solvable.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{where}: not a whole ALFWorld game file ({error}); expected the JSON of a game.tw-pddl. "
            "Fetch the file again."
        ) from error
    if not isinstance(content, dict):
        raise DataError(f"{where}: expected a JSON object that describes a game, got {short(content)}.")
    for key in ("pddl_domain", "grammar", "pddl_problem"):
        if not isinstance(content.get(key), str):
            raise DataError(f"{where}: {key!r} is {short(content.get(key))}, expected text. Fetch the file again.")
    if content.get("solvable") is not True:
        raise DataError(
            f"{where}: 'solvable' is {short(content.get('solvable'))}, expected true. ALFWorld plays only games "
            "that were solved once; leave this one out."
        )
    walkthrough = content.get("walkthrough")
    if not isinstance(walkthrough, list) or not all(isinstance(command, str) for command in walkthrough):
        raise DataError(f"{where}: 'walkthrough' is {short(walkthrough)}, expected a list of commands.")
    return content


def compile_level(game: Game, id: str, locator: tuple[Any, ...], numbering: random.Random | None = None) -> Level:
    """The level that `game` describes; `id` and `locator` are as in `Level`.

    `numbering` deals the numbers in names (`drawer 3`) in shuffled order: `random.Random(seed)` gives the names that
    the original's domain randomisation gives after `random.seed(seed)`. Without it they follow the sorted ids, as
    the original does when it evaluates. Raises DataError for a problem that is not one of ALFWorld's.
    """
    problem = parse(game.problem, game.where)
    facts, unary = problem.facts, problem.unary
    names = _names(problem.ids, numbering)
    spots = {row[0]: row[1] for row in facts["receptacleatlocation"]}
    ((_, start),) = facts["atlocation"]
    locations = {location: number for number, location in enumerate(sorted({start, *spots.values()}))}
    receptacle_numbers = {id: number for number, id in enumerate(problem.receptacles)}
    thing_numbers = {id: number for number, id in enumerate(problem.objects)}

    receptacle_types = {id: without_suffix(kind) for id, kind in facts["receptacletype"]}
    receptacles = tuple(
        Receptacle(id, names[id], receptacle_types[id], locations[spots[id]], id in unary["openable"])
        for id in receptacle_numbers
    )
    inside: dict[str, list[int]] = {id: [] for id in unary["isreceptacleobject"]}
    for inner, outer in facts["inreceptacleobject"]:
        if outer in inside:
            inside[outer].append(thing_numbers[inner])
    object_types = {id: without_suffix(kind) for id, kind in facts["objecttype"]}
    things = tuple(
        Thing(
            id=id,
            name=names[id],
            type=object_types.get(id, ""),
            pickupable=id in unary["pickupable"],
            cleanable=id in unary["cleanable"],
            heatable=id in unary["heatable"],
            coolable=id in unary["coolable"],
            sliceable=id in unary["sliceable"],
            toggleable=id in unary["toggleable"],
            inside=tuple(sorted(inside[id])) if id in inside else None,
        )
        for id in thing_numbers
    )
    places: list[list[int]] = [[] for _ in locations]
    for number, receptacle in enumerate(receptacles):
        places[receptacle.location].append(number)
    at = tuple(map(tuple, places))

    def bits(predicate: str) -> int:
        return sum(1 << thing_numbers[id] for id in unary[predicate])

    level = Level(
        id=id,
        locator=locator,
        task=game.task,
        goal=problem.goal,
        receptacles=receptacles,
        things=things,
        accepts=_accepts(things, receptacles, facts["cancontain"]),
        at=at,
        start=State(
            location=locations[start],
            held=NOTHING,
            opened=sum(1 << receptacle_numbers[id] for id in unary["opened"]),
            clean=bits("isclean"),
            hot=bits("ishot"),
            cool=bits("iscool"),
            sliced=bits("issliced"),
            toggled=bits("istoggled"),
            contents=_grouped(facts["inreceptacle"], thing_numbers, receptacle_numbers),
            located=tuple(
                mask & visible
                for mask, visible in zip(
                    _grouped(facts["objectatlocation"], thing_numbers, locations),
                    visible(things, at),
                    strict=True,
                )
            ),
            stale=(0,) * len(receptacles),
        ),
        walkthrough=game.walkthrough,
    )
    if rules.won(level, level.start):
        raise DataError(f"{game.where}: the game is already solved at its start, so there is nothing to play.")
    return level


def _accepts(
    things: Sequence[Thing], receptacles: Sequence[Receptacle], contains: Collection[tuple[str, ...]]
) -> tuple[int, ...]:
    allowed = {(without_suffix(holder), without_suffix(held)) for holder, held in contains}
    fits = {
        kind: sum(1 << number for number, receptacle in enumerate(receptacles) if (receptacle.type, kind) in allowed)
        for kind in {thing.type for thing in things}
    }
    return tuple(fits[thing.type] for thing in things)


def _grouped(
    pairs: Collection[tuple[str, ...]], things: Mapping[str, int], groups: Mapping[str, int]
) -> tuple[int, ...]:
    """Per group, the bits of the things that are paired with it; pairs with other groups are left out."""
    masks = [0] * len(groups)
    for thing, group in pairs:
        if group in groups:
            masks[groups[group]] |= 1 << things[thing]
    return tuple(masks)


def _names(ids: Collection[str], numbering: random.Random | None) -> dict[str, str]:
    """ALFWorld's names: the kind of thing and a number, dealt downward from their count in the order of the ids."""
    order = sorted(ids)
    if numbering is not None:
        numbering.shuffle(order)
    kinds = {id: id.split("_bar_", 1)[0] + ("basin" if "basin" in id else "") for id in order if "_bar_" in id}
    left = Counter(kinds.values())
    names = {}
    for id, kind in kinds.items():
        names[id] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return names
