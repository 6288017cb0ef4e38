"""Watches a run for what went wrong in the seed's (rollback curriculum learning, sections 5.1 and 5.3).

A pure state machine over what is measured. An alarm says what was seen and one thing to try: change one thing at a
time, or nobody knows what helped. What to try follows the seed's order (reward scale, KL, rollouts per step): each time
the same alarm comes again, the next thing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple

from rollback_gym.trainer.checking import Number, Positive, Share, Within


@dataclass(frozen=True)
class Watchdogs:
    """When to call."""

    clean_rollbacks: Share = 0.3
    """The share of clean episodes with a needless rollback that is too much ..."""
    clean_goal: Share = 0.08
    """... and the share to aim for: what the seed came to."""
    target_accuracy: Share = 0.5
    """Of justified rollbacks, the share that hits the right target exactly: too little below this. (Ours.)"""
    spike: Positive = 4.0
    """A reward is a spike so many standard deviations off the mean of those before. (Ours.)"""
    window: Annotated[int, Within(2)] = 20
    """How many steps those are. (Ours.)"""
    kl: Positive = 0.5
    """KL to the reference, in nats a token: too far above this. (Ours.)"""
    malformed: Share = 0.5
    """Of a teacher's reports, the share that is malformed: too much above this. (Ours.)"""
    rest: Number = 10
    """After an alarm the same one is silent for so many steps. (Ours.)"""


class Alarm(StrEnum):
    """What was seen."""

    CLEAN_ROLLBACKS = "clean_rollbacks"
    TARGETS = "targets"
    SPIKE = "spike"
    KL = "kl"
    NOT_A_NUMBER = "not_a_number"
    REPORTS = "reports"


class Call(NamedTuple):
    """An alarm, for the log."""

    step: int
    alarm: Alarm
    saw: str
    do: str
    """One thing to try."""


class Measures(NamedTuple):
    """What a step, or an evaluation after it, measured; None where it did not."""

    step: int
    reward: float | None = None
    """The mean return."""
    kl: float | None = None
    clean_rollbacks: float | None = None
    target_accuracy: float | None = None
    malformed: float | None = None
    """Of a teacher's reports, the share that could not be read."""


class Watch(NamedTuple):
    """What the watchdogs remember."""

    rewards: tuple[float, ...] = ()
    called: tuple[tuple[str, int, int], ...] = ()
    """Alarm, how often it came, and the step of the last time."""


_SCALE = "scale the rewards down: the seed took rewards.win from 5 to 2, and saw fewer spikes"
_KL = "change the KL coefficient, rl.kl: the seed went from 0.05 to 0.02, drifted, and went back"
_ROLLOUTS = "take more episodes a step: this is what it was in the end in the seed, with 4096 instead of 2048"

_TO_TRY: Mapping[Alarm, tuple[str, ...]] = {
    Alarm.CLEAN_ROLLBACKS: (
        "lower rewards.rollback: the seed went from 1.0 to 0.3",
        "raise what a needless rollback costs, rewards.needless: the seed took 0.5 off the end",
        "let more episodes begin clean, levels.clean",
    ),
    Alarm.TARGETS: (
        "train longer on demonstrations, sft.epochs: the seed's first try, with 2 epochs, was too short",
        "raise rewards.exact",
        "keep the level below longer, curriculum.threshold",
    ),
    Alarm.SPIKE: (_SCALE, _KL, _ROLLOUTS),
    Alarm.KL: (
        "raise the KL coefficient, rl.kl: the seed keeps it at 0.05",
        "lower rl.learning_rate: the seed's is 1e-6 for 7B parameters",
        _ROLLOUTS,
    ),
    Alarm.REPORTS: (
        "keep the teacher from thinking, pivotopd.teacher.extra, or let its answers be longer, pivotopd.teacher.answer",
        "take another teacher, pivotopd.teacher: it adds next to nothing, since what cannot be read is left out",
    ),
    Alarm.NOT_A_NUMBER: ("lower rl.learning_rate", "lower rl.max_grad_norm", _SCALE),
}


def watched(watchdogs: Watchdogs, watch: Watch, measures: Measures) -> tuple[Watch, tuple[Call, ...]]:
    """What the watchdogs remember and say after one more step."""
    calls = []
    for alarm, saw in _seen(watchdogs, watch, measures):
        times, last = next(((n, step) for name, n, step in watch.called if name == alarm), (0, None))
        if last is not None and measures.step - last < watchdogs.rest:
            continue
        things = _TO_TRY[alarm]
        calls.append(Call(measures.step, alarm, saw, things[min(times, len(things) - 1)]))
        others = tuple(entry for entry in watch.called if entry[0] != alarm)
        watch = watch._replace(called=(*others, (str(alarm), times + 1, measures.step)))
    if measures.reward is not None and math.isfinite(measures.reward):
        watch = watch._replace(rewards=(*watch.rewards, measures.reward)[-watchdogs.window :])
    return watch, tuple(calls)


def _seen(watchdogs: Watchdogs, watch: Watch, measures: Measures) -> list[tuple[Alarm, str]]:
    seen = []
    odd = [name for name in ("reward", "kl") if not math.isfinite(getattr(measures, name) or 0.0)]
    if odd:
        seen.append((Alarm.NOT_A_NUMBER, f"{' and '.join(odd)} came out as no number"))
    share = measures.clean_rollbacks
    if share is not None and share > watchdogs.clean_rollbacks:
        seen.append(
            (
                Alarm.CLEAN_ROLLBACKS,
                f"{share:.0%} of the clean episodes have a needless rollback; the goal is {watchdogs.clean_goal:.0%}",
            )
        )
    accuracy = measures.target_accuracy
    if accuracy is not None and accuracy < watchdogs.target_accuracy:
        seen.append((Alarm.TARGETS, f"only {accuracy:.0%} of the justified rollbacks go back to the right target"))
    if measures.kl is not None and math.isfinite(measures.kl) and measures.kl > watchdogs.kl:
        seen.append((Alarm.KL, f"the KL to the reference is {measures.kl:.3g}, above {watchdogs.kl:g}"))
    if measures.malformed is not None and measures.malformed > watchdogs.malformed:
        seen.append((Alarm.REPORTS, f"{measures.malformed:.0%} of the teacher's reports are malformed"))
    spike = _spike(watchdogs, watch.rewards, measures.reward)
    if spike:
        seen.append((Alarm.SPIKE, spike))
    return seen


def _spike(watchdogs: Watchdogs, before: tuple[float, ...], reward: float | None) -> str:
    if reward is None or not math.isfinite(reward) or len(before) < watchdogs.window:
        return ""
    mean = math.fsum(before) / len(before)
    deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in before) / (len(before) - 1))
    if abs(reward - mean) <= watchdogs.spike * deviation or deviation == 0:
        return ""
    times = abs(reward - mean) / deviation
    return f"the mean return is {reward:.3g}, {times:.1f} standard deviations from the {mean:.3g} of the steps before"
