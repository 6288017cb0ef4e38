"""Boards from seeds: deterministic, never over before they begin, and an impossible one is an error."""

import random
import threading
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym import DataError
from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.generator import LevelIds, Setup, _stream, generate, level_id, read_id
from rollback_gym.envs.minesweeper.types import BURIED, NONE, FirstClick


def content(setup: Setup, seeds: range) -> list[str]:
    return [generate(setup, seed).digest for seed in seeds]


def test_a_seed_is_a_board_whatever_the_global_generator_does() -> None:
    before = content(Setup(), range(100))
    state = np.random.get_state()
    np.random.seed(5)
    assert content(Setup(), range(100)) == before
    np.random.set_state(state)
    assert len(set(before)) == 100


@pytest.mark.parametrize("end", [1, 2, 6, 8, 9, 100])
def test_numbers_are_those_of_numpys_legacy_generator(end: int) -> None:
    for seed in (0, 1, 2**32 - 1):
        ours, numpys = _stream(seed), np.random.RandomState(seed)
        for _ in range(20):
            assert ours.below(end) == numpys.randint(0, end)
        assert ours.rand(3).tolist() == numpys.rand(3).tolist()


def test_boards_of_two_threads_are_those_of_one() -> None:
    expected = content(Setup(), range(300))
    made: list[list[str]] = []
    threads = [threading.Thread(target=lambda: made.append(content(Setup(), range(300)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [expected] * 4


def test_boards_stay_what_they_are() -> None:
    """Another board for a seed is another `generator.VERSION`."""
    level = generate(Setup(), 42)
    assert rules.describe(level, level.start).split("\n") == BOARD_42
    assert level.id == "train/42"
    assert generate(Setup(), 42, (3, 4)).id == "train/42@3,4"
    assert generate(Setup(), 70_000).id == "valid/70000"


BOARD_42 = [
    "Row 1: ? 1 ? ? ? ?",
    "Row 2: ? ? ? ? ? ?",
    "Row 3: ? ? ? ? ? ?",
    "Row 4: ? ? ? ? ? ?",
    "Row 5: ? ? ? ? ? ?",
    "Row 6: ? ? ? ? ? ?",
]


@settings(max_examples=200, deadline=None)
@given(
    rows=st.integers(1, 8),
    columns=st.integers(1, 8),
    mines=st.integers(1, 64),
    kind=st.sampled_from(["safe", "empty"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_game_is_over_before_it_begins(rows: int, columns: int, mines: int, kind: str, seed: int) -> None:
    try:
        level = generate(Setup(rows=rows, columns=columns, mines=mines, first_click=FirstClick(kind)), seed)
    except ValueError:
        return
    start = level.start
    assert level.mines.bit_count() == mines
    assert start.opened
    assert start.hit == NONE
    assert not start.opened & level.mines
    assert not rules.won(level, start)
    assert len(rules.actions(level, start)) == level.grid.cells - start.opened.bit_count()
    if kind == "empty":
        assert start.opened & level.layout.counts[0]


@pytest.mark.parametrize("kind", ["safe", "empty"])
def test_every_board_is_equally_likely(kind: str) -> None:
    """Given where a board is opened: the belief oracle counts on it."""
    setup = Setup(rows=3, columns=3, mines=2, first_click=FirstClick(kind))
    found: dict[int, int] = {}
    for seed in range(6000):
        level = generate(setup, seed, (1, 1))
        found[level.mines] = found.get(level.mines, 0) + 1
    expected = 6000 / len(found)
    assert len(found) == (28 if kind == "safe" else 10)
    assert all(abs(count - expected) < 6 * expected**0.5 for count in found.values())


def test_the_opening_can_be_given() -> None:
    for seed in range(200):
        level = generate(Setup(), seed, (2, 5))
        assert level.start.opened >> 10 & 1
        assert generate(Setup(opening=(2, 5)), seed).digest == level.digest


def test_the_original_clicks_again_on_a_board_that_is_won() -> None:
    """Where nothing of that kind happens, both modes give the same board."""
    original, mended = Setup(original=True), Setup()
    lost = 0
    for seed in range(4000):
        level = generate(original, seed)
        if level.start.hit == BURIED:
            lost += 1
            shown = rules.describe(level, level.start)
            assert set(shown) - set("Row 123456:\n") == {"?"}
            done = rules.step(level, level.start, "(1, 1)")
            assert (done.reward, done.terminated, done.won, done.feedback) == (-0.1, True, False, shown)
            outside = rules.step(level, level.start, "(7, 1)")
            assert (outside.reward, outside.terminated) == (-1.0, False)
            assert rules.decode(level, rules.encode(level, level.start)) == level.start
    same = sum(generate(original, seed).digest == generate(mended, seed).digest for seed in range(1000))
    assert 0.002 < lost / 4000 < 0.009
    assert same > 900


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"mines": 36}, "36 mines are too many"),
        ({"mines": 35}, "there may be 34"),
        ({"mines": 36, "opening": "player"}, "there may be 35"),
        ({"mines": 0}, "mines must be"),
        ({"rows": 1, "columns": 1, "mines": 1}, "there may be 0"),
        ({"rows": 0}, "rows must be"),
        ({"columns": 2.5}, "columns must be"),
        ({"rows": True}, "rows must be"),
        ({"rows": 200, "columns": 200}, "8,000 cells"),
        ({"first_click": FirstClick.ANY}, "first_click='any'"),
        ({"first_click": FirstClick.ANY, "opening": (1, 1)}, "first_click='any'"),
        ({"first_click": FirstClick.EMPTY, "mines": 32}, "there may be 31"),
        ({"opening": (7, 1)}, r"from \(1, 1\) to \(6, 6\)"),
        ({"opening": "somewhere"}, "An opening is"),
        ({"original": True, "opening": "player"}, "compat='original'"),
        ({"original": True, "first_click": FirstClick.EMPTY}, "compat='original'"),
        ({"max_attempts": 0}, "max_attempts must be"),
    ],
)
def test_an_impossible_request_is_one_clear_error(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Setup(**options)


def test_looking_for_a_board_ends() -> None:
    """Around the middle of five cells there is no room for two mines and a safe cell."""
    setup = Setup(rows=1, columns=5, mines=2, first_click=FirstClick.EMPTY, max_attempts=50)
    with pytest.raises(DataError, match="raise max_attempts"):
        generate(setup, 0, (1, 3))
    with pytest.raises(ValueError, match="An opening is"):
        generate(Setup(), 0, (0, 1))


def test_ids() -> None:
    for seed, opening in ((0, None), (65_534, (1, 6)), (65_536, None), (2**32 - 1, (6, 1))):
        assert read_id(level_id(seed, opening)) == (seed, opening)
    for bad in (
        "",
        "train/",
        "train/01",
        "train/65536",
        "valid/3",
        "test/3",
        "train/3@",
        "train/3@1",
        "train/-1",
        "train/٣",
    ):
        with pytest.raises(DataError, match="There is no level"):
            read_id(bad)
    with pytest.raises(TypeError, match="such as 'train/42', got int"):
        read_id(42)  # type: ignore[arg-type]


def test_levels_are_listed_without_being_made() -> None:
    train, valid, every = LevelIds("train"), LevelIds("valid"), LevelIds()
    assert (len(train), len(valid)) == (65_535, 2**32 - 1 - 65_536)
    assert (train[0], train[-1], valid[0], every[65_535]) == ("train/0", "train/65534", "valid/65536", "valid/65536")
    assert train[3:5] == ["train/3", "train/4"]
    assert list(islice(valid, 2)) == ["valid/65536", "valid/65537"]
    assert "train/7" in train
    assert "train/7" not in valid
    assert "train/7@1,1" not in train
    assert random.Random(0).choice(valid) in valid
    with pytest.raises(IndexError):
        train[65_535]
    with pytest.raises(DataError, match="train, valid"):
        LevelIds("test")
