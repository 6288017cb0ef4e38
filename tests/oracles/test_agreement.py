"""Agreement with the oracle, beside chance: counted by hand, and against every draw there is."""

from itertools import combinations

import pytest

from rollback_gym.oracles.agreement import Judgement, agreement


def test_a_named_turn_agrees_within_the_tolerance_on_either_side():
    cases = [Judgement((4,), (5,), 9), Judgement((6, 9), (5,), 9), Judgement((2,), (5, 7), 9), Judgement((), (1,), 9)]
    found = agreement(cases)
    assert (found.named, found.pivots, found.episodes) == (4, 5, 4)
    assert (found.right.value, found.found.value, found.first_found.value) == (2 / 4, 2 / 5, 2 / 4)
    exact = agreement(cases, tolerance=0)
    assert (exact.right.value, exact.found.value) == (0, 0)


def test_a_perfect_judge_agrees_wholly_and_the_interval_admits_doubt():
    found = agreement([Judgement((3, 8), (3, 8), 30)] * 20, tolerance=0)
    assert found.right[:3] == found.found[:3] == found.first_found[:3]
    assert found.right.value == found.right.high == 1
    assert 0.8 < found.right.low < 0.9


@pytest.mark.parametrize(
    ("named", "pivots", "turns"), [((2,), (1,), 6), ((1, 4), (3, 6), 7), ((1, 2, 3), (2, 3, 9), 9)]
)
@pytest.mark.parametrize("tolerance", [0, 1, 2])
def test_chance_is_the_mean_over_every_draw(named, pivots, turns, tolerance):
    found = agreement([Judgement(named, pivots, turns)], tolerance=tolerance)
    draws = [
        agreement([Judgement(draw, pivots, turns)], tolerance=tolerance)
        for draw in combinations(range(1, turns + 1), len(named))
    ]
    for share in ("right", "found", "first_found"):
        mean = sum(getattr(draw, share).value for draw in draws) / len(draws)
        assert getattr(found, f"{share}_by_chance") == pytest.approx(mean)


def test_a_false_alarm_is_wrong_and_hides_no_pivot():
    found = agreement([Judgement((2,), (), 5), Judgement((3,), (3,), 5)])
    assert found.right.value == 0.5
    assert found.right_by_chance == 0.3
    assert found.found.value == 1


def test_nothing_to_compare_gives_nothing():
    for nothing in ([], [Judgement((), (), 0)]):
        found = agreement(nothing)
        assert found.right.value is None
        assert found.found_by_chance is None


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"Turn 7.*turns 1 to 5"):
        agreement([Judgement((7,), (2,), 5)])
    with pytest.raises(ValueError, match="tolerance"):
        agreement([], tolerance=-1)
