"""The reward for doing more than before: never negative, nothing for nothing new, and a bar that does not fall."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.trainer.capability import Capability, checked, intrinsic

SHARES = st.floats(0, 1)
RATES = st.lists(st.tuples(st.sampled_from("abc"), SHARES), max_size=12)


@given(SHARES, SHARES)
def test_the_reward_is_what_was_done_beyond_the_baseline(phi, baseline):
    reward = intrinsic(phi, baseline)
    assert 0 <= reward <= 1
    if phi <= baseline:
        assert reward == 0
    else:
        assert reward == pytest.approx(phi - baseline)


@given(RATES, RATES)
def test_baselines_never_fall_and_are_the_best_so_far(before, later):
    once = Capability().after(before)
    twice = once.after(later)
    for task in "abcd":
        assert twice.baseline(task) >= once.baseline(task)
        assert twice.baseline(task) == max([0.0, *[rate for name, rate in [*before, *later] if name == task]])
    assert twice == Capability().after([*before, *later])


@given(RATES)
def test_what_was_reached_once_earns_nothing_again(rates):
    capability = Capability().after(rates)
    for task, rate in rates:
        assert intrinsic(rate, capability.baseline(task)) == 0


@given(RATES, st.floats(0, 0.99))
def test_a_moving_average_stays_between_what_it_was_and_what_came(rates, decay):
    capability = Capability(decay=decay)
    for task, rate in rates:
        before, capability = capability.baseline(task), capability.after([(task, rate)])
        now = capability.baseline(task)
        assert min(before, rate) - 1e-12 <= now <= max(before, rate) + 1e-12


def test_a_moving_average_may_fall():
    capability = Capability(decay=0.9).after([("a", 1.0)])
    assert capability.baseline("a") == pytest.approx(0.1)
    assert capability.after([("a", 0.0)]).baseline("a") == pytest.approx(0.09)


def test_values_are_not_changed_by_what_is_made_of_them():
    first = Capability()
    second = first.after([("a", 0.5)])
    assert first.baseline("a") == 0
    assert (second.mean(), first.mean()) == (0.5, 0.0)


@given(RATES)
def test_a_checkpoint_holds_it(rates):
    capability = Capability().after(rates)
    assert Capability(**json.loads(json.dumps(capability._asdict()))) == capability


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_shares_are_checked(bad):
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        intrinsic(bad, 0.0)
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        Capability().after([("a", bad)])
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        checked(Capability({"a": bad}))


def test_decay_is_checked():
    assert checked(Capability(decay=0.0)) == Capability(decay=0.0)
    with pytest.raises(ValueError, match="decay"):
        checked(Capability(decay=1.0))
