"""Models behind an OpenAI-compatible endpoint for chat completions: vLLM, llama.cpp, and many services.

What may pass is tried again: a server that is busy, restarts, or answers what is no answer. What will not pass is told
once. The key comes from an environment variable; it is in no record, no log and no message.
"""

import json
import math
import os
import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from rollback_gym.core.errors import MissingExtra, PolicyError, RunStopped
from rollback_gym.play.models import Answer, ModelPolicy
from rollback_gym.play.prompts import Messages
from rollback_gym.play.shapes import plain

_PASSING = {408, 409, 425, 429}
"""Client errors that another try may mend."""
_STOPPING = {401, 403, 404}
"""Those that every episode of a run would meet."""
_LONGEST_WAIT = 300.0
_SECRET = 8
"""A key of so many letters is one."""


class EndpointPolicy(ModelPolicy):
    """A model that is reached over HTTP.

    Args:
        model: The model's name, as the endpoint knows it.
        url: The endpoint, up to the version: `http://localhost:8000/v1`.
        key_variable: The environment variable that holds the key; where it is not set, none is sent.
        temperature: None leaves it to the endpoint; likewise max_tokens.
        max_tokens: How long an answer may be.
        extra: More fields for the body of a request, such as `{"top_p": 0.9}`.
        send_seed: Whether a seed is sent, which some services refuse.
        timeout: Seconds to wait for an answer.
        retries: How often a request is tried again.
        asking: See `ModelPolicy`.

    Raises:
        MissingExtra: without httpx.
        ValueError: for a URL that is none, or that holds a password.
    """

    def __init__(
        self,
        model: str,
        url: str = "http://localhost:8000/v1",
        *,
        key_variable: str = "OPENAI_API_KEY",
        temperature: float | None = None,
        max_tokens: int | None = None,
        extra: Mapping[str, Any] | None = None,
        send_seed: bool = True,
        timeout: float = 120.0,
        retries: int = 5,
        **asking: Any,
    ) -> None:
        self._settings = {
            "model": model,
            "url": _checked(url),
            "key_variable": key_variable,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "extra": plain(dict(extra or {})),
            "send_seed": send_seed,
            "timeout": timeout,
            "retries": retries,
        }
        body = {"model": model, "temperature": temperature, "max_tokens": max_tokens, **(extra or {})}
        chat = Endpoint(
            url,
            {name: value for name, value in body.items() if value is not None},
            key=os.environ.get(key_variable),
            send_seed=send_seed,
            timeout=timeout,
            retries=retries,
        )
        super().__init__("endpoint", chat, asking)

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return {**self._settings, **super().settings()}


class Endpoint:
    """An endpoint for chat completions.

    Args:
        url: Up to the version.
        body: What every request holds besides its messages.
        key: The bearer's token, or None.
        send_seed: Whether requests hold a seed.
        timeout: Seconds to wait for an answer.
        retries: How often a request is tried again.
        wait: Sleeps for so many seconds.
    """

    def __init__(
        self,
        url: str,
        body: Mapping[str, Any],
        *,
        key: str | None = None,
        send_seed: bool = True,
        timeout: float = 120.0,
        retries: int = 5,
        wait: Any = time.sleep,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtra("Endpoints need httpx: pip install 'rollback-gym[endpoint]'.") from error
        self._httpx = httpx
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._body = dict(body)
        self._key = (key or "").strip() or None
        if self._key is not None and not (self._key.isascii() and self._key.isprintable()):
            raise RunStopped("The key holds what no header can. Look at its environment variable.")
        self._send_seed = send_seed
        self._retries = retries
        self._wait = wait
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        self._client = httpx.Client(timeout=timeout, headers=headers)
        self._random = random.Random(0)

    def answer(self, messages: Messages, seed: int) -> Answer:
        """See `Chat.answer`.

        Raises:
            PolicyError: if the endpoint refuses the request, or gives no answer however often it is asked.
            RunStopped: if it refuses the key, or has no such model.
        """
        body = {**self._body, "messages": messages, **({"seed": seed} if self._send_seed else {})}
        # As ASCII: an agent may have said what is no UTF-8.
        content = json.dumps(body).encode("ascii")
        for attempt in range(self._retries + 1):
            answer, trouble, wait = self._ask(content)
            if answer is not None:
                return answer
            if attempt < self._retries:
                self._wait(max(wait, 2.0**attempt * (0.5 + self._random.random() / 2)))
        raise PolicyError(f"{self._url}: no answer after {self._retries + 1} tries; the last time {trouble}.")

    def _ask(self, content: bytes) -> tuple[Answer | None, str, float]:
        """An answer, or what went wrong this time and how long the server wants to be left alone."""
        try:
            response = self._client.post(self._url, content=content)
        except self._httpx.TransportError as error:
            return None, self._clean(f"{type(error).__name__}: {error}"), 0.0
        except (self._httpx.InvalidURL, UnicodeError) as error:
            raise RunStopped(self._clean(f"{self._url} cannot be asked: {error}")) from None
        status = response.status_code
        if status in _PASSING or status >= 500:
            return None, self._clean(f"it said {_said(response)}"), _retry_after(response)
        if status != 200:
            kind = RunStopped if status in _STOPPING or status < 400 else PolicyError
            raise kind(self._clean(f"{self._url} refuses the request: {_said(response)}"))
        try:
            # A key as short as EMPTY is no secret, and may be a word of the answer.
            text = self._clean(response.text) if len(self._key or "") >= _SECRET else response.text
            return _read(json.loads(text)), "", 0.0
        except (ValueError, TypeError, RecursionError) as error:
            return None, self._clean(f"it sent what is no answer ({error}): {response.text!r:.100}"), 0.0

    def _clean(self, text: str) -> str:
        """`text` without the key, which a server may have sent back."""
        return text if self._key is None else text.replace(self._key, "***")


def _read(data: Any) -> Answer:
    """The answer in a response. Raises ValueError where there is none."""
    match data:
        case {"choices": [{"message": {**message}, **choice}, *_], **rest}:
            content, thoughts = message.get("content"), message.get("reasoning_content") or message.get("reasoning")
            if not isinstance(content, str | None):
                raise ValueError("its message is no text")
            text = f"<think>{thoughts}</think>{content or ''}" if isinstance(thoughts, str) else content or ""
            known = (("finish_reason", choice), ("model", rest), ("usage", rest))
            return Answer(text, {name: plain(of[name]) for name, of in known if of.get(name) is not None})
    raise ValueError("no message among its choices")


def _said(response: Any) -> str:
    """A server's error in a line."""
    try:
        told = response.json()["error"]
        message = told["message"] if isinstance(told, dict) else told
    except (ValueError, LookupError, TypeError):
        message = response.text
    return f"{response.status_code} {' '.join(str(message).split())[:300]}".strip()


def _retry_after(response: Any) -> float:
    """The seconds that the server asks to wait, given as a number or a date."""
    given = response.headers.get("Retry-After", "").strip()
    try:
        seconds = float(given)
    except ValueError:
        try:
            when = parsedate_to_datetime(given)
        except ValueError:
            return 0.0
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_WAIT) if math.isfinite(seconds) else 0.0


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url must be like http://localhost:8000/v1, got {parts.scheme}://{parts.hostname or ''}...")
    if parts.username or parts.password or parts.query:
        raise ValueError("url is recorded, so it must hold no password and no query: put the key into a variable.")
    return url
