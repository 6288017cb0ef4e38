"""Policies that worker processes find by name, for the tests of what goes wrong."""

import os
import time
from typing import Any

from rollback_gym.core.errors import PolicyError, RunStopped
from rollback_gym.play.policies import Choice, RandomPolicy, View


class Breaking(RandomPolicy):
    """Plays at random, but breaks, in one of several ways, in the episodes where a marker file lets it.

    Args:
        how: `die`, `kill`, `raise`, `bug`, `stop`, or `slow`.
        seed_of: Break in the episodes whose chance is a multiple of this number.
        marker: A file; it is made when it breaks, and while it is there nothing breaks. None breaks each time.
    """

    def __init__(self, how: str, multiple: int = 1, marker: str | None = None) -> None:
        super().__init__()
        self.how, self.multiple, self.marker = how, multiple, marker
        self._breaks = False

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self._breaks = seed % self.multiple == 0

    def act(self, view: View) -> Choice:
        if self._breaks and view.turns[-1].index == 2 and not (self.marker and os.path.exists(self.marker)):
            if self.marker:
                open(self.marker, "w").close()
            self._break()
        return super().act(view)

    def _break(self) -> None:
        if self.how == "die":
            os._exit(3)
        if self.how == "kill":
            os.kill(os.getpid(), 9)
        if self.how == "raise":
            raise PolicyError("I am lost.")
        if self.how == "bug":
            raise ZeroDivisionError("a bug")
        if self.how == "stop":
            raise RunStopped("No such key.")
        time.sleep(60)

    def settings(self) -> dict[str, Any]:
        return {"how": self.how, "multiple": self.multiple, "marker": self.marker}
