"""Teachers: what the oracle names, and what a model says, however badly it says it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.core.errors import OracleBudgetExceeded, PolicyError
from rollback_gym.oracles.search import BreadthFirst
from rollback_gym.play.models import Answer
from rollback_gym.trainer.judging import LLMTeacher, by_generator, by_model, report_messages, transcript
from rollback_gym.trainer.moments import moment
from rollback_gym.trainer.teacher_reports import (
    Candidate,
    MalformedReport,
    Report,
    TurnLesson,
    read_report,
    resolved,
    voted,
)
from rollback_gym.trainer.teachers import Named, OracleTeacher, acting_first
from tests.toy import ToySimulator
from tests.trainer.pivoting import CHAT, ORACLE, TEACHER, played
from tests.trainer.scripted import Told


def written(**changed):
    data = {"summary": "It went left.", "lesson": "Go right.", "turns": [], "candidates": [], **changed}
    return json.dumps(data)


ONE = [{"turn": 1, "action": "right"}]

# --- The oracle -------------------------------------------------------------------------------------------------------


@given(st.text("lrt0123", max_size=9))
def test_the_oracles_pivots_are_those_of_a_search_by_hand(moves):
    (trajectory,) = played(moves).trajectories
    lengths = {step.turn.index: (left(step.state), left(step.after.state)) for step in trajectory.steps}
    lost = {
        turn: after - before
        for turn, (before, after) in lengths.items()
        if after > before and not trajectory.view.turns[turn].rollback
    }
    (report,) = OracleTeacher(ORACLE, most=99).reports([trajectory], 0)
    assert {of.turn: of.loss for of in report.candidates} == lost
    assert {of.action for of in report.candidates} <= {"right"}


def left(state):
    """L by hand: straight to the goal of a corridor of 4. (The search does not know that one who fell lies there.)"""
    return 4 - state.position


def test_the_oracle_names_the_first_few_and_none_of_a_prefix():
    (trajectory,) = played("rlrlrlrl").trajectories
    assert [of.turn for of in OracleTeacher(ORACLE, most=2).reports([trajectory], 0)[0].candidates] == [2, 4]


def test_an_oracle_that_gives_up_names_nothing_and_says_so():
    (trajectory,) = played("rlrr").trajectories
    teacher = OracleTeacher(BreadthFirst(ToySimulator(), limit=2))
    (report,) = teacher.reports([trajectory], 0)
    assert not report.candidates
    assert "larger limit" in report.malformed[0]
    assert teacher.names([moment(trajectory, 2)], 0) == [Named(None)]
    with pytest.raises(OracleBudgetExceeded):
        teacher.oracle.distance(trajectory.level, trajectory.steps[0].state)


def test_going_back_is_named_as_asked():
    (trajectory,) = played("rrlrrr").trajectories
    here = moment(trajectory, 3)
    assert OracleTeacher(ORACLE).names([here], 0) == [Named("right")]
    assert OracleTeacher(ORACLE, going_back="nearer").names([here], 0) == [Named("right")]  # as near
    assert OracleTeacher(ORACLE, going_back="always").names([here], 0) == [Named("rollback(2)")]
    (longer,) = played("rrllrrrr").trajectories
    assert OracleTeacher(ORACLE, going_back="nearer").names([moment(longer, 4)], 0) == [Named("rollback(2)")]
    with pytest.raises(ValueError, match="going_back must be"):
        OracleTeacher(ORACLE, going_back="often")


class Falls:
    """Knows that one who fell lies there."""

    def distance(self, level, state):
        return math.inf if state.position <= -2 else left(state)

    def optimal_actions(self, level, state):
        return () if math.isinf(self.distance(level, state)) else ("right",)

    plan = optimal_actions


def test_a_mistake_can_weigh_what_it_lost():
    (trajectory,) = played("ll").trajectories
    (report,) = OracleTeacher(Falls(), weigh=True).reports([trajectory], 0)
    assert OracleTeacher(Falls()).names([moment(trajectory, 2)], 0) == [Named(None)]
    assert [(of.loss, of.weight) for of in report.candidates] == [(1.0, 0.5), (math.inf, 1.0)]


def test_of_several_actions_one_that_acts_in_place_is_named():
    assert acting_first(["go to bed 1", "take mug 1 from desk 1"]) == "take mug 1 from desk 1"
    assert acting_first(["go to bed 1", "go to desk 1"]) == "go to bed 1"


def test_a_moment_is_what_was_there():
    (trajectory,) = played("rl1rr").trajectories
    for step in trajectory.steps:
        before = moment(trajectory, step.turn.index - 1)
        assert before.state == step.state
        assert before.history.index == step.turn.index - 1
        assert before.view.turns == trajectory.view.turns[: step.turn.index]
    assert moment(trajectory, 2).feasible == ("left", "right", "take", "rollback(0)", "rollback(1)")
    with pytest.raises(IndexError):
        moment(trajectory, 99)


# --- Reports ----------------------------------------------------------------------------------------------------------


def test_a_report_is_read_in_a_fence_and_after_thoughts():
    text = written(candidates=ONE, turns=[{"turn": 2, "lesson": " l "}])
    expected = Report("It went left.", "Go right.", (TurnLesson(2, "l"),), (Candidate(1, "right"),))
    for answer in (text, f"```json\n{text}\n```", f"<think>{{}} hm</think>\n{text}\n", f"hm</think>{text}"):
        assert read_report(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no",
        "[]",
        "{}",
        "null",
        written()[:-1],
        written() + written(),
        f"Here it is: {written()}",
        written(more=1),
        written(summary=None),
        written(lesson=["a"]),
        written(turns={}),
        written(candidates="right"),
        written(candidates=["right"]),
        written(candidates=[{"turn": 1}]),
        written(candidates=[{"turn": 1, "action": "right", "why": ""}]),
        written(candidates=[{"turn": "1", "action": "right"}]),
        written(candidates=[{"turn": True, "action": "right"}]),
        written(candidates=[{"turn": 1.0, "action": "right"}]),
        written(candidates=[{"turn": 1, "action": 5}]),
        written(candidates=ONE * 2),
        written(candidates=[{"turn": turn, "action": "right"} for turn in range(6)]),
        written(turns=[{"turn": 1, "lesson": "a"}, {"turn": 1, "lesson": "b"}]),
        written(candidates=[{"turn": math.nan, "action": "right"}]),
        written().replace('"lesson"', '"summary"'),
        "[" * 100_000,
        '{"a":' * 100_000,
        written(candidates=[]).replace("[]", "1" * 10_000),
        "<think>" + written(),
    ],
)
def test_what_is_no_report_is_malformed(answer):
    with pytest.raises(MalformedReport):
        read_report(answer)


@given(st.text() | st.text().map(lambda text: f"{{{text}}}"))
def test_any_text_is_a_report_or_malformed(text):
    with pytest.raises(MalformedReport):
        read_report(text)


def test_what_cannot_be_done_is_left_out_and_counted():
    report = Report(candidates=(Candidate(1, "go"), Candidate(2, "stay")), dropped=1)
    kept = resolved(report, lambda turn, action: "going" if action == "go" else None)
    assert kept.candidates == (Candidate(1, "going"),)
    assert kept.dropped == 2


def of(*candidates, **more):
    return Report(candidates=tuple(Candidate(*pair) for pair in candidates), asked=1, **more)


def test_the_most_named_action_wins_and_weighs_its_share():
    bad = Report(asked=1, malformed=("no JSON",))
    agreed = of((1, "a"), (3, "c"), lesson="told")
    found = voted([of((1, "b"), lesson="lone"), agreed, of((1, "a"), (2, "x")), bad], 2)
    assert found.candidates == (Candidate(1, "a", 0.5), Candidate(2, "x", 0.25))
    assert (found.asked, found.malformed) == (4, ("no JSON",))
    assert voted([agreed, agreed]).lesson == "told"
    assert voted([bad]) == Report(asked=1, malformed=("no JSON",))


@given(st.lists(st.lists(st.tuples(st.integers(1, 6), st.sampled_from("ab")), max_size=5), min_size=1, max_size=5))
def test_votes_are_shares(named):
    reports = [of(*dict(pairs).items()) for pairs in named]
    found = voted(reports)
    assert len(found.candidates) <= 5
    for candidate in found.candidates:
        votes = sum(dict(pairs).get(candidate.turn) == candidate.action for pairs in named)
        assert candidate.weight == votes / len(reports)
        assert votes >= max(sum(dict(pairs).get(candidate.turn) == action for pairs in named) for action in "ab")


# --- Models -----------------------------------------------------------------------------------------------------------


class Model:
    """Answers with the next of its answers; an exception is raised."""

    def __init__(self, *answers):
        self.answers, self.asked, self.seeds = list(answers), [], []

    def answer(self, messages, seed):
        self.asked.append(messages)
        self.seeds.append(seed)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer, {})


def test_a_model_reads_episodes_and_its_actions_are_made_feasible():
    scene = played("lrrrrr", "rrrr")
    named = {1: "go RIGHT.", 3: "fly", 99: "left"}
    first = written(candidates=[{"turn": turn, "action": action} for turn, action in named.items()])
    model = Model(first, "sorry")
    one, other = LLMTeacher(by_model(model)).reports(scene.trajectories, 7)
    assert one.candidates == (Candidate(1, "right"),)
    assert (one.dropped, one.lesson, one.malformed) == (2, "Go right.", ())
    assert other == Report(asked=1, malformed=other.malformed)
    assert len(other.malformed) == 1
    assert len(set(model.seeds)) == 2
    told = model.asked[0][1]["content"]
    assert "Task: walk 4 steps" in told
    assert "Action 1: left" in told
    assert "only turns from 1 to 6" in told
    assert "The task was done." in told


def test_several_samples_vote_and_a_model_that_fails_counts_against():
    scene = played("lrrrrr")
    text = written(candidates=ONE)
    teacher = LLMTeacher(by_model(Model(text, PolicyError("busy"), text, written())), samples=4)
    (report,) = teacher.reports(scene.trajectories, 0)
    assert report.candidates == (Candidate(1, "right", 0.5),)
    assert report.malformed == ("there is no answer",)
    answers = ["<action>Right</action>", "<action>left</action>", "right", PolicyError("busy")]
    (named,) = LLMTeacher(by_model(Model(*answers)), samples=4).names([moment(scene.trajectories[0], 1)], 0)
    assert named == Named("right", 0.5)
    for answers in (["fly"], ["<action></action>"], [PolicyError("busy")]):
        assert LLMTeacher(by_model(Model(*answers))).names([moment(scene.trajectories[0], 1)], 0) == [Named(None)]


def test_many_are_asked_at_once_and_answered_in_order():
    class Echo:
        def answer(self, messages, seed):
            return Answer(messages[1]["content"].rpartition(" ")[2], {})

    asked = [({"role": "system", "content": ""}, {"role": "user", "content": f"say {n}"}) for n in range(50)]
    assert by_model(Echo(), workers=8)(asked, 0) == [str(n) for n in range(50)]


def test_the_student_can_be_its_own_teacher():
    scene = played("lrrrrr", "rrrr")
    told = Told(CHAT, [written(candidates=ONE)], ["I do not know."])
    one, other = LLMTeacher(by_generator(CHAT, told, 4000, 9000)).reports(scene.trajectories, 0)
    assert one.candidates == (Candidate(1, "right"),)
    assert other.malformed
    short = LLMTeacher(by_generator(CHAT, Told(CHAT), longest=100)).reports(scene.trajectories, 0)
    assert [report.malformed for report in short] == [("there is no answer",)] * 2
    cut = LLMTeacher(by_generator(CHAT, Told(CHAT, [written()], [written()]), most=5)).reports(scene.trajectories, 0)
    assert [report.malformed for report in cut] == [("there is no answer",)] * 2


def test_a_transcript_tells_all_that_happened():
    (trajectory,) = played("rl1jr").trajectories
    lines = transcript(trajectory.view).splitlines()
    assert "Action 3: rollback(1)" in lines
    assert "(The game went back to [1].)" in lines
    assert report_messages(trajectory)[0]["role"] == "system"


def test_teachers_need_samples():
    with pytest.raises(ValueError, match="at least 1"):
        LLMTeacher(by_model(Model()), samples=0)
    assert TEACHER.going_back == "no"
