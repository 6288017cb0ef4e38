"""ALFWorld's rules, on a kitchen written by hand. `test_fidelity` plays the same scenes in the genuine engine."""

import random
import sys
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.core.simulator import Transition
from rollback_gym.envs.alfworld import rules, tables, text
from rollback_gym.envs.alfworld.types import NOTHING, Level, State
from tests.envs.alfworld import kitchen

MIDDLE = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, a countertop 1, "
    "a fridge 1, a microwave 1, a sidetable 1, and a sinkbasin 1."
)
NOTHING_HAPPENS = "Nothing happens."
COUNTERTOP = "On the countertop 1, you see a apple 2, a apple 1, a bowl 1, a knife 1, and a spoon 1."
LOOK_AT_CABINETS = "You are facing the cabinet 2, and cabinet 1. Next to it, you see"

# Each scene is a list of (command, what it answers), from the start.
SCENES: dict[str, list[tuple[str, str]]] = {
    "looking": [
        ("look", "You are in the middle of a room. Looking quickly around you, you see nothing."),
        ("inventory", "You are not carrying anything."),
        ("help", text.HELP),
        ("  look \n", "You are in the middle of a room. Looking quickly around you, you see nothing."),
        ("go to countertop 1", f"You arrive at countertop 1. {COUNTERTOP}"),
        ("look", "You are facing the countertop 1. Next to it, you see nothing."),
        ("examine countertop 1", COUNTERTOP),
        ("examine apple 1", NOTHING_HAPPENS),
        ("go to countertop 1", NOTHING_HAPPENS),
        ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."),
        ("go to sidetable 1", "You arrive at sidetable 1. On the sidetable 1, you see a cup 1, and a desklamp 1."),
    ],
    "what is not understood": [
        ("", NOTHING_HAPPENS),
        ("xyzzy", NOTHING_HAPPENS),
        ("Look", NOTHING_HAPPENS),
        ("look around", NOTHING_HAPPENS),
        ("go to  countertop 1", NOTHING_HAPPENS),
        ("go countertop 1", NOTHING_HAPPENS),
        ("go to countertop 2", NOTHING_HAPPENS),
        ("go to apple 1", NOTHING_HAPPENS),
        ("take apple 1", NOTHING_HAPPENS),
        ("put apple 1 in/on countertop 1", NOTHING_HAPPENS),
        ("take apple 1 from countertop 1", NOTHING_HAPPENS),
        ("examine", NOTHING_HAPPENS),
        ("go to loc 1", NOTHING_HAPPENS),
    ],
    "opening and closing": [
        ("open fridge 1", NOTHING_HAPPENS),
        ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed."),
        ("close fridge 1", NOTHING_HAPPENS),
        ("open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see nothing."),
        ("open fridge 1", NOTHING_HAPPENS),
        ("examine fridge 1", "The fridge 1 is open. In it, you see nothing."),
        ("go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed."),
        ("take egg 1 from microwave 1", NOTHING_HAPPENS),
        ("open microwave 1", "You open the microwave 1. The microwave 1 is open. In it, you see a egg 1."),
        ("take egg 1 from microwave 1", "You pick up the egg 1 from the microwave 1."),
        ("close microwave 1", "You close the microwave 1."),
        ("move egg 1 to microwave 1", NOTHING_HAPPENS),
        ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is open. In it, you see nothing."),
        ("move egg 1 to fridge 1", NOTHING_HAPPENS),
        ("go to countertop 1", f"You arrive at countertop 1. {COUNTERTOP}"),
        ("open countertop 1", NOTHING_HAPPENS),
        ("close countertop 1", NOTHING_HAPPENS),
    ],
    "a mug in two cabinets at one location": [
        ("go to cabinet 1", "You arrive at cabinet 1. On the cabinet 1, you see a mug 1."),
        ("go to cabinet 2", NOTHING_HAPPENS),
        ("look", f"{LOOK_AT_CABINETS} nothing."),
        ("open cabinet 2", "You open the cabinet 2. The cabinet 2 is open. In it, you see a mug 1."),
        ("take mug 1 from cabinet 1", "You pick up the mug 1 from the cabinet 1."),
        ("take mug 1 from cabinet 2", NOTHING_HAPPENS),
        ("look", f"{LOOK_AT_CABINETS} nothing."),
        ("examine cabinet 2", "The cabinet 2 is open. In it, you see a mug 1."),
        ("move mug 1 to cabinet 2", "You move the mug 1 to the cabinet 2."),
        ("look", f"{LOOK_AT_CABINETS} a mug 1."),
        ("take mug 1 from cabinet 2", "You pick up the mug 1 from the cabinet 2."),
        ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."),
        ("move mug 1 to sinkbasin 1", "You move the mug 1 to the sinkbasin 1."),
        ("take mug 1 from sinkbasin 1", "You pick up the mug 1 from the sinkbasin 1."),
        ("go to cabinet 2", "You arrive at cabinet 2. The cabinet 2 is open. In it, you see nothing."),
        ("move mug 1 to cabinet 1", "You move the mug 1 to the cabinet 1."),
        ("look", f"{LOOK_AT_CABINETS} a mug 1."),
        ("take mug 1 from cabinet 1", "You pick up the mug 1 from the cabinet 1."),
        ("move mug 1 to cabinet 2", "You move the mug 1 to the cabinet 2."),
        ("look", f"{LOOK_AT_CABINETS} a mug 1."),
    ],
    "carrying": [
        ("go to countertop 1", f"You arrive at countertop 1. {COUNTERTOP}"),
        ("take bowl 1 from countertop 1", "You pick up the bowl 1 from the countertop 1."),
        ("take apple 1 from countertop 1", NOTHING_HAPPENS),
        ("inventory", "You are carrying: a bowl 1."),
        ("examine bowl 1", "This is a normal bowl 1. In it, you see a spoon 1."),
        ("move bowl 1 to countertop 1", NOTHING_HAPPENS),
        ("move apple 1 to countertop 1", NOTHING_HAPPENS),
    ],
    "slicing": [
        ("go to countertop 1", f"You arrive at countertop 1. {COUNTERTOP}"),
        ("slice apple 2 with knife 1", NOTHING_HAPPENS),
        ("take knife 1 from countertop 1", "You pick up the knife 1 from the countertop 1."),
        ("slice apple 1 with knife 1", NOTHING_HAPPENS),
        ("slice apple 2 with knife 1", "You sliced the apple 2 with the knife 1."),
        ("slice apple 2 with knife 1", "You sliced the apple 2 with the knife 1."),
        ("slice spoon 1 with knife 1", NOTHING_HAPPENS),
        ("slice apple 2 with spoon 1", NOTHING_HAPPENS),
        ("go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed."),
        ("slice egg 1 with knife 1", "You sliced the egg 1 with the knife 1."),
        ("examine knife 1", "There's nothing special about knife 1."),
        (
            "go to countertop 1",
            "You arrive at countertop 1. On the countertop 1, you see a apple 2, a apple 1, a bowl 1, and a spoon 1.",
        ),
        ("move knife 1 to countertop 1", "You move the knife 1 to the countertop 1."),
        ("take apple 2 from countertop 1", "You pick up the apple 2 from the countertop 1."),
        ("examine apple 2", "This is a sliced apple 2."),
        ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."),
        ("clean apple 2 with sinkbasin 1", "You clean the apple 2 using the sinkbasin 1."),
        ("examine apple 2", "This is a clean sliced apple 2."),
        ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed."),
        ("cool apple 2 with fridge 1", "You cool the apple 2 using the fridge 1."),
        ("examine apple 2", "This is a cool and clean sliced apple 2."),
        ("go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed."),
        ("heat apple 2 with microwave 1", "You heat the apple 2 using the microwave 1."),
        ("examine apple 2", "This is a hot and clean sliced apple 2."),
    ],
    "hot and cold": [
        ("go to sidetable 1", "You arrive at sidetable 1. On the sidetable 1, you see a cup 1, and a desklamp 1."),
        ("take cup 1 from sidetable 1", "You pick up the cup 1 from the sidetable 1."),
        ("examine cup 1", "This is a cold cup 1."),
        ("heat cup 1 with microwave 1", NOTHING_HAPPENS),
        ("go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed."),
        ("cool cup 1 with microwave 1", NOTHING_HAPPENS),
        ("heat cup 1 with microwave 1", "You heat the cup 1 using the microwave 1."),
        ("examine cup 1", "This is a hot cup 1."),
        ("heat cup 1 with microwave 1", "You heat the cup 1 using the microwave 1."),
        ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed."),
        ("cool cup 1 with fridge 1", "You cool the cup 1 using the fridge 1."),
        ("examine cup 1", "This is a cold cup 1."),
        ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."),
        ("clean cup 1 with sinkbasin 1", NOTHING_HAPPENS),
    ],
    "washing": [
        ("go to countertop 1", f"You arrive at countertop 1. {COUNTERTOP}"),
        ("take apple 1 from countertop 1", "You pick up the apple 1 from the countertop 1."),
        ("examine apple 1", "There's nothing special about apple 1."),
        ("clean apple 1 with sinkbasin 1", NOTHING_HAPPENS),
        ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."),
        ("clean apple 1 with sinkbasin 1", "You clean the apple 1 using the sinkbasin 1."),
        ("examine apple 1", "This is a clean apple 1."),
        ("heat apple 1 with microwave 1", NOTHING_HAPPENS),
    ],
    "the lamp": [
        ("use desklamp 1", NOTHING_HAPPENS),
        ("go to sidetable 1", "You arrive at sidetable 1. On the sidetable 1, you see a cup 1, and a desklamp 1."),
        ("take desklamp 1 from sidetable 1", NOTHING_HAPPENS),
        ("use cup 1", NOTHING_HAPPENS),
        ("use desklamp 1", "You turn on the desklamp 1."),
        ("use desklamp 1", "You turn on the desklamp 1."),
        ("examine desklamp 1", NOTHING_HAPPENS),
    ],
}

WINS = {
    "put": ["go to countertop 1", "take apple 1 from countertop 1", "go to cabinet 1", "move apple 1 to cabinet 1"],
    "clean": [
        *("go to countertop 1", "take apple 2 from countertop 1", "go to sinkbasin 1"),
        *("clean apple 2 with sinkbasin 1", "go to cabinet 1", "move apple 2 to cabinet 1"),
    ],
    "heat": [
        *("go to countertop 1", "take apple 2 from countertop 1", "go to microwave 1"),
        *("heat apple 2 with microwave 1", "go to cabinet 1", "move apple 2 to cabinet 1"),
    ],
    "cool": [
        *("go to countertop 1", "take apple 2 from countertop 1", "go to fridge 1"),
        *("cool apple 2 with fridge 1", "go to cabinet 1", "move apple 2 to cabinet 1"),
    ],
    "two": [
        *("go to countertop 1", "take apple 1 from countertop 1", "go to cabinet 2", "move apple 1 to cabinet 1"),
        *("go to countertop 1", "take apple 2 from countertop 1", "go to cabinet 1", "move apple 2 to cabinet 1"),
    ],
    "look": [
        *("go to sidetable 1", "use desklamp 1", "go to countertop 1", "take apple 1 from countertop 1"),
        "go to sidetable 1",
    ],
}


def play(level: Level, commands: list[str]) -> list[Transition]:
    state, transitions = level.start, []
    for command in commands:
        transitions.append(rules.step(level, state, command))
        state = transitions[-1].state
    return transitions


def walk(level: Level, rng: random.Random, steps: int) -> list[State]:
    states = [level.start]
    for _ in range(steps):
        states.append(rules.step(level, states[-1], rng.choice(rules.actions(level, states[-1]))).state)
    return states


# --- Play ---------------------------------------------------------------------------------------------------------


def test_the_first_observation() -> None:
    level = kitchen.level()
    state, observation = rules.begin(level)
    assert state is level.start
    assert observation == f"-= Welcome to TextWorld, ALFRED! =-\n\n{MIDDLE}\n\nYour task is to: do it."


def test_a_start_at_a_receptacle() -> None:
    level = kitchen.level()
    _, observation = rules.begin(replace(level, start=level.start._replace(location=1), memo={}))
    assert observation.split("\n\n")[1] == f"{LOOK_AT_CABINETS} nothing."


@pytest.mark.parametrize("scene", SCENES)
def test_scenes(scene: str) -> None:
    level = kitchen.level("two")
    state = level.start
    for command, answer in SCENES[scene]:
        offered = command.strip() in rules.actions(level, state)
        after, reward, terminated, feedback, won, invalid = rules.step(level, state, command)
        assert (command, feedback) == (command, answer)
        assert offered == (invalid is None) == (answer != NOTHING_HAPPENS)
        assert offered or after is state
        assert (reward, terminated, won) == (0.0, False, False)
        assert list(rules.actions(level, after)) == sorted(set(rules.actions(level, after)))
        state = after


@pytest.mark.parametrize("goal", WINS)
def test_a_win_is_the_step_that_reaches_the_goal(goal: str) -> None:
    level = kitchen.level(goal)
    *before, last = play(level, WINS[goal])
    assert not any(transition.won or transition.terminated or transition.reward for transition in before)
    assert (last.won, last.terminated, last.reward) == (True, True, 1.0)
    assert rules.won(level, last.state)
    assert not rules.won(level, before[-1].state)
    # Like the original, the engine answers on after the end, and the goal still holds.
    for command in ("look", "xyzzy"):
        assert rules.step(level, last.state, command)[1:3] == (1.0, True)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("xyzzy", "no command of this game"),
        ("go to countertop 1", "you are at the countertop 1 already"),
        ("open fridge 1", "you are not at the fridge 1"),
        ("open countertop 1", "the countertop 1 cannot be opened"),
        ("close countertop 1", "the countertop 1 cannot be closed"),
        ("take apple 1 from countertop 1", "your hands are full: you are carrying the knife 1"),
        ("take cup 1 from sidetable 1", "you are not at the sidetable 1"),
        ("move apple 1 to countertop 1", "you are not carrying the apple 1"),
        ("clean apple 1 with sinkbasin 1", "you are not at the sinkbasin 1"),
        ("clean knife 1 with countertop 1", "the knife 1 cannot be cleaned"),
        ("slice bowl 1 with knife 1", "the bowl 1 cannot be sliced"),
        ("slice egg 1 with knife 1", "the egg 1 is not here"),
        ("slice apple 2 with bowl 1", "the bowl 1 is no knife"),
        ("use desklamp 1", "the desklamp 1 is not in or on a receptacle here"),
        ("use knife 1", "the knife 1 has no switch"),
        ("examine apple 1", "you are not carrying the apple 1"),
        ("examine fridge 1", "you are not at the fridge 1"),
    ],
)
def test_an_inadmissible_command_is_explained_in_one_sentence(command: str, why: str) -> None:
    level = kitchen.level()
    state = play(level, ["go to countertop 1", "take knife 1 from countertop 1"])[-1].state
    transition = rules.step(level, state, command)
    assert transition.state is state
    assert transition.feedback == NOTHING_HAPPENS
    assert transition.invalid is not None
    assert why in transition.invalid
    assert transition.invalid.endswith(".")


@pytest.mark.parametrize("action", [None, 3, b"look", ["look"], ("look",), {"look": 1}])
def test_an_action_that_is_no_text_is_a_programming_error(action: Any) -> None:
    level = kitchen.level()
    with pytest.raises(TypeError, match=f"is a str such as 'look', got {type(action).__name__}"):
        rules.step(level, level.start, action)


@settings(max_examples=200)
@given(st.text(max_size=40), st.integers(0, 2**32))
def test_any_text_is_answered(command: str, seed: int) -> None:
    level = kitchen.level()
    state = walk(level, random.Random(seed), 8)[-1]
    transition = rules.step(level, state, command)
    assert (transition.invalid is None) == (command.strip() in rules.actions(level, state))


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(list(WINS)), st.integers(0, 2**32))
def test_every_admissible_command_and_no_other_can_be_done(goal: str, seed: int) -> None:
    level = kitchen.level(goal)
    state = walk(level, random.Random(seed), 30)[-1]
    admissible = rules.actions(level, state)
    assert list(admissible) == sorted(set(admissible))
    receptacles, things = ([one.name for one in many] for many in (level.receptacles, level.things))
    every = ["look", "help", "inventory", *(f"{verb} {thing}" for verb in ("examine", "use") for thing in things)]
    every += [f"{verb} {r}" for verb in ("go to", "open", "close", "examine") for r in receptacles]
    every += [f"take {o} from {r}" for o in things for r in receptacles]
    every += [f"move {o} to {r}" for o in things for r in receptacles]
    every += [f"{verb} {o} with {r}" for verb in ("clean", "heat", "cool") for o in things for r in receptacles]
    every += [f"slice {o} with {knife}" for o in things for knife in things]
    assert set(admissible) <= set(every)
    for command in every:
        transition = rules.step(level, state, command)
        assert (transition.invalid is None) == (command in admissible), command
        assert transition.won == rules.won(level, transition.state)


# --- What is remembered -------------------------------------------------------------------------------------------


def test_what_is_remembered_never_changes_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def episode(level: Level, renew: bool) -> list[Any]:
        rng, state, answers = random.Random(0), level.start, []
        for _ in range(400):
            if renew:
                level.memo.clear()
            admissible = rules.actions(level, state)
            answers.append((admissible, rules.step(level, state, rng.choice(admissible))))
            state = answers[-1][1].state
        return answers

    remembering = episode(kitchen.level("two"), renew=False)
    assert episode(kitchen.level("two"), renew=True) == remembering
    monkeypatch.setattr(tables, "REMEMBERED", 2)
    forgetful = kitchen.level("two")
    assert episode(forgetful, renew=False) == remembering
    made = tables.tables_of(forgetful)
    assert max(map(len, (made.commands, made.views, made.arrivals, made.operations))) <= 2


def test_junk_is_not_remembered() -> None:
    level = kitchen.level()
    for number in range(5000):
        rules.step(level, level.start, f"say {number}")
    assert tables.tables_of(level).operations == {}


def test_threads_may_share_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "REMEMBERED", 8)
    level = kitchen.level("two")
    expected = [walk(kitchen.level("two"), random.Random(seed), 300) for seed in range(4)]
    found: dict[int, list[State]] = {}

    def run(seed: int) -> None:
        found[seed] = walk(level, random.Random(seed), 300)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert [found[seed] for seed in range(4)] == expected


# --- States as data -----------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 60))
def test_states_survive_encoding(seed: int, steps: int) -> None:
    level = kitchen.level()
    states = walk(level, random.Random(seed), steps)
    encoded = [rules.encode(level, state) for state in states]
    for state, data in zip(states, encoded, strict=True):
        again = rules.decode(level, data)
        assert again == state
        assert type(again) is State
        assert rules.actions(level, again) == rules.actions(level, state)
        assert all(type(value) is int for part in data for value in (part if isinstance(part, tuple) else (part,)))
    assert len(set(encoded)) == len(set(states))


def test_the_start_is_encoded_in_a_few_numbers() -> None:
    level = kitchen.level()
    assert rules.encode(level, level.start) == (*level.start[:8], (), (), ())


def changed(**fields: Any) -> tuple[Any, ...]:
    level = kitchen.level()
    return rules.encode(level, level.start._replace(**fields))


def at(index: int, value: Any) -> tuple[Any, ...]:
    data = list(rules.encode(kitchen.level(), kitchen.level().start))
    data[index] = value
    return tuple(data)


@pytest.mark.parametrize(
    "data",
    [
        *(None, 3, "state", b"", [], (), (0,) * 11, (0,) * 10, (0,) * 12),
        list(at(0, 0)),
        *(at(0, value) for value in (-1, 7, 10**30, 1.0, "0", None, True, [0], (0,))),
        *(at(1, value) for value in (-2, 12, 4, 11, False, 1 << 70)),  # 4 is the lamp, 11 the window
        *(at(2, value) for value in (-1, 1 << 2, 1 << 7, 1 << 90)),  # a countertop cannot be opened
        *(at(3, value) for value in (-1, 1 << 3, 1 << 12)),  # a cup cannot be cleaned
        *(at(4, value) for value in (1 << 1, 1 << 3)),  # apple 1 cannot be heated; the cup would be hot and cool
        at(5, 0),  # the cup could only lose its coolness to heat
        *(at(6, value) for value in (1 << 2, -8)),
        *(at(7, value) for value in (1 << 2, -8)),
        *(at(8, value) for value in ((0,), (0, -1), (7, 1), (-1, 1), (0, 1 << 60), (0, True), [0, 0], (0, 1, 0, 3))),
        at(8, (1, 0, 0, 0)),  # out of order
        at(8, (0, 1 << 7)),  # no change
        at(8, (2, 0)),  # five things nowhere
        at(8, (3, 1 << 2)),  # the fridge takes no bowl
        at(8, (5, 1 << 3)),  # the lamp is gone
        *(at(9, value) for value in ((0, 1), (2, 1 << 2), (1, 1 << 20), (7, 1))),
        *(at(10, value) for value in ((2, 1), (0, 1 << 4), (0, 1 << 7), (7, 1), (0, -1))),
    ],
)
def test_what_is_no_state_of_the_level_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="not a state of this ALFWorld level"):
        rules.decode(kitchen.level(), data)


@settings(max_examples=300)
@given(st.integers(0, 10), st.integers() | st.lists(st.integers(-1, 300), max_size=6).map(tuple) | st.none())
def test_hostile_data_is_refused_or_playable(index: int, value: Any) -> None:
    level = kitchen.level()
    try:
        state = rules.decode(level, at(index, value))
    except ValueError:
        return
    assert rules.encode(level, state) == at(index, value)
    assert walk(replace(level, start=state, memo={}), random.Random(0), 20)


def test_held_things_are_found_again() -> None:
    level = kitchen.level()
    transition = play(level, ["go to countertop 1", "take apple 2 from countertop 1"])[-1]
    data = rules.encode(level, transition.state)
    assert rules.decode(level, data) == transition.state
    with pytest.raises(ValueError, match="no receptacle and in no hand"):
        rules.decode(level, (data[0], NOTHING, *data[2:]))
