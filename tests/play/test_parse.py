"""What is read from a model's text, and what is not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.play.parse import parse, without_thoughts

# text, strict, lenient; None where no action is read
READ = {
    "plain": ("<action>look</action>", "look", "look"),
    "after thinking": ("<think>so</think>\n<action> look </action>", "look", "look"),
    "a fake in the thoughts": ("<think><action>open</action></think><action>look</action>", "look", "look"),
    "only a fake": ("<think><action>open</action></think>", None, None),
    "thought opened by the template": ("I could <action>open</action> it</think><action>look</action>", "look", "look"),
    "thought not closed": ("<think>I will <action>look</action>", None, None),
    "nested thoughts": ("<think>a<think>b</think><action>x</action></think><action>look</action>", "look", "look"),
    "other thinking tag": ("<THINKING>a</thinking><action>look</action>", "look", "look"),
    "several": ("<action>open</action> no, <action>look</action>", None, "look"),
    "nested": ("<action><action>look</action></action>", None, "look"),
    "missing close": ("<action>look\nand then", None, "look"),
    "missing open": ("I will\nlook</action>", None, "look"),
    "whole before half": ("<action>look</action><action>op", None, "look"),
    "empty": ("<action> </action>", None, None),
    "empty, then one": ("<action></action><action>look</action>", None, "look"),
    "case": ("<Action>look</ACTION>", None, "look"),
    "spaces": ("< action >look< /action >", None, "look"),
    "full width": ("＜action＞look＜/action＞", None, "look"),  # noqa: RUF001
    "angle brackets": ("〈action〉look〈/action〉", None, "look"),
    "escaped": ("&lt;action&gt;look&lt;/action&gt;", None, "look"),
    "fenced": ("```xml\n<action>look</action>\n```", "look", "look"),
    "fenced inside": ("<action>```look```</action>", "```look```", "look"),
    "quoted": ('<action>"look"</action>', '"look"', "look"),
    "quotes that belong": ('<action>rollback(3, "no")</action>', 'rollback(3, "no")', 'rollback(3, "no")'),
    "two quoted": ('<action>"a" or "b"</action>', '"a" or "b"', '"a" or "b"'),
    "brackets that belong": ("<action>click[< prev]</action>", "click[< prev]", "click[< prev]"),
    "lines": ("<action>go to\n  fridge 1</action>", "go to\n  fridge 1", "go to fridge 1"),
    "labelled": ("I am lost.\n**Action:** look", None, "look"),
    "bare": ("look", None, "look"),
    "a page": ("look\nopen", None, None),
    "long": ("word " * 100, None, None),
    "nothing": ("", None, None),
    "blank": (" \n ", None, None),
    "close before open": ("</action>look<action>", None, None),
    "rollback outside": ("rollback(3)\n<action>look</action>", "look", "look"),
}


@pytest.mark.parametrize("case", READ)
def test_reading(case):
    text, strict, lenient = READ[case]
    for how, expected in (("strict", strict), ("lenient", lenient)):
        read = parse(text, how)
        assert read.action == expected
        assert (read.problem is None) == (expected is not None)


@given(st.text(), st.sampled_from(["strict", "lenient"]))
def test_anything_is_read_or_refused(text, how):
    action, problem = parse(text, how)
    assert (action is None) != (problem is None)
    assert action is None or action.strip() == action != ""


@given(st.text('<>/ actionthk\n`"', max_size=60))
def test_whatever_is_lenient_about_strict_agrees(text):
    strict, lenient = parse(text, "strict").action, parse(text, "lenient").action
    if strict is not None:
        assert lenient is not None or not strict.strip("`\"' \n")


@pytest.mark.parametrize(
    "text",
    ["<action>" * 50_000, "<" * 200_000, "<think>" * 50_000, "<action>" + " " * 300_000, "< " * 100_000, "``" * 200_000,
     "</think>" * 50_000, "</action>" * 50_000, "action" + "*" * 200_000, '"' * 100_000],
)  # fmt: skip
def test_endless_answers_take_no_time(text):
    began = time.process_time()
    parse(text, "strict")
    parse(text, "lenient")
    assert time.process_time() - began < 2


def test_thoughts_are_taken_out():
    assert without_thoughts("<think>a</think> <action>look</action>") == "<action>look</action>"
