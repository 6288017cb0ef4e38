"""The ALFWorld oracle is exact: against brute force in small worlds, and by its laws in whole games."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.data import GeneratedGames, open_games
from rollback_gym.envs.alfworld.problem import compile_level
from rollback_gym.envs.alfworld.types import NOTHING, Goal, Level, Receptacle, State, TaskType, Thing
from rollback_gym.oracles import alfworld as oracle
from tests.oracles import reference

OFFICIAL = Path(__file__).parents[3] / "shared/alfworld/json_2.1.1.tar.xz"
PUT, LOOK, TWO = TaskType.PICK_AND_PLACE, TaskType.LOOK_IN_LIGHT, TaskType.PICK_TWO
CLEAN, HEAT, COOL = TaskType.CLEAN, TaskType.HEAT, TaskType.COOL


# --- Small worlds, written by hand -----------------------------------------------------------------------------


def world(
    task_type: TaskType,
    target: str,
    places: str,
    things: dict[str, str],
    *,
    at: int = 0,
    held: str = "",
    refused: dict[str, str] | None = None,
    fixed: str = "desklamp 1",
    clean: str = "",
    hot: str = "",
    cool: str = "",
    on: str = "",
    plain: str = "",
) -> Level:
    """A world in one line. `places` are like `shelf 1 @2, box 1 @3 shut`; location 0 is the bare middle of the room.

    `things` says which places each lies in; every apple is a target. `refused` names the places that do not take a
    thing, `fixed` what cannot be picked up, `plain` what can be neither cleaned, heated nor cooled.
    """
    receptacles = []
    opened = 0
    for text in places.split(", "):
        name, _, rest = text.partition(" @")
        spot, _, how = rest.partition(" ")
        opened |= (how == "open") << len(receptacles)
        receptacles.append(Receptacle(name, name, name.split()[0], int(spot), bool(how)))
    names = [receptacle.name for receptacle in receptacles]
    contained = list(things)

    def bits(listed: str) -> int:
        return sum(1 << contained.index(name) for name in listed.split(", ") if name)

    contents = [0] * len(names)
    for thing, homes in things.items():
        for home in homes.split(", "):
            if home:
                contents[names.index(home)] |= bits(thing)
    every = (1 << len(names)) - 1
    refusals = {thing: sum(1 << names.index(name) for name in no.split(", ")) for thing, no in (refused or {}).items()}
    lit = task_type is LOOK
    spots = max(receptacle.location for receptacle in receptacles) + 1
    return Level(
        id="hand-made",
        locator=("hand-made",),
        task="try it.",
        goal=Goal(task_type, "apple", "" if lit else target, target if lit else ""),
        receptacles=tuple(receptacles),
        things=tuple(
            Thing(
                name,
                name,
                name.split()[0],
                pickupable=name not in fixed.split(", "),
                cleanable=name not in plain.split(", "),
                heatable=name not in plain.split(", "),
                coolable=name not in plain.split(", "),
                sliceable=False,
                toggleable=name.startswith("desklamp"),
                inside=None,
            )
            for name in contained
        ),
        accepts=tuple(every & ~refusals.get(name, 0) for name in contained),
        at=tuple(tuple(n for n, place in enumerate(receptacles) if place.location == spot) for spot in range(spots)),
        start=State(
            location=at,
            held=contained.index(held) if held else NOTHING,
            opened=opened,
            clean=bits(clean),
            hot=bits(hot),
            cool=bits(cool),
            sliced=0,
            toggled=bits(on),
            contents=tuple(contents),
            located=(0,) * spots,
            stale=(0,) * len(names),
        ),
        walkthrough=(),
    )


KITCHEN = "table 1 @1, shelf 1 @2, sinkbasin 1 @3, microwave 1 @4 shut, fridge 1 @5 shut"
A, B, BOOK, LAMP = "apple 1", "apple 2", "book 1", "desklamp 1"

TRAPS = {
    "from the middle": (4, world(PUT, "shelf", KITCHEN, {A: "table 1"})),
    "already there": (0, world(PUT, "shelf", KITCHEN, {A: "shelf 1"})),
    "one place for both": (3, world(PUT, "box", "shelf 1 @1, box 1 @1", {A: "shelf 1"})),
    "goal closed": (5, world(PUT, "fridge", KITCHEN, {A: "table 1"})),
    "target behind a door": (5, world(PUT, "shelf", KITCHEN, {A: "fridge 1"})),
    "the nearest target counts": (4, world(PUT, "shelf", KITCHEN, {A: "fridge 1", B: "table 1"})),
    "the open goal counts": (4, world(PUT, "box", "box 1 @1 shut, box 2 @2 open, table 1 @3", {A: "table 1"})),
    "full hands": (5, world(PUT, "shelf", KITCHEN, {A: "table 1", BOOK: ""}, held=BOOK)),
    "full hands, put away on the way only": (
        6,
        world(PUT, "shelf", KITCHEN, {A: "table 1", BOOK: ""}, held=BOOK, refused={BOOK: "table 1, shelf 1"}),
    ),
    "full hands, the goal opened to put away": (
        6,
        world(PUT, "box", "box 1 @1 shut, table 1 @2", {A: "table 1", BOOK: ""}, at=1, held=BOOK,
              refused={BOOK: "table 1"}),
    ),
    "full hands, the target's place opened to put away": (
        5,
        world(PUT, "shelf", "shelf 1 @1, box 1 @2 shut", {A: "box 1", BOOK: ""}, at=2, held=BOOK,
              refused={BOOK: "shelf 1"}),
    ),
    "full hands that nothing takes": (
        math.inf,
        world(PUT, "box", "box 1 @1, table 1 @2", {A: "table 1", BOOK: ""}, held=BOOK,
              refused={BOOK: "box 1, table 1"}),
    ),
    "full hands with a target that its goal refuses": (
        5,
        world(PUT, "shelf", KITCHEN, {A: "", B: "table 1"}, held=A, refused={A: "shelf 1"}),
    ),
    "cannot be picked up": (math.inf, world(PUT, "shelf", KITCHEN, {A: "table 1"}, fixed=A)),
    "no place of the type": (math.inf, world(PUT, "box", KITCHEN, {A: "table 1"})),
    "lies nowhere": (math.inf, world(PUT, "shelf", KITCHEN, {A: ""})),
    "clean": (6, world(CLEAN, "shelf", KITCHEN, {A: "table 1"})),
    "clean and in the sink": (5, world(CLEAN, "sinkbasin", KITCHEN, {A: "table 1"})),
    "clean stays": (4, world(CLEAN, "shelf", KITCHEN, {A: "table 1"}, clean=A)),
    "there, but dirty": (6, world(CLEAN, "shelf", KITCHEN, {A: "shelf 1"})),
    "there and in a second place, dirty": (4, world(CLEAN, "shelf", KITCHEN, {A: "table 1, shelf 1"})),
    "cannot be cleaned": (math.inf, world(CLEAN, "shelf", KITCHEN, {A: "table 1"}, plain=A)),
    "clean, but not cleanable": (math.inf, world(CLEAN, "shelf", KITCHEN, {A: "shelf 1"}, clean=A, plain=A)),
    "heating needs no open door": (6, world(HEAT, "shelf", KITCHEN, {A: "table 1"})),
    "hot, then cooled": (4, world(HEAT, "shelf", KITCHEN, {A: ""}, held=A, cool=A)),
    "cool from the start": (2, world(COOL, "shelf", KITCHEN, {A: ""}, held=A, cool=A)),
    "cool in the fridge that is the goal": (3, world(COOL, "fridge", KITCHEN, {A: ""}, at=5, held=A)),
    "in the fridge, not cool": (4, world(COOL, "fridge", KITCHEN, {A: "fridge 1"}, at=5)),
    "the other one is cool": (4, world(COOL, "shelf", KITCHEN, {A: "table 1", B: "table 1"}, cool=B)),
    "hot in hand, a cool one here": (
        4, world(COOL, "shelf", KITCHEN, {A: "", B: "table 1"}, at=1, held=A, cool=B),
    ),
    "no fridge": (math.inf, world(COOL, "shelf", "shelf 1 @1, table 1 @2", {A: "table 1"})),
    "two": (8, world(TWO, "shelf", KITCHEN, {A: "table 1", B: "table 1"})),
    "two in two goals": (4, world(TWO, "shelf", "shelf 1 @1, shelf 2 @2", {A: "shelf 1", B: "shelf 2"})),
    "two, one right": (4, world(TWO, "shelf", KITCHEN, {A: "shelf 1", B: "table 1"})),
    "two, one right and fixed": (4, world(TWO, "shelf", KITCHEN, {A: "shelf 1", B: "table 1"}, fixed=A)),
    "two, one in hand": (6, world(TWO, "shelf", KITCHEN, {A: "", B: "table 1"}, held=A)),
    "two, one in hand and right": (4, world(TWO, "shelf", KITCHEN, {A: "shelf 1", B: "table 1"}, at=1, held=A)),
    "two, the third is near": (
        3, world(TWO, "shelf", "table 1 @1, shelf 1 @2, box 1 @2", {A: "table 1", B: "shelf 1", "apple 3": "box 1"}),
    ),
    "two, the goal beside one of them": (
        5, world(TWO, "shelf", "table 1 @1, box 1 @2, shelf 1 @2, shelf 2 @3", {A: "table 1", B: "box 1"}, at=1),
    ),
    "two, but only one": (math.inf, world(TWO, "shelf", KITCHEN, {A: "table 1, shelf 1"})),
    "light": (4, world(LOOK, "desklamp", KITCHEN, {A: "table 1", LAMP: "shelf 1"})),
    "light at the target's place": (3, world(LOOK, "desklamp", KITCHEN, {A: "table 1", LAMP: "table 1"})),
    "light was on": (3, world(LOOK, "desklamp", KITCHEN, {A: "table 1", LAMP: "shelf 1"}, on=LAMP)),
    "light was on, here": (1, world(LOOK, "desklamp", KITCHEN, {A: "table 1", LAMP: "table 1"}, at=1, on=LAMP)),
    "light, another target in hand": (
        2, world(LOOK, "desklamp", KITCHEN, {A: "table 1", B: "", LAMP: "shelf 1"}, held=B),
    ),
    "light, full hands": (
        6, world(LOOK, "desklamp", KITCHEN, {A: "table 1", BOOK: "", LAMP: "shelf 1"}, at=1, held=BOOK,
                 refused={BOOK: "table 1, shelf 1"}),
    ),
    "light in hand": (3, world(LOOK, "desklamp", KITCHEN, {A: "table 1", LAMP: ""}, at=1, held=LAMP, fixed="")),
    "light that lies nowhere": (math.inf, world(LOOK, "desklamp", KITCHEN, {A: "table 1", LAMP: ""})),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_traps(name: str) -> None:
    expected, level = TRAPS[name]
    assert reference.distance(level, level.start, 50_000) == expected
    assert oracle.distance(level, level.start) == expected
    check_laws(level, level.start)
    check_plan(level, level.start)


# --- Small worlds by chance, whole -------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_every_state_of_small_worlds(rng: Random) -> None:
    level = reference.small_world(rng, most_places=4, most_things=3)
    try:
        exact = reference.distances(level, level.start, limit=3000)
    except reference.TooManyStates:
        return
    for number, (state, expected) in enumerate(exact.items()):
        assert oracle.distance(level, state) == expected, state
        if number % 40 == 0:
            check_laws(level, state)
            check_plan(level, state)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_larger_small_worlds(rng: Random) -> None:
    level = reference.small_world(rng, most_places=6, most_things=5)
    try:
        expected = reference.distance(level, level.start, 6000, reference.concerned_commands)
    except reference.TooManyStates:
        return
    assert oracle.distance(level, level.start) == expected


# --- Whole games -------------------------------------------------------------------------------------------------


def games(source: str) -> Iterator[Level]:
    if source == "generated":
        found, split = GeneratedGames(), "valid_unseen"
    elif not OFFICIAL.exists():
        pytest.skip(f"ALFWorld's own games are missing: {OFFICIAL}")
    else:
        found, split = open_games(os.fspath(OFFICIAL)), "valid_seen"
    for id in found.ids(split):
        yield compile_level(found.game(id), id, (id,))


@pytest.fixture(scope="module", params=["generated", "official"])
def levels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Level]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROLLBACK_GYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        return list(games(request.param))


def wander(level: Level, rng: Random, steps: int) -> Iterator[State]:
    """States of a walk that prefers what changes something: taking, putting, opening, using."""
    state = level.start
    for _ in range(steps):
        offered = rules.actions(level, state)
        doing = [a for a in offered if not a.startswith(("go", "examine", "look", "help", "inventory"))]
        state = rules.step(level, state, rng.choice(rng.choice([offered, doing or offered]))).state
        yield state


def test_walkthroughs_are_shortest(levels: list[Level]) -> None:
    for level in levels:
        assert oracle.distance(level, level.start) == len(level.walkthrough), level.id
        check_plan(level, level.start)


def test_laws_in_whole_games(levels: list[Level]) -> None:
    # Holding in every state, these laws alone make L exact: it is never above (a plan exists) nor below the truth.
    rng = Random(0)
    for level in levels:
        for number, state in enumerate(wander(level, rng, 40)):
            if number % 4 == 3:
                check_laws(level, state)


def test_plans_win(levels: list[Level]) -> None:
    rng = Random(1)
    for level in levels:
        for number, state in enumerate(wander(level, rng, 40)):
            if number % 4 == 3:
                check_plan(level, state)


def test_against_search_in_whole_games(levels: list[Level]) -> None:
    rng = Random(2)
    for level in rng.sample(levels, 12):
        state = list(wander(level, rng, rng.randint(1, 30)))[-1]
        try:
            expected = reference.distance(level, state, 6000, reference.concerned_commands)
        except reference.TooManyStates:
            continue
        assert oracle.distance(level, state) == expected, (level.id, state)


def test_memory_changes_no_answer(levels: list[Level]) -> None:
    level = levels[-1]
    states = list(wander(level, Random(3), 60))
    warm = [(oracle.distance(level, state), oracle.optimal_actions(level, state)) for state in states]
    for state, answer in zip(states, warm, strict=True):
        level.memo.clear()
        assert (oracle.distance(level, state), oracle.optimal_actions(level, state)) == answer


def test_memory_is_bounded(levels: list[Level], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "_REMEMBERED", 5)
    level = levels[0]
    level.memo.clear()
    for state in wander(level, Random(4), 60):
        oracle.distance(level, state)
        assert len(level.memo["oracle"].outlooks) <= 5


def check_laws(level: Level, state: State) -> None:
    """L is 0 iff won, no command lowers it by more than 1, and the optimal ones are all that lower it."""
    left = oracle.distance(level, state)
    assert isinstance(left, float)
    assert (left == 0) == reference.won(level, state) == rules.won(level, state)
    lowering = []
    for command in rules.actions(level, state):
        after = oracle.distance(level, rules.step(level, state, command).state)
        assert after >= left - 1, (level.id, state, command)
        if after < left:
            lowering.append(command)
    expected = tuple(sorted(lowering)) if 0 < left < math.inf else ()
    assert oracle.optimal_actions(level, state) == expected, (level.id, state)
    assert bool(expected) == (0 < left < math.inf)


def check_plan(level: Level, state: State) -> None:
    """The plan is admissible, wins with its last command, and is as long as L says."""
    left = oracle.distance(level, state)
    plan = oracle.plan(level, state)
    assert plan == oracle.plan(level, state)
    assert len(plan) == (0 if left == math.inf else left)
    for number, command in enumerate(plan, start=1):
        state, _, _, _, won, invalid = rules.step(level, state, command)
        assert invalid is None
        assert won == (number == len(plan))
