"""Reads ALFWorld's problems: the PDDL that says what is where, and what is to be done."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld.types import Goal, TaskType


class Problem(NamedTuple):
    """A problem, checked: whatever `compile_level` reads of it is there, once, and of the right type."""

    facts: Mapping[str, Collection[tuple[str, ...]]]
    """Predicate -> its argument tuples, without repetitions."""
    unary: Mapping[str, Collection[str]]
    """One-place predicate -> the ids it holds of."""
    ids: Collection[str]
    """Whatever is named in a fact."""
    receptacles: Collection[str]
    """Ids, sorted."""
    objects: Collection[str]
    """Ids, sorted."""
    goal: Goal


# Predicate -> the types of its arguments. No rule and no text reads the last ones, from `wasinreceptacle` on.
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
_FACTS = re.compile(r"(?:\s*+\([^()]*+\))*+\s*+\)[\s)]*+")
_FACT = re.compile(r"\(([^()]*)\)")
_COST = re.compile(r"\(\s*=\s*\([^()]*\)\s*[\d.]+\s*\)|\(\s*:metric\s[^()]*(?:\([^()]*\))?\s*\)")


def parse(problem: str, where: str) -> Problem:
    """Reads a PDDL `problem`; `where` names its file in messages.

    Spacing, comments, case and the order of sections and facts do not matter. Raises DataError for whatever no game of
    ALFWorld has.
    """
    text = problem.lower()
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
    ids = {id for rows in facts.values() for id in chain.from_iterable(rows)}
    parsed = Problem(
        facts,
        unary,
        ids,
        sorted([id for id in ids if types[id] == "receptacle"]),
        sorted([id for id in ids if types[id] == "object"]),
        _goal(sections["goal"], where),
    )
    _check(parsed, where)
    return parsed


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
        raise DataError(f"{where}: {short(waiting[0])} is declared without a type. Fetch the file again.")


def _facts(section: str, types: Mapping[str, str], where: str) -> Mapping[str, Collection[tuple[str, ...]]]:
    if not _FACTS.fullmatch(section):
        raise DataError(f"{where}: the problem's :init is not a list of plain facts. Fetch the file again.")
    rows: dict[str, dict[tuple[str, ...], None]] = {name: {} for name in _PREDICATES}
    for fact in _FACT.findall(section):
        name, *arguments = fact.split() or [""]
        if name not in rows:
            raise DataError(f"{where}: no fact of ALFWorld's is like ({short(fact)}). Fetch the file again.")
        rows[name][tuple(arguments)] = None
    for name, expected in _PREDICATES.items():
        columns = [set(map(types.get, column)) for column in zip_longest(*rows[name])]
        if columns and columns != [{kind} for kind in expected]:
            wrong = next(row for row in rows[name] if tuple(map(types.get, row)) != expected)
            raise DataError(
                f"{where}: ({name} {' '.join(wrong)}) in :init should be ({name} {' '.join(expected)}), all of them "
                "declared in :objects. Fetch the file again."
            )
    return {name: list(unique) for name, unique in rows.items()}


def _check(problem: Problem, where: str) -> None:
    """Refuses what no ALFWorld game has, and where the native engine and the original might part."""
    facts = problem.facts
    if len(facts["atlocation"]) != 1:
        raise DataError(f"{where}: expected one agent at one location, found {len(facts['atlocation'])}.")
    for predicate in ("receptacleatlocation", "receptacletype", "objecttype"):
        several = [id for id, n in Counter(row[0] for row in facts[predicate]).items() if n > 1]
        if several:
            raise DataError(f"{where}: {short(several[0])} has more than one {predicate}, expected one.")
    for predicate in ("receptacleatlocation", "receptacletype"):
        missing = set(problem.receptacles) - {row[0] for row in facts[predicate]}
        if missing:
            raise DataError(f"{where}: the receptacle {short(min(missing))} has no {predicate}, expected one.")
    for predicate, suffix in (("receptacletype", "type"), ("objecttype", "type")):
        for _, kind in facts[predicate]:
            if not kind.endswith(suffix):
                raise DataError(f"{where}: the type {short(kind)} does not end in 'Type', as ALFWorld's types do.")
            if kind == "sinktype" and predicate == "receptacletype":
                raise DataError(
                    f"{where}: a receptacle of SinkType; releases of ALFWorld disagree whether it washes things. "
                    "TextWorld itself (textworld.envs.pddl.PddlEnv) plays it."
                )
    for flag, able in (("issliced", "sliceable"), ("istoggled", "toggleable"), ("opened", "openable")):
        for id in sorted(set(problem.unary[flag]) - set(problem.unary[able])):
            raise DataError(f"{where}: {flag} holds of {short(id)}, which is not {able}.")
    for id in (*problem.receptacles, *problem.objects):
        if not id.split("_bar_", 1)[0].isalnum() or "_bar_" not in id:
            raise DataError(f"{where}: {short(id)} is no id of ALFWorld's, which look like Apple_bar__plus_01_dot_50.")


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
            f"{where}: the goal {short(' '.join(section.split()))} is none of ALFWorld's six forms. "
            "TextWorld itself (textworld.envs.pddl.PddlEnv) plays it."
        )
    kinds = {variable: without_suffix(kind) for variable, kind in kinds.items()}
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


def without_suffix(kind: str) -> str:
    """The type without `type` at its end, which all of ALFWorld's have."""
    return kind.removesuffix("type")


def short(value: object) -> str:
    """`value` for a message."""
    if value is None:
        return "missing"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
