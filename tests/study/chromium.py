"""A real browser, driven through the DevTools protocol over a pair of pipes (`--remote-debugging-pipe`)."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0
"""Seconds that one answer may take: the machine may be busy."""


def find() -> str | None:
    """The browser, if there is one here."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


_PLACE = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(pipes[0], 3)
os.dup2(pipes[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The protocol's pipes are the numbers 3 and 4, whatever their numbers are here."""


class Tab:
    """A page in the browser, and what it has complained about and asked the network for."""

    def __init__(self, browser: "Browser", target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        return self._browser.send(method, parameters, self._session)

    def open(self, url: str) -> None:
        """Load a page, and wait until its script has come to its end."""
        self.send("Page.navigate", url=url)
        self.until("document.documentElement?.dataset.ready !== undefined")

    def js(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited."""
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.js(f"Boolean({condition})"):
            assert time.monotonic() < end, f"{condition} did not come true; complaints: {self.complaints}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """Press and let go of a key."""
        said: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": 27 if key == "Escape" else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", **said, **({"text": key} if len(key) == 1 else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **said)

    def size(self, width: int, height: int) -> None:
        """Give the window a size."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, wanted: bool) -> None:
        """What the system prefers."""
        value = "dark" if wanted else "light"
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def shoot(self, path: Path) -> None:
        """A picture of the window."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    @property
    def complaints(self) -> list[str]:
        """Exceptions, errors on the console, and whatever the content security policy has refused."""
        found = []
        for event in self._events():
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"]["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "assert"):
                found.append(json.dumps(event["params"]["args"]))
        return found

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        sent = (event for event in self._events() if event["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def forgive(self) -> None:
        """Forget the complaints so far, which a test has provoked."""
        asked = [event for event in self._browser.events if event["method"] == "Network.requestWillBeSent"]
        self._browser.events[:] = asked

    def close(self) -> None:
        """Close the page."""
        self._browser.send("Target.closeTarget", {"targetId": self._target})

    def _events(self) -> list[dict[str, Any]]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session]


class Browser:
    """A running browser."""

    def __init__(self, sending: int, receiving: int) -> None:
        self._sending = sending
        self._receiving = receiving
        self._buffer = b""
        self._last = 0
        self.events: list[dict[str, Any]] = []

    def tab(self) -> Tab:
        """A new, empty page."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        return Tab(self, target, session)

    def send(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        """Call a method of the protocol, and wait for its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        waiting = json.dumps(message).encode() + b"\0"
        while waiting:
            waiting = waiting[os.write(self._sending, waiting) :]
        while True:
            answer = self._next(method)
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            if "method" in answer:
                self.events.append(answer)

    def _next(self, method: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._receiving], [], [], PATIENCE)
            assert ready, f"the browser does not answer {method}"
            read = os.read(self._receiving, 1 << 20)
            assert read, f"the browser has ended before it answered {method}"
            self._buffer += read
        first, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(first)
        return answer


@contextmanager
def running(program: str, folder: Path) -> Iterator[Browser]:
    """The browser `program`, its profile in `folder`, as long as the context lasts."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    options = (
        "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-dev-shm-usage --disable-extensions --hide-scrollbars --remote-debugging-pipe"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _PLACE,
            str(theirs_in),
            str(theirs_out),
            program,
            *options.split(),
            f"--user-data-dir={folder}",
        ],
        pass_fds=(theirs_in, theirs_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(ours_out, ours_in)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(ours_out)
        os.close(ours_in)
