"""Data sets of the rollback curriculum, made by worker processes into one file.

A *unit* is some samples of one level; it follows from the recipe and its number alone, whichever worker makes it. Units
are written in their order, so the file does not depend on how many workers there are. While it is being made it has the
name `.NAME.part`, with a note of how far it is beside it; the same call goes on from there. The whole file is then
renamed, so that half a data set is never taken for one.

Levels are dealt to the splits by their goals: all levels that ask for the same (in ALFWorld the same kind of thing for
the same place, in WebShop the same product, in the grids the same board) are in the same split.
"""

import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import gymnasium as gym
from gymnasium import spaces

from rollback_gym.core.errors import DataError, OracleBudgetExceeded, RunStopped
from rollback_gym.play.pool import Done, work
from rollback_gym.play.prompts import Prompts, checked
from rollback_gym.play.run import made_by, make_env
from rollback_gym.registration import ALFWORLD, MINESWEEPER, SOKOBAN, WEBSHOP, levels
from rollback_gym.study.check import problems
from rollback_gym.study.draft import Standing, draft
from rollback_gym.study.inject import Kind, check_env, game_of
from rollback_gym.study.samples import Sample, Setting, line, perform, sample
from rollback_gym.study.scripts import BRANCH, LEVELS, Mixture, playable, scripts

SPLITS = {"train": 80, "eval": 10, "test": 10}
"""The splits of a data set, and how many goals of a hundred each gets."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    ALFWORLD: {},
    WEBSHOP: {"revive": True},
    SOKOBAN: {"revive": True},
    MINESWEEPER: {"revive": True, "flags": True},
}
"""How environments are made unless told otherwise: so that a lost game can go back; and in MineSweeper with flags,
without which no mistake but the last can be made."""

EASIER, SURPRISES = 0.2, 0.1
"""The share of easier samples of higher levels in level 1's training set, and of two-step surprises in its others."""

_LEAST, _MOST = 4, 64
"""How many samples of a level are made in a row."""
_UNITS = 8
"""Levels that a worker is given at once."""


class Recipe(NamedTuple):
    """All that decides what a data set holds."""

    level: int
    """Of the curriculum: 1, 2 or 3."""
    records: int
    env: str = ALFWORLD
    options: Mapping[str, Any] = {}
    """For `gym.make`, over `OPTIONS`."""
    split: str = "train"
    """Of the data set: `train`, `eval` or `test`."""
    seed: int = 0
    clean: float = 0.2
    """The share of episodes without a mistake."""
    easier: float | None = None
    """The share of easier samples of higher levels; None is `EASIER` in level 1's training set, else 0."""
    surprises: float | None = None
    """The share of two-step mistakes; None is `SURPRISES` in level 1's other sets, else 0."""
    kinds: tuple[Kind, ...] = tuple(Kind)
    prompts: Prompts = Prompts()
    reasons: bool = True
    """Whether a rollback says why."""
    searches: int = 0
    """How many places of ALFWorld are looked at in vain, at most; without it an agent knows where everything is."""
    fumbles: float = 0.0
    """The chance of a refused action before each right one; see `fumbles.py`. ALFWorld only."""
    notes: bool = False
    """Whether the thoughts are notes (`notes.py`), for models of a few layers. ALFWorld only."""

    @property
    def setting(self) -> Setting:
        """What its samples have in common."""
        made = made_by(self.env, {**OPTIONS.get(self.env.removeprefix("rollback_gym:"), {}), **self.options})
        return Setting(made, self.split, self.level, self.prompts)

    @property
    def mixture(self) -> Mixture:
        """Which scripts it is made of."""
        trained = self.split == "train"
        easier = EASIER if self.level == 1 and trained else 0.0
        surprises = SURPRISES if self.level == 1 and not trained else 0.0
        return Mixture(
            self.level,
            self.clean,
            easier if self.easier is None else self.easier,
            surprises if self.surprises is None else self.surprises,
            self.kinds,
            self.searches,
            self.fumbles,
        )


def check_recipe(recipe: Recipe) -> None:
    """Raise ValueError or TypeError where `recipe` asks for what there is not."""
    if recipe.level not in LEVELS:
        raise ValueError(f"level must be 1, 2 or 3, got {recipe.level!r}.")
    if recipe.records < 1:
        raise ValueError(f"records must be at least 1, got {recipe.records!r}.")
    if recipe.split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {recipe.split!r}.")
    if recipe.searches < 0:
        raise ValueError(f"searches must be at least 0, got {recipe.searches!r}.")
    mixture = recipe.mixture
    for name in ("clean", "easier", "surprises", "fumbles"):
        if not 0 <= getattr(mixture, name) <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {getattr(mixture, name)!r}.")
    if mixture.easier + mixture.surprises > 1:
        raise ValueError(f"easier and surprises must be 1 at most together, got {mixture.easier + mixture.surprises}.")
    checked(recipe.prompts)
    if not recipe.kinds:
        raise ValueError(f"kinds must be some of {', '.join(Kind)}, got none.")
    if recipe.level == BRANCH and Kind.INTENT not in recipe.kinds:
        raise ValueError(f"A wrong branch is a misread intent: level 3 needs the kind {Kind.INTENT}.")
    if "level" in recipe.options:
        raise ValueError("A data set is made of many levels; leave the option level out.")
    env = make_env(recipe.setting.env)
    check_env(env)
    if not isinstance(env.action_space, spaces.Text) or not isinstance(env.observation_space, spaces.Text):
        raise ValueError("The curriculum is told in text: leave out actions and observation.")
    check_habits(env, searches=recipe.searches, fumbles=recipe.fumbles, notes=recipe.notes, think=recipe.prompts.think)
    if recipe.notes and recipe.prompts.window is not None:
        raise ValueError("notes tell of everything that was read: leave out window.")


def check_habits(env: gym.Env[Any, Any], *, searches: int, fumbles: float, notes: bool, think: bool) -> None:
    """Raise ValueError where an agent in `env` cannot have these habits; see `Recipe`."""
    asked = {"searches": searches, "fumbles": fumbles, "notes": notes}
    for name, why in _ALFWORLD_ONLY.items():
        if asked[name] and env.get_wrapper_attr("name") != "alfworld":
            raise ValueError(f"{name} is for ALFWorld, {why}; leave it out for {env.spec.id if env.spec else env}.")
    if notes and not think:
        raise ValueError("notes are what is thought: they need think.")


_ALFWORLD_ONLY = {
    "searches": "where things have to be looked for",
    "fumbles": "whose commands they are",
    "notes": "whose texts they are read from",
}


# --- Levels and splits ----------------------------------------------------------------------------------------------


def split_of(name: str, level: Any) -> str:
    """The split of a data set that a level belongs to, by its goal; `name` is `SnapshotEnv.name`."""
    key = json.dumps([name, _goal(name, level)], ensure_ascii=False)
    number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") % 100
    for split, share in SPLITS.items():
        if number < share:
            return split
        number -= share
    raise AssertionError("the shares of the splits are 100 together")


def _goal(name: str, level: Any) -> Any:
    """What a level asks for."""
    if name == "alfworld":
        return list(level.goal)
    return level.goal.asin if name == "webshop" else level.digest


def _pool(recipe: Recipe) -> Sequence[str]:
    """The ids of the levels that the environment plays."""
    kwargs = recipe.setting.env.kwargs
    narrowing = ("data", "split", "task_types", "difficulty", "preset", "products", "goals")
    given = {name: kwargs[name] for name in narrowing if name in kwargs}
    return levels(recipe.env, **{"split": "train", **given})


# --- Making ---------------------------------------------------------------------------------------------------------


class Unit(NamedTuple):
    """Samples of one level."""

    level: str
    skipped: int
    """How many samples of this level were made before."""
    wanted: int


def maker(recipe: Recipe) -> Callable[[Sequence[Unit]], tuple[str, ...]]:
    """What a worker does: the lines of units, all but their `id`. Every one has been replayed."""
    made = recipe.setting.env
    env, again = make_env(made), make_env(made)

    def lines(units: Sequence[Unit]) -> tuple[str, ...]:
        return tuple([line(made) for unit in units for made in _unit(recipe, unit, env, again)])

    return lines


def _unit(recipe: Recipe, unit: Unit, env: gym.Env[Any, Any], again: gym.Env[Any, Any]) -> Iterator[Sample]:
    env.reset(seed=0, options={"level": unit.level})
    base = cast(Any, env.unwrapped)
    game, start = game_of(env), base.state
    if split_of(game.name, game.level) != recipe.split:
        return
    try:
        if not playable(game, start):
            return
        chance = random.Random(f"{recipe.seed} scripts {unit.level}")
        drawn = scripts(game, start, recipe.mixture, base.max_turns, chance)
        for number, script in enumerate(islice(drawn, unit.skipped, unit.skipped + unit.wanted), unit.skipped):
            if script is None:
                continue
            words = random.Random(f"{recipe.seed} words {unit.level} {number}")
            played = perform(
                env, game, script, words, think=recipe.prompts.think, reasons=recipe.reasons, notes=recipe.notes
            )
            if played is None or not played.won:
                continue  # the environment ended it early, see `perform`
            done = sample(recipe.setting, game, script, played)
            wrong = problems({**done, "id": ""}, again)
            if wrong:
                raise RunStopped(
                    f"A sample of level {unit.level} does not replay: {wrong[0]}. This is a bug; report it."
                )
            yield done
    except OracleBudgetExceeded:
        return  # too large to be judged exactly: no sample of it


def make(
    recipe: Recipe, out: str | os.PathLike[str], *, workers: int = 1, report: Callable[[int], None] = lambda done: None
) -> int:
    """Make the data set `out`, or go on with it; returns how many samples were made before.

    Args:
        recipe: What to make.
        out: The file, written over if it is there.
        workers: How many processes make it; 1 makes it in this one.
        report: Told how many samples there are, at the start and as they are made.

    Raises:
        ValueError: if `recipe` asks for what there is not; likewise TypeError, for its environment.
        DataError: if there are not as many different samples.
        RunMismatch: if the file was begun by another recipe, or is being made by another process.
        OSError: if it cannot be written.
    """
    check_recipe(recipe)
    with draft(Path(out), _plain(recipe)) as begun:
        there = begun.standing.records
        report(there)
        while begun.standing.records < recipe.records:
            for number, lines in _ordered(recipe, begun.standing, workers):
                begun.add(lines[: recipe.records - begun.standing.records], number + 1)
                report(begun.standing.records)
                if begun.standing.records == recipe.records:
                    break
            else:
                if begun.standing.records == begun.standing.at_round:
                    begun.discard()
                    raise DataError(
                        f"There are only {begun.standing.records} different samples here, not {recipe.records}. Ask "
                        "for fewer, or allow more levels, more kinds of mistakes, or other shares."
                    )
                begun.next_round()
        begun.finish()
    return there


def _ordered(recipe: Recipe, standing: Standing, workers: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """What the jobs that are left of a round made, with their numbers, in their order."""
    first = standing.jobs
    jobs = list(enumerate(_jobs(recipe, standing.round)))[first:]
    if workers == 1:
        do = _numbered(recipe)
        yield from map(do, jobs)
        return
    ready: dict[int, tuple[str, ...]] = {}
    working = work(_numbered, recipe, jobs, min(workers, len(jobs)))
    try:
        for finished in working:
            if not isinstance(finished, Done):
                raise RunStopped(finished.message)
            number, lines = finished.result
            ready[number] = lines
            while first in ready:
                yield first, ready.pop(first)
                first += 1
    finally:
        working.close()


def _numbered(recipe: Recipe) -> Callable[[tuple[int, Sequence[Unit]]], tuple[int, tuple[str, ...]]]:
    lines = maker(recipe)
    return lambda job: (job[0], lines(job[1]))


def _jobs(recipe: Recipe, round: int) -> Iterator[tuple[Unit, ...]]:
    """All levels once, in the order that the seed gives them; each with as many samples as should do."""
    pool = _pool(recipe)
    order = random.Random(f"{recipe.seed} levels").sample(range(len(pool)), len(pool))
    wanted = 1.3 * recipe.records * 100 / SPLITS[recipe.split] / len(pool)
    count = min(_MOST, max(_LEAST, int(wanted) + 1))
    units = (Unit(pool[place], round * count, count) for place in order)
    while job := tuple(islice(units, _UNITS)):
        yield job


def _plain(recipe: Recipe) -> dict[str, Any]:
    """`recipe` as plain values; equal iff the data sets are."""
    # Left out where they are not asked for: what was begun before there were any goes on.
    unused = [name for name in ("fumbles", "notes") if not getattr(recipe, name)]
    return {
        **{name: value for name, value in recipe._asdict().items() if name not in unused},
        "options": dict(recipe.setting.env.kwargs),
        "kinds": list(map(str, recipe.kinds)),
        "prompts": recipe.prompts._asdict(),
    }
