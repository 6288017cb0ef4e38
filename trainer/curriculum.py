"""When the curriculum goes on to harder levels: a pure state machine, fed with evaluations.

The mixing of levels is nested: of all episodes a share r3 is of level 3, of the rest a share r2 of level 2, and what is
left of level 1. A level enters with a share of 10%, gains 10 points every 50 steps, and never gets more than 50%. So
levels below never vanish. All numbers are the seed's (rollback curriculum learning, section 4.3), but for those that
are marked as ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from rollback_gym.trainer.checking import Count, Share

LEVELS = (1, 2, 3)
Mode = Literal["adaptive", "mixed", "fixed"]


@dataclass(frozen=True)
class Schedule:
    """How the levels follow each other."""

    mode: Mode = "adaptive"
    """`adaptive`: when the level below is mastered. The seed's baselines: `mixed`, all levels at once, a third each;
    `fixed`, one after the other, `switch` steps each, whatever comes of it."""
    threshold: Share = 0.8
    """A level is mastered above this success (an exponential moving average)."""
    steady: Count = 3
    """... that has not fallen over so many evaluations."""
    tolerance: Share = 0.05
    """What is no fall yet. (Ours: the seed says "no clear fall".)"""
    memory: Share = 0.5
    """The share of the average that an evaluation leaves. (Ours.)"""
    enters: Share = 0.1
    """The share with which a level enters."""
    gains: Share = 0.1
    """The share that it gains ..."""
    every: Count = 50
    """... after so many steps each."""
    most: Share = 0.5
    """The share that it has at most."""
    switch: Count = 500
    """Steps of a level in mode `fixed`."""
    drop: Share = 0.15
    """How far success must be below that of the last good checkpoint to count as a fall. (Ours.)"""
    patience: Count = 3
    """After so many evaluations in a row with a fall, training goes back to that checkpoint. (Ours.)"""


class Good(NamedTuple):
    """A state worth going back to."""

    step: int
    """Of its checkpoint."""
    clock: int
    entered: tuple[int, ...]
    averages: tuple[float | None, ...]


class State(NamedTuple):
    """Where the curriculum is. Plain values all the way down."""

    step: int = 0
    """Training steps, those that were taken back included."""
    clock: int = 0
    """Training steps, but for those that were taken back: shares grow by it."""
    entered: tuple[int, ...] = (0,)
    """The clock at which each level entered, from level 1 on."""
    averages: tuple[float | None, ...] = (None, None, None)
    """Of success, by level."""
    recent: tuple[float, ...] = ()
    """The averages of the highest level since it entered, the last few."""
    good: Good | None = None
    falls: int = 0
    """Evaluations in a row with a fall."""

    @property
    def level(self) -> int:
        """The highest level that has entered."""
        return len(self.entered)


class Kind(StrEnum):
    """What was decided."""

    HOLD = "hold"
    UP = "up"
    SHARE = "share"
    GOOD = "good"
    BACK = "back"


class Decision(NamedTuple):
    """One decision, for the record."""

    step: int
    kind: Kind
    level: int
    """The highest level, after it."""
    shares: tuple[float, ...]
    """Of the levels, after it."""
    why: str
    to: int | None = None
    """The step of the checkpoint to go back to."""


def begin(schedule: Schedule) -> State:
    """Where the curriculum begins."""
    return State(entered=(0, 0, 0)) if schedule.mode == "mixed" else State()


def shares(schedule: Schedule, state: State) -> tuple[float, ...]:
    """The share of each level among the episodes of a step; 0 where it has not entered."""
    if schedule.mode == "mixed":
        return (1 / 3, 1 / 3, 1 / 3)
    if schedule.mode == "fixed":
        return tuple(float(level == state.level) for level in LEVELS)
    left, found = 1.0, [0.0] * len(LEVELS)
    for place in range(state.level - 1, 0, -1):
        gained = (state.clock - state.entered[place]) // schedule.every * schedule.gains
        found[place] = left * min(schedule.most, schedule.enters + gained)
        left -= found[place]
    found[0] = left
    return tuple(round(share, 9) for share in found)


def stepped(schedule: Schedule, state: State) -> tuple[State, tuple[Decision, ...]]:
    """After one more training step."""
    after = state._replace(step=state.step + 1, clock=state.clock + 1)
    if schedule.mode == "fixed" and after.level < len(LEVELS) and after.clock >= schedule.switch * after.level:
        after = after._replace(entered=(*after.entered, after.clock), recent=())
        why = f"{schedule.switch} steps of level {state.level} are over, whatever its success"
        return after, (_decision(schedule, after, Kind.UP, why),)
    if schedule.mode == "adaptive" and shares(schedule, after) != shares(schedule, state):
        why = f"level {after.level} entered {after.clock - after.entered[-1]} steps ago"
        return after, (_decision(schedule, after, Kind.SHARE, why),)
    return after, ()


def evaluated(schedule: Schedule, state: State, success: Mapping[int, float]) -> tuple[State, tuple[Decision, ...]]:
    """After an evaluation.

    At BACK the trainer loads the checkpoint that the decision names; at GOOD it keeps one.

    Args:
        schedule: The numbers.
        state: Where the curriculum was.
        success: The share of episodes won, of each level that was evaluated.
    """
    averages = tuple(
        _average(old, success.get(level), schedule.memory) for level, old in zip(LEVELS, state.averages, strict=True)
    )
    state = state._replace(averages=averages)
    top = averages[state.level - 1]
    if top is not None and state.level in success:
        state = state._replace(recent=(*state.recent, top)[-max(schedule.steady, 1) :])
    if schedule.mode != "adaptive":
        return state, ()
    state, judged = _judged(schedule, state)
    if judged and judged[-1].kind is Kind.BACK:
        return state, judged
    state, climbed = _climbed(schedule, state)
    return state, (*judged, *climbed)


def _average(old: float | None, new: float | None, memory: float) -> float | None:
    if new is None or old is None:
        return old if new is None else new
    return memory * old + (1 - memory) * new


def _judged(schedule: Schedule, state: State) -> tuple[State, tuple[Decision, ...]]:
    """Whether this is a good state, or one too many that is worse than the last good one."""
    good, now = state.good, state.averages
    # A level that has just entered must not count against those below.
    entered = len(good.entered) if good else state.level
    before, after = _mean(good.averages[:entered]) if good else 0.0, _mean(now[:entered])
    if good is None or after >= before:
        state = state._replace(good=Good(state.step, state.clock, state.entered, now), falls=0)
        said = ", ".join(f"{share:.0%}" for share in now if share is not None)
        return state, (_decision(schedule, state, Kind.GOOD, f"success is {said}"),)
    if after >= before - schedule.drop:
        return state._replace(falls=0), ()
    if state.falls + 1 < schedule.patience:
        return state._replace(falls=state.falls + 1), ()
    why = (
        f"success has been below {before - schedule.drop:.0%} for {schedule.patience} evaluations; it was {before:.0%}"
    )
    returned = state._replace(clock=good.clock, entered=good.entered, averages=good.averages, recent=(), falls=0)
    return returned, (_decision(schedule, returned, Kind.BACK, f"{why} at step {good.step}")._replace(to=good.step),)


def _climbed(schedule: Schedule, state: State) -> tuple[State, tuple[Decision, ...]]:
    """Whether the next level enters."""
    average, level = state.averages[state.level - 1], state.level
    if level == len(LEVELS) or average is None:
        return state, ()
    told = f"level {level} is at {average:.0%}"
    if average <= schedule.threshold:
        why = f"{told}, not above {schedule.threshold:.0%}"
    elif len(state.recent) < schedule.steady:
        why = f"{told}, but has been evaluated only {len(state.recent)} of {schedule.steady} times"
    elif max(state.recent) - state.recent[-1] > schedule.tolerance:
        why = f"{told}, but falling: it was {max(state.recent):.0%}"
    else:
        state = state._replace(entered=(*state.entered, state.clock), recent=())
        return state, (_decision(schedule, state, Kind.UP, f"{told} and not falling"),)
    return state, (_decision(schedule, state, Kind.HOLD, why),)


def _decision(schedule: Schedule, state: State, kind: Kind, why: str) -> Decision:
    return Decision(state.step, kind, state.level, shares(schedule, state), why)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


def plain(state: State) -> dict[str, Any]:
    """`state` as plain values, for a checkpoint."""
    return {**state._asdict(), "good": None if state.good is None else state.good._asdict()}


def from_plain(data: Mapping[str, Any]) -> State:
    """The inverse of `plain`, after JSON."""
    given = {name: _tuples(value) for name, value in data.items()}
    good = given.pop("good")
    return State(**given, good=None if good is None else Good(**{name: _tuples(of) for name, of in good.items()}))


def _tuples(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
