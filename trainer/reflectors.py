"""Who looks back at episodes: a model, in its own context or trained for it, or the exact oracle.

Each gives a `Reflection` for every episode. The oracle's lessons come from a template that is filled from the episode,
which no agent could have written: a measuring rod and an upper bound, never to be taken for what a model learnt.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rollback_gym.core.history import Node
from rollback_gym.core.snapshot import Outcome
from rollback_gym.oracles.lookup import Oracle
from rollback_gym.oracles.pivots import Assessment, assessments
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Limits
from rollback_gym.trainer.generator import Ask, Generator, Sample
from rollback_gym.trainer.reflection import Attempt, Reflection, question, read, shortened, transcript
from rollback_gym.trainer.rows import Ids, Kind, Row, Span
from rollback_gym.trainer.trajectory import Trajectory


class Reflected(NamedTuple):
    """What came of looking back at some episodes."""

    reflections: tuple[Reflection, ...]
    """One an episode, as it was said: not yet `judged`."""
    rows: tuple[Row, ...] = ()
    """What is trained of it."""


References = Sequence[Attempt | None]
"""For each episode another one of the same task that ended otherwise, where there is one."""
Reflecting = Callable[[Sequence[Trajectory], References, Generator, int], Reflected]
"""Looks back at episodes; the last argument is a seed."""


def attempt(trajectory: Trajectory) -> Attempt:
    """An episode as it is told."""
    return Attempt(transcript(trajectory.view.turns), trajectory.won)


# --- A model ----------------------------------------------------------------------------------------------------------


class ModelReflector:
    """The policy itself looks back.

    In its context alone (`weight` 0) it is told how the episode ended, and compares it with one that ended otherwise.
    Trained (`weight` above 0) it is told neither, and REINFORCE rewards it for saying rightly whether the task was
    done: each token of a reflection has the advantage weight * (R - b), R being 1 for a right prediction and else 0, b
    the mean R of the batch's other reflections.

    Args:
        chat: Writes messages as tokens.
        limits: The most tokens of a reflection and of all that is read for it; `limits.turns` is not used.
        weight: lambda_reflect. 1.0 is the public code's scripts'.
        baseline: Whether b is subtracted. It changes no expectation, only the variance; without it b is 0.
        paired: Whether an episode is compared with one that ended otherwise; None for where the end is told.
        brief: Whether the question leaves out the rules and the form of the answer.
    """

    def __init__(
        self,
        chat: Chat,
        limits: Limits,
        *,
        weight: float = 0.0,
        baseline: bool = True,
        paired: bool | None = None,
        brief: bool = False,
    ) -> None:
        if not 0 <= weight < math.inf:
            raise ValueError(f"weight must be a finite number of at least 0, got {weight!r}.")
        self._chat, self._limits, self._weight, self._baseline = chat, limits, weight, baseline
        self._paired = weight == 0 if paired is None else paired
        self._brief = brief

    def __call__(
        self, trajectories: Sequence[Trajectory], references: References, generator: Generator, seed: int
    ) -> Reflected:
        """See `Reflecting`. Where even the shortest question is too long, the reflection says so and has no row."""
        texts = [self._text(*pair) for pair in zip(trajectories, references, strict=True)]
        asks = [Ask(ids, self._limits.answer, slot) for slot, ids in enumerate(texts) if ids]
        samples = dict(zip([ask.slot for ask in asks], generator.generate(asks, seed), strict=True))
        said = tuple(self._read(samples.get(slot)) for slot in range(len(texts)))
        if self._weight == 0:
            return Reflected(said)
        rewards = {slot: float(said[slot].right(trajectories[slot].won)) for slot in samples}
        better = reinforce(list(rewards.values()), self._weight, baseline=self._baseline)
        rows = [
            reflection_row(texts[slot], samples[slot], slot, advantage)
            for slot, advantage in zip(rewards, better, strict=True)
        ]
        return Reflected(said, tuple(rows))

    def _text(self, trajectory: Trajectory, reference: Attempt | None) -> Ids:
        """The question with what fits into it, rather all of the episode than another one; empty if nothing does."""
        whole = attempt(trajectory)
        pairs = (reference, None) if self._paired and reference is not None else (None,)
        shown = max(len(pair.lines) for pair in (whole, *pairs) if pair is not None)
        while True:
            cut = whole._replace(lines=shortened(whole.lines, shown))
            for pair in pairs:
                other = pair and pair._replace(lines=shortened(pair.lines, shown))
                asked = question(trajectory.view, cut, other, told=self._weight == 0, brief=self._brief)
                ids = self._chat.opening(asked)
                if len(ids) <= self._limits.text - self._limits.answer:
                    return ids
            if shown <= 2:
                return ()
            shown = max(2, shown // 2)

    def _read(self, sample: Sample | None) -> Reflection:
        if sample is None:
            return Reflection(problem="The question was too long.")
        if not sample.stopped:
            return Reflection(problem=f"It was cut off after {len(sample.ids)} tokens.")
        return read(self._chat.text(sample.ids))


def reinforce(rewards: Sequence[float], weight: float, *, baseline: bool = True) -> list[float]:
    """The advantage of each of some samples: weight * (R - b), b the mean reward of the others."""
    others = len(rewards) - 1
    total = sum(rewards)
    return [weight * (of - (total - of) / others if baseline and others else of) for of in rewards]


def reflection_row(prompt: Ids, sample: Sample, episode: int, advantage: float) -> Row:
    """The row of a reflection, every token of which has the same advantage."""
    size = len(sample.ids)
    spans = (Span(0, 0, size),)
    return Row(prompt, sample.ids, spans, sample.logprobs, Kind.REFLECTION, episode, (advantage,) * size)


# --- The oracle -------------------------------------------------------------------------------------------------------


class OracleReflector:
    """phi exactly, and lessons from a template. It is no model's reflection: it knows what no agent can.

    Args:
        oracle: Knows L.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

    def __call__(
        self, trajectories: Sequence[Trajectory], references: References, generator: Generator, seed: int
    ) -> Reflected:
        """See `Reflecting`. Raises OracleBudgetExceeded where a state is too large to be judged exactly."""
        return Reflected(tuple(self._of(trajectory) for trajectory in trajectories))

    def _of(self, trajectory: Trajectory) -> Reflection:
        phi = exact_phi(trajectory, self._oracle)
        return Reflection(phi, trajectory.won, template_lessons(trajectory, self._oracle))


def exact_phi(trajectory: Trajectory, oracle: Oracle) -> float:
    """How much of the task got done: 1 - L / L0, in [0, 1]; L at the end of the active branch, L0 at the very start.

    1 where the game was won, 0 where it no longer can be.
    """
    if trajectory.won:
        return 1.0
    root = trajectory.history.path[0]
    begin = oracle.distance(trajectory.level, root.point.state)
    left = oracle.distance(trajectory.level, trajectory.history.node.point.state)
    if trajectory.outcome is Outcome.LOST or math.isinf(left) or math.isinf(begin) or begin == 0:
        return 0.0
    return min(1.0, max(0.0, 1 - left / begin))


SHOWN = 3
"""Actions of a way that a template tells."""


def template_lessons(trajectory: Trajectory, oracle: Oracle) -> tuple[str, ...]:
    """What failed and where to go back to, and the way from there, which says where the thing was.

    Of a won episode without a mistake, what worked.
    """
    judged = [of for of in assessments(trajectory.history, trajectory.level, oracle) if _own(of, trajectory)]
    mistake = next((of for of in judged if of.pivotal), None)
    if mistake is not None:
        entry = mistake.entry
        assert isinstance(entry, Node)
        assert entry.parent is not None
        return (_mistake(mistake, entry.parent, trajectory), *_way(entry.parent, trajectory, oracle))
    if trajectory.won:
        return (f"This did the task: {', '.join(str(node.action) for node in trajectory.history.path[1:])}.",)
    idle = [of.entry for of in judged if of.distance >= of.previous]
    first = [f"Action {idle[0].index}, {idle[0].action}, brought the task no nearer."] if idle else []
    return (*first, *_way(trajectory.history.node, trajectory, oracle))


def _own(assessment: Assessment, trajectory: Trajectory) -> bool:
    """Whether the agent did it, and not who played before it."""
    return assessment.entry.index - trajectory.history.path[0].index > trajectory.prefix


def _mistake(assessment: Assessment, parent: Node, trajectory: Trajectory) -> str:
    entry, back = assessment.entry, trajectory.view.going_back
    lost = math.isinf(assessment.distance)
    worse = "the task could not be done any more" if lost else f"{assessment.distance:g} turns were needed"
    told = f"Action {entry.index}, {entry.action}, was a mistake: after it {worse}, before it {assessment.previous:g}."
    return told if back.most == 0 else f"{told} {back.verb}({parent.index}) would have undone it."


def _way(node: Node, trajectory: Trajectory, oracle: Oracle) -> tuple[str, ...]:
    plan = oracle.plan(trajectory.level, node.point.state)[:SHOWN]
    return (f"From [{node.index}] the way was: {', '.join(map(str, plan))}.",) if plan else ()
