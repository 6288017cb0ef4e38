"""What a player can know, beside all layouts of the mines, listed one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym import OracleBudgetExceeded
from rollback_gym.core.bits import numbers
from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.generator import Setup, generate
from rollback_gym.envs.minesweeper.types import FirstClick, Level, State
from rollback_gym.oracles.minesweeper_belief import Click, View, belief, judge, posterior, read_view, view
from tests.envs.minesweeper import boards


def listed(seen: View) -> tuple[int, list[int]]:
    """How many layouts fit, and in how many of them each cell is a mine."""
    grid, count = seen.grid, 0
    mined = [0] * grid.cells
    shown = {cell: number for number, cells in enumerate(seen.counts) for cell in numbers(cells)}
    for mines in combinations([cell for cell in range(grid.cells) if cell not in shown], seen.mines):
        mask = sum(1 << cell for cell in mines)
        if seen.hit & ~mask:
            continue
        if all((grid.around[cell] & mask).bit_count() == number for cell, number in shown.items()):
            count += 1
            for cell in mines:
                mined[cell] += 1
    return count, mined


@settings(max_examples=250, deadline=None)
@given(level=boards.levels(cells=20, mines=6), data=st.data())
def test_equals_all_layouts_listed(level: Level, data: st.DataObject) -> None:
    state = level.start
    for _ in range(5):
        seen = view(level, state)
        count, mined = listed(seen)
        known = belief(level, state)
        assert known.layouts == count
        counted = {cell: mines for cells, mines in known.groups for cell in numbers(cells)}
        assert counted == {cell: mined[cell] for cell in numbers(level.grid.full & ~state.opened)}
        assert known.probability.flatten().tolist() == [mines / count for mines in mined]
        actions = rules.actions(level, state)
        if not actions:
            return
        state = rules.step(level, state, data.draw(st.sampled_from(actions))).state


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), turns=st.integers(0, 6))
def test_large_boards_add_up(seed: int, turns: int) -> None:
    """A large board has too many layouts to list; but the mines expected must be those there are."""
    setup = Setup(rows=16, columns=30, mines=99, first_click=FirstClick.EMPTY)
    level = generate(setup, seed)
    state = level.start
    for _ in range(turns):
        known = belief(level, state)
        done = rules.step(level, state, known.least_risky[seed % len(known.least_risky)])
        if done.terminated:
            return
        state = done.state
    known = belief(level, state)
    assert sum(cells.bit_count() * mines for cells, mines in known.groups) == 99 * known.layouts
    assert all(0 <= mines <= known.layouts for _, mines in known.groups)
    certain = [cells for cells, mines in known.groups if mines == known.layouts]
    assert not any(cells & ~level.mines for cells in certain)
    assert not any(level.grid.codes[click] in numbers(level.mines) for click in known.safe)


@settings(max_examples=60, deadline=None)
@given(level=boards.levels(cells=20, mines=6), data=st.data())
def test_the_text_holds_all_that_is_known(level: Level, data: st.DataObject) -> None:
    state = level.start
    for _ in range(data.draw(st.integers(0, 4))):
        actions = rules.actions(level, state)
        if actions:
            state = rules.step(level, state, data.draw(st.sampled_from(actions))).state
    read = read_view(rules.describe(level, state), level.mines.bit_count())
    assert read == view(level, state)
    assert posterior(read).groups == belief(level, state).groups


def test_the_largest_boards() -> None:
    level = generate(Setup(rows=50, columns=60, mines=450), 1)
    clicked = sum(1 << cell for cell in numbers(level.layout.needed & level.layout.numbered)[::12])
    known = belief(level, level.start._replace(opened=level.start.opened | clicked))
    assert sum(cells.bit_count() * mines for cells, mines in known.groups) == 450 * known.layouts
    certain = [cells for cells, mines in known.groups if mines == known.layouts]
    assert certain
    assert not any(cells & ~level.mines for cells in certain)
    assert not set(known.safe) & set(level.grid.clicks_on(level.mines))


@pytest.mark.parametrize(("size", "every", "says"), [(41, 2, "hang together"), (70, 3, "too many to count")])
def test_what_takes_too_long_is_said_so(size: int, every: int, says: str) -> None:
    """Every other cell is open: what is known of one depends on all others."""
    board = "\n".join(
        f"Row {row}: " + " ".join("2" if row % every == column % every == 1 else "?" for column in range(size))
        for row in range(size)
    )
    with pytest.raises(OracleBudgetExceeded, match=says):
        posterior(read_view(board, size**2 // 5))


def test_how_good_a_click_is() -> None:
    # A mine in each top corner: the 1 leaves two cells for one mine, and the sea below holds the other.
    level = boards.level("*.. ... ... ..*", (1, 2))
    known = belief(level, level.start)
    assert known.safe == ()
    assert judge(level, level.start, "(1, 2)") is None
    assert judge(level, level.start, "flag (1, 1)") is None
    assert judge(level, level.start, "(9, 9)") is None
    # 1 mine among the five cells around, the other among the six of the rest.
    assert known.layouts == 5 * 6
    assert known.least_risky == ("(3, 1)", "(3, 2)", "(3, 3)", "(4, 1)", "(4, 2)", "(4, 3)")
    assert judge(level, level.start, "(3, 2)") is Click.FORCED_GUESS
    assert judge(level, level.start, "(2, 2)") is Click.BAD_GUESS

    corner = boards.level("*.... ..... ....*", (1, 5))
    assert belief(corner, corner.start).safe == ()
    line = boards.level(".....*...", (1, 1))
    assert belief(line, line.start).safe == ("(1, 7)", "(1, 8)", "(1, 9)")
    assert judge(line, line.start, "(1, 8)") is Click.SAFE
    assert judge(line, line.start, "(1, 6)") is Click.MISTAKE


def test_before_a_first_click_that_is_promised_to_be_safe() -> None:
    for kind, risk in ((FirstClick.ANY, 1 / 12), (FirstClick.SAFE, 0.0), (FirstClick.EMPTY, 0.0)):
        level = generate(Setup(first_click=kind, opening="player"), 1)
        known = belief(level, level.start)
        assert known.layouts == 7140
        assert (known.probability == risk).all()
        good = Click.FORCED_GUESS if kind is FirstClick.ANY else Click.SAFE
        assert judge(level, level.start, "(3, 3)") is good


def test_a_board_as_text() -> None:
    known = posterior(read_view("Row 1: ? 1 ?\nRow 2: ? ? ?", mines=1))
    assert np.allclose(known.probability, [[0.2, 0, 0.2], [0.2, 0.2, 0.2]])
    known = posterior(read_view("Row 1: F 2 * ? ?", mines=2))
    assert known.probability.tolist() == [[1.0, 0.0, 1.0, 0.0, 0.0]]
    for board, mines, problem in (
        ("Row 1: 1 ? 2", 2, "No layout"),
        ("Row 1: 1 1 ?", 1, "No layout"),
        ("Row 1: . ? ? ? ?", 5, "No layout"),
        ("Row 1: ? 2 ? ?", 1, "More mines"),
        ("Row 1: ? 1\nRow 2: ?", 1, "same length"),
        ("Row 1: ? x", 1, "Expected a board"),
        ("", 1, "Expected a board"),
    ):
        with pytest.raises(ValueError, match=problem):
            posterior(read_view(board, mines))


def test_play_of_least_risk() -> None:
    """Guesses are rare on the published runs' boards, and nearly all games are won."""
    won = forced = decisions = 0
    for seed in range(300):
        level = generate(Setup(), seed)
        state, over = level.start, False
        while not over:
            known = belief(level, state)
            forced += not known.safe
            decisions += 1
            done = rules.step(level, state, known.least_risky[0])
            state, over = done.state, done.terminated
        won += done.won
    assert 0.93 < won / 300 < 0.99
    assert 0.10 < forced / decisions < 0.16


def test_seen_states_are_values() -> None:
    level = generate(Setup(), 3)
    assert hash(view(level, level.start)) == hash(view(level, State(*level.start)))
    assert posterior(view(level, level.start)) is posterior(view(level, State(*level.start)))
