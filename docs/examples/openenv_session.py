"""A server and two clients, over OpenEnv's WebSockets; going back, and a snapshot that moves to the other client.

pip install 'rollback-gym[openenv]'
python openenv_session.py
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import uvicorn

from rollback_gym.doors.openenv import RollbackClient, serve


@contextlib.contextmanager
def serving(**options: object) -> Iterator[str]:
    """The URL of a server in this process; elsewhere it is `uvicorn --factory mine:app`."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(serve("Rollback-ALFWorld-v0", **options), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def play() -> list[str]:
    """What the clients were shown."""
    with (
        serving(snapshots=True) as url,
        RollbackClient(base_url=url).sync() as one,
        RollbackClient(base_url=url).sync() as two,
    ):
        start = one.reset(seed=0).observation
        one.step(start.admissible_actions[0])
        back = one.rollback(0, "the wrong way").observation
        there = one.step("look").observation
        taken = two.reset(snapshot=one.state().snapshot).observation
        return [start.observation, back.observation, there.observation, taken.observation]


if __name__ == "__main__":
    print(*play(), sep="\n\n")
