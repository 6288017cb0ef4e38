"""The mechanism: who is told what, what it earns, what is remembered; and that the update is the one meant."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.trainer.advantages import discounted_return
from rollback_gym.trainer.capability import Capability
from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.encoders import HashingEncoder
from rollback_gym.trainer.feedback import (
    LESSONS,
    learnt,
    penalised,
    scaled,
    success_rates,
    told,
    with_intrinsic,
    with_lessons,
    worth,
)
from rollback_gym.trainer.lessons import Found, Lesson, Ranking
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.reflection import Reflection
from rollback_gym.trainer.reflectors import ModelReflector, OracleReflector
from rollback_gym.trainer.retroagent import RetroAgent, Settings
from rollback_gym.trainer.rewards import Scores, environment_rewards
from rollback_gym.trainer.trajectory import Start, groups
from tests.trainer.retro import CHAT, LIMITS, TASK, Pit, batch, mirror, said, taught
from tests.trainer.scripted import Told, act

ORACLE = Pit()
ENCODER = HashingEncoder(64)
RIGHT, LEFT = act("right"), act("left")


def memory(**options):
    return Memory(ENCODER, **options)


def agent(reflecting=None, lessons=True, **options):
    return RetroAgent(reflecting or ModelReflector(CHAT, LIMITS), memory() if lessons else None, **options)


def halves(*won, starts=1, **options):
    """Groups of four whose members win or not, by their place."""
    answers = [[RIGHT] * 3 if of else [LEFT] * 2 for _ in range(starts) for of in won]
    return batch(starts=starts, size=len(won), generator=Told(CHAT, *answers), **options)


def found(id_, text="Walk on."):
    return Found(Lesson(id_, TASK, text, "", "won", 0.5, 1, 0.0), 1.0, 1.0)


# --- What is told -----------------------------------------------------------------------------------------------------


def test_half_of_each_group_plays_with_lessons():
    retro = agent()
    taught(retro.memory)
    trajectories = batch(retro, starts=3, size=4)
    assert [bool(of.lesson) for of in trajectories] == [False, True] * 6
    assert [of.start.member for of in trajectories] == [0, 1, 2, 3] * 3
    for of in trajectories:
        prompt = CHAT.text(of.rows[0].prompt)
        assert ("The coins are worth nothing." in prompt) == with_lessons(of.start)
        assert of.lesson in ("", f"{LESSONS}\n- The coins are worth nothing.")


def test_evaluation_is_greedy_tells_all_and_learns_nothing():
    retro = agent(settings=Settings(retrieved=1))
    old, rare = (retro.memory.add(TASK, text, "", "won") for text in ("Be quick and bold.", "Take every coin."))
    retro.memory.learn([(old, 1.0)] * 30)
    curious = batch(retro, starts=1, size=2)
    assert "Take every coin." in curious[1].lesson, "the rare one has the bonus"
    before = retro.memory.lessons()
    retro._given.clear()
    trajectories = batch(retro, starts=1, size=2, tell=retro.greedy)
    assert all("Be quick and bold." in of.lesson for of in trajectories)
    assert retro._given == {}
    assert retro.memory.lessons() == before
    assert {lesson.id for lesson in before} == {old, rare}


def test_without_lessons_nothing_is_told():
    assert not any(of.lesson for of in batch(agent(), starts=1))
    assert not any(of.lesson for of in batch(agent(lessons=False), starts=1))
    assert told([]) == ""


def test_members_of_a_group_are_numbered():
    assert [(of.group, of.member) for of in groups([Start(), Start()], 3)] == [(g, m) for g in (0, 1) for m in range(3)]


# --- What is earned ---------------------------------------------------------------------------------------------------


REWARDS = st.lists(st.lists(st.floats(-5, 5), max_size=6).map(tuple), min_size=1, max_size=5)


@given(REWARDS, st.floats(0, 1), st.floats(0, 1))
def test_new_progress_is_paid_at_the_end(rewards, reward, gamma):
    scores = Scores(tuple(rewards), {"a": [1.0]})
    added = with_intrinsic(scores, [reward] * len(rewards))
    assert added.measures == scores.measures
    for before, after in zip(rewards, added.rewards, strict=True):
        more = gamma ** (len(before) - 1) * reward if before else 0.0
        assert discounted_return(after, gamma) == pytest.approx(discounted_return(before, gamma) + more)
        assert after[:-1] == before[:-1]


def test_inadmissible_turns_cost():
    (trajectory,) = batch(
        starts=1, size=1, generator=Told(CHAT, [RIGHT, act("jump"), "nothing", act("rollback(9)"), LEFT, RIGHT])
    )
    plain = environment_rewards([trajectory])
    less = penalised(environment_rewards, 0.5)([trajectory])
    assert [a - b for a, b in zip(plain.rewards[0], less.rewards[0], strict=True)] == [0, 0.5, 0.5, 0.5, 0, 0]
    assert less.measures["inadmissible"] == [0.5]
    assert less.measures["won"] == plain.measures["won"]
    with pytest.raises(ValueError, match="at least 0"):
        penalised(environment_rewards, -0.1)


def test_what_the_environment_pays_can_be_weighted():
    trajectories = halves(True, False)
    plain, ten = environment_rewards(trajectories), scaled(environment_rewards, 10.0)(trajectories)
    assert ten.rewards == tuple(tuple(10 * reward for reward in of) for of in plain.rewards)
    assert ten.measures == plain.measures


def test_success_rates_are_those_of_whole_groups():
    trajectories = halves(True, False, False, True)
    assert success_rates(trajectories) == [(TASK, 0.5)]
    assert success_rates(halves(True, starts=2)) == [(TASK, 1.0), (TASK, 1.0)], "a task may be played twice"


# --- What lessons are worth -------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=6))
def test_lessons_are_judged_by_how_it_went(won):
    trajectories = halves(*won)
    given_ = [(found(place),) if place % 2 else () for place in range(len(won))]
    judged = worth(trajectories, given_)
    assert judged == [(place, float(of)) for place, of in enumerate(won) if place % 2]
    strict = worth(trajectories, given_, outperform=True)
    unhelped, helped = won[::2], won[1::2]
    better = sum(helped) / len(helped) > sum(unhelped) / len(unhelped)
    assert strict == [(place, float(of and better)) for place, of in enumerate(won) if place % 2]


def test_what_is_learnt_has_the_episode_with_it():
    won, lost = halves(True, False)
    lessons = learnt([won, lost], [Reflection(1.0, True, ("Walk on.", "Right is right.")), Reflection(0.5, False, ())])
    assert lessons == [(TASK, "Walk on. Right is right.", "\n".join(won_lines(won)), "won")]


def won_lines(trajectory):
    return [f"[0] {trajectory.view.turns[0].observation}"] + [
        f"[{turn.index}] {turn.action} -> {turn.observation}" for turn in trajectory.view.turns[1:]
    ]


# --- A batch and the next ---------------------------------------------------------------------------------------------


def look_back(retro, trajectories, answer=said, progress=0.0):
    asked = []

    def reflect(text):
        asked.append(text)
        return answer()

    return retro.look_back(trajectories, mirror(reflect=reflect), 0, progress), asked


def test_progress_is_paid_once():
    retro = agent()
    hindsight, _ = look_back(retro, halves(False, False, False, False))
    assert hindsight.rewards == (0.5,) * 4, "half of the subtasks, and nothing was reached before"
    hindsight, _ = look_back(retro, halves(False, True, False, True))
    assert hindsight.rewards == (0.5, 1.0, 0.5, 1.0), "the baseline is that of before the batch"
    assert retro.capability.reached == {TASK: 0.5}
    hindsight, _ = look_back(retro, halves(False, True, False, False))
    assert hindsight.rewards == (0.0, 0.5, 0.0, 0.0)
    assert retro.capability.reached == {TASK: 0.5}, "it never falls"
    half = agent(settings=Settings(coefficient=0.5))
    assert look_back(half, halves(False))[0].rewards == (0.25,)


def test_lessons_are_remembered_of_those_that_judged_rightly():
    retro = agent()
    hindsight, _ = look_back(retro, halves(False, True), lambda: said(success=True))
    (lesson,) = retro.memory.lessons()
    assert (lesson.task, lesson.text, lesson.outcome) == (TASK, "Walk to the right.", "won")
    assert [of.lessons for of in hindsight.reflections] == [(), ("Walk to the right.",)]
    assert hindsight.measures["reflection/right"] == [0.0, 1.0]
    assert hindsight.measures["memory/lessons"] == [1.0]


def test_given_lessons_are_judged_when_the_batch_is_over():
    retro = agent()
    (id_,) = [lesson.id for lesson in taught(retro.memory).lessons()]
    trajectories = batch(retro, starts=1, size=4, generator=Told(CHAT, *[[RIGHT] * 3, [RIGHT] * 3, [LEFT] * 2] * 2))
    assert [of.won for of in trajectories] == [True, True, False, True]
    look_back(retro, trajectories, lambda: "nothing")
    (lesson,) = retro.memory.lessons()
    assert lesson.id == id_
    assert lesson.uses == 3
    assert lesson.utility == pytest.approx(1 - 0.5 * 0.95**2)
    look_back(retro, trajectories, lambda: "nothing")
    assert retro.memory.lessons() == (lesson,), "each use is judged once"


def test_malformed_reflections_are_counted_and_pay_nothing():
    retro = agent()
    hindsight, _ = look_back(retro, halves(True, False), lambda: "We won!")
    assert hindsight.measures["reflection/malformed"] == [1.0, 1.0]
    assert hindsight.rewards == (0.0, 0.0)
    assert len(retro.memory) == 0
    assert retro.capability.reached == {TASK: 0.5}, "what was reached does not depend on what was said"


def test_a_failure_is_put_beside_a_success_of_its_group_or_of_the_past():
    retro = agent()
    _, asked = look_back(retro, halves(False, True))
    assert "earlier attempt that did the task:\n[0] \n[1] right" in asked[0]
    assert "earlier attempt that failed:\n[0] \n[1] left" in asked[1]
    retro = agent()
    look_back(retro, halves(True), lambda: said(success=True))
    _, asked = look_back(retro, halves(False))
    assert "earlier attempt that did the task:\n[0] \n[1] right" in asked[0]
    _, asked = look_back(retro, halves(False, level=4))
    assert "earlier attempt" not in asked[0], "that was another task"
    _, asked = look_back(agent(lessons=False), halves(False))
    assert "earlier attempt" not in asked[0]


def test_hallucinated_progress_is_measured():
    retro = agent(oracle=ORACLE)
    hindsight, _ = look_back(retro, halves(True, False), lambda: said(done=2, of=2))
    assert hindsight.measures["reflection/exact_phi"] == [1.0, 0.0]
    assert hindsight.measures["reflection/phi_error"] == [0.0, 1.0]
    assert hindsight.measures["reflection/phi_bias_lost"] == [1.0]
    exact = agent(OracleReflector(ORACLE), oracle=ORACLE)
    hindsight, asked = look_back(exact, halves(True, False))
    assert hindsight.measures["reflection/phi_error"] == [0.0, 0.0]
    assert asked == []
    hindsight, _ = look_back(retro, halves(False), lambda: "nothing")
    assert hindsight.measures["reflection/phi_error"] == [], "who said nothing was not wrong"


def test_memory_is_pruned_at_milestones():
    retro = agent(settings=Settings(pruned=1))
    for text in ("Never look back.", "Take the coins that lie here.", "Right, right, right."):
        retro.memory.add(TASK, text, "", "won")
    hindsight, _ = look_back(retro, halves(False), lambda: "nothing", progress=0.2)
    assert hindsight.measures["memory/pruned"] == [0.0]
    hindsight, _ = look_back(retro, halves(False), lambda: "nothing", progress=0.25)
    assert hindsight.measures["memory/pruned"] == [2.0]
    assert len(retro.memory) == 1


# --- Several processes, and checkpoints -------------------------------------------------------------------------------


def test_processes_learn_the_same_of_each_others_episodes():
    batches = halves(False, True), halves(False, False, level=4)
    events = []
    for mine in batches:
        one = agent(share=lambda event: events.append(event) or [event])
        look_back(one, mine)
    both = [agent(share=lambda event: events) for _ in batches]
    for one, mine in zip(both, batches, strict=True):
        look_back(one, mine)
    first, second = (json.dumps(of.state()) for of in both)
    assert first == second
    assert both[0].capability.reached == {TASK: 0.5, "walk 4 steps": 0.0}
    assert len(both[0].memory) == 2


def test_a_checkpoint_goes_on_where_it_was():
    retro = agent()
    taught(retro.memory)
    look_back(retro, batch(retro, size=2))
    state = json.loads(json.dumps(retro.state()))
    again = agent()
    again.resume(state)
    assert again.state() == retro.state()
    later = [look_back(of, batch(of, size=2))[0] for of in (retro, again)]
    assert later[0].rewards == later[1].rewards
    assert again.state() == retro.state() != state
    with pytest.raises(ValueError, match="memory"):
        agent(lessons=False).resume(state)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="not ppo"):
        agent(method=Method("ppo"))
    with pytest.raises(ValueError, match="retrieved=0"):
        agent(settings=Settings(retrieved=0))
    with pytest.raises(ValueError, match="decay"):
        agent(capability=Capability(decay=2.0))


def test_similarity_only_stays_so_when_greedy():
    similar = memory(ranking=Ranking("similarity"))
    retro = RetroAgent(ModelReflector(CHAT, LIMITS), similar, settings=Settings(retrieved=1))
    first = retro.memory.add(TASK, "Be quick and bold.", "", "won")
    second = retro.memory.add(TASK, "Take every coin.", "", "won")
    retro.memory.learn([(second, 1.0)])
    (trajectory,) = batch(retro, starts=1, size=1, tell=retro.greedy)
    assert "quick" in trajectory.lesson
    assert first < second
