"""Game files are read as ALFWorld means them, or refused with a sentence that says what is wrong."""

import json
import pickle
import random
import re
import tarfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.core.bits import numbers
from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.problem import Game, compile_level, read_game
from rollback_gym.envs.alfworld.types import NOTHING, Goal, Level, TaskType
from tests.envs.alfworld import kitchen

OFFICIAL = Path(__file__).parents[4] / "shared/alfworld/json_2.1.1.tar.xz"


def compiled(text: str, **options: Any) -> Level:
    return compile_level(Game("kitchen", text, "do it.", ()), "kitchen", (), **options)


@pytest.fixture(scope="module")
def official() -> list[tuple[str, bytes]]:
    """A few of ALFWorld's own games."""
    if not OFFICIAL.exists():
        pytest.skip(f"ALFWorld's games are not at {OFFICIAL}")
    return list(first_games(OFFICIAL, 30))


def first_games(archive: Path, count: int) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as members:
        for member in members:
            file = members.extractfile(member) if member.name.endswith(".tw-pddl") else None
            if file is not None:
                yield member.name, file.read()
                count -= 1
                if not count:
                    return


# --- Files --------------------------------------------------------------------------------------------------------


def test_a_whole_file_is_read() -> None:
    game = read_game(kitchen.game_file(walkthrough=["look", "help"]), "here")
    assert game == Game("here", kitchen.problem(), "do it.", ("look", "help"))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not a whole ALFWorld game file"),
        (kitchen.game_file()[:-100], "not a whole ALFWorld game file"),
        (b"\xff\xfe\x00", "not a whole ALFWorld game file"),
        (b"[" * 100_000, "not a whole ALFWorld game file"),
        (b"[]", "expected a JSON object"),
        (b"null", "expected a JSON object"),
        (kitchen.game_file(pddl_domain=None), "'pddl_domain' is missing"),
        (kitchen.game_file(pddl_problem=3), "'pddl_problem' is 3, expected text"),
        (kitchen.game_file(grammar=[]), r"'grammar' is \[\], expected text"),
        (kitchen.game_file(solvable=False), "'solvable' is False"),
        (kitchen.game_file(solvable=None), "'solvable' is missing"),
        (kitchen.game_file(solvable="yes"), "'solvable' is 'yes'"),
        (kitchen.game_file(walkthrough=None), "'walkthrough' is missing"),
        (kitchen.game_file(walkthrough=["look", 1]), "expected a list of commands"),
    ],
)
def test_a_damaged_file_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(DataError, match=rf"^some/file: .*{complaint}"):
        read_game(data, "some/file")


@given(st.binary(max_size=200) | st.integers(0, 5000).map(lambda cut: kitchen.game_file()[:cut]))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        read_game(data, "bytes")


def test_other_rules_are_refused() -> None:
    whole = kitchen.content()
    for key, old, new in (
        ("pddl_domain", "(isHot ?o) (not (isCool ?o))", "(isHot ?o)"),
        ("grammar", "You turn on the", "You switch on the"),
        ("grammar", "Available commands:\n  look", "Available commands:\n look"),
    ):
        assert old in whole[key]
        with pytest.raises(DataError, match=r"is not ALFWorld's.*TextWorld itself"):
            read_game(json.dumps({**whole, key: whole[key].replace(old, new)}).encode(), "file")


def test_spacing_and_comments_of_the_rules_do_not_matter() -> None:
    whole = kitchen.content()
    domain = whole["pddl_domain"].replace("(:action", "\n;; (a comment)\r\n  ( :action").upper()
    grammar = whole["grammar"].replace("action ", "\n\n  action  ").replace("{ template", "{\r\n\ttemplate")
    assert read_game(json.dumps({**whole, "pddl_domain": domain, "grammar": grammar}).encode(), "file")


@pytest.mark.parametrize("task", ["put a mug in it.", "é -- (one) / two's, 100%!", "ends in a space "])
def test_the_task_sentence_is_kept_word_for_word(task: str) -> None:
    grammar = kitchen.GRAMMAR.replace("is to: TASK", f"is to: {json.dumps(task)[1:-1]}")
    assert read_game(kitchen.game_file(grammar=grammar), "file").task == task


@pytest.mark.parametrize("task", ["", "  ", r"a\nb", "look [here]", "a #b#", "{c}", "d -> e", r"\"quoted\"", r"bad \q"])
def test_a_task_sentence_that_the_grammar_would_change_is_refused(task: str) -> None:
    with pytest.raises(DataError, match="task sentence"):
        read_game(kitchen.game_file(grammar=kitchen.GRAMMAR.replace("is to: TASK", f"is to: {task}")), "file")


def test_a_file_without_a_task_sentence_is_refused() -> None:
    with pytest.raises(DataError, match="expected one task sentence"):
        read_game(kitchen.game_file(grammar=kitchen.GRAMMAR.replace("Your task is to", "Do")), "file")


# --- Problems -----------------------------------------------------------------------------------------------------


def test_the_kitchen_is_compiled() -> None:
    level = kitchen.level()
    assert [receptacle.name for receptacle in level.receptacles] == [
        *("cabinet 2", "cabinet 1", "countertop 1", "fridge 1", "microwave 1", "sidetable 1", "sinkbasin 1"),
    ]
    assert level.at == ((), (0, 1), (2,), (6,), (4,), (3,), (5,))
    assert level.receptacles[6].type == "sinkbasin"
    assert [receptacle.openable for receptacle in level.receptacles] == [True, False, False, True, True, False, False]
    things = {thing.name: (number, thing) for number, thing in enumerate(level.things)}
    assert list(things) == [
        *("apple 2", "apple 1", "bowl 1", "cup 1", "desklamp 1", "egg 1", "knife 1", "mug 1", "odd 1", "pot 1"),
        *("spoon 1", "window 1"),
    ]
    spoon, apple, cup, mug = (things[name][0] for name in ("spoon 1", "apple 2", "cup 1", "mug 1"))
    assert things["bowl 1"][1].inside == (spoon,)
    assert things["odd 1"][1].type == ""
    assert level.accepts[apple] == 0b1111111
    assert level.accepts[spoon] == 0
    assert not things["window 1"][1].pickupable
    start = level.start
    assert (start.location, start.held, start.opened) == (0, NOTHING, 0)
    assert numbers(start.cool) == [cup]
    assert start.contents[0] == start.contents[1] == 1 << mug
    assert start.located[1] == 1 << mug, "every object where receptacles share the location"
    assert numbers(start.located[2]) == [apple], "sliceable ones elsewhere; the second apple lies at the sink"
    assert start.located[0] == 0


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("put", Goal(TaskType.PICK_AND_PLACE, "apple", "cabinet", "")),
        ("clean", Goal(TaskType.CLEAN, "apple", "cabinet", "")),
        ("heat", Goal(TaskType.HEAT, "apple", "cabinet", "")),
        ("cool", Goal(TaskType.COOL, "apple", "cabinet", "")),
        ("two", Goal(TaskType.PICK_TWO, "apple", "cabinet", "")),
        ("look", Goal(TaskType.LOOK_IN_LIGHT, "apple", "", "desklamp")),
    ],
)
def test_the_six_goals_are_recognised(goal: str, expected: Goal) -> None:
    assert kitchen.level(goal).goal == expected


@pytest.mark.parametrize(
    "goal",
    [
        "",
        "(holds agent1 Apple_bar_1)",
        "(exists (?o - object) (isHot ?o))",
        kitchen.GOALS["put"].replace("(inReceptacle ?o ?r)", "(not (inReceptacle ?o ?r))"),
        kitchen.GOALS["put"].replace("(inReceptacle ?o ?r)", "(or (inReceptacle ?o ?r))"),
        kitchen.GOALS["put"].replace("and", "or"),
        kitchen.GOALS["put"]
        .replace("(?o - object)", "(?o - object ?p - object)")
        .replace("(objectType ?o", "(objectType ?p"),
        kitchen.GOALS["put"] + kitchen.GOALS["clean"],
        kitchen.GOALS["clean"].replace("(cleanable ?o)", ""),
        kitchen.GOALS["heat"].replace("isHot", "isCool"),
        kitchen.GOALS["two"].replace("(not (= ?o1 ?o2))", ""),
        kitchen.GOALS["two"].replace("?o2 AppleType", "?o2 MugType"),
        kitchen.GOALS["two"].replace("(= ?o1 ?o2)", "(= ?o1 ?o1)"),
        kitchen.GOALS["look"].replace("(isToggled ?ot)", ""),
        kitchen.GOALS["look"].replace("(holds ?a ?o)", "(holds ?a ?ot)"),
        "(" * 50 + ")" * 50,
        "(exists)",
        "(not (= ?a ?b))",
    ],
)
def test_any_other_goal_is_refused(goal: str) -> None:
    with pytest.raises(DataError, match=r"kitchen: .*none of ALFWorld's six forms"):
        compiled(kitchen.problem().replace(kitchen.GOALS["put"], goal))


def test_spacing_comments_case_and_order_do_not_matter() -> None:
    text = kitchen.problem()
    facts = re.findall(r"\([^()]*\)", kitchen.FACTS)
    random.Random(0).shuffle(facts)
    goal_first = re.sub(r"(\(:init .*\)) (\(:goal .*\))\)$", r"\2 \1)", text, flags=re.DOTALL)
    assert goal_first.index("(:goal") < goal_first.index("(:init")
    for other in (
        text.upper(),
        text.replace("(", "\n( ").replace(")", "\t)\r\n"),
        text.replace("(openable", "; (opened Fridge_bar_1)\n(openable"),
        text.replace(kitchen.FACTS, " ".join(facts)),
        text.replace(kitchen.FACTS, kitchen.FACTS * 2),
        text.replace(kitchen.FACTS, "(= (total-cost) 0) (= (distance loc_bar_1 loc_bar_2) 3)" + kitchen.FACTS),
        text[:-1] + "(:metric minimize (total-cost)))",
        goal_first,
    ):
        assert compiled(other).digest == kitchen.level().digest


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("(:init", "(:start"), "not a whole ALFWorld problem"),
        (("(define", "(undefine"), "not a whole ALFWorld problem"),
        (("(:goal (and", "(:goal"), "not a whole ALFWorld problem"),
        (("(:init", "(:init) (:init"), "not a whole ALFWorld problem"),
        (("loc_bar_7 - location", "loc_bar_7"), "declared without a type"),
        (("(openable Fridge_bar_1)", "openable Fridge_bar_1"), "not a list of plain facts"),
        (("(openable Fridge_bar_1)", "(not (openable Fridge_bar_1))"), "not a list of plain facts"),
        (("(openable Fridge_bar_1)", "()"), "no fact of ALFWorld's"),
        (("(openable Fridge_bar_1)", "(locked Fridge_bar_1)"), "no fact of ALFWorld's"),
        (("(openable Fridge_bar_1)", "(openable Apple_bar_1)"), "should be"),
        (("(openable Fridge_bar_1)", "(openable Fridge_bar_9)"), "should be"),
        (("(openable Fridge_bar_1)", "(openable Fridge_bar_1 Fridge_bar_1)"), "should be"),
        (("(openable Fridge_bar_1)", "(holds agent1 Apple_bar_1)"), "no fact of ALFWorld's"),
        (("(atLocation agent1 loc_bar_0)", ""), "expected one agent at one location, found 0"),
        (("(atLocation agent1 loc_bar_0)", "(atLocation agent1 loc_bar_0) (atLocation agent1 loc_bar_1)"), "found 2"),
        (("(receptacleAtLocation Fridge_bar_1 loc_bar_5)", ""), "no receptacleatlocation"),
        (("(receptacleType Fridge_bar_1 FridgeType)", ""), "no receptacletype"),
        (("(openable Fridge_bar_1)", "(receptacleAtLocation Fridge_bar_1 loc_bar_1)"), "more than one receptacleat"),
        (("(openable Fridge_bar_1)", "(objectType Cup_bar_1 MugType)"), "more than one objecttype"),
        (("FridgeType", "Fridge"), "does not end in 'Type'"),
        (("SinkBasinType", "SinkType"), "SinkType"),
        (("(openable Fridge_bar_1)", "(opened Fridge_bar_1)"), "opened holds of .* not openable"),
        (("Window_bar_1", "Window"), "no id of ALFWorld's"),
        (("Window_bar_1", "a-b_bar_1"), "no id of ALFWorld's"),
        (("(inReceptacle Apple_bar_1 CounterTop_bar_1)", "(inReceptacle Apple_bar_1 Cabinet_bar_1)"), "already solved"),
    ],
)
def test_any_other_problem_is_refused(change: tuple[str, str], complaint: str) -> None:
    assert change[0] in kitchen.problem()
    with pytest.raises(DataError, match=rf"^kitchen: .*{complaint}"):
        compiled(kitchen.problem().replace(*change))


@settings(max_examples=200)
@given(st.integers(0, 6000), st.integers(0, 300), st.text("()abc -?:", max_size=8))
def test_a_mangled_problem_is_compiled_or_refused(at: int, cut: int, put: str) -> None:
    text = kitchen.problem()
    try:
        compiled(text[:at] + put + text[at + cut :])
    except DataError as error:
        assert str(error).startswith("kitchen: ")  # noqa: PT017 -- whether it is refused depends on where it was cut


# --- Levels -------------------------------------------------------------------------------------------------------


def test_a_level_survives_pickle_and_copies_to_itself() -> None:
    level = kitchen.level()
    rules.actions(level, level.start)
    assert level.memo
    again = pickle.loads(pickle.dumps(level))
    assert (again.digest, again.memo) == (level.digest, {})
    assert (again.id, again.locator, again.walkthrough) == (level.id, level.locator, level.walkthrough)
    assert deepcopy(level) is level
    assert len(pickle.dumps(level)) < 4000


def test_the_digest_tells_levels_apart_by_what_decides_play() -> None:
    level = kitchen.level()
    assert level.digest == "40b2254116ff8d9c452d72d06402726a68d2b1d7a3b23a99a19d70b9b9bd937f", "the same everywhere"
    assert compile_level(Game("x", kitchen.problem(), "do it.", ("help",)), "other", (1,)).digest == level.digest
    others = [
        kitchen.level("clean"),
        kitchen.level(facts="(isClean Mug_bar_1)"),
        kitchen.level(facts="(opened Fridge_bar_1)"),
        kitchen.level(facts="(canContain FridgeType MugType)"),
        compile_level(Game("x", kitchen.problem(), "do that.", ()), "x", ()),
    ]
    assert len({level.digest, *(other.digest for other in others)}) == 6


def test_numbers_are_shuffled_as_the_original_shuffles_them() -> None:
    misc = pytest.importorskip("alfworld.agents.utils.misc", reason="needs the extra alfworld")
    shuffled = set()
    for seed in range(5):
        level = compiled(kitchen.problem(), numbering=random.Random(seed))
        ids = {id.lower() for fact in re.findall(r"\((\w+[^()]*)\)", kitchen.FACTS) for id in fact.split()[1:]}
        assert names(level) == genuine_names(misc.Demangler, ids, names(level), seed)
        shuffled.add(tuple(names(level).values()))
    assert len(shuffled) > 1


def test_official_games_are_compiled_and_named_as_the_original_names_them(official: list[tuple[str, bytes]]) -> None:
    misc = pytest.importorskip("alfworld.agents.utils.misc", reason="needs the extra alfworld")
    for id, data in official:
        game = read_game(data, id)
        facts = game.problem[game.problem.index("(:init") : game.problem.index("(:goal")].lower()
        ids = {word for fact in re.findall(r"\((\w+[^()]*)\)", facts) for word in fact.split()[1:]}
        plain = compile_level(game, id, ())
        assert names(plain) == genuine_names(misc.Demangler, ids, names(plain), None)
        shuffled = compile_level(game, id, (), random.Random(id))
        assert names(shuffled) == genuine_names(misc.Demangler, ids, names(shuffled), id)


def test_official_walkthroughs_win(official: list[tuple[str, bytes]]) -> None:
    for id, data in official:
        level = compile_level(read_game(data, id), id, ())
        state, won = level.start, False
        for command in level.walkthrough:
            assert command in rules.actions(level, state)
            assert not won
            state, _, _, _, won, _ = rules.step(level, state, command)
        assert won
        assert level.goal.task_type in id


def names(level: Level) -> dict[str, str]:
    return {one.id: one.name for one in (*level.receptacles, *level.things)}


def genuine_names(demangler: Any, ids: set[str], wanted: dict[str, str], seed: Any) -> dict[str, str]:
    """ALFWorld's names; it shuffles with the global generator, which is left as it was."""
    infos = {id: type("Info", (), {"id": id}) for id in ids}
    before = random.getstate()
    try:
        if seed is not None:
            random.seed(seed)
        genuine = demangler(game_infos=infos, shuffle=seed is not None)
    finally:
        random.setstate(before)
    return {id: genuine.demangle_alfred_name(id) for id in wanted}


def test_compiling_leaves_the_global_generator_alone() -> None:
    before = random.getstate()
    compiled(kitchen.problem(), numbering=random.Random(1))
    assert random.getstate() == before
