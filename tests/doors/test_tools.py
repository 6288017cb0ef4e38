"""Tool calls: what a schema says, what is read, and what is answered to calls that are none."""

import json
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollback_gym  # noqa: F401  # registers the environments
from rollback_gym.doors.tools import action_of, read_call, tools
from rollback_gym.play.policies import SEARCH, GoingBack


def properties(tool: dict[str, Any]) -> dict[str, Any]:
    return tool["function"]["parameters"]["properties"]


def test_the_schema_lists_what_can_be_done_and_where_to_go_back_to() -> None:
    act, rollback = tools(["look", "wait"], (0, 2))
    assert act["type"] == rollback["type"] == "function"
    assert (act["function"]["name"], rollback["function"]["name"]) == ("act", "rollback")
    assert properties(act)["action"]["enum"] == ["look", "wait"]
    assert properties(rollback)["index"]["enum"] == [0, 2]
    assert act["function"]["parameters"]["required"] == ["action"]
    assert rollback["function"]["parameters"]["required"] == ["index"]
    json.dumps([act, rollback], allow_nan=False)


def test_without_lists_the_schema_allows_any() -> None:
    act, rollback = tools()
    assert "enum" not in properties(act)["action"]
    assert "enum" not in properties(rollback)["index"]


def test_what_cannot_be_gone_back_to_has_no_tool() -> None:
    assert len(tools(["look"], ())) == 1
    assert len(tools(going_back=GoingBack(most=0))) == 1
    assert "0 only" in properties(tools(going_back=GoingBack(targets="start"))[1])["index"]["description"]


def test_any_search_may_be_made_where_one_is_offered() -> None:
    action = properties(tools([SEARCH, "click[back]"])[0])["action"]
    assert "enum" not in action
    assert SEARCH in action["description"]


WRITTEN = {"name": "act", "arguments": {"action": " open fridge 1 "}}


class Pydantic:
    def model_dump(self) -> dict[str, Any]:
        return {"type": "function", "function": {**WRITTEN, "arguments": json.dumps(WRITTEN["arguments"])}}


@pytest.mark.parametrize(
    "call",
    [
        WRITTEN,
        json.dumps(WRITTEN),
        {"type": "function", "function": WRITTEN},
        {"id": "1", "type": "function", "function": {**WRITTEN, "arguments": json.dumps(WRITTEN["arguments"])}},
        {"role": "assistant", "content": None, "tool_calls": [{"function": WRITTEN}]},
        {"role": "assistant", "tool_calls": [Pydantic()]},
        Pydantic(),
    ],
)
def test_a_call_is_read_in_every_form(call: Any) -> None:
    assert read_call(call).action == "open fridge 1"


@pytest.mark.parametrize(
    ("arguments", "action"),
    [
        ({"index": 3}, "rollback(3)"),
        ({"index": 3, "reason": None}, "rollback(3)"),
        ({"index": "3"}, "rollback(3)"),
        ({"index": 3.0, "reason": 'the "wrong"\n drawer'}, 'rollback(3, "the "wrong" drawer")'),
    ],
)
def test_a_rollback_is_read(arguments: dict[str, Any], action: str) -> None:
    assert read_call({"name": "rollback", "arguments": arguments}).action == action


def test_the_verb_is_the_environment_s() -> None:
    assert action_of("rollback", {"index": 0}, "undo").action == "undo(0)"


DEEP = "[" * 100_000
BAD = [
    (None, "no tool call"),
    ("", "no tool call"),
    ("{", "no tool call"),
    (DEEP, "no tool call"),
    ("5", "no tool call"),
    ([], "no tool call"),
    ({}, "arguments must be an object"),
    ({"name": "act"}, "arguments must be an object"),
    ({"name": "act", "arguments": "5"}, "arguments must be an object"),
    ({"name": "act", "arguments": DEEP}, "no tool call"),
    ({"name": "act", "arguments": {}}, "act needs action"),
    ({"name": "act", "arguments": {"action": None}}, "must be a text"),
    ({"name": "act", "arguments": {"action": 7}}, "must be a text"),
    ({"name": "act", "arguments": {"action": "  "}}, "empty"),
    ({"name": "act", "arguments": {"action": "look", "x": 1}}, "not 'x'"),
    ({"name": "act", "arguments": {"action": "a" * 10**6}}, "1,000,000 letters"),
    ({"name": "rollback", "arguments": {}}, "rollback needs index"),
    ({"name": "rollback", "arguments": {"index": True}}, "whole number"),
    ({"name": "rollback", "arguments": {"index": 1.5}}, "whole number"),
    ({"name": "rollback", "arguments": {"index": [1]}}, "whole number"),
    ({"name": "rollback", "arguments": {"index": -1}}, "number that was shown"),
    ({"name": "rollback", "arguments": {"index": 10**5000}}, "number that was shown"),
    ({"name": "rollback", "arguments": '{"index": ' + "9" * 5000 + "}"}, "no tool call"),
    ({"name": "rollback", "arguments": {"index": float("inf")}}, "whole number"),
    ({"name": "rollback", "arguments": {"index": 1, "reason": {}}}, "reason must be a text"),
    ({"name": "close", "arguments": {}}, "no tool 'close'"),
    ({"name": ["act"], "arguments": {}}, "no tool a list"),
    ({"name": "x" * 1000, "arguments": {}}, "no tool"),
    ({"tool_calls": []}, "exactly one call a turn, got 0"),
    ({"tool_calls": [WRITTEN, WRITTEN]}, "exactly one call a turn, got 2"),
    ({"tool_calls": "act"}, "exactly one call a turn, got 0"),
    ({"function": "act"}, "no tool call"),
]


@pytest.mark.parametrize(("call", "problem"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_with_a_call_is_said_in_a_line(call: Any, problem: str) -> None:
    read = read_call(call)
    assert read.action is None
    assert problem in (read.problem or "")
    assert len(read.problem or "") < 300
    assert "\n" not in (read.problem or "")


def test_half_a_surrogate_pair_is_taken_out() -> None:
    read = read_call('{"name": "act", "arguments": {"action": "go \\ud800"}}')
    assert read.action is not None
    read.action.encode("utf-8")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["act", "rollback"])
CALLS = st.builds(dict, name=NAMES | JSON, arguments=st.fixed_dictionaries({"index": JSON}) | JSON) | JSON


@given(CALLS)
def test_whatever_is_called_is_an_action_or_a_problem(call: Any) -> None:
    for written in (call, json.dumps(call)):
        read = read_call(written)
        assert (read.action is None) != (read.problem is None)


@given(st.integers(0, 3), st.text(max_size=50))
def test_the_environment_reads_what_was_written(index: int, reason: str) -> None:
    env = gym.make("Rollback-Sokoban-v0")
    env.reset(seed=0)
    for way in ("up", "down", "left", "up"):
        env.step(way)
    read = action_of("rollback", {"index": index, "reason": reason})
    assert read.action is not None
    went = env.step(read.action)[4]["rollback"]
    assert went["target"] == index
    said = " ".join(reason.encode("utf-8", "replace").decode("utf-8").split())
    assert went["reason"] in (said, said.strip())
