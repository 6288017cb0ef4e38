"""What a model is sent."""

import pytest

from rollback_gym.play.policies import GoingBack, Turn
from rollback_gym.play.prompts import Prompts, branch, instructions, prompt
from tests.play.conversations import conversation, files


@pytest.fixture(autouse=True)
def _made_worlds(monkeypatch):
    for variable in ("ALFWORLD_DATA", "WEBSHOP_DATA"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(("path", "env", "style"), list(files()), ids=lambda value: getattr(value, "name", ""))
def test_prompts_are_as_in_the_files(path, env, style):
    assert conversation(env, style) == path.read_text(encoding="utf-8"), "python -m tests.play.conversations"


def _acted(index, parent, **known):
    return Turn(index, f"act {index}", f"seen {index}", parent=parent, text=f"<action>act {index}</action>", **known)


def _back(index, parent, target, reason=""):
    action = f"rollback({target})"
    return Turn(
        index, action, f"seen {target}", parent=parent, target=target, reason=reason, rollback=True, text=action
    )


START = Turn(0, None, "seen 0")
TURNS = (START, _acted(1, 0), _acted(2, 1), _back(3, 2, 1, "a slip"), _acted(4, 1), _back(5, 4, 0), _acted(6, 0))


def test_a_rollback_cuts_the_dialogue_back():
    messages = prompt("toy", "win", TURNS[:4])
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == "<action>act 1</action>"
    last = messages[-1]["content"]
    assert last == '[1] seen 1\n(You are back here since action 3, for your reason "a slip"; action 2 is undone.)'


def test_what_was_before_a_second_rollback_is_gone_too():
    (remembered, last) = branch(TURNS)
    assert remembered.turn.index == 0
    assert [(back.index, undone) for back, undone in remembered.returns] == [(5, (1, 4))]
    assert last.turn.index == 6
    assert not any(
        "act 1" in message["content"] or "slip" in message["content"] for message in prompt("toy", "", TURNS)
    )


def test_several_returns_to_one_place_are_all_told():
    turns = (*TURNS[:5], _back(5, 4, 1, "again"))
    assert prompt("toy", "win", turns)[-1]["content"].splitlines()[1:] == [
        '(You are back here since action 3, for your reason "a slip"; action 2 is undone.)',
        '(You are back here since action 5, for your reason "again"; action 4 is undone.)',
    ]


def test_a_dialogue_only_grows_between_rollbacks():
    """So that a server's prefix cache is of use."""
    turns = tuple(_acted(i, i - 1, admissible=("a", "b"), targets=tuple(range(i))) for i in range(1, 6))
    for length in range(1, 6):
        shorter, longer = prompt("toy", "", (START, *turns[: length - 1])), prompt("toy", "", (START, *turns[:length]))
        assert longer[: len(shorter)] == shorter


@pytest.mark.parametrize("window", range(7))
def test_the_window(window):
    turns = (START, *(_acted(i, i - 1) for i in range(1, 6)))
    dialogue = prompt("toy", "win", turns, Prompts(window=window))
    assert sum(message["role"] == "assistant" for message in dialogue) == min(window, 5)
    (page,) = prompt("toy", "win", turns, Prompts(window=window, style="single", system=False))
    shown = [index for index in range(6) if f"[{index}] seen" in page["content"]]
    assert shown == list(range(6))[-window - 1 :]
    assert ("left out" in page["content"]) == ("left out" in dialogue[1]["content"]) == (window < 5)


def test_settings_leave_things_out():
    turn = _acted(1, 0, admissible=("push", "pull"), targets=(0,))
    everything = prompt("sokoban", "win", (START, turn))
    nothing = prompt("sokoban", "win", (START, turn), Prompts(admissible=False, think=False, rollback=False))
    assert "- push" in everything[-1]["content"]
    assert "go back to: 0" in everything[-1]["content"]
    assert "<think>" in everything[0]["content"]
    said = "\n".join(message["content"] for message in nothing)
    assert not any(word in said for word in ("- push", "go back", "rollback", "<think>", "lists"))
    assert "Your task: win" in said
    (first, *_) = prompt("sokoban", "win", (START, turn), Prompts(system=False))
    assert first["role"] == "user"
    assert "Your task: win" in first["content"]
    assert "seen 0" in first["content"]


def test_thoughts_can_be_dropped():
    thoughtful = _acted(1, 0)._replace(text="<think>hm</think><action>act 1</action>")
    kept = prompt("toy", "", (START, thoughtful))[2]["content"]
    dropped = prompt("toy", "", (START, thoughtful), Prompts(thoughts=False))[2]["content"]
    assert (kept, dropped) == ("<think>hm</think><action>act 1</action>", "<action>act 1</action>")


def test_what_the_environment_allows_is_told():
    def told(**allowed):
        return instructions("toy", "win", Prompts(), GoingBack(**allowed))

    assert "rewind(3)" in told(verb="rewind")
    assert "rollback" not in told(most=0)
    assert "1 time at most" in told(most=1)
    assert "only go back to the start" in told(targets="start")
    assert "rollback(3" not in told(targets="start")
    assert "one number at a time" in told(targets="previous")
    assert "lost can still be saved" in told(revive=True)
    assert "lost can still be saved" not in told()
