"""RetroAgent: an agent that looks back at its episodes, is paid for new progress, and remembers lessons.

Half of each group plays with lessons from memory in its prompt, half without. When a batch is over, lessons are judged
by how the episodes went that were given them, every episode is looked back at, and the update gets what came of that:
returns with R_int in them, and rows that train the looking back. Paper: arXiv 2603.08561; docs/retroagent.md says where
its public code does otherwise.

A `RetroAgent` holds what outlives a batch, the memory and the baselines; `feedback.py` has the pure functions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rollback_gym.oracles.lookup import Oracle
from rollback_gym.play.policies import View
from rollback_gym.trainer.capability import Capability, checked, intrinsic
from rollback_gym.trainer.credit import Method, credit, credited
from rollback_gym.trainer.feedback import (
    Event,
    learnt,
    outcome_of,
    success_rates,
    told,
    with_intrinsic,
    with_lessons,
    worth,
)
from rollback_gym.trainer.feedback import measures as logged
from rollback_gym.trainer.generator import Generator
from rollback_gym.trainer.lessons import Found, Ranking
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.reflection import Attempt, Reflection, subject
from rollback_gym.trainer.reflectors import Reflecting, attempt, exact_phi
from rollback_gym.trainer.rows import Row
from rollback_gym.trainer.scene import Extension, Scene
from rollback_gym.trainer.trajectory import Start, Trajectory


class Settings(NamedTuple):
    """The numbers of the mechanism, and its switches. Those of retrieval are the memory's."""

    coefficient: float = 1.0
    """Of R_int (the paper; `intrinsic_reward_coefficient` in the public scripts). 0 is the ablation without reward."""
    retrieved: int = 3
    """Lessons in a prompt, at most. (The paper; the public code takes 1 in training and 3 at evaluation.)"""
    outperform: bool = False
    """Whether a won episode speaks for its lessons only where the group's half with lessons won more often than the
    other. (`group_outperformance` of the public code, where it is off by default, too.)"""
    pruned: int = 3
    """Lessons of a task that stay when the memory is pruned. (The public code, which no longer calls it.)"""


class Hindsight(NamedTuple):
    """What looking back at a batch gave."""

    rewards: tuple[float, ...]
    """R_int of each episode, its coefficient included."""
    rows: tuple[Row, ...]
    """What trains the looking back."""
    reflections: tuple[Reflection, ...]
    """One an episode, judged."""
    measures: Mapping[str, Sequence[float]]


Sharing = Callable[[Event], Sequence[Event]]
"""Sends an event to all processes, and gives all of theirs, in the same order everywhere."""


def alone(event: Event) -> Sequence[Event]:
    """The sharing of a single process. For several: `lambda event: gather_object([event])`, of accelerate."""
    return (event,)


class RetroAgent:
    """The mechanism, as hooks of the collector (`lesson`) and of the update (the agent itself, an `Extending`).

    Args:
        reflecting: Who looks back.
        memory: Where lessons are kept; None is the ablation without. `Ranking("similarity")` and `Ranking("utility")`
            are those that leave out more than similarity, and UCB. Every process of a training needs one of its own,
            of which only the first may have a file.
        method: How turns are given credit; GRPO or GiGPO.
        settings: Numbers and switches.
        capability: The baselines so far, and how they move.
        steps: Updates of the whole training; decides when the memory is pruned.
        oracle: If given, a model's phi is measured against the exact one.
        share: How processes learn of each other's episodes.

    Raises:
        ValueError: if the method compares no groups, or a number makes no sense.
    """

    def __init__(
        self,
        reflecting: Reflecting,
        memory: Memory | None = None,
        *,
        method: Method = Method(),  # noqa: B008 - a NamedTuple, which nobody changes
        settings: Settings = Settings(),  # noqa: B008
        capability: Capability = Capability(),  # noqa: B008
        steps: int = 1,
        oracle: Oracle | None = None,
        share: Sharing = alone,
    ) -> None:
        if method.name == "ppo":
            raise ValueError("RetroAgent compares the episodes of a group: its method is grpo or gigpo, not ppo.")
        if settings.coefficient < 0 or settings.retrieved < 1 or settings.pruned < 1 or steps < 1:
            raise ValueError(f"Expected coefficient >= 0, and all else at least 1, got {settings} and steps={steps}.")
        self.memory, self.capability = memory, checked(capability)
        self._reflecting, self._method, self._settings = reflecting, method, settings
        self._steps, self._oracle, self._share = steps, oracle, share
        self._given: dict[tuple[int, int], tuple[Found, ...]] = {}

    # What an agent is told at the start of an episode.

    def lesson(self, start: Start, view: View) -> str:
        """For training (`Setup.lesson`): lessons for every other episode of a group, found with curiosity."""
        return self.every(start, view) if with_lessons(start) else ""

    def every(self, start: Start, view: View) -> str:
        """For adapting at test time: lessons for all, found with curiosity, and judged when they were used."""
        found = self._found(view)
        self._given[start.group, start.member] = found
        return told(found)

    def greedy(self, start: Start, view: View) -> str:
        """For evaluation: lessons for all, the best so far; nothing is learnt of it."""
        return told(self._found(view, greedy=True))

    def _found(self, view: View, *, greedy: bool = False) -> tuple[Found, ...]:
        if self.memory is None:
            return ()
        ranking = self.memory.ranking.greedy() if greedy else None
        return self.memory.retrieve(subject(view), self._settings.retrieved, ranking=ranking)

    # What comes of a batch.

    def __call__(self, scene: Scene) -> Extension:
        """Credit with R_int in it, and the rows that train the looking back."""
        hindsight = self.look_back(scene.trajectories, scene.generator, scene.seed, (scene.step + 1) / self._steps)
        scores = with_intrinsic(scene.scores, hindsight.rewards)
        rows = credited(scene.rows, credit(scene.trajectories, scores, self._method))
        return Extension((*rows, *hindsight.rows), hindsight.measures)

    def look_back(
        self, trajectories: Sequence[Trajectory], generator: Generator, seed: int, progress: float = 0.0
    ) -> Hindsight:
        """Look back at episodes, and learn from them.

        Args:
            trajectories: Whole groups, which were told what this agent says.
            generator: Who answers, where a model looks back.
            seed: Of what it leaves to chance.
            progress: How far training is, in [0, 1].
        """
        given = tuple(self._given.pop((of.start.group, of.start.member), ()) for of in trajectories)
        references = self._references(trajectories)
        said, rows = self._reflecting(trajectories, references, generator, seed)
        reflections = tuple(one.judged(of.won) for one, of in zip(said, trajectories, strict=True))
        baselines = [self.capability.baseline(subject(of.view)) for of in trajectories]
        fresh = [intrinsic(one.phi, bar) for one, bar in zip(reflections, baselines, strict=True)]
        event = Event(
            worth(trajectories, given, outperform=self._settings.outperform),
            learnt(trajectories, reflections) if self.memory is not None else (),
            success_rates(trajectories),
        )
        pruned = self._learn(self._share(event), progress)
        measures = {
            **logged(trajectories, given, said, reflections),
            "retro/intrinsic": fresh,
            "retro/baseline": [self.capability.mean()],
            **self._measured_memory(pruned),
            **self._measured_phi(trajectories, said, reflections),
        }
        rewards = tuple(self._settings.coefficient * reward for reward in fresh)
        return Hindsight(rewards, rows, reflections, measures)

    def _learn(self, events: Sequence[Event], progress: float) -> int:
        """Take over what all processes saw; returns how many lessons were pruned."""
        self.capability = self.capability.after(rate for event in events for rate in event.rates)
        if self.memory is None:
            return 0
        self.memory.learn(pair for event in events for pair in event.worth)
        for event in events:
            for task, text, story, outcome in event.lessons:
                self.memory.add(task, text, story, outcome, min(1.0, progress))
        return self.memory.reached(progress, self._settings.pruned)

    def _references(self, trajectories: Sequence[Trajectory]) -> list[Attempt | None]:
        """For each episode one that ended otherwise: of its own group, or the memory's closest of the same task."""
        remembered: dict[tuple[str, bool], Attempt | None] = {}
        found: list[Attempt | None] = []
        for trajectory in trajectories:
            others = (of for of in trajectories if of.start.group == trajectory.start.group)
            other = next((attempt(of) for of in others if of.won != trajectory.won), None)
            key = subject(trajectory.view), not trajectory.won
            if other is None and key not in remembered:
                remembered[key] = self._remembered(*key)
            found.append(other or remembered.get(key))
        return found

    def _remembered(self, task: str, won: bool) -> Attempt | None:
        if self.memory is None:
            return None
        hits = self.memory.retrieve(task, 1, outcome=outcome_of(won), ranking=Ranking("similarity"))
        lessons = [hit.lesson for hit in hits if hit.lesson.task == task]
        return Attempt((lessons[0].trajectory,), won) if lessons else None

    def _measured_memory(self, pruned: int) -> dict[str, Sequence[float]]:
        if self.memory is None:
            return {}
        spread = self.memory.spread()
        return {
            "memory/lessons": [float(len(self.memory))],
            "memory/spread": [] if spread is None else [spread],
            "memory/pruned": [float(pruned)],
        }

    def _measured_phi(
        self, trajectories: Sequence[Trajectory], said: Sequence[Reflection], reflections: Sequence[Reflection]
    ) -> dict[str, Sequence[float]]:
        """How far phi is from the exact one, where it was said at all; on lost episodes, too, where nothing helps."""
        if self._oracle is None:
            return {}
        exact = [exact_phi(of, self._oracle) for of in trajectories]
        away = [
            (one.phi - phi, trajectory.won)
            for trajectory, one, phi, raw in zip(trajectories, reflections, exact, said, strict=True)
            if not raw.problem
        ]
        return {
            "reflection/exact_phi": exact,
            "reflection/phi_error": [abs(of) for of, _ in away],
            "reflection/phi_bias": [of for of, _ in away],
            "reflection/phi_bias_lost": [of for of, won in away if not won],
        }

    # Checkpoints.

    def state(self) -> Any:
        """See `Part.state`."""
        memory = None if self.memory is None else self.memory.state()
        return {"capability": self.capability._asdict(), "memory": memory}

    def resume(self, state: Any) -> None:
        """See `Part.resume`. Raises ValueError where one has a memory and the other none."""
        if (state["memory"] is None) != (self.memory is None):
            raise ValueError("The checkpoint was made with a memory, and this run has none, or the other way round.")
        self.capability = checked(Capability(**state["capability"]))
        if self.memory is not None:
            self.memory.resume(state["memory"])
        self._given.clear()
