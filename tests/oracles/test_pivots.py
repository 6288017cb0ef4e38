"""Grades and pivots, on an episode whose L is known by hand."""

import math
from typing import Any

import pytest

from rollback_gym.oracles import Grade, assessments, grade, pivots, regret
from rollback_gym.wrappers.rollback import Rollback
from tests.toy import ToyEnv, ToyLevel, ToyState


class ToyOracle:
    """In the toy corridor, L is the way to the end; in the pit it is infinite."""

    def distance(self, level: ToyLevel, state: ToyState) -> float:
        return math.inf if state.position <= -2 else float(level.length - state.position)

    def optimal_actions(self, level: ToyLevel, state: ToyState) -> tuple[str, ...]:
        return ("right",) if 0 < self.distance(level, state) < math.inf else ()

    def plan(self, level: ToyLevel, state: ToyState) -> tuple[str, ...]:
        return ("right",) * int(self.distance(level, state))


def played(*actions: str) -> Rollback:
    env = Rollback(ToyEnv(max_turns=30), revive=True)
    env.reset(options={"level": 3})
    for action in actions:
        env.step(action)
    return env


@pytest.mark.parametrize(
    ("previous", "distance", "expected"),
    [
        (5.0, 4.0, Grade.OPTIMAL),
        (5.0, 5.0, Grade.WASTE),
        (5.0, 6.0, Grade.DETOUR),
        (5.0, 7.0, Grade.SETBACK),
        (5.0, 30.0, Grade.SETBACK),
        (5.0, math.inf, Grade.FATAL),
    ],
)
def test_grades_by_regret(previous: float, distance: float, expected: Grade) -> None:
    assert grade(regret(previous, distance)) is expected


def test_an_episode_without_mistakes_has_no_pivots() -> None:
    env = played("right", "take", "right", "right")
    assert pivots(env.history, env.unwrapped.level, ToyOracle()) == ((), None, 0)


def test_pivots_of_a_won_episode() -> None:
    env = played("right", "left", "left", "rollback(1)", "right", "right")
    found = pivots(env.history, env.unwrapped.level, ToyOracle())
    assert found.turns == (2, 3)
    assert found.first == 2
    # Two turns were needed before the pivot; five were spent from it on.
    assert found.wasted == 3


def test_pivots_of_a_lost_episode() -> None:
    env = played("right", "left", "left", "left", "take")
    found = pivots(env.history, env.unwrapped.level, ToyOracle())
    assert found.turns == (2, 3, 4)
    assert found.wasted == 3


def test_every_action_is_assessed() -> None:
    env = played("right", "left", "rollback(9)", "rollback(1)", "left", "left", "left", "rollback(1)")
    judged = assessments(env.history, env.unwrapped.level, ToyOracle())
    rows: list[Any] = [(one.entry.index, one.previous, one.distance, one.pivotal, one.grade) for one in judged]
    assert rows == [
        (1, 3.0, 2.0, False, Grade.OPTIMAL),
        (2, 2.0, 3.0, True, Grade.DETOUR),
        (3, 3.0, 3.0, False, Grade.WASTE),
        (4, 3.0, 2.0, False, Grade.OPTIMAL),
        (5, 2.0, 3.0, True, Grade.DETOUR),
        (6, 3.0, 4.0, True, Grade.DETOUR),
        (7, 4.0, math.inf, True, Grade.FATAL),
        (8, math.inf, 2.0, False, Grade.OPTIMAL),
    ]
