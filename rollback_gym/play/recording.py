"""An episode's record, built from its history and what an oracle says of it."""

import math
from collections.abc import Mapping
from typing import Any

from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.core.history import Entry, History, Node
from rollback_gym.core.snapshot import Outcome
from rollback_gym.play.records import Act, Call, Episode, Made
from rollback_gym.play.shapes import plain

_NOTHING: Mapping[int, Any] = {}


def record(
    history: History,
    *,
    id: str,
    made: Made,
    name: str,
    level: Any,
    seed: int,
    outcome: Outcome,
    max_turns: int,
    policy: Mapping[str, Any],
    oracle: Any = None,
    options: Mapping[str, Any] | None = None,
    calls: Mapping[int, Call] = _NOTHING,
    injected: Mapping[int, str] = _NOTHING,
    seconds: Mapping[int, float] = _NOTHING,
) -> Episode:
    """The record of an episode that has been played.

    Args:
        history: What happened, from node 0 on.
        id: Unique in its run.
        made: How the environment was made.
        name: The environment's name, as in `SnapshotEnv.name`.
        level: The level that was played.
        seed: What `reset` was given.
        outcome: How it ended.
        max_turns: The turn that would have cut it off.
        policy: What played: its name and settings.
        oracle: An `oracles.Oracle`; None leaves L, grades and pivots out.
        options: What `reset` was given besides the seed.
        calls: The exchanges with a model, by action index.
        injected: The kinds of the errors that were put in on purpose, by action index.
        seconds: What the environment took, by action index.

    Raises:
        TypeError: if an action or observation is no plain value (see `shapes.plain`).
    """
    start, *entries = history.entries
    assert isinstance(start, Node)
    distance, judged, pivots, wasted = _judged(history, level, oracle)
    acts = []
    for entry in entries:
        previous, after, grade, pivotal = judged.get(entry.index, (None, None, None, False))
        acts.append(
            Act(
                **_done(entry),
                previous=previous,
                distance=after,
                grade=grade,
                pivotal=pivotal,
                injected=injected.get(entry.index),
                call=calls.get(entry.index),
                seconds=seconds.get(entry.index, 0.0),
            )
        )
    return Episode(
        id=id,
        made=made,
        level=level.id,
        seed=seed,
        task=level.task,
        kind=_kind(name, level),
        policy=plain(dict(policy)),
        observation=plain(start.observation),
        distance=distance,
        acts=tuple(acts),
        outcome=str(outcome),
        total=math.fsum(act.reward for act in acts),
        max_turns=max_turns,
        pivots=pivots,
        wasted=wasted,
        options=plain(dict(options or {})),
    )


def _done(entry: Entry) -> dict[str, Any]:
    """What was done and what came of it, without a judgement."""
    if isinstance(entry, Node):
        assert entry.parent is not None
        return {
            "index": entry.index,
            "kind": "game",
            "parent": entry.parent.index,
            "action": plain(entry.action),
            "observation": plain(entry.observation),
            "reward": entry.reward,
            "invalid": entry.invalid,
            "failed": entry.failed,
            "target": None,
            "reason": "",
            "abandoned": (),
        }
    return {
        "index": entry.index,
        "kind": "rollback",
        "parent": entry.source.index,
        "action": plain(entry.action),
        "observation": plain((entry.target or entry.source).observation),
        "reward": entry.reward,
        "invalid": entry.invalid,
        "failed": False,
        "target": None if entry.target is None else entry.target.index,
        "reason": entry.reason,
        "abandoned": entry.abandoned,
    }


_Judged = tuple[float, float, str | None, bool]


def _judged(history: History, level: Any, oracle: Any) -> tuple[float | None, dict[int, _Judged], tuple[int, ...], int]:
    """L at the start; each action's L before and after, grade and whether it is pivotal; pivots, and turns wasted."""
    unknown: tuple[None, dict[int, _Judged], tuple[int, ...], int] = (None, {}, (), 0)
    if oracle is None:
        return unknown
    from rollback_gym.oracles.pivots import assessments, pivots_among

    try:
        start = oracle.distance(level, history.path[0].point.state)
        judged = assessments(history, level, oracle)
    except OracleBudgetExceeded:
        return unknown
    acts = {
        of.entry.index: (of.previous, of.distance, None if of.grade is None else str(of.grade), of.pivotal)
        for of in judged
    }
    found = pivots_among(judged)
    return start, acts, found.turns, found.wasted


def _kind(name: str, level: Any) -> str:
    return str(level.goal.task_type) if name == "alfworld" else name
