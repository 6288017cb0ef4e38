"""Mistakes: each kind in each environment, verified by stepping the environment itself and asking the oracle anew."""

import math
import os
import random
import subprocess
import sys
from itertools import pairwise

import gymnasium as gym
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rollback_gym
from rollback_gym.oracles import for_env
from rollback_gym.study.inject import Error, Kind, Lapse, draw, errors, game, game_of, measured
from rollback_gym.study.inject.alfworld import read
from tests.study.rooms import ROOMS, Place, somewhere

places = st.builds(somewhere, st.sampled_from(sorted(ROOMS)), st.integers(0, 400), st.floats(0, 1, exclude_max=True))
slowly = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def played(place: Place, error: Error) -> list[float]:
    """L at every turn of an error, by the environment and its own oracle; the environment is put back after it."""
    env, here = place.env, rollback_gym.snapshot(place.env)
    oracle, base = for_env(env), env.unwrapped
    lengths = [oracle.distance(base.level, base.state)]
    for number, action in enumerate(error.actions):
        before = base.state
        _, _, terminated, truncated, info = env.step(action)
        assert not truncated
        assert not info["won"]
        assert not terminated or number == len(error.actions) - 1
        if number < error.pivot:
            assert base.state == before
        else:
            assert "invalid_action" not in info
        lengths.append(oracle.distance(base.level, base.state))
    rollback_gym.restore(env, here)
    return lengths


@slowly
@given(places, st.sampled_from(Kind), st.integers(1, 6), st.booleans())
def test_every_error_raises_l_in_the_environment(place: Place, kind: Kind, most: int, strict: bool) -> None:
    for error in errors(place.game, place.state, place.path, kind, place.rest, most, strict=strict):
        lengths = played(place, error)
        assert tuple(lengths) == error.distances
        began, pivot = lengths[0], error.pivot
        assert pivot == (1 if kind is Kind.FAILED_CALL else 0)
        assert lengths[pivot] == began
        assert lengths[pivot + 1] >= began + 1
        assert 1 <= error.turns <= most
        assert min(lengths) == began
        assert lengths[-1] > began
        if strict:
            assert all(after >= before for before, after in pairwise(lengths))
        assert error.ended == (lengths[-1] == math.inf)
        assert math.inf not in lengths[:-1]


@slowly
@given(places, st.sampled_from(Kind))
def test_the_order_is_fixed_and_aims_are_unique(place: Place, kind: Kind) -> None:
    lapses = place.game.lapses(place.state, place.path, place.rest, kind)
    assert lapses == place.game.lapses(place.state, place.path, place.rest, kind)
    assert all(lapse.kind is kind and lapse.actions for lapse in lapses)
    aims = [lapse.aim for lapse in lapses]
    assert len(set(aims)) == len(aims)


@slowly
@given(places, st.permutations(list(Kind)), st.integers(0, 99), st.integers(1, 3))
def test_drawing_takes_the_first_kind_that_there_is(place: Place, kinds: list[Kind], seed: int, least: int) -> None:
    given_ = place.game, place.state, place.path
    error = draw(*given_, kinds, random.Random(seed), place.rest, least, least + 1)
    assert error == draw(*given_, kinds, random.Random(seed), place.rest, least, least + 1)
    possible = [
        kind for kind in kinds if any(found.turns >= least for found in errors(*given_, kind, place.rest, least + 1))
    ]
    assert (None if error is None else error.kind) == (possible[0] if possible else None)
    if error is not None:
        assert least <= error.turns <= least + 1
        assert error in list(errors(*given_, error.kind, place.rest, least + 1))


@pytest.mark.parametrize(
    ("room", "missing"),
    [
        ("alfworld", set()),
        ("webshop", set()),
        ("sokoban", set()),
        ("minesweeper", {Kind.FAILED_CALL}),
        ("minesweeper with flags", {Kind.FAILED_CALL}),
    ],
)
def test_each_kind_is_possible_somewhere_but_for_those_that_are_not(room: str, missing: set[Kind]) -> None:
    found = set()
    for seed in range(12):
        for depth in (0, 0.25, 0.5, 0.75, 0.99):
            place = somewhere(room, seed, depth)
            found |= {kind for kind in Kind if any(errors(place.game, place.state, place.path, kind, place.rest))}
    assert found == set(Kind) - missing


def test_without_flags_every_error_of_minesweeper_is_a_mine() -> None:
    for seed in range(10):
        place = somewhere("minesweeper", seed, 0.5)
        for kind in Kind:
            for error in errors(place.game, place.state, place.path, kind, place.rest, 6):
                assert error.ended
                assert error.turns == 1


# --- What the kinds mean in ALFWorld --------------------------------------------------------------------------------


@pytest.fixture
def holding() -> Place:
    """ALFWorld, with a thing of the goal just taken."""
    for seed in range(50):
        place = somewhere("alfworld", seed, 0.4)
        if place.path[-1].action.startswith("take "):
            return place
    raise AssertionError("no way on which something is taken at two fifths")


def test_to_put_the_thing_back_is_forgotten_context(holding: Place) -> None:
    taken = read(holding.path[-1].action)
    assert taken is not None
    back = f"move {taken.first} to {taken.second}"
    found = [error.actions[0] for error in errors(holding.game, holding.state, holding.path, Kind.FORGOTTEN_CONTEXT)]
    assert back in found


def test_to_carry_the_thing_elsewhere_is_intent(holding: Place) -> None:
    thing = holding.game.level.things[holding.state.held].name
    lapses = holding.game.lapses(holding.state, holding.path, holding.rest, Kind.INTENT)
    assert any(lapse.actions[-1].startswith(f"move {thing} to ") for lapse in lapses)
    goal = holding.game.level.goal.receptacle_type
    for lapse in lapses:
        last = read(lapse.actions[-1])
        treated = any(action.startswith(("clean ", "heat ", "cool ")) for action in lapse.actions)
        assert last is not None
        if last.verb == "move" and not treated:
            assert not str(last.second).startswith(f"{goal} ")


def test_a_wrong_argument_keeps_the_verb() -> None:
    for seed in range(8):
        place = somewhere("alfworld", seed, 0.3)
        for error in errors(place.game, place.state, place.path, Kind.WRONG_ARGUMENT, place.rest):
            assert error.actions[0] != place.rest[0]
            assert error.actions[0].split()[0] == place.rest[0].split()[0]


def test_a_failed_call_is_no_error_by_itself() -> None:
    place = somewhere("alfworld", 3, 0)
    call = "take unicorn 1 from countertop 1"
    alone = Lapse(Kind.FAILED_CALL, "alone", (call,))
    harmless = Lapse(Kind.FAILED_CALL, "harmless", (call, place.rest[0]))
    carried_out = Lapse(Kind.FAILED_CALL, "carried out", place.rest[:2])
    assert measured(place.game, place.state, alone) is None
    assert measured(place.game, place.state, harmless) is None
    assert measured(place.game, place.state, carried_out) is None


@pytest.mark.parametrize(
    ("action", "parts"),
    [
        ("go to fridge 1", ("go", "fridge 1", None)),
        ("take apple 1 from fridge 1", ("take", "apple 1", "fridge 1")),
        ("move apple 1 to fridge 1", ("move", "apple 1", "fridge 1")),
        ("cool apple 1 with fridge 1", ("cool", "apple 1", "fridge 1")),
        ("examine desklamp 1", ("examine", "desklamp 1", None)),
        ("look", None),
        ("inventory", None),
    ],
)
def test_commands_are_taken_apart(action: str, parts: tuple[str, str, str | None] | None) -> None:
    assert read(action) == parts


# --- Where there is nothing -----------------------------------------------------------------------------------------


def test_a_game_that_is_over_or_lost_holds_no_errors() -> None:
    place = somewhere("sokoban", 1, 0)
    state = place.state
    for action in place.rest:
        state = place.game.step(state, action).state
    assert not any(list(errors(place.game, state, place.path, kind)) for kind in Kind)


def test_other_environments_are_refused_by_name() -> None:
    class Other(gym.Env):  # type: ignore[type-arg]
        pass

    with pytest.raises(TypeError, match=r"Other; they are for alfworld, minesweeper, sokoban, webshop"):
        game_of(Other())
    with pytest.raises(TypeError, match="'chess'"):
        game("chess", None, None)


_DIGEST = """
import hashlib, random
from tests.study.rooms import ROOMS, somewhere
from rollback_gym.study.inject import Kind, errors
told = hashlib.sha256()
for room in sorted(ROOMS):
    for seed in range(3):
        place = somewhere(room, seed, 0.5)
        for kind in Kind:
            for error in errors(place.game, place.state, place.path, kind, place.rest, 4, strict=False):
                told.update(repr(error).encode())
print(told.hexdigest())
"""


def test_the_order_does_not_depend_on_hashes() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", _DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(told) == 1
