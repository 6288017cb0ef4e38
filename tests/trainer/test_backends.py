"""What samples: what is not there is said before anything is loaded, and TRL is told the rest."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec

import pytest

from rollback_gym.core.errors import ConfigError, MissingExtra
from rollback_gym.trainer import backends, distilling
from rollback_gym.trainer.backends import Generation
from rollback_gym.trainer.distilling import Distilling, Judge

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # of what it imports


def there(name):
    return object()


@pytest.mark.parametrize("backend", ["vllm_colocate", "vllm_server"])
def test_vllm_that_is_not_installed(monkeypatch, backend):
    monkeypatch.setattr(backends, "find_spec", lambda name: None if name == "vllm" else find_spec(name))
    with pytest.raises(MissingExtra, match=f"backend={backend} needs vllm.*pip install"):
        backends.check_there(Generation(backend, url="http://localhost:1"))


def test_httpx_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(distilling, "find_spec", lambda name: None)
    asked = Distilling(on=True, teacher=Judge("llm", url="http://localhost:1/v1", model="m"))
    with pytest.raises(MissingExtra, match="needs httpx: pip install"):
        distilling.check_there(asked)
    distilling.check_there(Distilling(on=True))
    distilling.check_there(Distilling(teacher=asked.teacher))


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_server_answers_or_not(monkeypatch):
    monkeypatch.setattr(backends, "find_spec", there)
    with HTTPServer(("127.0.0.1", 0), Healthy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        backends.check_there(Generation("vllm_server", url=url))
        with pytest.raises(ConfigError, match=r"No vLLM server answers at .*Not Found.*vllm serve"):
            backends.check_there(Generation("vllm_server", url=f"{url}/elsewhere"))
        server.shutdown()
    with pytest.raises(ConfigError, match="No vLLM server answers"):
        backends.check_there(Generation("vllm_server", url=url))


@contextmanager
def served(reply):
    """An endpoint for chat completions that answers `reply`, a status and a choice, and what it was asked."""
    asked = []

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, choice = reply
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps({"choices": [choice]} if status == 200 else {"error": choice}).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        server.shutdown()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((200, {"message": {"content": "yes"}, "finish_reason": "stop"}), ""),
        ((200, {"message": {"content": "Well,"}, "finish_reason": "length"}), r"in no 99 tokens .*teacher\.extra"),
        ((200, {}), r"does not answer at http.*no message among its choices"),
        ((400, "chat_template_kwargs?"), r"does not answer .*refuses the request: 400 chat_template_kwargs\?"),
        ((404, "no such model"), r"does not answer .*404 no such model"),
    ],
)
def test_a_teacher_answers_or_not(reply, said):
    pytest.importorskip("httpx", reason="needs httpx: pip install 'rollback-gym[endpoint]'")
    unthinking = {"chat_template_kwargs": {"enable_thinking": False}}
    with served(reply) as (url, asked):
        judge = Judge("llm", url=url, model="m", answer=99, temperature=0.5, extra=unthinking)
        if said:
            with pytest.raises(ConfigError, match=said) as error:
                distilling.check_there(Distilling(on=True, teacher=judge))
            assert "\n" not in str(error.value)
        else:
            distilling.check_there(Distilling(on=True, teacher=judge))
    (body,) = asked
    assert body.pop("messages")
    assert body == {"model": "m", "max_tokens": 99, "temperature": 0.5, "seed": 0, **unthinking}


def test_a_teacher_that_is_not_there():
    pytest.importorskip("httpx", reason="needs httpx: pip install 'rollback-gym[endpoint]'")
    with served((200, {})) as (url, _):
        pass
    with pytest.raises(ConfigError, match=r"The teacher m does not answer at .*ConnectError"):
        distilling.check_there(Distilling(on=True, teacher=Judge("llm", url=url, model="m")))


def test_what_trl_is_told():
    pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")
    from trl import GRPOConfig

    assert backends.arguments(Generation(), 8, 64) == {}
    for generation in (
        Generation("vllm_colocate", 0.5, 2, True),
        Generation("vllm_server", url="http://localhost:8000"),
    ):
        told = backends.arguments(generation, 8, 64)
        args = GRPOConfig("nowhere", use_cpu=True, bf16=False, report_to="none", **told)
        assert args.use_vllm
        assert f"vllm_{args.vllm_mode}" == generation.backend
        assert args.max_completion_length == 8
        if args.vllm_mode == "colocate":
            given = args.vllm_gpu_memory_utilization, args.vllm_tensor_parallel_size, args.vllm_max_model_length
            assert given == (0.5, 2, 64)
            assert args.vllm_enable_sleep_mode
        else:
            assert args.vllm_server_base_url == "http://localhost:8000"
