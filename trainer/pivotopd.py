"""PivotOPD: prevent pivotal mistakes, and recover from them, in the same update as the base algorithm.

A step (PivotOPD, section 3): a teacher reads the episodes that were played, and names the turns that decided, each with
a gold action. Where the student did something else, that turn is a pivot. There, *prevention* adds to the advantages of
what the student said (`prevention.py`); after it, *recovery* adds rows that the student never says (`recovery.py`).
The lesson of an episode is distilled at every turn of it. Nothing is added to playing.

    what was played:  A = A_RL + w_prev A_distill [pivot turns] + w_traj A_distill [all turns]
    recovery rows:    A = w_rec clip(A_distill, -delta, delta)

`PivotOPD` is an `Extending` of `scene.py`: it is given a batch that has been played, and gives back what is trained. It
knows no tensors and no environments' names. With no turns to recover and all weights 0 it gives back what it was given.
"""

import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rollback_gym.oracles.lookup import Oracle
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Setup
from rollback_gym.trainer.generator import Generator
from rollback_gym.trainer.gold import same
from rollback_gym.trainer.hints import BARE, gold_hint, lesson_hint
from rollback_gym.trainer.moments import moment
from rollback_gym.trainer.pivot_measures import Clock, Measures, of_judging, of_prevention, of_recovery, of_reports
from rollback_gym.trainer.pivot_settings import Recovering, Settings, Sharing, check
from rollback_gym.trainer.prevention import Scoring, Target, distilled
from rollback_gym.trainer.recovery import Mistake, Recovery, Sound, Writer, Written, recovery_rows
from rollback_gym.trainer.scene import Extension, Scene
from rollback_gym.trainer.teacher_reports import Report
from rollback_gym.trainer.teachers import Teacher
from rollback_gym.trainer.trajectory import Trajectory

FOLLOWED = 32
"""Pivots of a step, in each process, at which the gold action's log-prob is measured; each takes a text to score."""


class Pivot(NamedTuple):
    """A turn on which the student did something else than it should have."""

    episode: int
    turn: int
    """The action index."""
    gold: str
    weight: float = 1.0
    loss: float | None = None
    """L(s') - L(s), where the teacher knows it."""


def pivots(trajectories: Sequence[Trajectory], reports: Sequence[Report]) -> tuple[Pivot, ...]:
    """The candidates on whose turns the student did something else, but for case and blanks (PivotOPD, step 2)."""
    return tuple(
        Pivot(number, of.turn, of.action, of.weight, of.loss)
        for number, (trajectory, report) in enumerate(zip(trajectories, reports, strict=True))
        for of in report.candidates
        if not same(str(trajectory.view.turns[of.turn].action), of.action)
    )


class PivotOPD:
    """Adds prevention and recovery to a batch.

    Args:
        settings: How much of what.
        setup: How the episodes were played.
        chat: Writes texts.
        teacher: Who names turns and actions; given the scene, so that the student itself can be asked.
        writer: Who writes recovery answers where the self-teacher is the initial student; by default what is trained.
        total: Sums a number over all processes, whose rows are one update; every process calls it equally often.
        oracle: Whose pivots the teacher's are measured against; by default they are not.
        sound: Whether what a recovery answer reasons may be learned; by default anything may.

    Raises:
        ValueError: if settings are out of range, or do not go together.
    """

    def __init__(
        self,
        settings: Settings,
        setup: Setup,
        chat: Chat,
        teacher: Callable[[Scene], Teacher],
        writer: Callable[[Scene], Generator] | None = None,
        total: Callable[[float], float] = float,
        oracle: Oracle | None = None,
        sound: Sound | None = None,
    ) -> None:
        check(settings, writer is not None)
        self.settings = settings
        self._chat, self._teacher, self._generator, self._total = chat, teacher, writer, total
        self._oracle = oracle
        self._writer = Writer(setup, chat, settings.hint, sound, settings.tries)

    def __call__(self, scene: Scene) -> Extension:
        """The batch with what is added."""
        settings = self.settings
        most = max(_active(of).turns for of in (settings.recovering, *settings.by_env.values()))
        if not (most or settings.prevention or settings.lesson):
            return Extension(scene.rows)
        began, clock = time.perf_counter(), Clock()
        teacher, episodes = clock.teacher(self._teacher(scene)), scene.trajectories
        reports = teacher.reports(episodes, scene.seed)
        found = pivots(episodes, reports)
        judged = self._judged(found, scene, clock)
        if settings.where == "random":
            found = self._at_random(found, teacher, scene)
        targets = self._prevented(found, teacher, scene)
        reversed_ = self._reversed(found, teacher, scene)
        lessons = {
            number: Target(number, 0, lesson_hint(of.lesson), settings.lesson)
            for number, of in enumerate(reports)
            if of.lesson and settings.lesson
        }
        scoring = clock.scoring(self._scoring(scene))
        done = distilled(scene.rows, [*targets, *reversed_], lessons, self._chat, scoring)
        generator = clock.generator(scene.generator if self._generator is None else self._generator(scene))
        recovery = self._recovered(found, teacher, generator, scene, most)
        rows, gains = recovery_rows(recovery.written, self._weights(recovery.written, scene), settings.clip, scoring)
        measures = {
            **of_reports(reports, [of.won for of in episodes], [of.episode for of in found]),
            **judged,
            **of_prevention(done, len(targets)),
            **of_recovery(recovery, rows, gains, len(found)),
            **clock.measures(time.perf_counter() - began),
        }
        return Extension((*done.rows, *rows), measures)

    def _scoring(self, scene: Scene) -> Scoring:
        initial = self.settings.frozen == "initial"
        return lambda rows: scene.scorer.logprobs(rows, reference=initial)

    def _judged(self, found: Sequence[Pivot], scene: Scene, clock: Clock) -> Measures:
        if self._oracle is None:
            return {}
        with clock.running("oracle"):
            return of_judging(scene.trajectories, [(of.episode, of.turn) for of in found], self._oracle)

    def _recovering(self, trajectory: Trajectory) -> Recovering:
        return _active(self.settings.by_env.get(trajectory.view.env, self.settings.recovering))

    # Which turns.

    def _at_random(self, found: Sequence[Pivot], teacher: Teacher, scene: Scene) -> tuple[Pivot, ...]:
        """As many turns of each episode, drawn from all; the teacher says what should have been done."""
        drawn = []
        for number, trajectory in enumerate(scene.trajectories):
            own = [step.turn.index for step in trajectory.steps]
            count = sum(of.episode == number for of in found)
            turns = random.Random(f"{scene.seed} {number}").sample(own, count)
            drawn += [(number, turn) for turn in sorted(turns)]
        return self._golds(drawn, teacher, scene)

    def _prevented(self, found: Sequence[Pivot], teacher: Teacher, scene: Scene) -> list[Target]:
        settings = self.settings
        if not settings.prevention:
            return []
        some = random.Random(f"{scene.seed} followed").sample(found, min(len(found), FOLLOWED))
        followed = {(of.episode, of.turn) for of in some}
        if settings.where == "every":
            every = [(n, step.turn.index) for n, of in enumerate(scene.trajectories) for step in of.steps]
            found = self._golds(every, teacher, scene)
        return [
            Target(
                of.episode,
                of.turn,
                self._hint(of.gold),
                settings.prevention * of.weight,
                settings.prevention_clip,
                of.gold if (of.episode, of.turn) in followed else None,
            )
            for of in found
        ]

    def _reversed(self, found: Sequence[Pivot], teacher: Teacher, scene: Scene) -> list[Target]:
        """The student's own turns after mistakes, where recovery is not forward."""
        after: dict[tuple[int, int], None] = {}
        for pivot in found:
            trajectory = scene.trajectories[pivot.episode]
            how, last = self._recovering(trajectory), trajectory.view.turns[-1].index
            if not how.forward:
                for turn in range(pivot.turn + 1, min(last, pivot.turn + _turns(pivot, how)) + 1):
                    after[pivot.episode, turn] = None
        if self.settings.recovering.forward and all(of.forward for of in self.settings.by_env.values()):
            return []
        golds = self._golds(list(after), teacher, scene)[: self.settings.most]
        weights = [self._recovering(scene.trajectories[of.episode]).weight for of in golds]
        sizes = [len(scene.trajectories[of.episode].steps[self._own(of, scene)].sample.ids) for of in golds]
        return [
            Target(of.episode, of.turn, self._hint(of.gold), of.weight * share, self.settings.clip)
            for of, share in zip(golds, shared(weights, sizes, self._total), strict=True)
        ]

    def _own(self, pivot: Pivot, scene: Scene) -> int:
        return pivot.turn - scene.trajectories[pivot.episode].prefix - 1

    def _golds(self, turns: Sequence[tuple[int, int]], teacher: Teacher, scene: Scene) -> tuple[Pivot, ...]:
        """What should be done on some turns; those for which no action is named are left out."""
        moments = [moment(scene.trajectories[number], turn - 1) for number, turn in turns]
        named = teacher.names(moments, scene.seed)
        return tuple(
            Pivot(number, turn, of.action, of.weight)
            for (number, turn), of in zip(turns, named, strict=True)
            if of.action is not None
        )

    def _hint(self, action: str) -> str:
        words = self.settings.hint
        return BARE if words is None else gold_hint(action, words)

    # Recovery.

    def _recovered(
        self, found: Sequence[Pivot], teacher: Teacher, generator: Generator, scene: Scene, most: int
    ) -> Recovery:
        mistakes: list[Mistake] = []
        for pivot in in_turn(found):
            how = self._recovering(scene.trajectories[pivot.episode])
            turns = _turns(pivot, how) if how.forward else 0
            if turns and sum(of.turns for of in mistakes) + turns <= self.settings.most:
                mistakes.append(Mistake(pivot.episode, pivot.turn, turns, pivot.weight))
        return self._writer.write(scene.trajectories, mistakes, most, teacher, generator, scene.seed)

    def _weights(self, written: Sequence[Written], scene: Scene) -> list[float]:
        weights = [self._recovering(scene.trajectories[of.mistake.episode]).weight for of in written]
        shares = shared(weights, [len(of.sample.ids) for of in written], self._total)
        return [of.weight * share for of, share in zip(written, shares, strict=True)]


def in_turn(found: Sequence[Pivot]) -> list[Pivot]:
    """The first pivot of every episode, then the second of every episode, and so on: what a limit cuts off is late."""
    seen: dict[int, int] = {}
    ranks = []
    for pivot in found:
        ranks.append(seen.get(pivot.episode, 0))
        seen[pivot.episode] = ranks[-1] + 1
    return [pivot for _, pivot in sorted(zip(ranks, found, strict=True), key=lambda of: of[0])]


def shared(
    weights: Sequence[float | Sharing], tokens: Sequence[int], total: Callable[[float], float] = float
) -> list[float]:
    """w_rec for each recovery turn of a step, as a number.

    >>> shared(["turns", "turns"], [3, 5])
    [0.5, 0.5]
    >>> shared(["tokens", 0.25], [3, 5])
    [0.125, 0.25]

    Args:
        weights: As they are set.
        tokens: How many each turn has.
        total: Sums a number over all processes; called twice.
    """
    of = {"turns": 1 / max(1, total(len(weights))), "tokens": 1 / max(1, total(sum(tokens)))}
    return [of[weight] if isinstance(weight, str) else weight for weight in weights]


def _active(how: Recovering) -> Recovering:
    """What weighs nothing is left out."""
    return how._replace(turns=0) if how.weight == 0 else how


def _turns(pivot: Pivot, how: Recovering) -> int:
    """K for one mistake."""
    if not how.adaptive or pivot.loss is None:
        return how.turns
    return int(max(min(1, how.turns), min(how.turns, pivot.loss)))
