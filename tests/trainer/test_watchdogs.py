"""What the watchdogs see, and what they say to try."""

import math

import pytest

from rollback_gym.trainer.watchdogs import Alarm, Call, Measures, Watch, Watchdogs, watched

DOGS = Watchdogs()


def calls(*measures: Measures, dogs: Watchdogs = DOGS) -> list[Call]:
    watch, said = Watch(), []
    for one in measures:
        watch, told = watched(dogs, watch, one)
        said += told
    return said


@pytest.mark.parametrize(
    ("fine", "alarming", "alarm"),
    [
        ({"clean_rollbacks": 0.3}, {"clean_rollbacks": 0.31}, Alarm.CLEAN_ROLLBACKS),
        ({"target_accuracy": 0.5}, {"target_accuracy": 0.49}, Alarm.TARGETS),
        ({"kl": 0.5}, {"kl": 0.51}, Alarm.KL),
        ({"malformed": 0.5}, {"malformed": 0.51}, Alarm.REPORTS),
        ({"reward": 1.0}, {"reward": math.nan}, Alarm.NOT_A_NUMBER),
    ],
)
def test_limits(fine: dict[str, float], alarming: dict[str, float], alarm: Alarm) -> None:
    assert calls(Measures(1, **fine)) == []
    assert [call.alarm for call in calls(Measures(1, **alarming))] == [alarm]


def test_each_time_one_other_thing_to_try_in_the_seeds_order() -> None:
    said = calls(*[Measures(step, clean_rollbacks=0.5) for step in range(60)])
    assert [call.step for call in said] == [0, 10, 20, 30, 40, 50]  # and silent in between
    assert "1.0 to 0.3" in said[0].do
    assert "rewards.needless" in said[1].do
    assert said[-1].do == said[2].do
    assert "50% of the clean episodes" in said[0].saw


def test_spikes() -> None:
    calm = [Measures(step, reward=1 + 0.1 * (step % 2)) for step in range(20)]
    assert calls(*calm, Measures(20, reward=1.15)) == []
    (call,) = calls(*calm, Measures(20, reward=5.0))
    assert (call.step, call.alarm) == (20, Alarm.SPIKE)
    assert "rewards.win" in call.do
    (call,) = calls(*calm, Measures(20, reward=-5.0))
    assert call.alarm is Alarm.SPIKE
    assert calls(*calm[:19], Measures(20, reward=5.0)) == []  # too little to compare with

    again = calls(*calm, Measures(20, reward=5.0), *[Measures(s, reward=1 + 0.1 * (s % 2)) for s in range(21, 60)])
    assert len(again) == 1
    thrice = [Measures(step, reward=50.0 if step in (20, 45, 70) else 1 + 0.1 * (step % 2)) for step in range(71)]
    tries = [call.do for call in calls(*thrice)]
    assert ["win" in tries[0], "rl.kl" in tries[1], "episodes" in tries[2]] == [True] * 3


def test_what_is_no_number_is_not_remembered() -> None:
    watch, _ = watched(DOGS, Watch(), Measures(1, reward=math.inf))
    assert watch.rewards == ()


def test_nothing_measured_nothing_said() -> None:
    assert watched(DOGS, Watch(), Measures(3)) == (Watch(), ())
