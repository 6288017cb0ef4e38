"""Who says where an episode went wrong, and what should be done: teachers.

A teacher only names actions. What is trained is written by the student itself, frozen and hinted.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol, get_args

from rollback_gym.core.errors import OracleBudgetExceeded
from rollback_gym.oracles.lookup import Oracle
from rollback_gym.oracles.pivots import Assessment, assessments
from rollback_gym.trainer.moments import Moment
from rollback_gym.trainer.teacher_reports import MOST_CANDIDATES, Candidate, Report
from rollback_gym.trainer.trajectory import Trajectory


class Named(NamedTuple):
    """The action that a teacher names for a moment."""

    action: str | None
    """A feasible one; None where it names none."""
    weight: float = 1.0
    """How far it is to be trusted, above 0 and at most 1."""


class Teacher(Protocol):
    """Reads finished episodes, and names actions. Never raises for what a model answered."""

    def reports(self, trajectories: Sequence[Trajectory], seed: int) -> Sequence[Report]:
        """A report for each episode, its actions feasible on their turns."""

    def names(self, moments: Sequence[Moment], seed: int) -> Sequence[Named]:
        """What should be done at each moment: a gold action, or after a mistake a recovery action."""


GoingBack = Literal["no", "nearer", "always"]
"""Whether a teacher lets an agent go back: never; where that is nearer than going on; wherever something was lost."""


class OracleTeacher:
    """Knows L exactly: the mistakes that it names are pivotal mistakes, and its actions those of shortest solutions.

    What the paper's teachers can only estimate (71.1% and 84.4% of pivots within one turn) is exact here. It names what
    the hidden state asks for, be it something that the agent could not know yet.

    Args:
        oracle: Knows the game.
        most: How many turns of an episode it names: the first ones.
        going_back: Whether a recovery action may be a rollback.
        weigh: Whether a mistake counts by what it lost, loss / (1 + loss), instead of all alike.
        choose: Which of several optimal actions it names.
    """

    def __init__(
        self,
        oracle: Oracle,
        *,
        most: int = MOST_CANDIDATES,
        going_back: GoingBack = "no",
        weigh: bool = False,
        choose: Callable[[Sequence[str]], str] | None = None,
    ) -> None:
        if going_back not in get_args(GoingBack):
            raise ValueError(f"going_back must be no, nearer or always, got {going_back!r}.")
        self.oracle, self.going_back = oracle, going_back
        self._most, self._weigh, self._choose = most, weigh, choose or acting_first

    def reports(self, trajectories: Sequence[Trajectory], seed: int) -> Sequence[Report]:
        """See `Teacher.reports`. An episode that the oracle cannot judge in time has no candidates."""
        return [self._report(trajectory) for trajectory in trajectories]

    def names(self, moments: Sequence[Moment], seed: int) -> Sequence[Named]:
        """See `Teacher.names`. It names none where the goal is out of reach and it may not go back."""
        return [self._named(moment) for moment in moments]

    def _report(self, trajectory: Trajectory) -> Report:
        try:
            judged = assessments(trajectory.history, trajectory.level, self.oracle)
            own = [of for of in judged if of.pivotal and of.entry.index > trajectory.prefix][: self._most]
            return Report(candidates=tuple(self._candidate(trajectory, of) for of in own), asked=1)
        except OracleBudgetExceeded as error:
            return Report(asked=1, malformed=(str(error),))

    def _candidate(self, trajectory: Trajectory, mistake: Assessment) -> Candidate:
        loss = mistake.distance - mistake.previous
        step = trajectory.steps[mistake.entry.index - trajectory.prefix - 1]
        best = self.oracle.optimal_actions(trajectory.level, step.state)
        return Candidate(step.turn.index, self._choose([str(action) for action in best]), self._weight(loss), loss)

    def _weight(self, loss: float) -> float:
        if not self._weigh:
            return 1.0
        return 1.0 if math.isinf(loss) else loss / (1 + loss)

    def _named(self, moment: Moment) -> Named:
        try:
            back = self._way_back(moment)
            if back is not None:
                return Named(back)
            best = self.oracle.optimal_actions(moment.level, moment.state)
        except OracleBudgetExceeded:
            return Named(None)
        return Named(self._choose([str(action) for action in best]) if best else None)

    def _way_back(self, moment: Moment) -> str | None:
        """The rollback to where the goal is nearest, to the latest of such moments; None where it is to go on."""
        targets = moment.view.turns[-1].targets
        if self.going_back == "no" or not targets:
            return None
        lengths = [
            (self.oracle.distance(moment.level, node.point.state), -node.index)
            for node in moment.history.path
            if node.index in targets
        ]
        there, index = min(lengths)
        here = self.oracle.distance(moment.level, moment.state)
        turn = 1 if self.going_back == "nearer" else 0
        return f"{moment.view.going_back.verb}({-index})" if turn + there < here else None


def acting_first(actions: Sequence[str]) -> str:
    """The first action that does something where the agent stands; walking away only where there is no other."""
    return next((action for action in actions if not action.startswith("go to ")), actions[0])
