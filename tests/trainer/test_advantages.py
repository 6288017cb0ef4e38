"""Advantages against sums written out, and the laws of each method."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.trainer.advantages import discounted_return, gae, gigpo, group_relative, grpo, returns_to_go

reward = st.floats(-5, 5)
episode = st.lists(reward, min_size=1, max_size=6)


@given(episode, st.floats(0, 1))
def test_returns_are_the_sums_they_stand_for(rewards, gamma):
    sums = [sum(gamma**n * of for n, of in enumerate(rewards[turn:])) for turn in range(len(rewards))]
    assert np.allclose(returns_to_go(rewards, gamma), sums)
    assert discounted_return(rewards, gamma) == pytest.approx(sums[0])
    assert discounted_return([], gamma) == 0


def test_grpo_by_hand():
    rewards = [[0, 1], [0, 0], [1, 1], [5]]
    got = grpo(rewards, ["a", "a", "a", "b"], gamma=0.5, scale=False)
    assert got == pytest.approx([0.5 - 2 / 3, -2 / 3, 1.5 - 2 / 3, 0])
    scaled = grpo(rewards, ["a", "a", "a", "b"], gamma=0.5)
    assert scaled[:3] == pytest.approx(got[:3] / (np.std([0.5, 0, 1.5], ddof=1) + 1e-4))
    assert scaled[3] == 0


@given(st.lists(st.tuples(reward, st.integers(0, 2)), min_size=1, max_size=12))
def test_a_group_is_compared_with_itself_alone(given_values):
    values, members = [value for value, _ in given_values], [group for _, group in given_values]
    advantages = group_relative(values, members, scale=False)
    for group in set(members):
        places = [place for place, of in enumerate(members) if of == group]
        assert sum(advantages[places]) == pytest.approx(0, abs=1e-6)
        alone = group_relative([values[place] for place in places], [0] * len(places), scale=False)
        assert np.allclose(advantages[places], alone)


def test_a_group_in_which_all_fail_learns_nothing():
    assert not grpo([[-1.0, 0], [-1, 0]], [0, 0]).any()


def test_gigpo_by_hand():
    rewards = [[0, 0, 10], [0, 0]]
    states = [["s", "t", "s"], ["s", "u"]]
    got = gigpo(rewards, [0, 0], states, gamma=0.5, scale=False)
    # Returns to go: 2.5, 5, 10 and 0, 0; the three turns in s have the mean 12.5 / 3.
    assert got[0] == pytest.approx([1.25 + 2.5 - 12.5 / 3, 1.25, 1.25 + 10 - 12.5 / 3])
    assert got[1] == pytest.approx([-1.25 - 12.5 / 3, -1.25])


def test_gigpo_compares_no_turns_of_other_groups_and_is_grpo_without_weight():
    rewards, groups = [[1, 2], [0, 4], [3, 3]], [0, 0, 1]
    apart = gigpo(rewards, groups, [["s", "t"], ["u", "v"], ["s", "t"]], scale=False)
    plain = grpo(rewards, groups, scale=False)
    assert np.allclose([of[0] for of in apart], plain)
    alike = [["s", "s"], ["s", "s"], ["s", "s"]]
    unweighted = gigpo(rewards, groups, alike, weight=0, scale=False)
    assert np.allclose([of[1] for of in unweighted], plain)
    assert gigpo([], [], []) == ()


@given(st.lists(st.tuples(reward, reward), min_size=1, max_size=6), st.floats(0, 1), st.floats(0, 1))
def test_gae_is_the_sum_it_stands_for(turns, gamma, lam):
    rewards, values = [of for of, _ in turns], [of for _, of in turns]
    following = [*values[1:], 0]
    surprises = [r + gamma * after - v for r, v, after in zip(rewards, values, following, strict=True)]
    sums = [sum((gamma * lam) ** n * of for n, of in enumerate(surprises[turn:])) for turn in range(len(surprises))]
    advantages, targets = gae(rewards, values, gamma=gamma, lam=lam)
    assert np.allclose(advantages, sums)
    assert np.allclose(targets, advantages + values)


def test_gae_with_lambda_one_is_the_return_less_the_value():
    rewards, values = [1.0, -2, 5], [0.5, 1, 2]
    advantages, targets = gae(rewards, values, gamma=0.9, lam=1)
    assert np.allclose(targets, returns_to_go(rewards, 0.9))
    assert np.allclose(advantages, returns_to_go(rewards, 0.9) - values)
    with pytest.raises(ValueError, match="3 turns, 2 values"):
        gae(rewards, values[:2])
