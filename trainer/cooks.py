"""A cook who plays ALFWorld by what it has seen, errs, and mostly does not find back: whom tiny models learn from.

It searches until it has seen what it needs: a player with second sight teaches what nobody could know.
"""

import re
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from rollback_gym.envs.alfworld import rules
from rollback_gym.play.policies import Choice, Truth, View
from rollback_gym.trainer.teachers import acting_first

_IDLE = ("look", "inventory", "help")


class Habits(NamedTuple):
    """How a cook is. A lost one walks about."""

    errs: float = 0.08
    """The chance of an error, each turn."""
    recovers: float = 0.1
    """The chance, each turn after an error, that the cook comes to itself, and the work goes on."""
    fumbles: float = 0.0
    """The chance of an action that cannot be done, each turn; then the work goes on. It costs a turn."""
    hinted: float = 0.0
    """The chance that an action is one at random, named by a hint, instead of the cook's own, named too."""


class Cook:
    """Plays ALFWorld by what it has seen, but for its errors; a `KnowingPolicy`."""

    name = "cook"

    def __init__(self, habits: Habits) -> None:
        self._habits = habits
        self._random = Random(0)
        self._lost = False

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""
        self._random, self._lost = Random(seed), False

    def act_knowing(self, view: View, truth: Truth) -> Choice:
        """See `KnowingPolicy.act_knowing`."""
        chance, habits = self._random, self._habits
        offered = [str(action) for action in view.turns[-1].admissible]
        if chance.random() < habits.hinted:
            return Choice(chance.choice([action for action in offered if action not in _IDLE]))
        if chance.random() < habits.fumbles:
            return Choice(_fumble(truth, offered, chance))
        walks = [action for action in offered if action.startswith("go to ")]
        self._lost = self._lost and chance.random() >= habits.recovers
        if self._lost:
            return Choice(chance.choice(walks))
        if chance.random() < habits.errs and (wrong := _errors(truth, offered)):
            self._lost = True
            verb = chance.choice(sorted({action.split()[0] for action in wrong}))
            return Choice(chance.choice([action for action in wrong if action.startswith(f"{verb} ")]))
        if not _seen(view, truth):
            been = {str(turn.action) for turn in view.turns}
            new = [walk for walk in walks if walk not in been and "fridge" not in walk and "microwave" not in walk]
            if new:
                return Choice(chance.choice(new))
        return Choice(acting_first(truth.oracle.optimal_actions(truth.level, truth.state)))

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return self._habits._asdict()


def _errors(truth: Truth, offered: Sequence[str]) -> list[str]:
    """What raises L, and leaves the goal within reach."""
    here = truth.oracle.distance(truth.level, truth.state)
    after = {
        action: truth.oracle.distance(truth.level, rules.step(truth.level, truth.state, action).state)
        for action in offered
    }
    return [action for action, length in after.items() if here < length < float("inf")]


def _fumble(truth: Truth, offered: Sequence[str], chance: Random) -> str:
    """Something that cannot be done here."""
    places = [place.name for place in truth.level.receptacles]
    things = [thing.name for thing in truth.level.things]
    tried = [f"take {thing} from {place}" for thing in things for place in places]
    tried += [f"move {thing} to {place}" for thing in things for place in places]
    return chance.choice([action for action in tried if action not in offered])


def _seen(view: View, truth: Truth) -> bool:
    """Whether the agent has seen what it needs."""
    needed = re.compile(rf"\b{truth.level.goal.object_type} \d")
    return any(needed.search(str(turn.observation)) for turn in view.turns[1:])
