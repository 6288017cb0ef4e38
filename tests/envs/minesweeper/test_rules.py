"""The rules, on boards drawn by hand and beside the game written plainly."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.types import NONE, FirstClick, Level, State
from tests.envs.minesweeper import boards
from tests.envs.minesweeper.boards import play

CORNER = boards.level("*... .... ....", (1, 2))
TWO = boards.level("*...* ..... .....", (1, 2), flags=True)


@pytest.mark.parametrize(
    ("actions", "reward", "over", "won", "shown"),
    [
        (("(2, 1)",), 0.5, False, False, "? 1 ? ?/1 ? ? ?/? ? ? ?"),
        (("(3, 4)",), 10.0, True, True, "? 1 . ./1 1 . ./. . . ."),
        (("(1, 1)",), -0.1, True, False, "* 1 ? ?/? ? ? ?/? ? ? ?"),
        (("(1, 2)",), -1.0, False, False, "? 1 ? ?/? ? ? ?/? ? ? ?"),
        (("(4, 1)",), -1.0, False, False, "? 1 ? ?/? ? ? ?/? ? ? ?"),
        (("(0, 1)",), -1.0, False, False, "? 1 ? ?/? ? ? ?/? ? ? ?"),
        (("open it",), -1.0, False, False, "? 1 ? ?/? ? ? ?/? ? ? ?"),
        (("flag (1, 1)",), -1.0, False, False, "? 1 ? ?/? ? ? ?/? ? ? ?"),
        (("(1,1)",), -0.1, True, False, "* 1 ? ?/? ? ? ?/? ? ? ?"),
        (("  ( 01 ,\n1 ) ",), -0.1, True, False, "* 1 ? ?/? ? ? ?/? ? ? ?"),
    ],
)
def test_what_an_action_does(actions: tuple[str, ...], reward: float, over: bool, won: bool, shown: str) -> None:
    done = play(CORNER, *actions)
    lines = [f"Row {row}: {cells}" for row, cells in enumerate(shown.split("/"), start=1)]
    assert done[1:5] == (reward, over, "\n".join(lines), won)
    assert (done.invalid is None) is (reward != -1.0)


@pytest.mark.parametrize(
    ("actions", "reward", "won", "shown"),
    [
        (("flag (1, 1)",), 0.5, False, "F 1 ? ? ?/? ? ? ? ?/? ? ? ? ?"),
        (("flag (1, 1)", "flag (1, 1)"), 0.5, False, "? 1 ? ? ?/? ? ? ? ?/? ? ? ? ?"),
        (("FLAG(1,5)", "flag (1, 1)"), 10.0, True, "F 1 ? ? F/? ? ? ? ?/? ? ? ? ?"),
        (("flag (2, 2)", "flag (1, 1)", "flag (1, 5)"), 0.5, False, "F 1 ? ? F/? F ? ? ?/? ? ? ? ?"),
        (("flag (2, 2)", "(2, 2)"), -1.0, False, "? 1 ? ? ?/? F ? ? ?/? ? ? ? ?"),
        (("flag (1, 2)",), -1.0, False, "? 1 ? ? ?/? ? ? ? ?/? ? ? ? ?"),
        (("flag (2, 2)", "(3, 5)"), 2.0, False, "? 1 . 1 ?/1 F . 1 1/. . . . ."),
    ],
)
def test_flags(actions: tuple[str, ...], reward: float, won: bool, shown: str) -> None:
    done = play(TWO, *actions)
    lines = [f"Row {row}: {cells}" for row, cells in enumerate(shown.split("/"), start=1)]
    assert (done.reward, done.won, done.feedback) == (reward, won, "\n".join(lines))


def test_a_flag_stops_a_cascade() -> None:
    corridor = boards.level("*.......*", (1, 2), flags=True)
    done = play(corridor, "flag (1, 5)", "(1, 3)")
    assert (done.feedback, done.reward) == ("Row 1: ? 1 . . F ? ? ? ?", 2.0)
    done = play(corridor, "flag (1, 5)", "(1, 3)", "flag (1, 5)", "(1, 6)")
    assert (done.feedback, done.reward) == ("Row 1: ? 1 . . . . . 1 ?", 10.0)


def test_an_action_that_is_no_text_is_an_error() -> None:
    for action in (3, None, ["(1, 1)"], (1, 1)):
        with pytest.raises(TypeError, match="str"):
            rules.step(CORNER, CORNER.start, action)  # type: ignore[arg-type]


def test_nothing_changes_where_nothing_can_be_done() -> None:
    assert play(CORNER, "(1, 2)").state is CORNER.start


@settings(max_examples=300, deadline=None)
@given(level=boards.levels(cells=30), data=st.data())
def test_beside_the_game_written_plainly(level: Level, data: st.DataObject) -> None:
    state = level.start
    for _ in range(8):
        plain = boards.game(level, state)
        shown = rules.describe(level, state)
        assert shown == plain.text()
        assert rules.won(level, state) is plain.won
        if plain.won:
            assert rules.actions(level, state) == ()
            return
        cell = data.draw(st.sampled_from(plain.cells))
        flag = level.flags and data.draw(st.booleans())
        action = f"({cell[0]}, {cell[1]})"
        admissible = cell not in plain.opened and (flag or cell not in plain.flags)
        after = plain if not admissible else plain.flag(cell) if flag else plain.open(cell)
        changed = sum(a != b for a, b in zip(plain.text(), after.text(), strict=True))
        reward = -0.1 if after.hit else 10.0 if after.won else -1.0 if not changed else 0.5 if changed == 1 else 2.0
        action = f"flag {action}" if flag else action
        assert (action in rules.actions(level, state)) is admissible

        done = rules.step(level, state, action)
        state = done.state
        assert boards.game(level, state) == after
        assert (done.reward, done.won, done.terminated) == (reward, after.won, after.won or after.hit is not None)
        assert rules.decode(level, rules.encode(level, state)) == state
        if done.terminated:
            assert rules.actions(level, state) == ()
            return


@settings(max_examples=100, deadline=None)
@given(level=boards.levels(cells=30), data=st.data())
def test_arrays_show_the_same_as_text(level: Level, data: st.DataObject) -> None:
    state: Any = level.start
    _, board = rules.ARRAYS.begin(level)
    for _ in range(5):
        letters = [line.partition(": ")[2].split() for line in rules.describe(level, state).split("\n")]
        channels = {"?": 0, ".": 1, "F": 10, "*": 11, **{str(number): number + 1 for number in range(1, 9)}}
        expected = [[channels[letter] for letter in row] for row in letters]
        assert board.shape == (level.grid.rows, level.grid.columns, len(rules.CHANNELS))
        assert board.dtype == np.uint8
        assert board.argmax(axis=2).tolist() == expected
        assert (board.sum(axis=2) == 1).all()
        assert not board.flags.writeable
        actions = rules.actions(level, state)
        if not actions:
            return
        done = rules.ARRAYS.step(level, state, data.draw(st.sampled_from(actions)))
        state, board = done.state, done.feedback


HOSTILE: tuple[Any, ...] = (
    None,
    (),
    (1, 0, -1),
    (2.0, 0, -1, -1),
    (True, 0, -1, -1),
    (-1, 0, -1, -1),
    (0, 0, -1, -1),
    (1 << 40, 0, -1, -1),
    (3, 0, -1, -1),
    (2, 1, -1, -1),
    (2, 0, 1, -1),
    (2, 0, 99, -1),
    (2, 0, -3, -1),
    (2, 0, -2, -1),
    (2, 0, -1, 1),
    (2 | 1 << 11, 0, -1, -1),
)


@pytest.mark.parametrize("data", HOSTILE)
def test_what_is_no_state_is_not_decoded(data: Any) -> None:
    assert rules.decode(CORNER, rules.encode(CORNER, CORNER.start)) == CORNER.start
    with pytest.raises(ValueError, match="not a state"):
        rules.decode(CORNER, data)


def test_mines_make_way_for_a_first_click() -> None:
    board = boards.level("**.. .... ....")
    order = tuple(cell for cell in range(board.grid.cells) if not board.mines >> cell & 1)

    def first(kind: FirstClick, flags: bool = False) -> Level:
        return Level("test/0", (), board.grid, board.mines, kind, order, flags, State(0, 0, NONE, NONE))

    level = first(FirstClick.SAFE)
    done = play(level, "(1, 1)")
    assert done.feedback.startswith("Row 1: 1 ? ?")
    assert level.layout_of(done.state).mines == 0b110
    assert done.state.yielded == 0
    assert play(level, "(3, 3)").state.yielded == NONE
    assert rules.decode(level, tuple(done.state)) == done.state

    level = first(FirstClick.EMPTY)
    done = play(level, "(1, 1)")
    assert done.feedback.startswith("Row 1: . 1 ? ?")
    assert level.layout_of(done.state).mines == 1 << 2 | 1 << 3

    level = first(FirstClick.SAFE, flags=True)
    done = play(level, "flag (1, 1)")
    assert done.invalid is not None
    assert done.state is level.start
    assert not any(action.startswith("flag") for action in rules.actions(level, level.start))


def test_levels_that_play_alike_have_one_digest() -> None:
    same = boards.level("*... .... ....", (1, 2))
    assert same.digest == CORNER.digest
    for other in (
        boards.level("*... .... ....", (2, 1)),
        boards.level("*... .... ....", (1, 2), flags=True),
        boards.level("*... .... ...*", (1, 2)),
        boards.level("*..... ......", (1, 2)),
    ):
        assert other.digest != CORNER.digest
