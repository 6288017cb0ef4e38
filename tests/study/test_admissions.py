"""Which answers admit a mistake, and which only speak of one."""

import pytest

from rollback_gym.study.admissions import admits

ADMITS = [
    "I made a mistake by opening the fridge.",
    "It seems that I've made an error.",
    "Oops, this is the pan.",
    "My mistake. I will look elsewhere.",
    "I was wrong about the drawer.",
    "I took the wrong mug.",
    "I should not have heated it.",
    "I shouldn\N{RIGHT SINGLE QUOTATION MARK}t have heated it.",
    "That was a mistake, let me go back.",
    "我错了,应该去厨房。",
]
DOES_NOT = [
    "I take the mug and heat it.",
    "I must check whether I made a mistake.",
    "If I made a mistake, I will go back.",
    "I have not gone wrong: no, I did not take the wrong mug.",
    "The mug may be in the wrong place.",
    "To avoid a mistake I look first.",
    "<action>say I made a mistake</action>",
    "",
]


@pytest.mark.parametrize("text", ADMITS)
def test_an_answer_that_admits_a_mistake(text):
    assert admits(f"<think>{text}</think><action>look</action>")


@pytest.mark.parametrize("text", DOES_NOT)
def test_an_answer_that_does_not(text):
    assert not admits(text)


def test_endless_babble_does_not_take_endless_time():
    assert not admits("i " * 50_000 + "<action>" * 1000)
    assert not admits("if oops " * 20_000)
