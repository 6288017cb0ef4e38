"""Generated worlds: the same everywhere, always solvable, never solved, and such as one would believe."""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.generator import (
    MAX_DIFFICULTY,
    MIN_DIFFICULTY,
    SPLIT_SIZES,
    UNSEEN,
    game_id,
    game_ids,
    generate,
    read,
)
from rollback_gym.envs.alfworld.made.layout import ROOMS_PER_KIND, furniture, kind_of, lay_out
from rollback_gym.envs.alfworld.made.rooms import CAPACITY, CONTAINS, ROOM_KINDS
from rollback_gym.envs.alfworld.problem import Game, compile_level
from rollback_gym.envs.alfworld.types import Level, TaskType

ROOMS = [kind.first + number for kind in ROOM_KINDS for number in range(ROOMS_PER_KIND)]
OFTEN_MISPLACED = {"teddybear", "papertowelroll", "television", "houseplant", "desklamp"}

seeds = st.integers(0, 10**9 - 1)
splits = st.sampled_from(list(SPLIT_SIZES))
task_types = st.sampled_from(list(TaskType))
percents = st.integers(round(100 * MIN_DIFFICULTY), round(100 * MAX_DIFFICULTY))


def level_of(game: Game) -> Level:
    return compile_level(game, game.where, ())


def room_of(id: str) -> int:
    return int(id.split("/")[1].rsplit("-", 1)[1])


def digest(games: list[Game]) -> str:
    return hashlib.sha256(repr([tuple(game) for game in games]).encode()).hexdigest()


def sample() -> list[Game]:
    return [read(id) for split in SPLIT_SIZES for id in game_ids(split)[:12]] + [generate(7, difficulty=0.4)]


# A changed digest means that every seed now gives another game: raise randomness.VERSION.
GOLDEN = "f9225774ad962b86c94a495f237617845057ae8982c4ff5b73dd2c94e553b601"


def test_golden_games() -> None:
    assert digest(sample()) == GOLDEN


def test_the_same_in_every_process() -> None:
    command = "from tests.envs.alfworld.test_generator import digest, sample; print(digest(sample()))"
    for hash_seed in ("0", "12345"):
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", command],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stdout.strip() == GOLDEN


@given(seeds, splits, task_types, percents)
@settings(max_examples=150, deadline=None)
def test_the_walkthrough_wins_and_not_before_its_end(seed: int, split: str, task_type: TaskType, percent: int) -> None:
    game = generate(seed, split, task_type, percent / 100)
    level = level_of(game)
    assert level.goal.task_type is task_type
    state, _ = rules.begin(level)
    for number, command in enumerate(game.walkthrough, start=1):
        assert command in rules.actions(level, state)
        transition = rules.step(level, state, command)
        assert transition.won == (number == len(game.walkthrough))
        state = transition.state


@given(seeds, splits, percents)
@settings(max_examples=50, deadline=None)
def test_an_id_makes_its_game_again(seed: int, split: str, percent: int) -> None:
    game = generate(seed, split, difficulty=percent / 100)
    assert game.where == game_id(seed, split, difficulty=percent / 100)
    assert read(game.where) == game
    chosen = level_of(game).goal.task_type
    assert generate(seed, split, chosen, percent / 100) == game


@given(seeds, splits, task_types)
@settings(max_examples=30, deadline=None)
def test_difficulty_only_adds(seed: int, split: str, task_type: TaskType) -> None:
    levels = [level_of(generate(seed, split, task_type, percent / 100)) for percent in range(25, 201, 25)]
    receptacles = [Counter(receptacle.type for receptacle in level.receptacles) for level in levels]
    things = [Counter(thing.type for thing in level.things) for level in levels]
    for counts in (receptacles, things):
        assert all(fewer <= more for fewer, more in pairwise(counts))
    assert things[0].total() < things[-1].total()
    # One bathroom in a hundred has a single piece of each kind, and none of the kinds that there can be more of.
    can_grow = any(item.grows or count > 1 for item, count, _ in furniture(room_of(levels[0].id)))
    assert (receptacles[0].total() < receptacles[-1].total()) == can_grow
    assert len(set(map(frozenset, receptacles))) == 1
    assert len({level.goal for level in levels}) == 1
    assert len({room_of(level.id) for level in levels}) == 1


@given(seeds, splits, percents)
@settings(max_examples=100, deadline=None)
def test_things_lie_where_one_would_look_for_them(seed: int, split: str, percent: int) -> None:
    level = level_of(generate(seed, split, difficulty=percent / 100))
    capacity = {type.lower(): most for type, most in CAPACITY.items()}
    assert level.start.opened == 0
    for number, receptacle in enumerate(level.receptacles):
        contents = level.start.contents[number]
        assert contents.bit_count() <= capacity.get(receptacle.type, 1000)
        for thing_number, thing in enumerate(level.things):
            if contents >> thing_number & 1:
                assert thing.type in OFTEN_MISPLACED or level.accepts[thing_number] >> number & 1
            if level.start.cool >> thing_number & 1:
                assert thing.type == level.goal.object_type
                assert thing.coolable
                assert level.goal.task_type is not TaskType.COOL
    assert max(map(len, level.at)) <= 6
    assert not level.at[level.start.location]


def test_sizes_are_those_of_the_official_games() -> None:
    sizes: dict[str, list[tuple[int, int]]] = {}
    for id in game_ids("train")[:300]:
        level = level_of(read(id))
        sizes.setdefault(kind_of(room_of(id)).name, []).append((len(level.receptacles), len(level.things)))
    medians = {name: tuple(np.median(counts, axis=0)) for name, counts in sizes.items()}
    official = {"kitchen": (33, 54), "bedroom": (14, 33), "living room": (14, 31), "bathroom": (14, 24)}
    for name, (receptacles, objects) in official.items():
        assert medians[name] == (pytest.approx(receptacles, rel=0.2), pytest.approx(objects, rel=0.2))


def test_unseen_rooms_are_in_no_other_split() -> None:
    rooms = {split: {room_of(id) for id in game_ids(split)} for split in SPLIT_SIZES}
    assert len(rooms["train"]) == len(ROOM_KINDS) * (ROOMS_PER_KIND - UNSEEN)
    assert rooms["valid_seen"] <= rooms["train"]
    assert len(rooms["valid_unseen"]) == len(ROOM_KINDS) * UNSEEN
    assert not rooms["valid_unseen"] & rooms["train"]
    layouts = [lay_out(room, 1.0).receptacles for room in ROOMS]
    assert len(set(layouts)) == len(ROOMS)


def test_no_game_is_in_two_splits() -> None:
    problems = Counter(
        game.problem.split("(:init")[1] for split in SPLIT_SIZES for game in map(read, game_ids(split)[:130])
    )
    assert problems.total() == len(problems)


@pytest.mark.parametrize("split", SPLIT_SIZES)
def test_a_listing_has_every_task_type(split: str) -> None:
    ids = game_ids(split)
    assert len(set(ids)) == len(ids) == SPLIT_SIZES[split]
    assert all(id.startswith(f"{split}/") and id.endswith("/game.tw-pddl") for id in ids)
    counts = Counter(id.split("/")[1].split("-")[0] for id in ids)
    assert set(counts) == set(TaskType)
    assert min(counts.values()) > len(ids) / 12


def test_every_room_has_places_for_everything() -> None:
    for room in ROOMS:
        here = {item.type for item, _, _ in furniture(room)}
        for stock in kind_of(room).stock:
            assert (here & set(stock.places)) - set(CAPACITY), (room, stock.type)
            for place in stock.places:
                assert stock.type in CONTAINS[place], (stock.type, place)


FORMS = {
    TaskType.PICK_AND_PLACE: r"put a \w+ in \w+\.|put some \w+ on \w+\.",
    TaskType.LOOK_IN_LIGHT: r"look at \w+ under the desklamp\.|examine the \w+ with the desklamp\.",
    TaskType.CLEAN: r"put a clean \w+ in \w+\.|clean some \w+ and put it in \w+\.",
    TaskType.HEAT: r"put a hot \w+ in \w+\.|heat some \w+ and put it in \w+\.",
    TaskType.COOL: r"put a cool \w+ in \w+\.|cool some \w+ and put it in \w+\.",
    TaskType.PICK_TWO: r"put two \w+ in \w+\.|find two \w+ and put them in \w+\.",
}


@pytest.mark.parametrize("task_type", TaskType)
def test_the_sentence_says_what_the_goal_checks(task_type: TaskType) -> None:
    forms = set()
    for seed in range(20):
        game = generate(seed, task_type=task_type)
        goal = level_of(game).goal
        forms.add(game.task.split()[0] + game.task.split()[1])
        assert re.fullmatch(FORMS[task_type], game.task)
        assert goal.object_type in game.task
        assert (goal.receptacle_type or goal.lamp_type) in game.task
    assert len(forms) == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"seed": 10**9}, "999,999,999"),
        ({"seed": 0, "split": "test"}, "train, valid_seen, valid_unseen"),
        ({"seed": 0, "split": None}, "no such split"),
        ({"seed": 0, "split": ["train"]}, "no such split"),
        ({"seed": 0, "task_type": "juggle"}, "pick_and_place_simple"),
        ({"seed": 0, "difficulty": 0.001}, "0.25 to 2.0, 1 the"),
        ({"seed": 0, "difficulty": -1}, "0.25 to 2.0, 1 the"),
        ({"seed": 0, "difficulty": 0, "task_type": "pick_two_obj_and_place"}, "difficulty 0 has only pick_and_place"),
        ({"seed": 0, "difficulty": 1e9}, "0.25 to 2"),
        ({"seed": 0, "difficulty": float("nan")}, "nan"),
    ],
)
def test_there_is_no_such_game(arguments: dict[str, Any], complaint: str) -> None:
    for function in (generate, game_id):
        with pytest.raises(DataError, match=complaint):
            function(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [{"seed": True}, {"seed": 1.5}, {"seed": "1"}, {"seed": None}, {"seed": np.bool_(True)}]
    + [{"seed": 0, "difficulty": value} for value in (True, "hard", None, 1j)],
)
def test_wrong_types(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"seed=|difficulty="):
        generate(**arguments)


def test_numpy_numbers_are_numbers() -> None:
    assert generate(np.int64(5), difficulty=np.float32(0.5)) == generate(5, difficulty=0.5)
    assert generate(np.uint8(5), difficulty=np.int32(1)) == generate(5)


@pytest.mark.parametrize(
    ("id", "complaint"),
    [
        ("", "no generated game"),
        ("../../etc/passwd", "no generated game"),
        (game_id(3).replace("_000003_", "_3_"), "no generated game"),
        (game_id(3).replace("_000003_", "_٠٠٠٠٠٣_"), "no generated game"),
        (game_id(3).replace("trial_G1", "trial_G999"), "version 999"),
        (game_id(3).replace("train/", "test/"), "no such split"),
        (game_id(3).replace("_100/", "_900/"), "difficulty"),
        (game_id(3).replace("-None-", "X-None-"), "with this seed and task it is"),
        (game_id(3).replace("_000003_", "_0000003_"), "with this seed and task it is"),
    ],
)
def test_no_game_of_that_name(id: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        read(id)
