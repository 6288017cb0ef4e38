"""Rewards, on histories whose states are L itself."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.core.history import History, Point
from rollback_gym.trainer.shaping import FIRST_DESIGN, Earned, Rewards, earned, facts, returned


class Itself:
    """The oracle of a game whose states are L."""

    def distance(self, level: Any, state: Any) -> float:
        return float(state)

    def optimal_actions(self, level: Any, state: Any) -> tuple[Any, ...]:
        return ()

    plan = optimal_actions


def played(start: float, *moves: float | tuple[str, int], pays: float = 0.0) -> History:
    """A history: a number is an action that takes L there, ("back", k) a rollback to index k."""
    history = History.begin("", Point(start, None, ""))
    for move in moves:
        if isinstance(move, tuple):
            target = history.find(move[1])
            if target is None or target is history.node:
                history = history.refuse("rollback", "", "no such target")
            else:
                history = history.go_back(target, "rollback", -pays, "")
        else:
            history = history.act("act", "", pays, Point(move, None, ""))
    return history


DEFAULT = Rewards()


def scored(history: History, rewards: Rewards = DEFAULT, prefix: int = 0) -> tuple[Earned, ...]:
    found = facts(history, None, Itself(), prefix)
    return earned(found, found[-1].after == 0, rewards)


SEED = played(2, 1, 2, 3, ("back", 1), 0)
"""The seed's example: right, wrong, wrong, back to 1, right and won."""


def test_the_seeds_example_earns_what_it_says() -> None:
    turns = scored(SEED, FIRST_DESIGN)
    assert [turn.total for turn in turns] == pytest.approx([0.1, 0.0, 0.0, 1.5, 5.1])
    assert returned(turns) == pytest.approx(6.7)
    assert [sum(column) for column in zip(*turns, strict=True)] == pytest.approx([0.2, 1.0, 0.5, 0, 0, 5, 0, 0, 0])


def test_what_cannot_be_done_costs_what_it_is_said_to() -> None:
    history = History.begin("", Point(2, None, "")).act("put", "", 0.0, Point(2, None, ""), "no such thing")
    history = history.refuse("rollback(9)", "", "no such target").act("go", "", 0.0, Point(0, None, ""))
    assert [turn.invalid for turn in scored(history, Rewards(invalid=-0.1))] == [-0.1, -0.1, 0.0]
    assert [turn.invalid for turn in scored(history)] == [0.0, 0.0, 0.0]
    assert [turn.invalid for turn in scored(history, Rewards(invalid=-0.1), 1)] == [-0.1, 0.0]


def test_the_seeds_example_pays_the_rollback_where_others_erred() -> None:
    # The same with the default numbers: the first three actions were put in, so nothing is charged for them.
    assert [turn.total for turn in scored(SEED, prefix=3)] == pytest.approx([0.8, 5.1])
    # All its own: what going back earns was charged before.
    assert [turn.charge for turn in scored(SEED)] == pytest.approx([0, -0.8, 0, 0, 0])
    assert returned(scored(SEED)) == pytest.approx(5.2)


def test_discount_goes_by_turns_taken() -> None:
    assert returned(scored(SEED, FIRST_DESIGN), 0.5) == pytest.approx(0.1 + 1.5 / 8 + 5.1 / 16)


@pytest.mark.parametrize(
    ("moves", "prefix", "rollback", "exact"),
    [
        ((3, ("back", 0)), 1, 0.3, 0.5),
        ((1, 2, 3, ("back", 1)), 3, 0.3, 0.5),
        ((1, 2, 3, ("back", 0)), 3, 0.3, 0.0),  # one too early: 2 + 1 <= 3
        ((1, 2, 4, ("back", 2)), 3, 0.3, 0.0),  # one too late, but worth its turn
        ((1, 2, 2, ("back", 2)), 3, 0.0, 0.0),  # in vain
        ((1, 2, 1, ("back", 1)), 3, 0.0, 0.0),  # it was repaired
        ((1, math.inf, ("back", 1)), 2, 0.3, 0.5),
        ((1, math.inf, math.inf, ("back", 2)), 3, 0.0, 0.0),
        ((1, 2, ("back", 7)), 2, 0.0, 0.0),  # refused
    ],
)
def test_rollbacks(moves: tuple[Any, ...], prefix: int, rollback: float, exact: float) -> None:
    last = scored(played(2, *moves), prefix=prefix)[-1]
    assert (last.rollback, last.exact) == (rollback, exact)


def test_an_error_pays_once() -> None:
    # Back to where the error still stands, then to before it.
    turns = scored(played(2, 3, 4, ("back", 1), ("back", 0)), prefix=2)
    assert [turn.rollback for turn in turns] == [0.3, 0.0]
    assert [turn.exact for turn in turns] == [0.0, 0.0]


def test_a_repaired_mistake_is_paid_back_and_never_again() -> None:
    turns = scored(played(2, 3, 2, ("back", 1), ("back", 0)))
    assert [turn.charge for turn in turns] == pytest.approx([-0.8, 0.8, 0, 0])
    assert sum(turn.rollback + turn.exact for turn in turns) == 0


def test_needless_rollbacks_cost_the_end_once() -> None:
    turns = scored(played(2, 1, ("back", 0), 1, ("back", 0), 1, 0))
    assert [turn.needless for turn in turns] == [0, 0, 0, 0, 0, -0.5]
    assert [turn.step for turn in turns] == pytest.approx([0.1, 0, 0, 0, 0, 0.1])  # the same step again is not paid
    assert returned(turns) == pytest.approx(4.7)
    # An error after it does not hide it, and one before it excuses only what happens while it stands.
    assert scored(played(2, 1, ("back", 0), 3))[-1].needless == -0.5
    assert scored(played(2, 3, ("back", 0), 2, ("back", 0)))[-1].needless == -0.5
    assert scored(played(2, 3, ("back", 0), 2))[-1].needless == 0


def test_the_prefix_earns_nothing_but_is_remembered() -> None:
    turns = scored(played(3, 2, 3, 2, 1), prefix=1)
    assert [turn.step for turn in turns] == pytest.approx([0, 0, 0.1])
    assert len(turns) == 3


def test_lost_and_cut_off_episodes_end_alike() -> None:
    found = facts(played(2, 1), None, Itself())
    assert earned(found, False, Rewards())[-1].end == -2


def test_wrong_steps_and_the_environment_as_options() -> None:
    rewards = Rewards(wrong=-0.2, environment=0.5)
    turns = scored(played(2, 3, ("back", 0), pays=1.0), rewards)
    assert [turn.wrong for turn in turns] == [-0.2, 0]
    assert [turn.environment for turn in turns] == [0.5, -0.5]  # refunded
    assert sum(turn.environment for turn in turns) == 0


def test_misses_and_right_targets_are_told() -> None:
    found = facts(played(2, 1, 2, 3, ("back", 2)), None, Itself(), 3)
    assert (found[-1].right, found[-1].miss, found[-1].error, found[-1].left) == (1, 1, 2, 2)


def test_no_turns_no_reward() -> None:
    assert earned((), False, Rewards()) == ()
    assert returned(()) == 0


@st.composite
def episodes(draw: st.DrawFn) -> tuple[int, History]:
    """A start and an episode of up to 40 turns, in which an action takes L down by 1 at most."""
    start = draw(st.integers(1, 5))
    history = History.begin("", Point(start, None, ""))
    for _ in range(draw(st.integers(1, 40))):
        here = history.node
        if here.point.state == 0:
            break
        if here.depth and draw(st.booleans()):
            history = history.go_back(draw(st.sampled_from(here.path[:-1])), "rollback", 0.0, "")
        else:
            up = [here.point.state + more for more in (-1, 0, 1, 2)]
            after = draw(st.sampled_from([*up, math.inf]))
            history = history.act("act", "", 0.0, Point(math.inf if math.isinf(here.point.state) else after, None, ""))
    return start, history


numbers = st.builds(
    Rewards,
    step=st.floats(0, 1),
    rollback=st.floats(0, 3),
    exact=st.floats(0, 3),
    win=st.floats(0, 10),
    loss=st.floats(-10, 0),
    needless=st.floats(-3, 0),
    wrong=st.floats(-1, 0),
)


@given(episodes(), numbers, st.floats(0.5, 1.0))
def test_no_loop_of_erring_and_going_back_beats_a_clean_win(
    episode: tuple[int, History], rewards: Rewards, discount: float
) -> None:
    start, history = episode
    clean = scored(played(start, *range(start - 1, -1, -1)), rewards)
    assert returned(scored(history, rewards), discount) <= returned(clean, discount) + 1e-9


def test_without_the_charge_a_loop_does() -> None:
    loop = [move for _ in range(10) for move in (3, ("back", 0))]
    moves = (*loop, 1, 0)
    # Under the first design 10 loops earn 15 points more than the clean win: what the seed's agent found out.
    assert returned(scored(played(2, *moves), FIRST_DESIGN)) == pytest.approx(20.2)
    assert returned(scored(played(2, *moves))) == pytest.approx(5.2)
