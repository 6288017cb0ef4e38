"""Beside the original: on its recorded games, and live where `ROLLBACK_GYM_RETROAGENT` is a checkout of RetroAgent."""

import os
from itertools import count

import pytest

from rollback_gym import DataError
from rollback_gym.envs.minesweeper import rules, text
from rollback_gym.envs.minesweeper.fidelity import SENTENCES, compare, compare_projections, load_original
from rollback_gym.envs.minesweeper.generator import Setup, generate
from rollback_gym.envs.minesweeper.types import BURIED
from tests.fidelity.minesweeper import PATH, Record, read, short

RECORDS = list(read(PATH.read_text(encoding="ascii")))
CHECKOUT = os.environ.get("ROLLBACK_GYM_RETROAGENT")
with_original = pytest.mark.skipif(
    CHECKOUT is None, reason="set ROLLBACK_GYM_RETROAGENT to a checkout of RetroAgent to play its MineSweeper as well"
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record.size}-{record.mines}-{record.seed}")
def test_a_recorded_game(record: Record) -> None:
    setup = Setup(rows=record.size, columns=record.size, mines=record.mines, flags=record.flags, original=True)
    level = generate(setup, record.seed)
    state, shown = rules.begin(level)
    assert short(shown) == record.board
    for turn in record.turns:
        action = f"{'flag ' if turn.kind == 'R' else ''}({turn.row}, {turn.column})"
        done = rules.step(level, state, action)
        assert (short(done.feedback), done.reward, done.terminated, done.won) == (
            turn.board,
            turn.reward,
            turn.done,
            turn.won,
        )
        state = done.state


def test_the_records_hold_what_is_rare() -> None:
    """A game that is lost before it begins, wins with flags, mines, and clicks of every kind that do nothing."""
    ends = [record.turns[-1] for record in RECORDS]
    assert any(end.won and end.kind == "R" for end in ends)
    assert any(end.won and end.kind == "L" for end in ends)
    assert any(end.done and "*" in end.board for end in ends)
    assert any(end.done and not end.won and "*" not in end.board for end in ends)
    turns = [turn for record in RECORDS for turn in record.turns]
    assert {turn.reward for turn in turns} == {-1.0, -0.1, 0.5, 2.0, 10.0}
    buried = [
        record
        for record in RECORDS
        if generate(Setup(record.size, record.size, record.mines, original=True), record.seed).start.hit == BURIED
    ]
    assert buried


def test_what_the_loose_projection_reads() -> None:
    """What the original's made of `SENTENCES`; compared with it below, where it is there."""
    assert [text.loose(sentence) for sentence in SENTENCES] == READ


READ = ["(1, 2)", "(3, 4)", "(2, 5)", "(1, 6)", *["(-1, -1)"] * 5, "(7, 4)", *["(-1, -1)"] * 3]


def test_where_there_is_no_original(tmp_path: os.PathLike[str]) -> None:
    with pytest.raises(DataError, match="expected a checkout"):
        load_original(str(tmp_path))


@with_original
@pytest.mark.parametrize(
    ("steps", "size", "mines", "flags"),
    [(6000, 6, 3, False), (3000, 6, 3, True), (1500, 6, 1, False), (600, 3, 7, False), (600, 4, 1, True)],
)
def test_side_by_side(steps: int, size: int, mines: int, flags: bool) -> None:
    compared = 0
    for one in compare(load_original(str(CHECKOUT)), count(), size=size, mines=mines, flags=flags):
        assert one.difference is None
        compared += max(one.steps, 1)
        if compared >= steps:
            break


@with_original
def test_projections() -> None:
    assert compare_projections(load_original(str(CHECKOUT))) == []
