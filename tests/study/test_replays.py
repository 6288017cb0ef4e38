"""All replays of a run: the same file whatever the workers and the interruptions, and what the paper found."""

import json

import pytest

from rollback_gym.core.errors import RecordError, RunMismatch
from rollback_gym.oracles.agreement import Judgement, agreement
from rollback_gym.play.playing import play
from rollback_gym.play.policies import make_policy
from rollback_gym.play.records import Made
from rollback_gym.play.replay import replay
from rollback_gym.play.run import make_env
from rollback_gym.study.branches import Arm
from rollback_gym.study.counterfactual import eligible, results
from rollback_gym.study.diagnose import diagnose
from rollback_gym.study.replays import Plan, ReplayFailed, replay_all

MADE = Made("Rollback-ALFWorld-v0", {"max_turns": 30})
PLAN = Plan(samples=2)


@pytest.fixture(scope="module")
def run():
    """What a noisy oracle that does not recover by itself makes of ALFWorld."""
    env, policy = make_env(MADE), make_policy("noisy-oracle")
    return [play(env, policy, id=f"{seed}-0", made=MADE, seed=seed) for seed in range(60)]


@pytest.fixture(scope="module")
def some(run):
    return [episode for episode in run if eligible(episode)][:3]


@pytest.fixture(scope="module")
def whole(some, tmp_path_factory):
    """The file that one worker writes in one go."""
    path = tmp_path_factory.mktemp("replays") / "whole"
    return replay_all(some, path, PLAN), path.read_bytes()


def test_injected_errors_are_the_pivotal_mistakes_and_no_others(run):
    named = [tuple(act.index for act in episode.acts if act.injected) for episode in run]
    cases = [Judgement(turns, one.pivots, len(one.acts)) for turns, one in zip(named, run, strict=True)]
    found = agreement(cases, tolerance=0)
    assert found.right.value == found.found.value == found.first_found.value == 1
    assert found.named == found.pivots > 60
    assert found.right_by_chance < 0.3
    # What the records say of L is what the oracle says, asked again.
    assert [replay(episode, oracle=True) for episode in run] == [None] * len(run)
    injected = diagnose(run).all.injected
    assert injected.injected_found.value == injected.pivots_injected.value == injected.first_agrees.value == 1


def test_what_can_be_done_is_at_the_pivot_and_right_after_it(run, tmp_path):
    arms = (Arm.GO_ON, Arm.RESAMPLE, Arm.CORRECT_LATER, Arm.CORRECT, Arm.FORCE_TWO, Arm.ROLLBACK)
    found = results(replay_all(run, tmp_path / "replays", Plan(arms, samples=2), workers=2))
    worst = max(found[arm].success.high for arm in (Arm.GO_ON, Arm.RESAMPLE, Arm.CORRECT_LATER))
    best = min(found[arm].success.low for arm in (Arm.CORRECT, Arm.FORCE_TWO, Arm.ROLLBACK))
    assert worst < best
    assert {str(arm): found[arm].episodes for arm in arms} == dict.fromkeys(map(str, arms), sum(map(eligible, run)))


def test_the_file_is_the_same_whatever_the_workers(some, whole, tmp_path):
    told = []
    found = replay_all(some, tmp_path / "two", PLAN, workers=2, report=lambda *standing: told.append(standing))
    assert (found, (tmp_path / "two").read_bytes()) == whole
    assert told == [(done, 3) for done in range(4)]


def test_what_was_interrupted_goes_on(some, whole, tmp_path):
    found, full = whole
    for end in (10, len(full) - 1):
        (tmp_path / "cut").write_bytes(full[:end])
        assert replay_all(some, tmp_path / "cut", PLAN) == found
        assert (tmp_path / "cut").read_bytes() == full


def test_nothing_is_played_twice(some, whole, tmp_path):
    (tmp_path / "done").write_bytes(whole[1])
    gone = [episode._replace(made=Made("Rollback-Nothing-v0", {})) for episode in some]
    with pytest.raises(RunMismatch):
        replay_all(gone, tmp_path / "done", PLAN)
    told = []
    assert replay_all(some, tmp_path / "done", PLAN, report=lambda *one: told.append(one)) == whole[0]
    assert told == [(3, 3)]


def test_more_samples_and_arms_come_on_top(some, whole, tmp_path):
    fewer = Plan((Arm.CORRECT, Arm.GO_ON), samples=1)
    asked = replay_all(some, tmp_path / "grown", fewer)
    assert {(one.arm, one.sample) for one in asked} == {(str(Arm.CORRECT), 0), (str(Arm.GO_ON), 0)}
    assert (replay_all(some, tmp_path / "grown", PLAN), (tmp_path / "grown").read_bytes()) == whole
    assert replay_all(some, tmp_path / "grown", fewer) == asked
    assert (tmp_path / "grown").read_bytes() == whole[1]


def test_replays_of_something_else_are_not_continued(some, whole, tmp_path):
    (tmp_path / "other").write_bytes(whole[1])
    for other in (PLAN._replace(seed=1), PLAN._replace(policy={"name": "random"})):
        with pytest.raises(RunMismatch, match="another record, policy or seed"):
            replay_all(some, tmp_path / "other", other)
    with pytest.raises(RunMismatch, match="same id"):
        replay_all(some + some, tmp_path / "twice", PLAN)
    (tmp_path / "other").write_text('{"schema": "something"}\n')
    with pytest.raises(RecordError, match="line 1"):
        replay_all(some, tmp_path / "other", PLAN)
    assert (tmp_path / "other").read_text() == '{"schema": "something"}\n'


def test_another_policy_may_play_on(some, tmp_path):
    found = replay_all(some, tmp_path / "oracle", Plan((Arm.GO_ON,), samples=1, policy={"name": "oracle"}))
    assert all(one.won for one in found)


def test_an_episode_that_cannot_be_replayed_does_not_take_the_others_with_it(some, tmp_path):
    bad = [some[0]._replace(observation="elsewhere"), *some[1:3]]
    with pytest.raises(ReplayFailed, match=f"2 of 3 .*{some[0].id}.*elsewhere"):
        replay_all(bad, tmp_path / "rest", Plan((Arm.CORRECT,), samples=1))
    lines = [json.loads(line) for line in (tmp_path / "rest").read_text().splitlines()]
    assert {line["episode"] for line in lines} == {episode.id for episode in some[1:3]}


def test_where_nothing_failed_nothing_is_played_and_no_file_is_made(run, tmp_path):
    won = [episode for episode in run if episode.outcome == "won"]
    assert replay_all(won, tmp_path / "none", PLAN) == ()
    assert not (tmp_path / "none").exists()
