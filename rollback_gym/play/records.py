"""The record of an episode: everything that happened, enough to play it again word for word.

A run is a file of JSON Lines, an episode a line, in plain ASCII: UTF-8 whatever a model or a game has said. Here is
what a line holds; functions that read and write it stand below, `recording.py` builds it. A line also names its
`schema`; and where a call begins with messages that the call before it had too, it only says how many it `kept`.

All values of a record are plain: see `shapes.plain`.
"""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rollback_gym.core.errors import RecordCutOff, RecordError
from rollback_gym.core.files import whole
from rollback_gym.core.snapshot import Outcome
from rollback_gym.play import shapes
from rollback_gym.play.shapes import Misfit

SCHEMA = "rollback-gym/episode/1"
LONGEST = 1 << 29
"""Bytes of the longest line that is read: what is longer is no record, and may have no end."""


class Made(NamedTuple):
    """How the environment was made: `gym.make(id, **kwargs)`, all plain values."""

    id: str
    kwargs: dict[str, Any]


class Call(NamedTuple):
    """One exchange with a model: all that was sent, and all that came back."""

    messages: tuple[dict[str, str], ...]
    """Chat messages, `{"role": ..., "content": ...}`."""
    text: str
    """The raw answer."""
    seconds: float
    problem: str | None = None
    """Why no action could be read from the answer, else None."""
    usage: dict[str, Any] = {}  # noqa: RUF012
    """What the server reported: tokens, the reason it stopped."""


class Act(NamedTuple):
    """One action: a node of the tree, or a rollback."""

    index: int  # type: ignore[assignment]  # a tuple's method, which nobody misses here
    """The action index, from 1."""
    kind: str
    """`"game"` or `"rollback"`."""
    parent: int
    """The node that the action was taken in."""
    action: Any
    """What was given to `env.step`."""
    observation: Any
    reward: float
    invalid: str | None
    """Why the action was inadmissible, else None."""
    failed: bool
    """The action lost the game; with `revive` a rollback may follow."""
    target: int | None
    """Of a rollback that was carried out: the node that the game went back to."""
    reason: str
    """Of a rollback: what the agent gave as its reason; may be empty."""
    abandoned: tuple[int, ...]
    """Of a rollback: the action indices that it took off the active branch."""
    previous: float | None
    """L before the action; None where there is no oracle."""
    distance: float | None
    """L after it."""
    grade: str | None
    """`oracles.Grade`; None where L was infinite before, and without an oracle."""
    pivotal: bool
    """L was finite before and is larger after; never of a rollback."""
    injected: str | None
    """The kind of error that was put in on purpose here, else None (`study.inject`)."""
    call: Call | None
    """The exchange with the model; None for a policy that asks none."""
    seconds: float
    """The time that the environment took."""


class Episode(NamedTuple):
    """A whole episode."""

    id: str
    """Unique in its run: level, seed and repetition."""
    made: Made
    level: str
    seed: int
    task: str
    kind: str
    """The task type, where the environment has several (ALFWorld's six); else the environment's name."""
    policy: dict[str, Any]
    """`{"name": ..., **settings}`: what the policy was made from, without secrets."""
    observation: Any
    """What node 0 showed."""
    distance: float | None
    """L(start); None where there is no oracle, and where it gave up (`OracleBudgetExceeded`)."""
    acts: tuple[Act, ...]
    outcome: str
    """`Outcome`: won, lost, failed or truncated."""
    total: float
    """The undiscounted return."""
    max_turns: int
    pivots: tuple[int, ...]
    """The action indices of the pivotal mistakes, abandoned branches included."""
    wasted: int
    """Turns spent after the first pivot; of a won episode, only those beyond what was needed before it."""
    options: dict[str, Any] = {}  # noqa: RUF012
    """What `reset` was given besides the seed: `{"level": ...}` where a level was asked for."""


def line(episode: Episode) -> str:
    """`episode` as one line of JSON, without the line break.

    Raises:
        TypeError: if it holds a value that is not plain.
    """
    data = {"schema": SCHEMA, **shapes.to_json(episode, Episode)}
    before: list[Any] = []
    for call in _calls(data):
        messages = call["messages"]
        kept = _alike(before, messages)
        call["kept"], call["messages"] = kept, messages[kept:]
        before = messages
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


def parse(text: str) -> Episode:
    """The inverse of `line`.

    Raises:
        RecordError: if `text` is no record, naming the field.
    """
    try:
        data = json.loads(text, parse_constant=_no_number)
        return _episode(data)
    except Misfit as misfit:
        raise RecordError(str(misfit)) from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"no JSON: {error}") from None


def read(path: str | os.PathLike[str]) -> Iterator[Episode]:
    """The episodes of a run, one after the other, as the file has them.

    Raises:
        RecordCutOff: after the last whole episode, if the run was interrupted while it wrote a line.
        RecordError: at a line that is no record, naming the line and the field.
        OSError: if there is no such file.
    """
    for episode, _ in read_with_ends(path):
        yield episode


def read_with_ends(path: str | os.PathLike[str]) -> Iterator[tuple[Episode, int]]:
    """As `read`, each episode with the place in the file, in bytes, where its line ends."""
    end = 0
    with open(path, "rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), 1):
            if len(raw) > LONGEST:
                raise RecordError(f"{os.fspath(path)}, line {number}: no record is longer than {LONGEST:,} bytes.")
            end += len(raw)
            if raw.isspace():
                continue
            try:
                yield parse(raw.decode("utf-8")), end
            except (RecordError, UnicodeDecodeError) as error:
                if not _is_begun(raw):
                    raise RecordError(f"{os.fspath(path)}, line {number}: {error}") from None
                raise RecordCutOff(
                    f"{os.fspath(path)}, line {number}: the line was not written to its end, since the run was "
                    "interrupted. Run the same command again, which goes on there; or delete the line."
                ) from None


def append(path: str | os.PathLike[str], episode: Episode) -> None:
    """Write `episode` to the end of the file, which need not be there yet. Raises OSError."""
    with open(path, "ab") as file:
        file.write(f"{line(episode)}\n".encode("ascii"))


def write(path: str | os.PathLike[str], episodes: Iterable[Episode]) -> None:
    """A file of these episodes, whole or not at all; one that is there is replaced. Raises OSError."""
    with whole(Path(path)) as draft, open(draft, "w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line(episode)}\n" for episode in episodes)


def timeless(episode: Episode) -> Episode:
    """`episode` without the times that things took: what two runs with the same settings have in common."""
    acts = tuple(
        act._replace(seconds=0.0, call=None if act.call is None else act.call._replace(seconds=0.0))
        for act in episode.acts
    )
    return episode._replace(acts=acts)


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a line."""
    whole = shapes.schema(Episode)
    call, act, episode = (whole["$defs"][shape.__name__] for shape in (Call, Act, Episode))
    call["properties"]["kept"] = {
        "type": "integer",
        "minimum": 0,
        "description": "How many messages of the episode's previous call come before `messages`.",
    }
    call["required"].append("kept")
    act["properties"]["kind"]["enum"] = list(_KINDS)
    act["properties"]["grade"]["enum"] = [*_GRADES, None]
    episode["properties"]["outcome"]["enum"] = list(_OUTCOMES)
    episode["properties"] = {"schema": {"const": SCHEMA}, **episode["properties"]}
    episode["required"].insert(0, "schema")
    return {"$id": SCHEMA, **whole}


_KINDS = ("game", "rollback")
_GRADES = ("optimal", "waste", "detour", "setback", "fatal")
_OUTCOMES = tuple(str(outcome) for outcome in Outcome)


def _episode(data: Any) -> Episode:
    if not isinstance(data, dict) or "schema" not in data:
        raise Misfit("expected an object with the field `schema`; is this a file of rollback-gym run?")
    written = data.pop("schema")
    if written != SCHEMA:
        raise Misfit(f"this release reads {SCHEMA!r}, got {written!r:.60}", "schema")
    _fill(data)
    episode: Episode = shapes.from_json(data, Episode)
    _one_of(episode.outcome, _OUTCOMES, "outcome")
    _length(episode.distance, "distance")
    for place, act in enumerate(episode.acts):
        where = ("acts", f"[{place}]")
        _one_of(act.kind, _KINDS, *where, "kind")
        _length(act.previous, *where, "previous")
        _length(act.distance, *where, "distance")
        if act.grade is not None:
            _one_of(act.grade, _GRADES, *where, "grade")
        if act.index <= (episode.acts[place - 1].index if place else 0):
            raise Misfit(f"action indices rise, got {act.index}", *where, "index")
    return episode


def _fill(data: dict[str, Any]) -> None:
    """Put back the messages that a call has in common with the one before."""
    before: list[Any] = []
    for place, call in _placed_calls(data):
        where = ("acts", f"[{place}]", "call")
        kept, messages = call.pop("kept", None), call.get("messages")
        if not isinstance(messages, list):
            raise Misfit(f"expected a list, got {messages!r:.60}", *where, "messages")
        if type(kept) is not int or not 0 <= kept <= len(before):
            raise Misfit(f"expected 0 to {len(before)}, the messages of the call before; got {kept!r}", *where, "kept")
        call["messages"] = before = before[:kept] + messages


def _calls(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (call for _, call in _placed_calls(data))


def _placed_calls(data: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    acts = data.get("acts")
    for place, act in enumerate(acts if isinstance(acts, list) else ()):
        if isinstance(act, dict) and isinstance(act.get("call"), dict):
            yield place, act["call"]


def _alike(before: list[Any], messages: list[Any]) -> int:
    """How many messages both begin with."""
    same = 0
    for mine, theirs in zip(before, messages, strict=False):
        if mine != theirs:
            break
        same += 1
    return same


def _one_of(value: str, known: tuple[str, ...], *where: str) -> None:
    if value not in known:
        raise Misfit(f"expected one of {', '.join(known)}, got {value!r:.60}", *where)


def _length(value: float | None, *where: str) -> None:
    if value is not None and not value >= 0:
        raise Misfit(f"L is a number of turns, got {value!r}", *where)


def _is_begun(raw: bytes) -> bool:
    """Whether this is the beginning of a line that `append` wrote, and not all of it."""
    start = f'{{"schema":"{SCHEMA}",'.encode("ascii")
    if raw.endswith(b"\n") or raw[: len(start)] != start[: len(raw)]:
        return False
    try:
        json.loads(raw)
    except ValueError:
        return True
    return False


def _no_number(name: str) -> Any:
    raise Misfit(f'{name} is no JSON; infinity is written as the text "inf"')
