"""The schedule, on success that is made up."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.trainer.curriculum import (
    Decision,
    Kind,
    Schedule,
    State,
    begin,
    evaluated,
    from_plain,
    plain,
    shares,
    stepped,
)

SCHEDULE = Schedule()


def run(
    schedule: Schedule, success: Callable[[int, int], float], steps: int, every: int = 10
) -> tuple[State, list[Decision]]:
    """A run in which level l has `success(l, step)`, evaluated every few steps."""
    state, record = begin(schedule), []
    for step in range(1, steps + 1):
        state, told = stepped(schedule, state)
        record += told
        if step % every == 0:
            state, told = evaluated(schedule, state, {level: success(level, step) for level in (1, 2, 3)})
            record += told
    return state, record


def ups(record: list[Decision]) -> list[tuple[int, int]]:
    return [(decision.step, decision.level) for decision in record if decision.kind is Kind.UP]


def test_goes_up_when_mastered_three_times() -> None:
    state, record = run(SCHEDULE, lambda level, step: 0.9, 60)
    assert ups(record) == [(30, 2), (60, 3)]
    assert state.level == 3


def test_holds_at_the_threshold() -> None:
    state, record = run(SCHEDULE, lambda level, step: 0.8, 300)
    assert not ups(record)
    assert shares(SCHEDULE, state) == (1, 0, 0)
    assert "not above 80%" in [d.why for d in record if d.kind is Kind.HOLD][-1]


def test_waits_while_it_falls() -> None:
    falling = [1.0, 1.0, 0.75, 0.75, 0.9]
    state, record = begin(SCHEDULE), []
    for success in falling:
        state, told = evaluated(SCHEDULE, state, {1: success})
        record.append(told[-1].kind)
    # The averages: 1, 1, .875 (fell by more than 5 points), .81, .86
    assert record[2] is Kind.HOLD
    assert record[-1] is Kind.UP
    assert Kind.UP not in record[:-1]


def test_a_level_enters_at_a_tenth_and_gains_to_a_half() -> None:
    state = State(entered=(0, 100), clock=100)
    seen = []
    for _ in range(301):
        seen.append(shares(SCHEDULE, state)[1])
        state, _ = stepped(SCHEDULE, state)
    assert seen[0:50] == [0.1] * 50
    assert seen[50:100] == [0.2] * 50
    assert [seen[n] for n in (100, 150, 200, 250, 300)] == [0.3, 0.4, 0.5, 0.5, 0.5]


def test_every_change_of_a_share_is_recorded() -> None:
    _, record = run(SCHEDULE, lambda level, step: 0.9 if level == 1 else 0.1, 300)
    assert [d.shares[1] for d in record if d.kind is Kind.SHARE] == [0.2, 0.3, 0.4, 0.5]
    assert [d.step for d in record if d.kind is Kind.SHARE] == [80, 130, 180, 230]


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 2000))
def test_shares_are_one_together_and_no_level_below_vanishes(clock: int, second: int, third: int) -> None:
    second, third = sorted((min(second, clock), min(third, clock)))
    for entered in ((0,), (0, second), (0, second, third)):
        found = shares(SCHEDULE, State(clock=clock, entered=entered))
        assert sum(found) == pytest.approx(1)
        assert all(share >= 0.05 for share in found[: len(entered)])
        assert all(share == 0 for share in found[len(entered) :])


def test_mixed_and_fixed() -> None:
    mixed = Schedule(mode="mixed")
    assert shares(mixed, begin(mixed)) == pytest.approx((1 / 3,) * 3)
    state, record = run(mixed, lambda level, step: 0.0, 100)
    assert (state.level, record) == (3, [])

    fixed = Schedule(mode="fixed")
    state, record = run(fixed, lambda level, step: 0.0, 1200, every=100)
    assert ups(record) == [(500, 2), (1000, 3)]
    assert shares(fixed, state) == (0, 0, 1)


def test_a_sustained_fall_goes_back_to_the_last_good_state() -> None:
    def success(level: int, step: int) -> float:
        if level == 1:
            return 0.9 if step <= 100 else 0.2
        return 0.3

    state, record = run(SCHEDULE, success, 200)
    back = [decision for decision in record if decision.kind is Kind.BACK]
    good = [decision for decision in record if decision.kind is Kind.GOOD]
    assert [decision.step for decision in back] == [130, 160, 190]  # it does not get better by itself
    assert back[0].to == good[-1].step == 100
    assert "success has been below" in back[0].why
    assert back[0].shares == good[-1].shares
    # Steps count on, and the shares go on from where they were.
    assert state.step == 200
    assert state.clock == 100 + 10


def test_a_dip_is_no_fall() -> None:
    _, record = run(SCHEDULE, lambda level, step: 0.1 if step in (40, 70, 100) else 0.9, 200)
    assert Kind.BACK not in {decision.kind for decision in record}


def test_a_level_that_has_just_entered_does_not_count_as_a_fall() -> None:
    _, record = run(SCHEDULE, lambda level, step: 0.9 if level == 1 else 0.0, 400)
    assert Kind.BACK not in {decision.kind for decision in record}


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), max_size=40))
def test_any_run_can_be_written_down_and_gone_on_with(course: list[tuple[float, float, float]]) -> None:
    state = begin(SCHEDULE)
    for success in course:
        state, _ = stepped(SCHEDULE, state)
        again = from_plain(json.loads(json.dumps(plain(state))))
        assert again == state
        state, told = evaluated(SCHEDULE, state, dict(zip((1, 2, 3), success, strict=True)))
        assert (state, told) == evaluated(SCHEDULE, again, dict(zip((1, 2, 3), success, strict=True)))
        assert state.clock <= state.step
