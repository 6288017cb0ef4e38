"""Whom the tiny students of PivotOPD's study learn from: the oracle, as far as they could have known themselves.

The oracle knows where everything is. A student that is made to walk straight to what it has not seen learns to guess,
and one that does the right thing for a false reason learns to act against its notes.
"""

from collections.abc import Sequence

from rollback_gym.play.policies import View
from rollback_gym.study.notes import noted
from rollback_gym.trainer.moments import Moment
from rollback_gym.trainer.pivot_demos import needed
from rollback_gym.trainer.teacher_reports import Report
from rollback_gym.trainer.teachers import Named, Teacher
from rollback_gym.trainer.trajectory import Trajectory


class Knowable:
    """A teacher that names no action which only the oracle could know.

    Args:
        teacher: Who names them.
    """

    def __init__(self, teacher: Teacher) -> None:
        self._teacher = teacher

    def reports(self, trajectories: Sequence[Trajectory], seed: int) -> Sequence[Report]:
        """See `Teacher.reports`."""
        return self._teacher.reports(trajectories, seed)

    def names(self, moments: Sequence[Moment], seed: int) -> Sequence[Named]:
        """See `Teacher.names`."""
        named = self._teacher.names(moments, seed)
        return [
            of if of.action is None or knowable(at.view, of.action) else Named(None)
            for at, of in zip(moments, named, strict=True)
        ]


def knowable(view: View, action: str) -> bool:
    """Whether an agent could know that `action` is right: who has not seen what it needs can only search."""
    thing = needed(view.task)
    searching = noted(thing, view.turns).endswith(f", no {thing}")
    return not (searching and action.startswith(("go to ", "open ")))


def true_to_notes(moment: Moment, text: str) -> bool:
    """Whether what an answer notes is so."""
    view = moment.view
    return text.startswith(f"<think>{noted(needed(view.task), view.turns)}</think>")
