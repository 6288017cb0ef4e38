"""Playing records again: the same actions must give the same observations, rewards and endings, word for word."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.core.errors import RecordError, RollbackGymError
from rollback_gym.play.playing import Table
from rollback_gym.play.recording import record
from rollback_gym.play.records import Act, Episode
from rollback_gym.play.shapes import lifted
from rollback_gym.play.trust import made_again


class Difference(NamedTuple):
    """Where an episode that is played again first differs from its record."""

    episode: str
    index: int  # type: ignore[assignment]  # a tuple's method, which nobody misses here
    """The action index; 0 for what was so from the start."""
    what: str
    """The field of the record."""
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        where = f"action {self.index}" if self.index else "the start"
        return f"episode {self.episode}, {where}: {self.what} was {self.recorded!r}, and is {self.replayed!r} now"


_OF_ACT = ("kind", "parent", "observation", "reward", "invalid", "failed", "target", "reason", "abandoned")
_OF_END = ("outcome", "total")
_OF_START = ("level", "task", "kind", "max_turns", "observation")
_JUDGED = ("previous", "distance", "grade", "pivotal")


def replay(episode: Episode, env: gym.Env[Any, Any] | None = None, *, oracle: bool = False) -> Difference | None:
    """Play `episode` again, and say where it first differs from its record; None where it does not.

    Args:
        episode: The record.
        env: An environment that was made as the record says, to save making one.
        oracle: Whether L, grades and pivots are compared, too.

    Raises:
        RollbackGymError: if there is no such level (any more), or the record is of nothing that can be played.
    """
    env = made_again(episode.made) if env is None else env
    began(env, episode)
    table = Table(env)
    for act in episode.acts:
        if not table.open:  # it ended earlier, which the number of actions will tell
            break
        taken(env, act, episode.id)
    again = record(
        table.history,
        id=episode.id,
        made=episode.made,
        name=table.base.name,
        level=table.base.level,
        seed=episode.seed,
        outcome=table.base.outcome,
        max_turns=table.base.max_turns,
        policy=episode.policy,
        oracle=table.oracle if oracle and episode.distance is not None else None,
        options=episode.options,
    )
    return next(_differences(episode, again, oracle and episode.distance is not None), None)


def began(env: gym.Env[Any, Any], episode: Episode) -> tuple[Any, dict[str, Any]]:
    """The start of an episode once more. Raises RecordError where `reset` was never given that."""
    try:
        return env.reset(seed=episode.seed, options=dict(episode.options) or None)
    except RollbackGymError:
        raise
    except (TypeError, ValueError, gym.error.Error) as error:
        raise RecordError(f"Episode {episode.id}: it cannot begin as the record has it: {error}") from error


def taken(env: gym.Env[Any, Any], act: Act, episode: str) -> tuple[Any, dict[str, Any]]:
    """A recorded action once more: observation and info. Raises RecordError where `step` never took such a thing."""
    try:
        observation, _, _, _, info = env.step(lifted(act.action))
    except RollbackGymError:
        raise
    except (TypeError, ValueError) as error:
        raise RecordError(f"Episode {episode}, action {act.index}: it is no action here: {error}") from error
    return observation, info


def _differences(was: Episode, now: Episode, judged: bool) -> Iterator[Difference]:
    yield from _between(was, now, 0, was.id, (*_OF_START, *(("distance",) if judged else ())))
    for before, after in zip(was.acts, now.acts, strict=False):
        yield from _between(before, after, before.index, was.id, (*_OF_ACT, *(_JUDGED if judged else ())))
    last = now.acts[-1].index if now.acts else 0
    if len(was.acts) != len(now.acts):
        yield Difference(was.id, last, "the number of actions", len(was.acts), len(now.acts))
    yield from _between(was, now, last, was.id, (*_OF_END, *(("pivots", "wasted") if judged else ())))


def _between(was: Any, now: Any, index: int, episode: str, fields: tuple[str, ...]) -> Iterator[Difference]:
    for field in fields:
        before, after = getattr(was, field), getattr(now, field)
        if before != after:
            yield Difference(episode, index, field, before, after)
