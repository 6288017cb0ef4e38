"""How fast Sokoban is here, in numbers, and beside the originals in the same run where they are there.

Rooms are 6 x 6 cells with 2 boxes, unless it says otherwise. A step is a random move, in episodes of at most 30 turns,
each in a room that was not shown before.
"""

import random
import statistics
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import cycle
from time import process_time
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.bench import Measure, rate, repeated
from rollback_gym.core.errors import DataError, MissingExtra
from rollback_gym.core.stack import restore, snapshot
from rollback_gym.envs.sokoban.generator import Recipe, make_board
from rollback_gym.envs.sokoban.originals import GymSokoban, Original, RetroAgent
from rollback_gym.envs.sokoban.rules import Rules
from rollback_gym.envs.sokoban.seeds import Ids
from rollback_gym.envs.sokoban.text import LAYOUTS
from rollback_gym.envs.sokoban.types import WORDS, Level
from rollback_gym.registration import SOKOBAN

_TURNS = 30
_DEAD = 100
_SMALL = Recipe("ragen", 6, 6, 2, 20, 100)
_LARGE = Recipe("ragen", 10, 10, 4, 34, 100)
_RULES = Rules(LAYOUTS["rows"].describe)
_SECONDS = 1.0
"""How long each is measured."""
_LEVELS = 1_000
_ROOMS = 20
"""Of 10 x 10 cells."""
_CALLS = 2_000


class _Subject(NamedTuple):
    """What is measured."""

    env: gym.Env[Any, Any]
    seeds: Iterator[int]
    """Of rooms; none comes twice in a run, since rooms are kept for a while."""
    rng: random.Random
    levels: list[Level]


def measures(
    data: str | None, games: int, seed: int, split: str | None = None, original: str | None = None
) -> Iterator[Measure]:
    """Measure one thing after the other, in less than a minute.

    Args:
        data: None: the rooms are made here.
        games: How many episodes each original plays in a batch.
        seed: Chooses the moves.
        split: Which rooms; `train` by default.
        original: A checkout of RetroAgent, to be measured beside gym-sokoban, which is measured where it is installed.

    Raises:
        DataError: if there is no such split, or no original at that path.
        MissingExtra: if an original is given, and gym-sokoban, on which it is built, is not installed.
    """
    if data is not None:
        raise DataError("The rooms that are measured are made here; leave --data out.")
    (of_split,) = Ids(split or "train").splits.values()
    seeds = cycle(of_split)
    rivals = list(_rivals(original)) if games else []
    env = gym.make(SOKOBAN, split=split or "train", disable_env_checker=True)
    levels = [_level(_SMALL, next(seeds)) for _ in range(_LEVELS)]
    subject = _Subject(env, seeds, random.Random(f"bench {seed}"), levels)
    yield (step := _stepping(subject))
    yield from _more_steps(subject)
    value = rate(lambda: _resets(subject), _SECONDS)
    yield (reset := Measure("reset", value, "resets/s", note="through gym.make, of rooms that were not made before"))
    yield from _going_back(subject)
    yield from _oracle(subject)
    yield from _large(subject)
    for name, rival in rivals:
        about = f"through gym.make, beside {name} by itself"
        reference = rate(lambda: _original_steps(rival, subject, games), _SECONDS)  # noqa: B023
        yield Measure(f"step, beside {name}", step.value, "steps/s", reference, about)
        reference = rate(lambda: repeated(lambda: rival.reset(next(seeds)), games), _SECONDS)  # noqa: B023
        yield Measure(f"reset, beside {name}", reset.value, "resets/s", reference, about)


def reference_missing(original: str | None = None) -> str | None:
    """What there is not to compare with; None where both originals are there."""
    missing = [] if original is not None else ["RetroAgent's: pass a checkout of it as --original"]
    try:
        GymSokoban()
    except MissingExtra as error:
        missing.append(str(error).rstrip("."))
    return "; ".join(missing) or None


def _level(recipe: Recipe, seed: int) -> Level:
    board = make_board(recipe, seed, 1000)
    return Level(f"train/{seed}", tuple(recipe), recipe.height, recipe.width, *board)


def _stepping(subject: _Subject) -> Measure:
    value = rate(lambda: _steps(subject, tables_first=True), _SECONDS)
    return Measure("step", value, "steps/s", note="through gym.make, with history and dead ends; the table was built")


def _more_steps(subject: _Subject) -> Iterator[Measure]:
    value = rate(lambda: _steps(subject, tables_first=False), _SECONDS)
    yield Measure("step, new rooms", value, "steps/s", note="the same, and each room's table is built on the way")
    some = cycle(subject.levels[first : first + 50] for first in range(0, len(subject.levels), 50))
    value = rate(lambda: _simulator(next(some), subject.rng), _SECONDS)
    about = "with text, admissible actions, and whether it is a dead end; the table was built"
    yield Measure("step, simulator", value, "steps/s", note=about)


def _steps(subject: _Subject, tables_first: bool) -> tuple[int, float]:
    from rollback_gym.oracles.sokoban import distance

    env, base = subject.env, subject.env.unwrapped
    done, spent = 0, 0.0
    for _ in range(20):
        env.reset(seed=next(subject.seeds))
        if tables_first:
            distance(base.level, base.state)  # type: ignore[attr-defined]
        coming = subject.rng.choices(WORDS, k=_TURNS)
        start = process_time()
        for move in coming:
            _, _, terminated, truncated, _ = env.step(move)
            done += 1
            if terminated or truncated:
                break
        spent += process_time() - start
    return done, spent


def _simulator(levels: list[Level], rng: random.Random) -> tuple[int, float]:
    from rollback_gym.oracles.sokoban import distance

    step, actions, begin = _RULES.step, _RULES.actions, _RULES.begin
    done, spent = 0, 0.0
    for level in levels:
        level.memo.clear()
        distance(level, level.start)
        coming = rng.choices(WORDS, k=_TURNS)
        start = process_time()
        state, _ = begin(level)
        for move in coming:
            state, _, won, _, _, _ = step(level, state, move)
            actions(level, state)
            done += 1
            if won or distance(level, state) > _DEAD:
                break
        spent += process_time() - start
    return done, spent


def _resets(subject: _Subject) -> tuple[int, float]:
    return repeated(lambda: subject.env.reset(seed=next(subject.seeds)), 50)


def _going_back(subject: _Subject) -> Iterator[Measure]:
    """Amid an episode."""
    env, base, state = subject.env, subject.env.unwrapped, subject.levels[0].start
    env.reset(seed=next(subject.seeds))
    for move in ("left", "up", "right"):
        env.step(move)

    def both() -> None:
        restore(env, snapshot(env))

    def game() -> None:
        base.restore(base.snapshot())  # type: ignore[attr-defined]

    def states() -> tuple[int, float]:
        pairs = 100 * _CALLS
        start = process_time()
        for _ in range(pairs):
            kept = state
            _ = kept
        return pairs, process_time() - start

    value = rate(lambda: repeated(both, _CALLS), _SECONDS)
    yield Measure("snapshot and restore", value, "pairs/s", note="rollback_gym.snapshot(env), and back: every wrapper")
    value = rate(lambda: repeated(game, _CALLS), _SECONDS)
    yield Measure("snapshot and restore, game", value, "pairs/s", note="env.unwrapped.snapshot(), and back")
    about = "of the simulator: a state is a value, to keep one is to name it"
    yield Measure("snapshot and restore, state", rate(states, _SECONDS), "pairs/s", note=about)


def _oracle(subject: _Subject) -> Iterator[Measure]:
    from rollback_gym.oracles.sokoban import distance, solve

    def distances() -> tuple[int, float]:
        """Of every state on some walks."""
        done, spent = 0, 0.0
        for level in subject.levels[:5]:
            states = [level.start]
            for move in subject.rng.choices(WORDS, k=1000):
                states.append(_RULES.step(level, states[-1], move).state)
            distance(level, level.start)
            start = process_time()
            for state in states:
                distance(level, state)
            done, spent = done + len(states), spent + process_time() - start
        return done, spent

    yield Measure("L(s)", rate(distances, _SECONDS), "look-ups/s", note="on random walks; the room's table was built")
    times = [repeated(lambda: solve(level), 1)[1] for level in subject.levels]  # noqa: B023
    about = f"all that L(s) needs to know of a room; of {len(times):,} rooms"
    yield Measure("table, median", statistics.median(times), "s", note=about)
    yield Measure("table, mean", statistics.fmean(times), "s", note=about)


def _large(subject: _Subject) -> Iterator[Measure]:
    from rollback_gym.oracles.sokoban import solve

    made = [_level(_LARGE, next(subject.seeds))]
    solve(made[0])  # compiles, where numba is installed
    resets = [repeated(lambda: made.append(_level(_LARGE, next(subject.seeds))), 1)[1] for _ in range(_ROOMS)]
    tables = [repeated(lambda: solve(level), 1)[1] for level in made[1:]]  # noqa: B023
    extra = "with numba" if find_spec("numba") else "without numba: pip install 'rollback-gym[fast]' for less"
    about = f"10 x 10 cells, 4 boxes; mean of {_ROOMS} rooms, {extra}"
    yield Measure("room of 10 x 10", statistics.fmean(resets), "s", note=about)
    yield Measure("table of 10 x 10", statistics.fmean(tables), "s", note=about)


# --- The originals -------------------------------------------------------------------------------------------------


def _rivals(original: str | None) -> Iterator[tuple[str, Original]]:
    if original is not None:
        yield "RetroAgent's", RetroAgent(original, max_turns=_TURNS)
    with suppress(MissingExtra):
        yield "gym-sokoban", GymSokoban(size=6, boxes=2, max_turns=_TURNS)


def _original_steps(rival: Original, subject: _Subject, games: int) -> tuple[int, float]:
    done, spent = 0, 0.0
    for seed in range(games):
        rival.reset(seed)
        coming = subject.rng.choices(WORDS, k=_TURNS)
        start = process_time()
        for move in coming:
            done += 1
            if rival.step(move).done:
                break
        spent += process_time() - start
    return done, spent
