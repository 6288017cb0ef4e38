"""How episodes of the curriculum begin in RL.

The injector plays a prefix with the level's error into the environment; the agent takes over in that state, and finds
the prefix in its context as its own history. A share of episodes begins clean: some at the start, some in the middle,
so that being in the middle does not give an error away.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from rollback_gym.core.errors import DataError, OracleBudgetExceeded
from rollback_gym.oracles.lookup import Oracle
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.registration import levels as levels_of
from rollback_gym.study import notes as notes_of
from rollback_gym.study.dataset import EASIER, SURPRISES, check_habits, split_of
from rollback_gym.study.inject import Kind, check_env, game_of
from rollback_gym.study.reasons import thought
from rollback_gym.study.scripts import CLEAN, Mixture, Script, playable, scripts
from rollback_gym.trainer.trajectory import Start, start_after

_NARROWING = ("data", "split", "task_types", "difficulty", "preset", "products", "goals")
_TRIES = 8
"""Scripts that are drawn in one game before another game is."""
_MOST_GAMES = 5000


class Note(NamedTuple):
    """What is known of an episode's beginning; the `note` of its `Start`."""

    level: int
    """Of the curriculum, as it was drawn."""
    form: int
    """What was put in: 0 nothing, else an error of this level; of an easier one or a surprise it is another level."""
    error: int | None = None
    """The action index of the pivotal mistake."""
    kind: str | None = None


class Beginnings:
    """Draws beginnings; the same arguments draw the same.

    Args:
        made: The environment.
        split: Of the data sets' splits, which share no goal: `train`, `eval` or `test`.
        clean: The share of clean episodes.
        begun: Of those, the share that begins in the middle.
        kinds: Of errors, in levels 1 and 2.
        searches: See `Mixture`, as the next.
        fumbles: See there.
        think: Whether the prefix holds thoughts.
        notes: Whether these are notes; see `Recipe.notes`.
        seed: Decides which games and errors.

    Raises:
        ValueError: if the environment has no injector, or no searches, fumbles or notes, and they are asked for.
    """

    def __init__(
        self,
        made: Made,
        split: str = "train",
        *,
        clean: float = 0.2,
        begun: float = 0.5,
        kinds: Sequence[str] = tuple(map(str, Kind)),
        searches: int = 0,
        fumbles: float = 0.0,
        think: bool = True,
        notes: bool = False,
        seed: int = 0,
    ) -> None:
        self._env = make_env(made)
        check_env(self._env)
        check_habits(self._env, searches=searches, fumbles=fumbles, notes=notes, think=think)
        self._split, self._clean, self._begun, self._seed = split, clean, begun, seed
        self._think, self._notes = think, notes
        self._kinds, self._searches, self._fumbles = tuple(Kind(kind) for kind in kinds), searches, fumbles
        given = {name: made.kwargs[name] for name in _NARROWING if name in made.kwargs}
        self._pool = levels_of(made.id, **{"split": "train", **given})
        self._fits: dict[str, bool] = {}
        self._env.reset(seed=0, options={"level": self._pool[0]})
        self.oracle: Oracle = game_of(self._env).oracle
        """Knows L in the games that are drawn."""

    def draw(self, shares: Sequence[float], count: int, of: str) -> tuple[Start, ...]:
        """So many beginnings.

        Args:
            shares: Of levels 1, 2, 3.
            count: How many.
            of: What they are for, such as a step's number: another text, other beginnings.
        """
        bounds = list(accumulate(shares))
        drawn = []
        for place in range(count):
            rng = random.Random(f"{self._seed} {self._split} {of} {place}")
            chance = rng.random() * bounds[-1]
            level = next(level for level, bound in enumerate(bounds, 1) if chance < bound)
            drawn.append(self._one(level, self._clean, rng))
        return tuple(drawn)

    def errors(self, level: int, count: int, of: str) -> tuple[Start, ...]:
        """So many beginnings with an error of one level."""
        return tuple(
            self._one(level, 0.0, random.Random(f"{self._seed} {self._split} {of} {level} {place}"))
            for place in range(count)
        )

    def cleans(self, count: int, of: str) -> tuple[Start, ...]:
        """So many clean ones."""
        return tuple(
            self._one(1, 1.0, random.Random(f"{self._seed} {self._split} {of} clean {place}")) for place in range(count)
        )

    def _one(self, level: int, clean: float, rng: random.Random) -> Start:
        trained = self._split == "train"
        mixture = Mixture(
            level,
            clean,
            EASIER if level == 1 and trained else 0.0,
            SURPRISES if level == 1 and not trained else 0.0,
            (Kind.INTENT,) if level == 3 else self._kinds,
            self._searches,
            self._fumbles,
        )
        for id in self._games(rng):
            script = self._script(id, mixture, rng)
            if script is not None:
                return self._start(id, level, script, rng)
        raise DataError(
            f"No episode of level {level} could be made in {_MOST_GAMES:,} games of the split {self._split}. Allow "
            "more turns, more kinds of errors, or larger games."
        )

    def _games(self, rng: random.Random) -> Iterator[str]:
        """Games of the split, in a random order, which are loaded as they are drawn."""
        for _ in range(_MOST_GAMES):
            id = self._pool[rng.randrange(len(self._pool))]
            if id not in self._fits:
                self._env.reset(seed=0, options={"level": id})
                game = game_of(self._env)
                try:
                    fits = split_of(game.name, game.level) == self._split
                    self._fits[id] = fits and playable(game, _base(self._env).state)
                except OracleBudgetExceeded:
                    self._fits[id] = False  # too large to be judged exactly
            if self._fits[id]:
                yield id

    def _script(self, id: str, mixture: Mixture, rng: random.Random) -> Script | None:
        self._env.reset(seed=0, options={"level": id})
        base = _base(self._env)
        drawn = scripts(game_of(self._env), base.state, mixture, base.max_turns, rng)
        try:
            return next((script for _, script in zip(range(_TRIES), drawn, strict=False) if script is not None), None)
        except OracleBudgetExceeded:
            self._fits[id] = False
            return None

    def _start(self, id: str, level: int, script: Script, rng: random.Random) -> Start:
        note = Note(level, script.form, script.error_step, None if script.error is None else str(script.error.kind))
        if script.form == CLEAN:
            most = len(script.before) - 1
            taken = script.before[: rng.randint(1, most)] if most >= 1 and rng.random() < self._begun else ()
        else:
            assert script.error is not None
            taken = (*script.before, *script.error.actions)
        if not taken:
            return Start(options={"level": id}, note=note)
        base = _base(self._env)
        texts = [_said(base.name, base.level.task, action, rng, self._think) for action in taken]
        start = start_after(self._env, taken, options={"level": id}, texts=texts, note=note)
        return _noting(start, base.level.goal) if self._notes else start


def _noting(start: Start, goal: Any) -> Start:
    """The same start, in which the agent had noted what it knew before each turn."""
    turns = start.turns
    said = [
        of._replace(
            text=f"<think>{notes_of.thought(goal, turns[: of.index], of.action)}</think>\n<action>{of.action}</action>"
        )
        for of in turns[1:]
    ]
    return start._replace(turns=(turns[0], *said))


def _said(name: str, task: str, action: str, rng: random.Random, think: bool) -> str:
    before = f"<think>{thought(name, task, action, rng)}</think>\n" if think else ""
    return f"{before}<action>{action}</action>"


def _base(env: Any) -> Any:
    return env.unwrapped
