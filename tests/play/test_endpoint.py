"""Models behind HTTP: a server on this machine misbehaves in every way that servers do."""

import json
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import gymnasium as gym
import pytest

pytest.importorskip("httpx", reason="needs httpx: pip install 'rollback-gym[endpoint]'")

from rollback_gym.core.errors import PolicyError, RunStopped
from rollback_gym.play.endpoint import Endpoint, EndpointPolicy
from rollback_gym.play.playing import play
from rollback_gym.play.policies import make_policy, remake_policy
from rollback_gym.play.records import Made, line, parse

KEY = "sk-very-secret-0123456789"
HELLO = ({"role": "user", "content": "hello \ud800 é"},)


def answer(text="<action>look</action>", **message):
    return 200, json.dumps(
        {
            "model": "served",
            "choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}],
            "usage": {"total_tokens": 7},
        }
    )


class Server:
    """Answers with what it was given, one after the other, and with the last one for ever; keeps what it was asked."""

    def __init__(self, *replies):
        self.replies, self.requests = list(replies), []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.requests.append((self.path, dict(self.headers), json.loads(body)))
                reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
                if callable(reply):
                    reply = reply(self)
                if reply is None:
                    return
                status, text, *headers = reply
                data = text.encode("utf-8", "surrogateescape")
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.http.shutdown()
        self.http.server_close()


def endpoint(server, waits, **given):
    return Endpoint(server.url, {"model": "m"}, key=KEY, wait=waits.append, **{"timeout": 5.0, **given})


def hangs_up(handler):
    handler.connection.close()


def sleeps(handler):
    time.sleep(1.0)
    return answer()


def half(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.connection.close()


PASSING = {
    "busy": (429, "slow down"),
    "overloaded": (503, "busy"),
    "broken": (500, '{"error": {"message": "oops"}}'),
    "timeout": (408, ""),
    "hangs up": hangs_up,
    "half an answer": half,
    "no JSON": (200, "<html>"),
    "no UTF-8": (200, "\udcff\udcfe"),
    "no choices": (200, '{"choices": []}'),
    "null choices": (200, '{"choices": null}'),
    "no message": (200, '{"choices": [{"finish_reason": "stop"}]}'),
    "a number for text": (200, '{"choices": [{"message": {"content": 7}}]}'),
    "a list": (200, "[]"),
    "nested": (200, "[" * 100_000),
    "NaN in the usage": (200, '{"choices": [{"message": {"content": 7}}], "usage": NaN}'),
}


@pytest.mark.parametrize("trouble", PASSING)
def test_what_may_pass_is_tried_again(trouble):
    waits = []
    with Server(PASSING[trouble], PASSING[trouble], answer()) as server:
        assert endpoint(server, waits).answer(HELLO, 3).text == "<action>look</action>"
    assert len(server.requests) == 3
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2


@pytest.mark.parametrize("trouble", PASSING)
def test_until_there_were_enough_tries(trouble):
    waits = []
    with Server(PASSING[trouble]) as server, pytest.raises(PolicyError, match="no answer after 3 tries") as told:
        endpoint(server, waits, retries=2).answer(HELLO, 3)
    assert (len(server.requests), len(waits)) == (3, 2)
    assert KEY not in str(told.value)


def test_an_answer_that_takes_too_long():
    with Server(sleeps, answer("in time")) as server:
        assert endpoint(server, [], timeout=0.2).answer(HELLO, 3).text == "in time"


def test_nobody_listens():
    with Server(answer()) as server:
        pass
    with pytest.raises(PolicyError, match="ConnectError"):
        endpoint(server, [], retries=1).answer(HELLO, 3)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7, 7),
        ("0.2", 0.5, 1),
        (lambda: formatdate(time.time() + 30, usegmt=True), 25, 31),
        (lambda: formatdate(time.time() - 30, usegmt=True), 0.5, 1),
        ("1e9", 300, 300),
        ("-5", 0.5, 1),
        ("nan", 0.5, 1),
        ("soon", 0.5, 1),
    ],
)
def test_retry_after_is_honoured(header, least, most):
    waits = []
    value = header() if callable(header) else header
    with Server((429, "", ("Retry-After", value)), answer()) as server:
        endpoint(server, waits).answer(HELLO, 3)
    assert least <= waits[0] <= most


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, PolicyError), (413, PolicyError), (422, PolicyError), (401, RunStopped), (403, RunStopped),
     (404, RunStopped), (301, RunStopped)],
)  # fmt: skip
def test_what_will_not_pass_is_told_once(status, kind):
    waits = []
    refusal = (status, json.dumps({"error": {"message": f"the key {KEY} is no good"}}))
    with Server(refusal) as server, pytest.raises(kind, match=rf"{status} the key \*\*\* is no good") as told:
        endpoint(server, waits).answer(HELLO, 3)
    assert (len(server.requests), waits) == (1, [])
    assert KEY not in str(told.value)


def test_what_is_sent(monkeypatch):
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    with Server(answer()) as server:
        policy = EndpointPolicy("m", f"{server.url}/", key_variable="MY_KEY", temperature=0.5, extra={"top_p": 0.9})
        policy.chat.answer(HELLO, 3)
    ((path, headers, body),) = server.requests
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "m", "temperature": 0.5, "top_p": 0.9, "messages": list(HELLO), "seed": 3}


def test_without_key_and_seed(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Server(answer()) as server:
        EndpointPolicy("m", server.url, send_seed=False).chat.answer(HELLO, 3)
    ((_, headers, body),) = server.requests
    assert "Authorization" not in headers
    assert body.keys() == {"model", "messages"}


def test_a_key_that_no_header_can_hold():
    with pytest.raises(RunStopped) as told:
        Endpoint("http://localhost/v1", {}, key="sk-\nsecret")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "", "http://user:hunter2@host/v1", "http://host/v1?key=hunter2"]
)
def test_urls_are_checked(url):
    with pytest.raises(ValueError, match="url") as told:
        EndpointPolicy("m", url)
    assert "hunter2" not in str(told.value)


def test_thoughts_that_come_apart_are_kept():
    with Server(answer("<action>look</action>", reasoning_content="so")) as server:
        assert endpoint(server, []).answer(HELLO, 3).text == "<think>so</think><action>look</action>"


def test_no_content_is_an_empty_answer():
    with Server(answer(None)) as server:
        assert endpoint(server, []).answer(HELLO, 3).text == ""


MADE = Made("Rollback-ALFWorld-v0", {"max_turns": 6})


def test_an_episode_and_its_record(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    replies = [
        answer("<think>hm</think><action>look</action>"),
        answer("I do not know.\nLet me see."),
        (503, "busy"),
        answer('<action>rollback(0, "nothing here")</action>'),
        answer(f"<action>{KEY}</action>"),
        answer("<action>inventory</action>"),
    ]
    with Server(*replies) as server:
        policy = make_policy("endpoint", model="m", url=server.url, window=2)
        env = gym.make(MADE.id, disable_env_checker=True, **MADE.kwargs)
        episode = play(env, policy, id="0-0", made=MADE, seed=0)
    written = line(episode)
    assert KEY not in written
    assert parse(written) == episode
    assert [act.action for act in episode.acts[:4]] == ["look", "", 'rollback(0, "nothing here")', "***"]
    lost = episode.acts[1]
    assert lost.invalid is not None
    assert (lost.call.text, lost.call.problem) == ("I do not know.\nLet me see.", "there is no <action> </action>")
    assert episode.acts[0].call.usage == {"finish_reason": "stop", "model": "served", "usage": {"total_tokens": 7}}
    assert [message["role"] for message in episode.acts[1].call.messages] == ["system", "user", "assistant", "user"]
    assert "nothing here" in episode.acts[3].call.messages[-1]["content"]
    asked = [body for _, _, body in server.requests]
    assert asked[2] == asked[3]  # the same request again
    assert len({body["seed"] for body in asked}) == 6
    assert remake_policy(episode.policy).settings() == policy.settings()


def test_settings_are_checked():
    for asking, told in (
        ({"style": "poem"}, "style"), ({"window": -1}, "window"), ({"think": "yes"}, "think"),
        ({"parsing": "kind"}, "parsing"), ({"colour": 1}, "colour"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=told):
            make_policy("endpoint", model="m", **asking)
