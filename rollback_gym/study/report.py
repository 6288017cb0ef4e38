"""A run as one HTML file to look at: it needs no network, and nothing that is recorded can run in it.

The page (`page/`) draws itself from two kinds of data blocks, JSON that is packed with gzip and written in base64: an
index, with the diagnosis and what the list of episodes shows, and the records themselves, word for word as in the run's
file, in parts that are unpacked only when they are looked at. Base64 has no character that HTML knows; and a content
security policy lets the page's own script and style run, by their hashes, and nothing else.
"""

import gzip
import html
import json
import math
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

import rollback_gym
from rollback_gym.core.errors import RecordError
from rollback_gym.play.records import Episode, line
from rollback_gym.study.course import Course, course
from rollback_gym.study.diagnose import plain, summarise

_SCRIPTS = (
    "elements",
    "store",
    "tree",
    "signs",
    "tiles",
    "charts",
    "summary",
    "list",
    "timeline",
    "turns",
    "main",
)
"""In the order in which they run: they become one script, whose names all files share."""
_PART = 400_000
"""Characters of records in a part, about: what is unpacked at once when an episode is opened."""
_SETTINGS_SHOWN = 3
"""Different environments or policies that are named above the summary; there may be thousands."""


def report(episodes: Iterable[Episode], title: str) -> str:
    """The page of a run, which is read once, episode by episode.

    Args:
        episodes: The run.
        title: What the page is called: the run's file, say.

    Raises:
        RecordError: if there is no episode, or a record contradicts itself.
    """
    courses: list[Course] = []
    rows: list[dict[str, Any]] = []
    environments: dict[str, None] = {}
    policies: dict[str, None] = {}

    def lines() -> Iterator[str]:
        for episode in episodes:
            found = course(episode)
            courses.append(found)
            rows.append(_row(episode, found))
            environments[_call(episode.made.id, episode.made.kwargs)] = None
            settings = dict(episode.policy)
            policies[_call(str(settings.pop("name", "policy")), settings)] = None
            yield line(episode)

    starts = [0]
    parts: list[str] = []
    for part in _parts(lines()):
        parts.append(_block(f"part-{len(parts)}", f"[{','.join(part)}]"))
        starts.append(starts[-1] + len(part))
    if not rows:
        raise RecordError(
            "There is no episode to show: the run is empty, or was stopped before its first episode ended."
        )
    index = {
        "title": title,
        "version": rollback_gym.__version__,
        "environments": list(environments)[:_SETTINGS_SHOWN],
        "policies": list(policies)[:_SETTINGS_SHOWN],
        "more": {"environments": len(environments), "policies": len(policies)},
        "diagnosis": plain(summarise(courses)),
        "starts": starts[:-1],
        "columns": {name: [row[name] for row in rows] for name in rows[0]},
    }
    return _html(title, "\n".join([_block("index", json.dumps(index, allow_nan=False)), *parts]))


def _row(episode: Episode, found: Course) -> dict[str, Any]:
    """What the list and the plots know of an episode before its record is unpacked."""
    places = {act.index: place for place, act in enumerate(episode.acts)}
    return {
        "id": episode.id,
        "task": episode.task,
        "kind": episode.kind,
        "level": episode.level,
        "outcome": episode.outcome,
        "start": _length(episode.distance),
        "pivots": [places[index] for index in episode.pivots],
        "pivot": found.mistake.turn if found.mistake else None,
        "rollbacks": found.rollbacks,
        "invalid": found.invalid,
        "injected": len(found.injected),
        "course": [_length(act.distance) for act in episode.acts],
    }


def _length(distance: float | None) -> float | str | None:
    if distance is None or not math.isinf(distance):
        return distance if distance is None or distance % 1 else int(distance)
    return "inf"


def _call(name: str, settings: dict[str, Any]) -> str:
    """A name with settings, as one would write them in Python."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in settings.items())})" if settings else name


def _parts(lines: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for one in lines:
        part.append(one)
        size += len(one)
        if size >= _PART:
            yield part
            part, size = [], 0
    if part:
        yield part


def _block(name: str, data: str) -> str:
    packed = b64encode(gzip.compress(data.encode("ascii"), mtime=0)).decode("ascii")
    return f'<script type="text/plain" id="{name}">{packed}</script>'


def _html(title: str, data: str) -> str:
    style, script = _file("page.css"), "".join(_file(f"{name}.js") for name in _SCRIPTS)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return Template(_file("page.html")).substitute(
        title=html.escape(title.encode("utf-8", "replace").decode("utf-8")),
        policy=policy,
        style=style,
        script=script,
        data=data,
    )


@cache
def _file(name: str) -> str:
    return (files("rollback_gym.study") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a content security policy names an inline script or style (W3C CSP 3, section 2.3.1)."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
