"""OpenEnv's door, over real sockets: sessions apart, hostile messages answered, and the server still there."""

import base64
import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openenv.core", reason="needs OpenEnv: pip install 'rollback-gym[openenv]'")
pytestmark = pytest.mark.filterwarnings("default")  # those of other libraries are not ours to forbid

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "openenv_session.py"
LOOK = {"type": "step", "data": {"action": "look"}}


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def url(example: dict[str, Any]) -> Iterator[str]:
    with example["serving"](snapshots=True, max_sessions=8) as url:
        yield url


def session(url: str) -> Any:
    from rollback_gym.doors.openenv import RollbackClient

    return RollbackClient(base_url=url).sync()


def test_the_example_runs(example: dict[str, Any]) -> None:
    start, back, there, taken = example["play"]()
    assert start == back
    assert there == taken != start


def test_an_episode_is_played_over_the_wire(url: str) -> None:
    with session(url) as client:
        start = client.reset(seed=1, episode_id="mine")
        assert (start.reward, start.done) == (None, False)
        assert start.observation.text.startswith("[0]")
        client.step("look")
        back = client.rollback(0, "nothing there")
        assert back.observation.observation == start.observation.observation
        assert "nothing there" in back.observation.text
        assert (back.observation.turn, back.observation.rollback_targets, back.observation.error) == (2, [], "")
        refused = client.rollback(5)
        assert "no node 5" in refused.observation.error
        state = client.state()
        assert (state.episode_id, state.step_count, state.outcome) == ("mine", 3, "running")
        with pytest.raises(ValueError, match="whole number"):
            client.rollback("back")


def test_sessions_never_see_each_other(url: str) -> None:
    with session(url) as one, session(url) as two:
        first, second = one.reset(seed=1).observation, two.reset(seed=2).observation
        assert first.task != second.task
        for _ in range(3):
            one.step("look")
        one.rollback(1)
        seen = two.step("inventory").observation
        assert (seen.turn, seen.rollback_targets, seen.task) == (1, [0], second.task)
        assert two.reset(seed=1).observation.observation == first.observation
        assert one.state().step_count == 4


def test_a_snapshot_goes_on_elsewhere(url: str) -> None:
    with session(url) as one, session(url) as two:
        one.reset(seed=1)
        for action in ("look", "rollback(0)", "inventory"):
            last = one.step(action).observation
        taken = two.reset(snapshot=one.state().snapshot).observation
        assert taken == last.model_copy(update={"reward": None})
        for action in ("look", "rollback(3)", "look"):
            mine, theirs = one.step(action).observation, two.step(action).observation
            assert mine.observation == theirs.observation
        assert two.state() == one.state()


BAD_STEPS: list[Any] = [None, 5, [], {}, "", "x" * 10**6, ["look"], {"action": "look"}, True]
BAD_RESETS: list[dict[str, Any]] = [
    {"seed": -1},
    {"seed": "one"},
    {"seed": True},
    {"seed": 10**40},
    {"level": 5},
    {"level": "no/such/level"},
    {"level": "../../etc/passwd"},
    {"episode_id": {}},
    {"snapshot": 7},
    {"snapshot": "no base64!"},
    {"snapshot": base64.b64encode(b"\x80\x04pickle").decode()},
]


@pytest.mark.parametrize("action", BAD_STEPS, ids=range(len(BAD_STEPS)))
def test_a_hostile_action_spends_its_turn_and_is_told_so(url: str, action: Any) -> None:
    with session(url) as client:
        client.reset(seed=1)
        seen = client.step(action).observation
        assert seen.error
        assert seen.turn == 1
        assert len(seen.text) < 20_000
        assert client.step("look").observation.error == ""


@pytest.mark.parametrize("start", BAD_RESETS, ids=range(len(BAD_RESETS)))
def test_a_hostile_reset_is_an_error_and_the_episode_goes_on(url: str, start: dict[str, Any]) -> None:
    with session(url) as client:
        client.reset(seed=1)
        client.step("look")
        with pytest.raises(RuntimeError, match="Server error"):
            client.reset(**start)
        assert client.step("look").observation.turn == 2


MESSAGES: list[str | bytes] = [
    "{",
    "5",
    "[]",
    "null",
    "[" * 100_000,
    b"\xff\x00",
    json.dumps({"type": "open sesame"}),
    json.dumps({"type": ["reset"]}),
    json.dumps({"type": "step"}),
    json.dumps({"type": "step", "data": {}}),
    json.dumps({"type": "step", "data": {"action": "look", "oracle": True}}),
    json.dumps({"type": "step", "data": {"type": ["x"], "action": "look"}}),
    json.dumps({"type": "step", "data": "look"}),
    json.dumps({"type": "step", "data": {"action": "\ud800"}}),
    json.dumps({"type": "step", "data": {"\ud800": "look"}}),
    json.dumps({"type": "reset", "data": {"seed": 1, "level": "\ud800"}}),
    json.dumps({"type": "reset", "data": [1]}),
    json.dumps({"type": "mcp", "data": {"jsonrpc": "2.0", "method": "tools/list", "id": 1}}),
    json.dumps({"type": "mcp", "data": {"method": "tools/call", "params": {"name": "close"}}}),
]


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_a_hostile_message_is_answered_with_an_error(url: str, message: str | bytes) -> None:
    from websockets.sync.client import connect

    with session(url) as bystander, connect(url.replace("http", "ws") + "/ws") as socket:
        bystander.reset(seed=1)
        socket.send(message)
        answer = json.loads(socket.recv(timeout=30))
        said = json.dumps(answer)
        assert answer["type"] == "error" or '"error"' in said
        assert "Traceback" not in said
        assert bystander.step("look").observation.turn == 1
    with session(url) as client:
        client.reset(seed=1)
        assert client.step("look").observation.error == ""


def test_a_step_before_a_reset_is_told_so(url: str) -> None:
    with session(url) as client:
        assert "reset first" in client.step("look").observation.error
        assert client.state().step_count == 0


def test_after_the_end_nothing_happens(example: dict[str, Any]) -> None:
    with example["serving"](max_turns=1) as url, session(url) as client:
        client.reset(seed=1)
        assert client.step("look").done
        after = client.step("rollback(0)")
        assert after.done
        assert "over" in after.observation.error
        assert after.observation.turn == 1


def test_a_server_gives_no_snapshots_unless_it_is_told_to(example: dict[str, Any]) -> None:
    with example["serving"]() as url, session(url) as client:
        client.reset(seed=1)
        assert client.state().snapshot is None
        with pytest.raises(RuntimeError, match="takes no snapshots"):
            client.reset(snapshot="AAAA")


def test_plain_http_is_answered_too(url: str) -> None:
    httpx = pytest.importorskip("httpx", reason="needs httpx: pip install 'rollback-gym[endpoint]'")
    assert httpx.post(f"{url}/reset", json={"seed": 1}, timeout=30).json()["observation"]["turn"] == 0
    assert httpx.post(f"{url}/reset", json={"level": "none"}, timeout=30).status_code == 400
    assert httpx.post(f"{url}/reset", json={"seed": "x"}, timeout=30).status_code == 422
    assert "reset first" in httpx.post(f"{url}/step", json={"action": {"action": "look"}}, timeout=30).text
    assert httpx.post(f"{url}/step", content=b"{", timeout=30).status_code == 422


def test_what_cannot_be_made_is_told_before_the_first_session() -> None:
    from rollback_gym.doors.openenv import serve

    with pytest.raises(TypeError, match="text actions"):
        serve("Rollback-Sokoban-v0", actions="discrete")


def test_one_too_many_is_told_so(example: dict[str, Any]) -> None:
    with example["serving"](max_sessions=1) as url, session(url) as client:
        client.reset(seed=1)
        # The server says why and closes; whether the client hears it before it next speaks is a matter of time.
        with pytest.raises(Exception, match=r"CAPACITY|received 1000"), session(url) as other:
            other.reset(seed=1)
        assert client.step("look").observation.turn == 1
