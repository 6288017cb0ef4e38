"""Branches from a first pivotal mistake: each starts where it should, with what it should, and draws as it should."""

import math

import pytest

from rollback_gym.core.errors import ReplayDiverged
from rollback_gym.play.playing import play
from rollback_gym.play.policies import RandomPolicy, ScriptedPolicy
from rollback_gym.play.records import Made, line, parse
from rollback_gym.play.run import make_env
from rollback_gym.study.branches import Arm
from rollback_gym.study.counterfactual import Replay, eligible, replays, results
from rollback_gym.study.inject import Kind, errors, game_of
from tests.study.agents import Best, Homing

CAP = 30


def made(**options):
    return Made("Rollback-ALFWorld-v0", {"max_turns": CAP, **options})


def failure(seed=1, good=2, **options):
    """An episode that plays `good` turns optimally, makes a mistake, and then only looks on."""
    env = make_env(made(**options))
    env.reset(seed=seed)
    game = game_of(env)
    script = list(game.oracle.plan(env.unwrapped.level, env.unwrapped.state)[:good])
    for action in script:
        env.step(action)
    mistake = next(error for kind in Kind for error in errors(game, env.unwrapped.state, (), kind) if error.pivot == 0)
    policy = ScriptedPolicy([*script, mistake.actions[0]], then="look")
    return play(env, policy, id="e", made=made(**options), seed=seed)


def branch(episode, policy, *arms, samples=1, seed=0):
    wanted = {arm: tuple(range(samples)) for arm in arms or Arm}
    return list(replays(episode, policy, make_env, wanted, seed=seed))


@pytest.fixture(scope="module")
def failed():
    return failure()


@pytest.fixture(scope="module")
def forbidden():
    return failure(max_rollbacks=0)


def test_the_episode_errs_where_it_should(failed):
    assert failed.pivots == (3,)
    assert failed.outcome == "truncated"
    assert len(failed.acts) == CAP
    assert eligible(failed)


def test_a_perfect_policy_needs_what_each_branch_leaves_it(failed):
    lengths = [failed.distance, *(act.distance for act in failed.acts)]
    before, after = lengths[2], lengths[3]
    found = {one.arm: one for one in branch(failed, Best())}
    assert {arm: (one.start, one.won, one.turns) for arm, one in found.items() if arm != Arm.CORRECT_LATER} == {
        Arm.GO_ON: (3, True, after),
        Arm.RESAMPLE: (2, True, before),
        Arm.CORRECT: (2, True, before),
        Arm.FORCE_TWO: (3, True, after),
        Arm.ROLLBACK: (3, True, 1 + before),
    }
    later = found[Arm.CORRECT_LATER]
    assert 3 <= later.start < CAP
    assert later.shortest == lengths[later.start]


def test_turns_that_were_spent_stay_spent(failed):
    for one in branch(failed, Best(), Arm.CORRECT_LATER, samples=30):
        assert one.won == (one.shortest <= CAP - one.start)
        assert one.turns == min(one.shortest, CAP - one.start)


def test_a_policy_that_does_nothing_gets_only_what_is_forced(failed):
    idle = ScriptedPolicy([], then="look")
    for one in branch(failed, idle):
        assert (one.won, one.turns) == (False, CAP - one.start)
    near = failure(good=failed_plan_length() - 2)
    assert [one.won for one in branch(near, idle, Arm.CORRECT, Arm.GO_ON)] == [False, False]
    nearer = failure(good=failed_plan_length() - 1)
    assert [one.won for one in branch(nearer, idle, Arm.CORRECT, Arm.GO_ON, Arm.RESAMPLE)] == [True, False, False]
    assert [one.turns for one in branch(nearer, idle, Arm.CORRECT)] == [1]


def failed_plan_length():
    env = make_env(made())
    env.reset(seed=1)
    return len(game_of(env).oracle.plan(env.unwrapped.level, env.unwrapped.state))


def test_the_policy_sees_the_record_as_it_was_and_its_own_words():
    env = make_env(made())
    watcher = Best()
    whole = play(env, watcher, id="e", made=made(), seed=1)
    script = [act.action for act in whole.acts[:2]]
    episode = failure()
    assert [act.action for act in episode.acts[:2]] == script
    calls = tuple(act._replace(call=other.call) for act, other in zip(episode.acts, whole.acts, strict=False))
    spoken = parse(line(episode._replace(acts=(*calls, *episode.acts[len(calls) :]))))
    at_the_time = watcher.views[2]
    branch(spoken, watcher, Arm.RESAMPLE)
    assert watcher.views[0].turns == at_the_time.turns
    assert watcher.views[0].turns[1].text == f"I do {script[0]}"
    assert watcher.views[0].info == at_the_time.info
    assert watcher.views[0].going_back == at_the_time.going_back


def test_a_branch_does_not_depend_on_those_before_it(failed):
    policy = RandomPolicy(rollbacks=0.2)
    together = branch(failed, policy, samples=3)
    alone = [one for arm in reversed(Arm) for one in branch(failed, policy, arm, samples=3)]
    assert sorted(together) == sorted(alone)
    assert sorted(branch(failed, policy, samples=3, seed=1)) != sorted(together)


def test_samples_differ_and_the_later_turn_is_drawn(failed):
    starts = {one.start for one in branch(failed, RandomPolicy(), Arm.CORRECT_LATER, samples=20)}
    assert len(starts) > 5
    assert starts <= set(range(3, CAP))


def test_a_rollback_is_offered_only_to_those_who_could_not(failed, forbidden):
    assert branch(failed, Homing(), Arm.OFFER) == []
    policy = Homing()
    assert [one.won for one in branch(forbidden, policy, Arm.GO_ON)] == [False]
    assert policy.views[0].going_back.most == 0
    (offered,) = branch(forbidden, policy, Arm.OFFER)
    assert offered.won
    assert offered.turns == 2 + forbidden.acts[2].previous - 1
    assert policy.views[0].going_back.most is None
    assert policy.views[0].turns[-1].targets == (0, 1, 2)


def test_after_a_forced_rollback_the_run_s_own_rules_hold_again(forbidden):
    policy = Best()
    (one,) = branch(forbidden, policy, Arm.ROLLBACK)
    first = policy.views[0]
    assert one.won
    assert (first.turns[-1].target, first.turns[-1].targets) == (2, ())
    assert (first.info["rollback_targets"], first.going_back.most) == ((), 0)
    assert first.info["rollback"]["abandoned"] == (3,)


def test_refused_rollbacks_of_the_record_stay_refused():
    env = make_env(made(max_rollbacks=0))
    script = [act.action for act in failure().acts[:3]]
    policy = ScriptedPolicy([script[0], "rollback(0)", *script[1:]], then="rollback(1)")
    episode = play(env, policy, id="e", made=made(max_rollbacks=0), seed=1)
    assert (episode.pivots, episode.acts[3].parent) == ((4,), 3)
    won = {one.arm: (one.won, one.turns) for one in branch(episode, Best(), Arm.OFFER, Arm.ROLLBACK, Arm.CORRECT)}
    assert won[Arm.ROLLBACK] == (True, 1 + episode.acts[3].previous)
    assert won[Arm.CORRECT] == (True, episode.acts[3].previous)


def test_a_lost_game_can_only_be_gone_back_from():
    kwargs = {"max_turns": CAP, "dead_end": True}
    this = Made("Rollback-Sokoban-v0", kwargs)
    env = make_env(this)
    for seed in range(100):
        episode = play(env, RandomPolicy(), id="e", made=this, seed=seed)
        if episode.outcome == "lost" and len(episode.pivots) == 1:
            break
    assert math.isinf(episode.acts[-1].distance)
    found = {one.arm: one for one in branch(episode, Best())}
    assert Arm.CORRECT_LATER not in found  # there is no later turn
    for arm in (Arm.GO_ON, Arm.FORCE_TWO):
        assert (found[arm].won, found[arm].turns) == (False, 0)
    assert (found[Arm.CORRECT].won, found[Arm.OFFER].won) == (True, False)
    assert found[Arm.OFFER].turns == 1  # `Best` does not go back, so that the game stays lost
    rolled = branch(episode, Homing(), Arm.OFFER)
    assert rolled[0].won


def test_another_world_is_noticed(failed):
    other = failed._replace(acts=(failed.acts[0]._replace(observation="You see a horse."), *failed.acts[1:]))
    with pytest.raises(ReplayDiverged, match=r"action 1 .*horse"):
        branch(other, Best())
    with pytest.raises(ReplayDiverged, match="action 0"):
        branch(failed._replace(seed=2), Best())


def test_results_draw_episodes_and_not_replays():
    found = [Replay(f"{n}", "pick", "go on", sample, 3, n < 10, 5, 4.0) for n in range(20) for sample in range(8)]
    result = results(found)["go on"]
    assert (result.success.value, result.success.size, result.episodes, result.replays) == (0.5, 160, 20, 160)
    assert result.success.high - result.success.low > 0.35  # as of 20 episodes; of 160 it would be 0.15
    assert (result.turns_of_wins.mean, result.shortest_of_wins.mean, result.turns_of_wins.size) == (5, 4, 10)
    assert list(results([one._replace(arm=str(arm)) for arm in reversed(Arm) for one in found])) == list(Arm)
