"""Who looks back: what a model is asked and how it is trained for it, and what the oracle knows."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.core.history import Node
from rollback_gym.trainer.collector import Limits
from rollback_gym.trainer.generator import Sample
from rollback_gym.trainer.reflection import Attempt, Reflection
from rollback_gym.trainer.reflectors import (
    ModelReflector,
    OracleReflector,
    attempt,
    exact_phi,
    reflection_row,
    reinforce,
    template_lessons,
)
from rollback_gym.trainer.rows import Kind, check_row
from tests.trainer.retro import CHAT, LIMITS, Pit, batch, mirror, said
from tests.trainer.scripted import Bytes, Told, act

ORACLE = Pit()


def played(*answers, **options):
    """One episode for each list of answers, in a corridor of three steps."""
    told = Told(CHAT, *[list(of) for of in answers])
    return batch(starts=len(answers), size=1, generator=told, **options)


RIGHT, LEFT = act("right"), act("left")


def looked_back(reflector, trajectories, answer=said, references=None):
    asked = []

    def reflect(text):
        asked.append(text)
        return answer()

    found = reflector(trajectories, references or [None] * len(trajectories), mirror(reflect=reflect), 0)
    return found, asked


# --- A model ----------------------------------------------------------------------------------------------------------


def test_in_context_a_model_is_told_the_end_and_shown_another_attempt_and_trains_nothing():
    won, lost = played([RIGHT] * 3, [LEFT] * 2)
    found, asked = looked_back(ModelReflector(CHAT, LIMITS), [lost, won], references=[attempt(won), None])
    assert found.reflections == (Reflection(0.5, False, ("Walk to the right.",)),) * 2
    assert found.rows == ()
    assert "This attempt failed." in asked[0]
    assert "earlier attempt that did the task" in asked[0]
    assert "right -> win" in asked[0], "the other one"
    assert "left -> you fell" in asked[0]
    assert "This attempt did the task." in asked[1]
    assert "earlier attempt" not in asked[1]


def test_one_that_is_trained_is_told_neither_and_rewarded_for_being_right():
    won, lost = played([RIGHT] * 3, [LEFT] * 2)
    reflector = ModelReflector(CHAT, LIMITS, weight=0.5)
    found, asked = looked_back(reflector, [lost, won], references=[attempt(won), attempt(lost)])
    for text in asked:
        assert "This attempt" not in text
        assert "earlier attempt" not in text
    first, second = found.rows
    for number, row in enumerate(found.rows):
        check_row(row)
        assert (row.kind, row.episode) == (Kind.REFLECTION, number)
        assert Bytes().decode(row.completion) == f"{said()}<|im_end|>"
        assert all(row.mask)
    assert set(first.advantages) == {0.5}, "it said that it failed, and it did: R = 1, and the other's is 0"
    assert set(second.advantages) == {-0.5}


def test_malformed_and_unfinished_answers_earn_nothing_and_say_why():
    (lost,) = played([LEFT] * 2)
    reflector = ModelReflector(CHAT, LIMITS, weight=1.0, baseline=False)
    found, _ = looked_back(reflector, [lost], answer=lambda: "I fell.")
    assert found.reflections[0].problem
    assert set(found.rows[0].advantages) == {0.0}
    short = ModelReflector(CHAT, Limits(answer=30, text=8000), weight=1.0)
    found, _ = looked_back(short, [lost])
    assert "cut off after 30 tokens" in found.reflections[0].problem
    assert len(found.rows[0].completion) == 30


def test_a_question_is_made_to_fit():
    (long,) = played([act("jump")] * 40, max_turns=40, text=30_000)
    told = {}
    for text in (12000, 6000, 2500):
        generator = mirror()
        found = ModelReflector(CHAT, Limits(answer=400, text=text))([long], [attempt(long)], generator, 0)
        assert not found.reflections[0].problem
        (ask,) = generator.asked[-1]
        assert len(ask.ids) + ask.most <= text
        told[text] = CHAT.text(ask.ids)
        assert "[40] jump" in told[text]
    assert told[12000].count("[20] jump") == 2
    assert told[6000].count("[20] jump") == 1, "the other attempt goes first"
    assert "turns are left out here" in told[2500]
    tight = ModelReflector(CHAT, Limits(answer=400, text=900), weight=1.0)
    found = tight([long], [None], mirror(), 0)
    assert found.reflections[0].problem == "The question was too long."
    assert found.rows == ()


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=12), st.floats(0.1, 3))
def test_the_baseline_is_what_the_others_earned(rewards, weight):
    plain = reinforce(rewards, weight, baseline=False)
    assert plain == [weight * of for of in rewards]
    better = reinforce(rewards, weight)
    assert sum(better) == pytest.approx(0, abs=1e-9) or len(rewards) == 1
    for place, advantage in enumerate(better):
        others = rewards[:place] + rewards[place + 1 :]
        mean = sum(others) / len(others) if others else 0.0
        assert advantage == pytest.approx(weight * (rewards[place] - mean))


def test_a_weight_is_checked_and_a_row_has_one_advantage():
    with pytest.raises(ValueError, match="weight"):
        ModelReflector(CHAT, LIMITS, weight=-1)
    row = reflection_row((1, 2), Sample((3, 4), (-0.1, -0.2), True), 7, 0.25)
    check_row(row)
    assert (row.advantages, row.episode, row.logprobs) == ((0.25, 0.25), 7, (-0.1, -0.2))


# --- The oracle -------------------------------------------------------------------------------------------------------


def test_phi_is_exact():
    cases = {
        "won": ([RIGHT] * 3, 1.0),
        "two of three": ([RIGHT, RIGHT, LEFT, RIGHT, act("take"), act("jump")], 2 / 3),
        "further away than before": ([LEFT, act("take"), act("jump"), RIGHT, LEFT, act("jump")], 0.0),
        "fallen": ([LEFT, LEFT], 0.0),
        "gone back": ([RIGHT, RIGHT, act("rollback(1)"), act("jump"), act("jump"), act("jump")], 1 / 3),
    }
    for name, (answers, phi) in cases.items():
        (trajectory,) = played(answers)
        assert exact_phi(trajectory, ORACLE) == pytest.approx(phi), name


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["right", "left", "take", "jump", "rollback(0)", "rollback(2)"]), min_size=8))
def test_phi_is_a_share_and_lessons_name_what_is_so(actions):
    (trajectory,) = played([*map(act, actions), *[LEFT] * 3], max_turns=8)
    phi = exact_phi(trajectory, ORACLE)
    assert 0 <= phi <= 1
    assert (phi == 1) == trajectory.won
    lessons = template_lessons(trajectory, ORACLE)
    nodes = {node.index: node for node in trajectory.history.nodes}

    def distance(index):
        return ORACLE.distance(trajectory.level, nodes[index].point.state)

    for lesson in lessons:
        mistake = re.match(r"Action (\d+), (\S+), was a mistake: .* rollback\((\d+)\) would", lesson)
        if mistake:
            index, target = int(mistake[1]), int(mistake[3])
            assert nodes[index].action == mistake[2]
            assert distance(index) > distance(target)
            assert nodes[index].parent.index == target
    pivotal = any(
        isinstance(entry, Node) and distance(entry.index) > distance(entry.parent.index)
        for entry in trajectory.history.entries[1:]
    )
    assert any("was a mistake" in lesson for lesson in lessons) == pivotal
    assert lessons or trajectory.won or phi == 0


def test_lessons_of_a_template():
    (won,) = played([RIGHT] * 3)
    (fell,) = played([RIGHT, LEFT, LEFT, LEFT])
    (idle,) = played([act("jump"), RIGHT, act("take"), RIGHT], max_turns=4)
    (away,) = played([RIGHT] * 2, max_turns=2)
    assert template_lessons(won, ORACLE) == ("This did the task: right, right, right.",)
    assert template_lessons(fell, ORACLE) == (
        "Action 2, left, was a mistake: after it 3 turns were needed, before it 2. rollback(1) would have undone it.",
        "From [1] the way was: right, right.",
    )
    assert template_lessons(idle, ORACLE) == (
        "Action 1, jump, brought the task no nearer.",
        "From [4] the way was: right.",
    )
    assert template_lessons(away, ORACLE) == ("From [2] the way was: right.",)
    (lost,) = played([LEFT, LEFT], max_rollbacks=0)
    assert "rollback" not in template_lessons(lost, ORACLE)[0]


def test_the_oracle_is_always_right_about_the_end():
    trajectories = (*played([RIGHT] * 3), *played([LEFT, LEFT]))
    found = OracleReflector(ORACLE)(trajectories, [None, None], mirror(), 0)
    assert found.rows == ()
    assert [of.right(trajectory.won) for of, trajectory in zip(found.reflections, trajectories, strict=True)] == [1, 1]
    assert all(of.lessons and not of.problem for of in found.reflections)


def test_an_attempt_is_told_as_it_was():
    (trajectory,) = played([RIGHT] * 3)
    lines = ("[0] ", "[1] right -> À gauche:\na pit.", "[2] right -> déjà vu", "[3] right -> win")
    assert attempt(trajectory) == Attempt(lines, True)
