"""The rules, by hand-made rooms, and against a plain account of them in random ones."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.envs.sokoban.data import parse
from rollback_gym.envs.sokoban.rules import Rules, moved
from rollback_gym.envs.sokoban.text import LAYOUTS
from rollback_gym.envs.sokoban.types import WORDS, Level, State
from tests.envs.sokoban import naive

RULES = Rules(LAYOUTS["plain"].describe)
HALL = ["#######", "#@ $. #", "#  $. #", "#######"]


@pytest.mark.parametrize(
    ("moves", "rewards", "last", "over"),
    [
        (["left"], [-0.1], "#######\n#P_XO_#\n#__XO_#\n#######", False),
        (["right", "right"], [-0.1, 0.9], "#######\n#__P√_#\n#__XO_#\n#######", False),
        (["right", "right", "right"], [-0.1, 0.9, -1.1], "#######\n#___SX#\n#__XO_#\n#######", False),
        (["right", "right", "left"], [-0.1, 0.9, -0.1], "#######\n#_P_√_#\n#__XO_#\n#######", False),
        (
            ["right", "right", "left", "down", "right"],
            [-0.1, 0.9, -0.1, -0.1, 10.9],
            "#######\n#___√_#\n#__P√_#\n#######",
            True,
        ),
        (["right", "right", "right", "right"], [-0.1, 0.9, -1.1, -0.1], "#######\n#___SX#\n#__XO_#\n#######", False),
        (["fly", "", "UP", "still"], [-0.1] * 4, "#######\n#P_XO_#\n#__XO_#\n#######", False),
    ],
)
def test_what_moves_do(moves: list[str], rewards: list[float], last: str, over: bool) -> None:
    level = parse(HALL, "hall")
    state, _ = RULES.begin(level)
    for move, reward in zip(moves, rewards, strict=True):
        state, paid, terminated, text, won, invalid = RULES.step(level, state, move)
        assert paid == reward
        assert (invalid is None) is (move in WORDS)
    assert (text, terminated, won) == (last, over, over)


def test_from_target_to_target_pays_nothing() -> None:
    level = parse(["#######", "#@*.  #", "#  $  #", "#######"], "row")
    assert RULES.step(level, level.start, "right").reward == -0.1


def test_two_boxes_cannot_be_pushed_at_once() -> None:
    level = parse(["#######", "#@$$ .#", "#    .#", "#######"], "two")
    assert RULES.step(level, level.start, "right").state is level.start


@given(level=naive.levels(), seed=st.integers(0, 2**32))
def test_equal_to_the_plain_account(level: Level, seed: int) -> None:
    rng = random.Random(seed)
    floor, targets = naive.places(level, level.floor), naive.places(level, level.targets)
    state, position = level.start, naive.position(level, level.start)
    for _ in range(40):
        word = rng.choice(WORDS)
        before = len(position[1] & targets)
        position = naive.moved(floor, position, word)
        bump = RULES.step(level, state, word)
        assert bump.state == moved(level, state, level.offsets[word])
        state = bump.state
        assert naive.position(level, state) == position
        change = len(position[1] & targets) - before
        won = position[1] == targets and change > 0
        assert bump.won is bump.terminated is won
        assert bump.reward == pytest.approx(-0.1 + change + 10 * won)
        assert RULES.decode(level, RULES.encode(level, state)) == state
        if won:
            break


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "two whole numbers"),
        ((8,), "two whole numbers"),
        ((8, 1.0), "two whole numbers"),
        ((True, 1 << 10 | 1 << 17), "two whole numbers"),
        ((8, 1 << 10), "expected 2 boxes"),
        ((8, 1 << 10 | 1 << 0), "expected 2 boxes"),
        ((8, -1), "expected 2 boxes"),
        ((10, 1 << 10 | 1 << 17), "free floor, got cell 10"),
        ((0, 1 << 10 | 1 << 17), "free floor, got cell 0"),
        ((-3, 1 << 10 | 1 << 17), "free floor, got cell -3"),
        ((10**9, 1 << 10 | 1 << 17), "free floor"),
    ],
)
def test_what_is_no_state_is_refused(data: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        RULES.decode(parse(HALL, "hall"), data)


def test_layouts() -> None:
    level = parse(["####", "#+.#", "#$*#", "#$ #", "####"], "all")
    assert LAYOUTS["plain"].describe(level, level.start) == "####\n#SO#\n#X√#\n#X_#\n####"
    rows = LAYOUTS["rows"].describe(level, level.start)
    assert rows.split("\n")[1:3] == ["1: # S O #", "2: # X √ #"]
    tabs = LAYOUTS["tabs"].describe(level, level.start)
    assert tabs.split("\n")[2] == " # \t X \t √ \t # \t"


def test_texts_that_were_forgotten_are_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollback_gym.envs.sokoban.text._REMEMBERED", 2)
    level = parse(HALL, "hall")
    seen = {}
    for player in (8, 9, 12, 15, 8, 9):
        state = State(player, level.start.boxes)
        text = LAYOUTS["plain"].describe(level, state)
        assert seen.setdefault(player, text) == text
        assert len(level.memo["plain"].texts) <= 2
