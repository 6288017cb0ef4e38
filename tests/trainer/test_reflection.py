"""What a model says of an episode: read strictly or not at all."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.play.policies import Turn, View
from rollback_gym.trainer.reflection import (
    KEPT,
    MOST_LESSON,
    Attempt,
    Reflection,
    agreement,
    kept,
    question,
    read,
    shortened,
    subject,
    transcript,
)

SHARES = st.floats(0, 1)


def answer(**changed):
    subtasks = [{"name": "find it", "done": True}, {"name": "bring it", "done": False}]
    good = {"subtasks": subtasks, "success": False, "action_lesson": "Open it first.", "navigation_lesson": None}
    return {**good, **changed}


def said(**changed):
    return json.dumps(answer(**changed))


# --- Reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        said(),
        f"\n {said()}\n",
        f"<think>It was {{wrong}}.</think>\n{said()}",
        f"```json\n{said()}\n```",
        f"```\n{json.dumps(answer(), indent=2)}\n```",
    ],
)
def test_an_answer_of_the_form_is_read(text):
    assert read(text) == Reflection(0.5, False, ("Open it first.",))


def test_both_lessons_are_read_with_blanks_as_one_and_short_ones_are_none():
    both = read(said(action_lesson="Go \n  back to  [3].", navigation_lesson="The mug is in drawer 2."))
    assert both.lessons == ("Go back to [3].", "The mug is in drawer 2.")
    assert read(said(action_lesson="none", navigation_lesson="")).lessons == ()


MALFORMED = {
    "nothing": "",
    "prose": "I did well.",
    "prose before it": f"Here: {said()}",
    "prose after it": f"{said()} So it was.",
    "two objects": said() * 2,
    "cut off": said()[:-1],
    "an array": f"[{said()}]",
    "a missing name": json.dumps({k: v for k, v in answer().items() if k != "success"}),
    "a name too many": said(extra=1),
    "a name twice": said().replace('"success": false', '"success": true, "success": false'),
    "success as text": said(success="true"),
    "success as a number": said(success=1),
    "no subtasks": said(subtasks=[]),
    "subtasks as text": said(subtasks="all"),
    "a subtask without a name": said(subtasks=[{"done": True}]),
    "a subtask with an empty name": said(subtasks=[{"name": " ", "done": True}]),
    "done as text": said(subtasks=[{"name": "a", "done": "yes"}]),
    "more in a subtask": said(subtasks=[{"name": "a", "done": True, "why": ""}]),
    "a lesson as a list": said(action_lesson=["a"]),
    "a lesson too long": said(action_lesson="a" * (MOST_LESSON + 1)),
    "no JSON": said().replace("null", "NaN"),
    "nested for ever": "[" * 100_000,
    "half a fence": f"```json\n{said()}",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_anything_else_is_malformed(case):
    reflection = read(MALFORMED[case])
    assert reflection.problem
    assert reflection == Reflection(problem=reflection.problem)
    for won in (False, True):
        assert reflection.judged(won) == reflection, "phi is 0 even where the episode was won"
        assert not reflection.right(won)


@settings(max_examples=200, deadline=None)
@given(st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_whatever_a_model_says_is_read_without_a_crash(text):
    reflection = read(text)
    assert reflection.phi == 0
    assert reflection.problem


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.booleans())
def test_phi_is_the_share_of_subtasks_that_are_done(done, success):
    reflection = read(said(subtasks=[{"name": "a", "done": of} for of in done], success=success))
    assert reflection.phi == sum(done) / len(done)
    assert reflection.predicted is success
    for won in (False, True):
        judged = reflection.judged(won)
        assert judged.phi == (1.0 if won else reflection.phi)
        assert judged.lessons == (reflection.lessons if success == won else ())
        assert reflection.right(won) == (success == won)


# --- Asking -----------------------------------------------------------------------------------------------------------

TURNS = (
    Turn(0, None, "You are in a room."),
    Turn(1, "go to desk 1", "A desk.", admissible=("a", "b")),
    Turn(2, "jump", "What?", 1, invalid="'jump' is no action"),
    Turn(3, "", "What?", 2, invalid="no action", text="hm", problem="no tag"),
    Turn(4, "rollback(1)", "A desk.", 3, target=1, reason="no use", rollback=True),
    Turn(5, "open it", "A mine.", 1, failed=True),
)


def view(env="alfworld", task="put a mug on desk 1", turns=TURNS):
    return View(env, task, turns, {}, None, lambda index, reason: "")


def test_a_transcript_tells_every_turn():
    assert transcript(TURNS) == (
        "[0] You are in a room.",
        "[1] go to desk 1 -> A desk.",
        "[2] jump -> this could not be done: 'jump' is no action",
        "[3] (no action could be read) -> this could not be done: no action",
        "[4] rollback(1) because: no use -> everything is as it was at [1]",
        "[5] open it -> A mine. (The game is lost.)",
    )


@given(st.lists(st.text("ab", min_size=1), max_size=30), st.integers(1, 40))
def test_what_is_left_out_is_the_middle(lines, most):
    short = shortened(lines, most)
    if len(lines) <= most:
        assert short == tuple(lines)
    else:
        assert len(short) == most + 1
        assert f"({len(lines) - most} turns" in short[(most + 1) // 2]
        assert short[0] == lines[0]
        assert most == 1 or short[-1] == lines[-1]


@given(st.lists(st.text("ab", max_size=900), max_size=60))
def test_what_is_kept_is_bounded(lines):
    text = kept(lines)
    assert len(text) <= KEPT
    if sum(map(len, lines)) + len(lines) <= KEPT:
        assert text == "\n".join(lines)


def test_the_end_is_told_only_where_it_may_be_and_a_reference_says_how_it_ended():
    lost, won = Attempt(("[0] a room", "[1] go"), False), Attempt(("[0] a house", "[1] take"), True)

    def asked(attempt, reference, told):
        (message,) = question(view(), attempt, reference, told=told)
        assert message["role"] == "user"
        return message["content"]

    alone, pair = asked(lost, None, False), asked(lost, won, True)
    assert alone == asked(lost._replace(won=True), None, False), "nothing tells how it ended"
    assert asked(lost, won, True) != asked(lost._replace(won=True), won, True)
    assert "[0] a house\n[1] take" in pair
    assert "earlier attempt that did the task" in pair
    assert "This attempt failed." in pair
    assert "earlier attempt" not in alone
    (short,) = question(view(), lost, won, told=True, brief=True)
    assert len(short["content"]) < len(pair) / 2
    for text in (alone, pair, short["content"]):
        assert "put a mug on desk 1" in text
        assert "[0] a room\n[1] go" in text


def test_the_example_in_the_question_has_the_form():
    (message,) = question(view(), Attempt((), True), None, told=True)
    text = message["content"]
    example = text[text.index("{") : text.index("}\nsubtasks") + 1]
    assert not read(example.replace('"..."', '"A lesson."', 1)).problem


def test_a_board_is_part_of_a_task_that_is_always_the_same():
    assert subject(view()) == "put a mug on desk 1"
    assert subject(view("sokoban", "push all boxes")) == "push all boxes\nYou are in a room."


# --- Agreement --------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=20))
def test_agreement_of_a_phi_with_another(pairs):
    one, other = zip(*pairs, strict=True)
    found = agreement(one, other)
    assert abs(found.bias) <= found.error + 1e-9
    assert 0 <= found.error <= 1
    assert agreement(other, one).bias == pytest.approx(-found.bias)
    assert found.correlation is None or -1 <= found.correlation <= 1
    same = agreement(one, one)
    assert (same.error, same.bias, same.overclaimed) == (0, 0, 0)
    assert same.correlation is None or same.correlation == pytest.approx(1)


def test_hallucinated_progress_is_seen():
    found = agreement([0.5, 1.0, 0.5, 0.5], [0.0, 0.5, 0.5, 1.0])
    assert (found.size, found.error, found.bias, found.overclaimed) == (4, 0.375, 0.125, 0.5)
    assert agreement([0.5, 0.5], [0.0, 1.0]).correlation is None
    assert agreement([0.0, 1.0], [1.0, 0.0]).correlation == pytest.approx(-1)
    with pytest.raises(ValueError, match="As many"):
        agreement([], [])
