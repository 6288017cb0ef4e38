"""Reads ALFWorld's game files, and compiles a game into a `Level`.

A `game.tw-pddl` is JSON: a PDDL domain and a text grammar (see `dialect`), a PDDL problem and a walkthrough.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.dialect import check_rules
from rollback_gym.envs.alfworld.types import NOTHING, Goal, Level, Receptacle, State, TaskType, Thing, visible


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
        raise DataError(f"{where}: expected a JSON object that describes a game, got {_short(content)}.")
    for key in ("pddl_domain", "grammar", "pddl_problem"):
        if not isinstance(content.get(key), str):
            raise DataError(f"{where}: {key!r} is {_short(content.get(key))}, expected text. Fetch the file again.")
    if content.get("solvable") is not True:
        raise DataError(
            f"{where}: 'solvable' is {_short(content.get('solvable'))}, expected true. ALFWorld plays only games "
            "that were solved once; leave this one out."
        )
    walkthrough = content.get("walkthrough")
    if not isinstance(walkthrough, list) or not all(isinstance(command, str) for command in walkthrough):
        raise DataError(f"{where}: 'walkthrough' is {_short(walkthrough)}, expected a list of commands.")
    return content


def compile_level(game: Game, id: str, locator: tuple[Any, ...], numbering: random.Random | None = None) -> Level:
    """The level that `game` describes; `id` and `locator` are as in `Level`.

    `numbering` deals the numbers in names (`drawer 3`) in shuffled order: `random.Random(seed)` gives the names that
    the original's domain randomisation gives after `random.seed(seed)`. Without it they follow the sorted ids, as
    the original does when it evaluates. Raises DataError for a problem that is not one of ALFWorld's.
    """
    problem = _parse(game)
    facts, unary = problem.facts, problem.unary
    names = _names(problem.ids, numbering)
    spots = {row[0]: row[1] for row in facts["receptacleatlocation"]}
    ((_, start),) = facts["atlocation"]
    locations = {location: number for number, location in enumerate(sorted({start, *spots.values()}))}
    receptacle_numbers = {id: number for number, id in enumerate(sorted(problem.receptacles))}
    thing_numbers = {id: number for number, id in enumerate(sorted(problem.objects))}

    receptacle_types = {id: _without_suffix(kind) for id, kind in facts["receptacletype"]}
    receptacles = tuple(
        Receptacle(id, names[id], receptacle_types[id], locations[spots[id]], id in unary["openable"])
        for id in receptacle_numbers
    )
    inside: dict[str, list[int]] = {id: [] for id in unary["isreceptacleobject"]}
    for inner, outer in facts["inreceptacleobject"]:
        if outer in inside:
            inside[outer].append(thing_numbers[inner])
    object_types = {id: _without_suffix(kind) for id, kind in facts["objecttype"]}
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
    allowed = {(_without_suffix(holder), _without_suffix(held)) for holder, held in contains}
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


# --- PDDL ---------------------------------------------------------------------------------------------------------


class _Problem(NamedTuple):
    facts: Mapping[str, Collection[tuple[str, ...]]]
    """Predicate -> its argument tuples, without repetitions."""
    unary: Mapping[str, Collection[str]]
    """One-place predicate -> the ids it holds of."""
    ids: Collection[str]
    """Whatever is named in a fact."""
    receptacles: Collection[str]
    objects: Collection[str]
    goal: Goal


# Predicate -> the types of its arguments. What follows the first block is read by no rule and no text.
_PREDICATES = {
    "atlocation": ("agent", "location"),
    "receptacleatlocation": ("receptacle", "location"),
    "receptacletype": ("receptacle", "rtype"),
    "openable": ("receptacle",),
    "opened": ("receptacle",),
    "objectatlocation": ("object", "location"),
    "objecttype": ("object", "otype"),
    "inreceptacle": ("object", "receptacle"),
    "cancontain": ("rtype", "otype"),
    "inreceptacleobject": ("object", "object"),
    **dict.fromkeys(
        ("isreceptacleobject", "pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable"),
        ("object",),
    ),
    **dict.fromkeys(("isclean", "ishot", "iscool", "issliced", "istoggled"), ("object",)),
    "wasinreceptacle": ("object", "receptacle"),
    "checked": ("receptacle",),
    "examined": ("location",),
    "full": ("receptacle",),
    **dict.fromkeys(("isreceptacleobjectfull", "moveable", "ison"), ("object",)),
}
_SECTIONS = ("domain", "objects", "init", "goal")
_HEAD = re.compile(r"\s*\(\s*define\s*\(\s*problem\s+[^\s()]+\s*\)\s*")
_SECTION = re.compile(r"\(\s*:([\w-]+)")
_FACTS = re.compile(r"(?:\s*\([^()]*\))*\s*\)[\s)]*")
_FACT = re.compile(r"\(([^()]*)\)")
_COST = re.compile(r"\(\s*=\s*\([^()]*\)\s*[\d.]+\s*\)|\(\s*:metric\s[^()]*(?:\([^()]*\))?\s*\)")


def _parse(game: Game) -> _Problem:
    where = game.where
    text = game.problem.lower()
    if ";" in text:
        text = re.sub(r";[^\n]*", "", text)
    if "cost" in text or "distance" in text:
        text = _COST.sub("", text)  # costs guide ALFWorld's planner, and nothing else
    head = _HEAD.match(text)
    marks = list(_SECTION.finditer(text))
    if head is None or text.count("(") != text.count(")") or sorted(m[1] for m in marks) != sorted(_SECTIONS):
        raise DataError(
            f"{where}: 'pddl_problem' is not a whole ALFWorld problem; expected (define (problem ...) with one each of "
            f":{', :'.join(_SECTIONS)}, found :{', :'.join(m[1] for m in marks) or ' none'}. Fetch the file again."
        )
    ends = [m.start() for m in marks[1:]] + [len(text)]
    sections = {mark[1]: text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}
    types = dict(_declarations(sections["objects"], where))
    facts = _facts(sections["init"], types, where)
    unary = {name: {row[0] for row in facts[name]} for name, kinds in _PREDICATES.items() if len(kinds) == 1}
    ids = {id for rows in facts.values() for row in rows for id in row}
    problem = _Problem(
        facts,
        unary,
        ids,
        [id for id in ids if types[id] == "receptacle"],
        [id for id in ids if types[id] == "object"],
        _goal(sections["goal"], where),
    )
    _check(problem, where)
    return problem


def _declarations(section: str, where: str) -> Iterator[tuple[str, str]]:
    """(id, type) for a typed list such as `a b - object c - location`."""
    waiting: list[str] = []
    words = iter(section.replace(")", " ").split())
    for word in words:
        if word == "-":
            kind = next(words, "nothing")
            for id in waiting:
                yield id, kind
            waiting.clear()
        else:
            waiting.append(word)
    if waiting:
        raise DataError(f"{where}: {_short(waiting[0])} is declared without a type. Fetch the file again.")


def _facts(section: str, types: Mapping[str, str], where: str) -> Mapping[str, Collection[tuple[str, ...]]]:
    if not _FACTS.fullmatch(section):
        raise DataError(f"{where}: the problem's :init is not a list of plain facts. Fetch the file again.")
    rows: dict[str, dict[tuple[str, ...], None]] = {name: {} for name in _PREDICATES}
    for fact in _FACT.findall(section):
        name, *arguments = fact.split() or [""]
        if name not in rows:
            raise DataError(f"{where}: no fact of ALFWorld's is like ({_short(fact)}). Fetch the file again.")
        rows[name][tuple(arguments)] = None
    for name, expected in _PREDICATES.items():
        for row in rows[name]:
            if tuple(map(types.get, row)) != expected:
                raise DataError(
                    f"{where}: ({name} {' '.join(row)}) in :init should be ({name} {' '.join(expected)}), all of them "
                    "declared in :objects. Fetch the file again."
                )
    return {name: list(unique) for name, unique in rows.items()}


def _check(problem: _Problem, where: str) -> None:
    """Refuses what no ALFWorld game has, and where the native engine and the original might part."""
    facts = problem.facts
    if len(facts["atlocation"]) != 1:
        raise DataError(f"{where}: expected one agent at one location, found {len(facts['atlocation'])}.")
    for predicate in ("receptacleatlocation", "receptacletype", "objecttype"):
        several = [id for id, n in Counter(row[0] for row in facts[predicate]).items() if n > 1]
        if several:
            raise DataError(f"{where}: {_short(several[0])} has more than one {predicate}, expected one.")
    for predicate in ("receptacleatlocation", "receptacletype"):
        missing = set(problem.receptacles) - {row[0] for row in facts[predicate]}
        if missing:
            raise DataError(f"{where}: the receptacle {_short(min(missing))} has no {predicate}, expected one.")
    for predicate, suffix in (("receptacletype", "type"), ("objecttype", "type")):
        for _, kind in facts[predicate]:
            if not kind.endswith(suffix):
                raise DataError(f"{where}: the type {_short(kind)} does not end in 'Type', as ALFWorld's types do.")
            if kind == "sinktype" and predicate == "receptacletype":
                raise DataError(
                    f"{where}: a receptacle of SinkType; releases of ALFWorld disagree whether it washes things. "
                    'Play it with backend="textworld".'
                )
    for flag, able in (("issliced", "sliceable"), ("istoggled", "toggleable"), ("opened", "openable")):
        for id in set(problem.unary[flag]) - set(problem.unary[able]):
            raise DataError(f"{where}: {flag} holds of {_short(id)}, which is not {able}.")
    for id in (*problem.receptacles, *problem.objects):
        if not id.split("_bar_", 1)[0].isalnum() or "_bar_" not in id:
            raise DataError(f"{where}: {_short(id)} is no id of ALFWorld's, which look like Apple_bar__plus_01_dot_50.")


# --- Goals --------------------------------------------------------------------------------------------------------

_Formula = list[Any]
_Atom = tuple[str, ...]
_PUT = {("objecttype", "object1"), ("receptacletype", "receptacle1"), ("inreceptacle", "object1", "receptacle1")}
# The atoms of each goal. A variable is called after its type, numbered by declaration; type names are left out.
_FORMS: dict[frozenset[_Atom], TaskType] = {
    frozenset(_PUT): TaskType.PICK_AND_PLACE,
    frozenset({*_PUT, ("cleanable", "object1"), ("isclean", "object1")}): TaskType.CLEAN,
    frozenset({*_PUT, ("heatable", "object1"), ("ishot", "object1")}): TaskType.HEAT,
    frozenset({*_PUT, ("coolable", "object1"), ("iscool", "object1")}): TaskType.COOL,
    frozenset(
        {
            *_PUT,
            ("different", "object1", "object2"),
            ("objecttype", "object2"),
            ("inreceptacle", "object2", "receptacle1"),
        }
    ): TaskType.PICK_TWO,
    frozenset(
        {
            ("objecttype", "object1"),
            ("toggleable", "object1"),
            ("istoggled", "object1"),
            ("inreceptacle", "object1", "receptacle1"),
            ("receptacleatlocation", "receptacle1", "location1"),
            ("atlocation", "agent1", "location1"),
            ("objecttype", "object2"),
            ("holds", "agent2", "object2"),
        }
    ): TaskType.LOOK_IN_LIGHT,
}


def _goal(section: str, where: str) -> Goal:
    try:
        atoms = list(_atoms(["and", *_nested(section)], {}, Counter()))
    except (LookupError, TypeError, ValueError):
        atoms = []
    typed = {atom for atom in atoms if atom[0] in ("objecttype", "receptacletype") and len(atom) == 3}
    kinds = {variable: kind for _, variable, kind in typed}
    form = _FORMS.get(frozenset([atom[:2] if atom in typed else atom for atom in atoms]))
    two = form is TaskType.PICK_TWO and kinds["object1"] != kinds["object2"]
    if form is None or two or len(kinds) != len(typed) or not all(kind.endswith("type") for kind in kinds.values()):
        raise DataError(
            f"{where}: the goal {_short(' '.join(section.split()))} is none of ALFWorld's six forms. "
            'Play it with backend="textworld".'
        )
    kinds = {variable: _without_suffix(kind) for variable, kind in kinds.items()}
    if form is TaskType.LOOK_IN_LIGHT:
        return Goal(form, object_type=kinds["object2"], receptacle_type="", lamp_type=kinds["object1"])
    return Goal(form, object_type=kinds["object1"], receptacle_type=kinds["receptacle1"], lamp_type="")


def _nested(section: str) -> _Formula:
    """The formulas in `section`, up to the parenthesis that closes it. No goal of ALFWorld's nests deeper than 9."""
    stack: list[_Formula] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", section):
        if token == "(":
            stack.append([])
        elif token != ")":
            stack[-1].append(token)
        elif len(stack) == 1:
            break
        else:
            closed = stack.pop()
            stack[-1].append(closed)
        if len(stack) > 20:
            raise ValueError("nested too deep")
    return stack[0]


def _atoms(formula: _Formula, variables: Mapping[str, str], declared: Counter[str]) -> Iterator[_Atom]:
    """The atoms of a conjunction under existential quantifiers. Any other formula yields what is in no form."""
    match formula:
        case ["and", *parts]:
            for part in parts:
                yield from _atoms(part, variables, declared)
        case ["exists", [*words], *parts]:
            scope = dict(variables)
            for variable, kind in _declarations(" ".join(words), ""):
                declared[kind] += 1
                scope[variable] = f"{kind}{declared[kind]}"
            for part in parts:
                yield from _atoms(part, scope, declared)
        case ["not", ["=", str(one), str(other)]]:
            yield "different", *sorted((variables[one], variables[other]))
        case [str(name), *words]:
            yield name, *(variables.get(word, word) for word in words)
        case _:
            raise ValueError("not a formula")


# --- Helpers ------------------------------------------------------------------------------------------------------


def _without_suffix(kind: str) -> str:
    return kind.removesuffix("type")


def _short(value: object) -> str:
    if value is None:
        return "missing"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
