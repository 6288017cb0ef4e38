"""Samples of the curriculum checked: replayed word for word, and judged by the oracle anew."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium import spaces

from rollback_gym.core.errors import RollbackGymError
from rollback_gym.core.snapshot import Outcome
from rollback_gym.play import shapes
from rollback_gym.play.parse import parse
from rollback_gym.play.playing import Table
from rollback_gym.play.records import Made
from rollback_gym.play.trust import made_again
from rollback_gym.study.fields import SCHEMA, Fields
from rollback_gym.study.inject import Kind
from rollback_gym.study.samples import Sample


def problems(sample: Any, env: gym.Env[Any, Any] | None = None) -> tuple[str, ...]:
    """What is wrong with a sample; nothing, if it replays word for word and its labels are right.

    Args:
        sample: A line of a data set, or what claims to be one.
        env: An environment that was made as the sample says, to save making one.

    Raises:
        RollbackGymError: if there is no such environment or level.
    """
    found = tuple(_shape(sample))
    if found:
        return found
    env = made_again(Made(**sample["env"])) if env is None else env
    return (*_replayed(sample, env), *_labels(sample), *_dialogues(sample))


class Checked(NamedTuple):
    """What a file holds, and what is wrong with it."""

    samples: int
    forms: Mapping[int, int]
    kinds: Mapping[str, int]
    problems: tuple[tuple[str, str], ...]
    """The ids of samples, and what is wrong with each."""


def check(samples: Iterable[Any], *, trusted: bool = False) -> Checked:
    """Check every one; an environment is made once for all that were made alike.

    Args:
        samples: Lines of a data set, or what claims to be that.
        trusted: See `play.trust.made_again`.
    """
    envs: dict[str, Any] = {}
    forms: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    wrong: list[tuple[str, str]] = []
    seen: set[str] = set()
    for number, sample in enumerate(samples, 1):
        found = list(_shape(sample))
        if not found:
            key = repr(sample["env"])
            try:
                if key not in envs:
                    envs[key] = made_again(Made(**sample["env"]), trusted=trusted)
                found += problems(sample, envs[key])
            except RollbackGymError as error:
                found.append(str(error).rstrip("."))
            if sample["id"] in seen:
                found.append("its id is not the only one of its kind")
            seen.add(sample["id"])
            forms[sample["form"]] += 1
            if sample["rollback_type"] is not None:
                kinds[sample["rollback_type"]] += 1
        name = str(sample.get("id")) if isinstance(sample, dict) else f"number {number}"
        wrong += [(name, problem) for problem in found]
    return Checked(sum(forms.values()), dict(sorted(forms.items())), dict(sorted(kinds.items())), tuple(wrong))


def _shape(sample: Any) -> Iterator[str]:
    if not isinstance(sample, dict):
        yield f"expected an object, got {type(sample).__name__}"
    elif sample.get("schema") != SCHEMA:
        yield f"this release reads {SCHEMA!r}, got {sample.get('schema')!r:.60}"
    else:
        try:
            shapes.from_json(sample, Fields)
        except shapes.Misfit as misfit:
            yield str(misfit)


def _replayed(sample: Sample, env: gym.Env[Any, Any]) -> Iterator[str]:
    """Differences of what happens now from what is written; L is the oracle's, asked anew at every state."""
    if not isinstance(env.action_space, spaces.Text) or not isinstance(env.observation_space, spaces.Text):
        yield "its environment is not told in text"
        return
    observation, _ = env.reset(seed=0, options={"level": sample["task_id"]})
    try:
        table = Table(env)
    except TypeError as error:
        yield str(error).rstrip(".")
        return
    if table.oracle is None:
        yield "no oracle knows its environment"
        return
    level = table.base.level
    if (observation, level.task) != (sample["observation"], sample["task"]):
        yield "the start is another one"
        return
    lengths = [table.oracle.distance(level, table.base.state)]
    for step in sample["trace"]:
        if table.base.outcome not in (Outcome.RUNNING, Outcome.FAILED):
            yield f"the episode is over before turn {step['turn']}"
            return
        observation, _, _, _, info = env.step(step["content"])
        last = table.history.last
        target = getattr(getattr(last, "target", None), "index", None)
        reason = getattr(last, "reason", None)
        now = last.index, observation, info.get("invalid_action"), target, reason
        written = tuple(step[name] for name in ("turn", "observation", "invalid", "target", "reason"))
        if now != written:
            yield f"turn {step['turn']} was {written!r:.200} and is {now!r:.200} now"
            return
        lengths.append(table.oracle.distance(level, table.base.state))
    if table.base.outcome is not Outcome.WON:
        yield f"it is {table.base.outcome} at the end, not won"
    if [None if math.isinf(length) else length for length in lengths] != sample["distances"]:
        yield f"L was {sample['distances']}, and is {lengths} now"


def _labels(sample: Sample) -> Iterator[str]:
    """Whether the labels are what the distances say."""
    lengths = [math.inf if length is None else length for length in sample["distances"]]
    trace = sample["trace"]
    rollbacks = [step["turn"] for step in trace if step["action"] == "rollback"]
    refused = {step["turn"] for step in trace if step["invalid"] is not None}
    fumbled = refused.intersection(sample["injected"])  # before there were fumbles, what was refused was trained
    if len(lengths) != len(trace) + 1:
        yield "there is not one distance for every turn"
        return
    risen = [turn for turn, (before, after) in enumerate(pairwise(lengths), 1) if after > before]
    if sample["form"] == 0:
        if risen or rollbacks or sample["injected"] != sorted(fumbled) or sample["rollback_type"] is not None:
            yield "it is clean, and something is wrong in it"
        return
    error, back, target = (sample[name] for name in ("error_step", "rollback_step", "rollback_target"))
    if error is None or back is None or target is None or not (0 < error < back <= len(trace) and 0 <= target < back):
        yield f"the mistake at turn {error}, the rollback at {back}, and its target {target} do not go together"
        return
    if sample["rollback_type"] not in tuple(Kind):
        yield f"there is no kind {sample['rollback_type']!r}"
    if not risen or error != risen[0]:
        yield f"the mistake is at turn {error}, and L rises first at {risen[:1]}"
    if rollbacks != [back] or trace[back - 1]["target"] != target:
        yield f"the rollback at turn {back} to {target} is not the one that there is"
        return
    if target != error - 1:
        yield f"the target is {target}, and the last index before the mistake {error - 1}"
    if min(lengths[error:back]) < lengths[target] or lengths[back - 1] <= lengths[target]:
        yield "L was lower on the wrong branch than before it"
    onward = enumerate(pairwise(lengths[back:]), back + 1)
    if any(after != before if turn in fumbled else after >= before for turn, (before, after) in onward):
        yield "the way after the rollback is not a shortest one"
    call = [target] if sample["rollback_type"] == Kind.FAILED_CALL else []
    wrong = sorted({*call, *fumbled, *range(error, back)})
    if sample["injected"] != wrong or any(lengths[t] < lengths[t - 1] for t in call):
        yield f"what was done wrong on purpose is not {sample['injected']}"
    if (back - error, sample["form"]) not in _WRONG_TURNS:
        yield f"{back - error} wrong turns are none of form {sample['form']}"
    if sample["restored_success"] is not True:
        yield "restored_success is not true"


_WRONG_TURNS = frozenset({(1, 1), (2, 2), (3, 2), *((turns, 3) for turns in range(3, 7))})
"""(wrong turns, form)."""


def _dialogues(sample: Sample) -> Iterator[str]:
    """Whether just what is right is trained, once, and nothing but answers."""
    actions = {step["turn"]: step["content"] for step in sample["trace"]}
    wanted = [actions[turn] for turn in actions if turn not in sample["injected"]]
    trained = []
    for messages in sample["conversations"]:
        for message in messages:
            if message["train"] and message["role"] != "assistant":
                yield f"a message of the {message['role']} is trained"
            if message["train"]:
                trained.append(parse(message["content"], "strict").action)
        if not messages or messages[-1]["role"] != "assistant" or not messages[-1]["train"]:
            yield "a conversation does not end with an answer that is trained"
    if trained != wanted:
        yield f"what is trained is not what is right: {trained!r:.200}, {wanted!r:.200}"
