"""The check finds what is broken, by the right law, and leaves alone what is not."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

from rollback_gym.testing import CheckFailed, check_rollback_env
from rollback_gym.testing.laws import LAWS
from rollback_gym.wrappers import Rollback, Snapshots
from tests.testing import broken
from tests.toy import ToyEnv
from tests.wrappers import foreign, hard

BROKEN: dict[str, Callable[[], gym.Env[Any, Any]]] = {
    "simulator": broken.MutableState,
    "future": broken.CountsOutside,
    "determinism": broken.GlobalDice,
    "processes": broken.HashOrder,
    "serialisation": broken.LossyBytes,
    "admissible": broken.LiarAboutActions,
    "isolation": broken.ForgetsRandom,
    "spaces": broken.OutsideItsSpace,
    "aliasing": broken.HandsOutItsOwn,
    "refunds": lambda: broken.NoRefund(ToyEnv()),
    "budget": lambda: broken.FreeTurns(ToyEnv()),
    "going_back": lambda: broken.ShowsTheWrongMoment(ToyEnv()),
    "revival": lambda: broken.StaysDead(ToyEnv(), revive=True),
}


@pytest.mark.parametrize("law", BROKEN)
def test_each_broken_environment_is_caught_by_the_right_law(law: str) -> None:
    report = check_rollback_env(BROKEN[law], turns=30, raise_on_failure=False)
    assert law in report.failed, report
    only = check_rollback_env(BROKEN[law], turns=30, only=[law], raise_on_failure=False)
    assert list(only.failed) == [law]


@pytest.mark.parametrize(
    ("make", "law"),
    [
        (broken.UnseededStart, "determinism"),
        (broken.UnorderedBytes, "processes"),
        (broken.PrivateDigest, "processes"),
    ],
)
def test_other_ways_to_break_a_law(make: Callable[[], gym.Env[Any, Any]], law: str) -> None:
    assert law in check_rollback_env(make, turns=30, only=[law], raise_on_failure=False).failed


@pytest.mark.parametrize(
    "make",
    [
        ToyEnv,
        lambda: Rollback(ToyEnv(), revive=True, cost=0.5, max_rollbacks=3),
        lambda: Rollback(ToyEnv(actions="discrete"), targets="previous"),
        foreign.Walk,
        foreign.Locked,
        lambda: Snapshots(foreign.EzWalk(), max_turns=40),
        lambda: Snapshots(hard.OwnState(), max_turns=40),
        lambda: Snapshots(hard.Tells(), max_turns=40),
        lambda: Snapshots(hard.Views(), max_turns=40),
    ],
)
def test_sound_environments_pass(make: Callable[[], gym.Env[Any, Any]]) -> None:
    report = check_rollback_env(make, turns=30)
    assert not report.failed
    assert len(report.passed) + len(report.skipped) == len(LAWS)
    assert len(report.passed) >= 12


@pytest.mark.parametrize("name", ["CartPole-v1", "Rollback-Sokoban-v0"])
def test_registered_environments_pass(name: str) -> None:
    assert "processes" in check_rollback_env(name, turns=30).passed


def test_options_of_an_id_and_an_environment_already_made() -> None:
    options = {"revive": True, "observation": "array", "actions": "discrete"}
    report = check_rollback_env("Rollback-MineSweeper-v0", turns=40, **options)
    assert "revival" in report.passed
    env = gym.make("CartPole-v1")
    assert "future" in check_rollback_env(env, turns=20, only=["future"]).passed


def test_failures_say_what_was_done_and_what_came() -> None:
    with pytest.raises(CheckFailed, match=r"refunds: \d+ turns with \d+ rollbacks earned"):
        check_rollback_env(BROKEN["refunds"], turns=30)
    with pytest.raises(CheckFailed, match="global random generator"):
        check_rollback_env(foreign.Lawless)


def test_what_shows_late_is_caught() -> None:
    def made() -> Snapshots:
        return Snapshots(broken.CopiesAnew(), max_turns=60)

    report = check_rollback_env(made, turns=40, only=["future", "copies"], raise_on_failure=False)
    assert "gave another answer than the last time" in report.failed["future"]


def test_an_environment_that_raises_is_told_what_to_do() -> None:
    report = check_rollback_env(
        lambda: Snapshots(hard.Refuses(), max_turns=30), turns=10, only=["budget"], raise_on_failure=False
    )
    assert "step(2) raised ValueError: ValueError('illegal move')" in report.failed["budget"]
    assert "action_mask" in report.failed["budget"]


def test_misuse_is_told() -> None:
    with pytest.raises(ValueError, match="There are no laws gravity"):
        check_rollback_env(ToyEnv, only=["gravity"])
    with pytest.raises(TypeError, match="cannot be made again"):
        check_rollback_env(ToyEnv())
    with pytest.raises(TypeError, match="Expected an id"):
        check_rollback_env(5)  # type: ignore[arg-type]
