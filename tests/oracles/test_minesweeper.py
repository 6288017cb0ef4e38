"""MineSweeper's oracle beside brute force: every state is searched, with the rules and nothing else."""

import math
from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym import OracleBudgetExceeded
from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.generator import Setup, generate
from rollback_gym.envs.minesweeper.types import NONE, FirstClick, Level, State
from rollback_gym.oracles import minesweeper as oracle
from tests.envs.minesweeper import boards


def brute_force(level: Level, start: State) -> float:
    """The fewest turns to a win, breadth first."""
    if start.hit == NONE and rules.won(level, start):
        return 0
    seen, queue = {start}, deque([(start, 0)])
    while queue:
        state, turns = queue.popleft()
        for action in rules.actions(level, state):
            done = rules.step(level, state, action)
            if done.won:
                return turns + 1
            if not done.terminated and done.state not in seen:
                seen.add(done.state)
                queue.append((done.state, turns + 1))
    return math.inf


def check(level: Level, state: State) -> None:
    distance = oracle.distance(level, state)
    assert isinstance(distance, float)
    assert distance == brute_force(level, state)
    best = {
        action
        for action in rules.actions(level, state)
        if brute_force(level, rules.step(level, state, action).state) == distance - 1 and math.isfinite(distance)
    }
    assert oracle.optimal_actions(level, state) == tuple(a for a in rules.actions(level, state) if a in best)
    plan = oracle.plan(level, state)
    assert len(plan) == (distance if math.isfinite(distance) else 0)
    for action in plan:
        done = rules.step(level, state, action)
        assert done.invalid is None
        state = done.state
    assert not plan or done.won


def wander(level: Level, data: st.DataObject, turns: int) -> State:
    state = level.start
    for _ in range(data.draw(st.integers(0, turns))):
        actions = rules.actions(level, state)
        if not actions:
            break
        state = rules.step(level, state, data.draw(st.sampled_from(actions))).state
    return state


@settings(max_examples=400, deadline=None)
@given(level=boards.levels(cells=12, mines=4, flags=False), data=st.data())
def test_equals_brute_force(level: Level, data: st.DataObject) -> None:
    check(level, wander(level, data, 4))


@settings(max_examples=150, deadline=None)
@given(level=boards.levels(cells=8, mines=3, flags=True), data=st.data())
def test_equals_brute_force_with_flags(level: Level, data: st.DataObject) -> None:
    check(level, wander(level, data, 6))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), flags=st.booleans(), kind=st.sampled_from(FirstClick), seed=st.integers(0, 99))
def test_equals_brute_force_where_the_player_begins(
    data: st.DataObject, flags: bool, kind: FirstClick, seed: int
) -> None:
    sizes = [(1, 6), (2, 4)] if kind is FirstClick.EMPTY else [(1, 6), (2, 3)] if flags else [(1, 6), (2, 4), (3, 3)]
    rows, columns = data.draw(st.sampled_from(sizes))
    setup = Setup(rows=rows, columns=columns, mines=2, first_click=kind, opening="player", flags=flags)
    level = generate(setup, seed)
    check(level, level.start)
    check(level, wander(level, data, 3))


def test_a_mine_is_the_only_way_to_lose_turns_without_flags() -> None:
    for seed in range(200):
        level = generate(Setup(rows=5, columns=5, mines=4), seed)
        state: Any = level.start
        for action in level.grid.clicks:
            before = oracle.distance(level, state)
            done = rules.step(level, state, action)
            after = oracle.distance(level, done.state)
            if done.terminated and not done.won:
                assert after == math.inf
                continue
            assert after <= before
            state = done.state


@pytest.mark.parametrize(
    ("actions", "distance"),
    [
        ((), 1),
        (("flag (1, 1)",), 0),
        (("flag (2, 2)",), 2),
        (("flag (2, 2)", "flag (2, 3)"), 3),
        (("(3, 3)",), 0),
        (("(1, 1)",), math.inf),
    ],
)
def test_with_flags(actions: tuple[str, ...], distance: float) -> None:
    level = boards.level("*... .... .... ....", (1, 2), flags=True)
    state: Any = level.start
    for action in actions:
        state = rules.step(level, state, action).state
    assert oracle.distance(level, state) == distance
    assert distance == brute_force(level, state)


def test_a_game_that_was_lost_before_it_began_cannot_be_won() -> None:
    lost = (generate(Setup(mines=1, original=True), seed) for seed in range(200))
    level = next(level for level in lost if not level.start.opened)
    assert oracle.distance(level, level.start) == math.inf == brute_force(level, level.start)
    assert oracle.optimal_actions(level, level.start) == oracle.plan(level, level.start) == ()


def test_a_board_too_large_to_try_every_first_click() -> None:
    for flags in (False, True):
        level = generate(Setup(rows=51, columns=50, mines=300, opening="player", flags=flags), 0)
        with pytest.raises(OracleBudgetExceeded, match="Ask after the first click"):
            oracle.distance(level, level.start)
        state = rules.step(level, level.start, "(5, 5)").state
        assert oracle.distance(level, state) > 0
