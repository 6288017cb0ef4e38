"""An OpenEnv server and client: episodes over a wire, going back included.

    uvicorn --factory mine:app          # mine.py: from rollback_gym.doors.openenv import serve
                                        #          def app(): return serve("Rollback-ALFWorld-v0")

    with RollbackClient(base_url="http://localhost:8000").sync() as client:
        client.reset(seed=0)
        client.step("look")
        client.rollback(0, "nothing to see")

Built on openenv-core (0.3). Every WebSocket is a session with an environment of its own; none can name another's. What
a client sends is checked here, and answered: an action of a wrong type spends a turn, and is told so, as it is by the
other doors; a reset that cannot be done is an error, after which the episode that was on goes on. OpenEnv's plain HTTP
keeps no session from one request to the next, so that only a WebSocket can play.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Any

import gymnasium as gym

import rollback_gym
from rollback_gym.core.errors import MissingExtra
from rollback_gym.core.snapshot import Snapshot
from rollback_gym.doors.seat import Seat
from rollback_gym.doors.tools import action_of
from rollback_gym.play.prompts import Prompts

try:
    from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
    from fastapi.responses import JSONResponse
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
    from pydantic import Field
except ImportError as error:
    raise MissingExtra("This door needs OpenEnv: pip install 'rollback-gym[openenv]'.") from error

_MOST_SEEDS = 1 << 63


class RollbackAction(Action):  # type: ignore[misc]
    """An action of the environment, or `rollback(3, "why")`."""

    action: Any = Field(description="The action as a text.", json_schema_extra={"type": "string"})


class RollbackObservation(Observation):  # type: ignore[misc]
    """What came of an action, with `reward` and `done`, as OpenEnv has them."""

    observation: str = ""
    """What the environment itself showed."""
    text: str = ""
    """All that a model should be told: the observation with its number, and what can be done."""
    admissible_actions: list[str] = Field(default_factory=list)
    rollback_targets: list[int] = Field(default_factory=list)
    task: str = ""
    turn: int = 0
    outcome: str = ""
    """As in `Outcome`: running, won, lost ..."""
    error: str = ""
    """Why the action was not done, where it was not."""


class RollbackState(State):  # type: ignore[misc]
    """What whoever runs the session may know of the episode."""

    outcome: str = ""
    level: str = ""
    episode_return: float = 0.0
    snapshot: str | None = None
    """All of the episode, hidden things too, in base64, for `reset(snapshot=...)`; None unless the server gives any."""


class RollbackEnvironment(Environment):  # type: ignore[misc]
    """One session's environment.

    Args:
        env: An environment with text actions, in the `Rollback` wrapper.
        snapshots: Whether `state` holds a snapshot, and `reset` takes one.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, env: gym.Env[Any, Any], snapshots: bool = False) -> None:
        super().__init__()
        self._seat = Seat(env)
        self._snapshots = snapshots
        self._episode: str | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        level: str | None = None,
        snapshot: str | None = None,
    ) -> RollbackObservation:
        """Begin an episode, or put back one.

        Raises:
            ValueError: for a seed, level or snapshot that is none; the episode that was on goes on.
        """
        if not _fits(seed, int) or not 0 <= (seed or 0) < _MOST_SEEDS:
            raise ValueError(f"seed must be a whole number of at least 0, got {seed!r:.40}.")
        for name, value in (("episode_id", episode_id), ("level", level), ("snapshot", snapshot)):
            if not _fits(value, str):
                raise ValueError(f"{name} must be a text, got {type(value).__name__}.")
        if snapshot is not None:
            self._restore(snapshot)
        else:
            self._seat.begin(seed, None if level is None else {"level": level})
        self._episode = episode_id
        return self._seen(None, "")

    def step(self, action: RollbackAction, timeout_s: float | None = None) -> RollbackObservation:
        """Take an action, a rollback too; see `RollbackObservation.error` for what was wrong with it."""
        seat = self._seat
        if not seat.turns:
            return RollbackObservation(error="No episode has begun: reset first, over the same WebSocket.")
        if not seat.open:
            return self._seen(0.0, f"The episode is over: {seat.outcome}. Reset for another one.")
        read = action_of("act", {"action": action.action})
        came = seat.act(read.action or "", problem=read.problem)
        return self._seen(came.reward, read.problem or came.info.get("invalid_action", ""))

    @property
    def state(self) -> RollbackState:
        """See `RollbackState`."""
        seat = self._seat
        if not seat.turns:
            return RollbackState()
        return RollbackState(
            episode_id=self._episode,
            step_count=seat.turns[-1].index,
            outcome=str(seat.outcome),
            level=str(seat.level_id),
            episode_return=seat.earned,
            snapshot=self._taken() if self._snapshots else None,
        )

    def close(self) -> None:
        """Close the environment."""
        self._seat.env.close()

    def _taken(self) -> str:
        return base64.b64encode(rollback_gym.snapshot(self._seat.env).to_bytes()).decode("ascii")

    def _restore(self, snapshot: str) -> None:
        if not self._snapshots:
            raise ValueError("This server takes no snapshots; it was made without snapshots=True.")
        try:
            data = base64.b64decode(snapshot, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"snapshot must be base64: {error}.") from error
        self._seat.restore(Snapshot.from_bytes(data))

    def _seen(self, reward: float | None, error: str) -> RollbackObservation:
        seat = self._seat
        last = seat.turns[-1]
        return RollbackObservation(
            observation=str(last.observation),
            text=seat.told(Prompts()),
            admissible_actions=[str(action) for action in last.admissible],
            rollback_targets=list(last.targets),
            task=seat.task,
            turn=last.index,
            outcome=str(seat.outcome),
            error=error,
            reward=reward,
            done=not seat.open,
        )


class RollbackClient(EnvClient):  # type: ignore[misc]
    """A session on a server, for `async with`; `.sync()` gives one for `with`."""

    async def rollback(self, index: int, reason: str = "") -> Any:
        """Go back to action `index`. Raises ValueError for what is no index."""
        read = action_of("rollback", {"index": index, "reason": reason})
        if read.action is None:
            raise ValueError(f"This is no rollback: {read.problem}.")
        return await self.step(read.action)

    def _step_payload(self, action: RollbackAction | str) -> dict[str, Any]:
        return {"action": action.action if isinstance(action, RollbackAction) else action}

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        reward, done = payload.get("reward"), bool(payload.get("done", False))
        observation = RollbackObservation(**payload.get("observation", {}), reward=reward, done=done)
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> RollbackState:
        return RollbackState(**payload)


def serve(
    env: str | Callable[[], gym.Env[Any, Any]],
    *,
    snapshots: bool = False,
    max_sessions: int = 64,
    **options: Any,
) -> FastAPI:
    """The server, for uvicorn or any other that runs ASGI.

    Args:
        env: A registered id, or a function that makes an environment, a new one for every session.
        snapshots: Whether clients may take and put back snapshots. One holds hidden things too: for trainers, not for
            agents that talk to the server themselves.
        max_sessions: How many there may be at a time.
        options: For `gym.make`, with an id.
    """

    def session() -> RollbackEnvironment:
        return RollbackEnvironment(gym.make(env, **options) if isinstance(env, str) else env(), snapshots)

    session().close()  # what cannot be made is told now, and not to the first client
    app = create_fastapi_app(session, RollbackAction, RollbackObservation, max_concurrent_envs=max_sessions)
    app.add_exception_handler(ValueError, _refused)
    app.add_exception_handler(WebSocketDisconnect, _left)
    return app


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=400)


async def _left(websocket: WebSocket, error: Exception) -> None:
    """OpenEnv closes the socket of a client that has closed it: no reason for a traceback in the log."""


def _fits(value: Any, kind: type) -> bool:
    return value is None or (isinstance(value, kind) and not isinstance(value, bool))
