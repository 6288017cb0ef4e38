"""Intervals, against drawing samples the plain way, and against the truth they are to cover."""

import numpy as np
import pytest

from rollback_gym.study.statistics import distribution, shares


def plain_bootstrap(draw, statistic, times=4000):
    rng = np.random.default_rng(5)
    return np.quantile([statistic(draw(rng)) for _ in range(times)], (0.025, 0.975))


def test_a_share_of_turns_draws_whole_episodes():
    over, under = np.array([0, 5, 1, 2, 0, 4.0] * 5), np.array([5, 5, 1, 4, 2, 8.0] * 5)
    found = shares({"x": (over, under)})["x"]
    expected = plain_bootstrap(lambda rng: rng.integers(30, size=30), lambda at: over[at].sum() / under[at].sum())
    assert found.value == over.sum() / under.sum()
    assert found.size == under.sum()
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.02)


@pytest.mark.parametrize("n", [5, 6, 40, 41])
def test_the_median_is_drawn_without_drawing_samples(n):
    values = np.random.default_rng(n).gamma(2, 5, n)
    found = distribution(values)
    expected = plain_bootstrap(lambda rng: rng.choice(values, n), np.median)
    assert found.median == np.median(values)
    assert (found.lower, found.upper) == tuple(np.quantile(values, (0.25, 0.75)))
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=0.08)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        found = shares({"x": (rng.random(60) < 0.3, np.ones(60))}, resamples=400)["x"]
        covered += found.low <= 0.3 <= found.high
    assert 0.90 < covered / 300 < 0.985


def test_all_or_nothing_is_no_certainty():
    none, every = shares({"none": ([0] * 20, [1] * 20), "every": ([1] * 20, [1] * 20)}).values()
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(0.1684, abs=1e-4)
    assert (every.value, every.high) == (1, 1)
    assert every.low == pytest.approx(1 - none.high)


def test_too_few_to_draw_from_leave_no_interval():
    assert shares({"x": ([], [])})["x"] == (None, None, None, 0)
    assert shares({"x": ([3.0], [8.0])})["x"] == (3 / 8, None, None, 8)
    assert shares({"x": ([3.0, 0.0], [8.0, 0.0])})["x"] == (3 / 8, None, None, 8)
    assert distribution([]).median is None
    assert distribution([4])[:5] == (1, 4, 4, None, None)


def test_the_same_numbers_get_the_same_interval_in_any_company():
    alone = shares({"x": ([1, 0, 1, 1], [1, 1, 1, 1])})["x"]
    assert shares({"y": ([0, 0, 0, 1], [1, 1, 1, 1]), "x": ([1, 0, 1, 1], [1, 1, 1, 1])})["x"] == alone


def test_many_episodes_are_drawn_in_parts():
    found = shares({"x": ([1, 0] * 50_000, [1] * 100_000)}, resamples=50)["x"]
    assert 0.49 < found.low < 0.5 < found.high < 0.51
