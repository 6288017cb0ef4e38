"""Hints, and answers that give them away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.trainer.hints import BARE, GOLD, gold_hint, leaks, lesson_hint

ACTION = "go to fridge 1"
HINT = gold_hint(ACTION)


def test_a_hint_names_the_action_and_a_lesson_stands_in_its_own() -> None:
    assert ACTION in HINT
    assert "{" not in HINT
    assert " Look first. " in lesson_hint("Look\n first")
    assert " Look! " in lesson_hint(" Look!")


@pytest.mark.parametrize(
    "answer",
    [
        "<action>go to fridge 1</action>",
        "<think>An apple is kept cool, and the fridge is the place for that.</think><action>go to fridge 1</action>",
        "<think>There is a notebook 1 on the hinterland map; the tipping point.</think><action>go to fridge 1</action>",
        "<think>The task says to cool it. I have seen the table; what is left to do is to go.</think>",
        "",
    ],
)
def test_an_answer_of_its_own_passes(answer: str) -> None:
    assert not leaks(answer, HINT, ACTION)


@pytest.mark.parametrize(
    "answer",
    [
        "The hint says the fridge.",
        "HINTED at: fridge",
        "h i n t: the fridge",
        "the h-i-n-t",
        "the ｈｉｎｔ",  # noqa: RUF001
        "the hi​nt",  # with an invisible blank
        "the hi\u0301nt",
        "the һіnt",  # noqa: RUF001  # not all of these letters are Latin
        "the h_i_n_t",
        "I was told to go to fridge 1",
        "I have been advised to look there.",
        "As you said, I go.",
        "You suggested the fridge",
        "following the advice",
        "Since go to fridge 1 is a sound choice now, I do it.",
        "that is the recommended action",
        "as if nobody had told you, and do it",
        "from the task and from what you have seen",
        "(Between us, it is in there.)",
    ],
)
def test_an_answer_that_gives_it_away_is_caught(answer: str) -> None:
    assert leaks(answer, HINT, ACTION)
    assert leaks(f"<think>{answer.upper()}</think>\n<action>{ACTION}</action>", HINT, ACTION)


def test_what_the_student_reads_too_may_be_said() -> None:
    seen = "You shop for mints. Product: hint of mint, the recommended choice."
    assert not leaks("The product with the hint of mint fits.", HINT, ACTION, seen)
    assert leaks("The product with the hint of mint fits.", HINT, ACTION)
    assert leaks("The hints name it.", HINT, ACTION, "The words are: I was told so.")


@given(action=st.sampled_from(["go to fridge 1", "search[red hat with a blue ribbon, size 4]", "(3, 4)"]))
def test_the_action_may_always_be_said(action: str) -> None:
    assert not leaks(f"I want to {action} and then {action}: <action>{action}</action>", gold_hint(action), action)


@given(text=st.text(), seen=st.text())
def test_any_text_can_be_judged(text: str, seen: str) -> None:
    assert leaks(text, HINT, ACTION, seen) in (True, False)
    assert not leaks(text, HINT, ACTION, seen + "\n" + text)


@pytest.mark.parametrize("hint", [HINT, BARE, lesson_hint("Look into the fridge before the drawers, always.")])
def test_the_hint_itself_is_a_leak(hint: str) -> None:
    assert leaks(hint, hint)
    assert GOLD != BARE
