"""L(s) in Sokoban for two against brute force, on every state that small rooms can come to."""

import math
import random

import pytest
from hypothesis import given, settings

from rollback_gym import OracleBudgetExceeded
from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.types import bits
from rollback_gym.envs.sokoban_two.generator import Recipe, make_level
from rollback_gym.envs.sokoban_two.rules import moved
from rollback_gym.envs.sokoban_two.types import WORDS, Level, State
from rollback_gym.oracles import sokoban, sokoban_two
from tests.envs.sokoban_two import naive


@settings(max_examples=150, deadline=None)
@given(level=naive.levels())
def test_equal_to_brute_force_on_every_state(level: Level) -> None:
    for position, turns in naive.distances(level, naive.position(level, level.start)).items():
        state = naive.state(level, position)
        assert sokoban_two.distance(level, state) == turns
        assert sokoban_two.distance(level, State(state.second, state.first, state.boxes)) == turns


def test_equal_to_brute_force_in_a_room_that_is_played() -> None:
    level = make_level(Recipe(6, 6, 2, True, 4, None), "train/1")
    known = naive.distances(level, naive.position(level, level.start))
    assert len(known) > 500
    assert any(math.isinf(turns) for turns in known.values())
    for position, turns in known.items():
        assert sokoban_two.distance(level, naive.state(level, position)) == turns


def test_on_any_placement_a_turn_changes_l_by_one_at_most_downwards_and_optimal_actions_do() -> None:
    level = make_level(Recipe(6, 6, 3, True, 4, None), "train/3")
    rng, free = random.Random(5), numbers(level.room.floor)
    finite = 0
    for _ in range(500):
        first, second, *where = rng.sample(free, 5)
        state = State(first, second, bits(where))
        here = sokoban_two.distance(level, state)
        after = {words: sokoban_two.distance(level, moved(level, state, words)) for words in naive.TURNS}
        best = sokoban_two.optimal_actions(level, state)
        if math.isinf(here):
            assert set(after.values()) == {math.inf}
            assert best == ()
        elif here:
            finite += 1
            assert min(after.values()) == here - 1
            assert set(best) == {words for words, turns in after.items() if turns == here - 1}
            assert len(set(best)) == len(best)
    assert finite > 5


@pytest.mark.parametrize("recipe", [Recipe(6, 6, 2, True, 6, None), Recipe(6, 7, 2, False, 5, 9)], ids=str)
def test_plans_win_in_as_many_turns_as_they_say(recipe: Recipe) -> None:
    for seed in range(4):
        level = make_level(recipe, f"train/{seed}")
        plan = sokoban_two.plan(level, level.start)
        assert len(plan) == sokoban_two.distance(level, level.start)
        assert recipe.least <= len(plan) <= (recipe.most or 99)
        state = level.start
        for words in plan:
            assert set(words) <= set(WORDS)
            state = moved(level, state, words)
        assert state.boxes == level.room.targets
        assert sokoban_two.plan(level, state) == ()


def test_a_box_in_a_corner_is_lost() -> None:
    level = naive.parse("######\n#$ 1 #\n# 2. #\n######")
    assert sokoban_two.distance(level, level.start) == math.inf
    assert sokoban_two.optimal_actions(level, level.start) == sokoban_two.plan(level, level.start) == ()


def test_two_are_needed_where_one_hands_over_to_the_other() -> None:
    level = naive.parse("#####\n###2#\n#1$ #\n### #\n###.#\n#####")
    assert sokoban_two.distance(level, level.start) == 3
    assert sokoban_two.plan(level, level.start) == (("right", "stay"), ("stay", "down"), ("stay", "down"))
    assert sokoban_two.needs_both(level, level.start)
    assert sokoban_two.alone(level, level.start, 0) == sokoban_two.alone(level, level.start, 1) == math.inf


def test_alone_is_sokoban() -> None:
    level = naive.parse("######\n#1$ .#\n#   2#\n######")
    assert sokoban_two.alone(level, level.start, 0) == sokoban.distance(level.room, level.room.start) == 2
    assert sokoban_two.alone(level, level.start, 1) == 6
    assert not sokoban_two.needs_both(level, level.start)


def test_too_large_a_room_is_said_to_be() -> None:
    inside = "\n".join("#" + row + "#" for row in ["1$.  ", "2$.  ", " $.  ", " $.  ", "     ", "     "])
    level = naive.parse(f"#######\n{inside}\n#######")
    with pytest.raises(OracleBudgetExceeded, match="smaller room or fewer boxes"):
        sokoban_two.distance(level, level.start)
