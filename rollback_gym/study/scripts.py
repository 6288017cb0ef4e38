"""What happens in an episode of the rollback curriculum: a way, a mistake on it, the way back, and the way on.

Level 1: one wrong action, gone back from at once. Level 2: two or three wrong actions in a row, gone back from to
before the first. Level 3: a wrong branch, followed for several turns in which L never gets below where it began, or
into a dead end; then back to the fork, and on the other way. A clean episode has none of this.

The wrong action of level 1, and the first of the others, is the pivotal mistake: the first that raises L. So the right
target is always the last index before it. What the environment only refuses is no mistake, see `inject.Kind`.
"""

import math
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from rollback_gym.study.fumbles import fumbled
from rollback_gym.study.inject import Error, Game, Kind, Step, draw
from rollback_gym.study.ways import way

CLEAN, ONE_STEP, SEVERAL_STEPS, BRANCH = 0, 1, 2, 3
LEVELS = (ONE_STEP, SEVERAL_STEPS, BRANCH)

_TRIES = 6
"""Ways that are tried for one script."""


class Script(NamedTuple):
    """The actions of an episode, which wins the game."""

    form: int
    """CLEAN, or a level of the curriculum."""
    before: tuple[str, ...]
    error: Error | None
    """None in a clean episode; then `after` is empty, too."""
    after: tuple[str, ...]
    """From where the game went back to."""

    @property
    def error_step(self) -> int | None:
        """The action index of the pivotal mistake."""
        return None if self.error is None else len(self.before) + self.error.pivot + 1

    @property
    def rollback_step(self) -> int | None:
        """The action index of the rollback."""
        return None if self.error is None else len(self.before) + len(self.error.actions) + 1

    @property
    def rollback_target(self) -> int | None:
        """The last index before the mistake."""
        return None if self.error_step is None else self.error_step - 1

    @property
    def turns(self) -> int:
        """How many the episode takes, the rollback among them."""
        return len(self.before) + len(self.after) + (0 if self.error is None else len(self.error.actions) + 1)


class Lengths(NamedTuple):
    """How many wrong turns a mistake lasts."""

    least: int
    most: int


LENGTHS = {ONE_STEP: Lengths(1, 1), SEVERAL_STEPS: Lengths(2, 3), BRANCH: Lengths(3, 6)}
SHORTEST = {form: Lengths(least, least) for form, (least, _) in LENGTHS.items()}
"""The easier ones of each level."""


class Mixture(NamedTuple):
    """Which scripts a data set is made of, by shares from 0 to 1."""

    level: int
    """Of the curriculum."""
    clean: float = 0.2
    """The share of episodes without a mistake."""
    easier: float = 0.0
    """Of the others, the share of the shortest of the levels above."""
    surprises: float = 0.0
    """Of the others, the share of the shortest of level 2."""
    kinds: tuple[Kind, ...] = tuple(Kind)
    searches: int = 0
    """How many places are looked at in vain, at most; see `ways.way`."""
    fumbles: float = 0.0
    """The chance of a refused action before each right one; see `fumbles.py`."""


def scripts(game: Game, start: Any, mixture: Mixture, max_turns: int, rng: random.Random) -> Iterator[Script | None]:
    """Ever more scripts of one game, no two the same; None where none could be made of the form that was drawn."""
    made: set[tuple[Any, ...]] = set()
    while True:
        form, lengths = _form(mixture, rng)
        found = None
        for _ in range(_TRIES):
            script = _script(game, start, form, lengths, mixture, rng)
            if script is None:
                continue
            doings = script.before, script.error and script.error.actions, script.after
            if mixture.fumbles:
                script = _with_fumbles(game, start, script, mixture.fumbles, rng)
            if script.turns > max_turns:
                continue
            if doings not in made:
                made.add(doings)
                found = script
                break
        yield found


def _form(mixture: Mixture, rng: random.Random) -> tuple[int, Lengths]:
    if rng.random() < mixture.clean:
        return CLEAN, Lengths(0, 0)
    chance = rng.random()
    if chance < mixture.easier:
        form = rng.choice([level for level in LEVELS if level > mixture.level] or [mixture.level])
        return form, SHORTEST[form]
    if chance < mixture.easier + mixture.surprises:
        return SEVERAL_STEPS, SHORTEST[SEVERAL_STEPS]
    return mixture.level, LENGTHS[mixture.level]


def _script(game: Game, start: Any, form: int, lengths: Lengths, mixture: Mixture, rng: random.Random) -> Script | None:
    planned = way(game, start, rng, mixture.searches)
    if not planned:
        return None
    if form == CLEAN:
        return Script(CLEAN, _actions(planned), None, ())
    kinds = [kind for kind in mixture.kinds if kind is Kind.INTENT or form != BRANCH]
    most = rng.randint(*lengths)
    # A kind first: of some there are many more mistakes than of others.
    for kind in rng.sample(kinds, len(kinds)):
        for fork in rng.sample(range(len(planned)), len(planned)):
            state = planned[fork].state
            error = draw(
                game,
                state,
                planned[:fork],
                (kind,),
                rng,
                _actions(planned[fork:]),
                lengths.least,
                max(most, lengths.least),
                strict=form != BRANCH,
            )
            if error is not None:
                return Script(form, _actions(planned[:fork]), error, _actions(way(game, state, rng)))
    return None


def _with_fumbles(game: Game, start: Any, script: Script, chance: float, rng: random.Random) -> Script:
    fork = start
    for action in script.before:
        fork = game.step(fork, action).state
    return script._replace(
        before=fumbled(game, start, script.before, chance, rng), after=fumbled(game, fork, script.after, chance, rng)
    )


def _actions(steps: tuple[Step, ...]) -> tuple[str, ...]:
    return tuple([step.action for step in steps])


def playable(game: Game, start: Any) -> bool:
    """Whether there is a way to the goal, and something to do."""
    return game.distance(start) not in (0, math.inf)
