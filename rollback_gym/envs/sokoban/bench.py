"""How fast Sokoban is here, in numbers, and beside the originals in the same run where they are given.

Time is that of the process on its core, so that others on the machine count as little as they can.
"""

import random
import statistics
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import count, cycle
from pathlib import Path
from time import process_time
from typing import Any

import gymnasium as gym

from rollback_gym.core.errors import MissingExtra
from rollback_gym.core.stack import restore, snapshot
from rollback_gym.envs.sokoban.generator import Recipe, make_board
from rollback_gym.envs.sokoban.originals import GymSokoban, Original, RetroAgent
from rollback_gym.envs.sokoban.rules import Rules
from rollback_gym.envs.sokoban.text import LAYOUTS
from rollback_gym.envs.sokoban.types import WORDS, Level
from rollback_gym.registration import SOKOBAN

_TURNS = 30
_DEAD = 100
_TRAIN = 2**16 - 1
_SMALL = Recipe("ragen", 6, 6, 2, 20, 100)
_LARGE = Recipe("ragen", 10, 10, 4, 34, 100)
_RULES = Rules(LAYOUTS["rows"].describe)


def measure(seconds: float = 1.0, original: str | Path | None = None, *, large: int = 20) -> dict[str, float]:
    """Figures for 6 x 6 cells and 2 boxes, each measured for about `seconds`; and for some rooms of 10 x 10 and 4.

    A step is a random move, in episodes of at most 30 turns, each in a room that was not shown before.

    Args:
        seconds: How long to measure each.
        original: A checkout of RetroAgent, to measure its steps and resets too.
        large: How many rooms of 10 x 10 cells; 0 for none.

    Returns:
        `simulator_steps_per_s` (with text, admissible actions, and looking up whether it is a dead end);
        `environment_steps_per_s` (`gym.make`, with history and `DeadEnd`; the room's table is there) and
        `environment_steps_and_tables_per_s` (it is built on the way); `resets_per_s` (through `gym.make`, of rooms that
        were not made before); `snapshot_pairs_per_s` (taken and restored, of the stack that `gym.make` makes),
        `base_snapshot_pairs_per_s` (of the environment in it) and `state_pairs_per_s` (of the simulator: a state
        kept, and put back); `distances_per_s`, `table_ms_median`, `table_ms_mean`. With `large` also
        `large_reset_ms_mean`, `large_table_ms_mean`, and `accelerated`, 1.0 where numba is installed. Of
        `gym_sokoban_` where that is installed and of `original_` where it is given, `steps_per_s` and `resets_per_s`,
        and the ratio of ours to theirs, `steps_ratio` and `resets_ratio`.
    """
    levels = [_level(_SMALL, seed) for seed in range(1000)]
    some = cycle(levels[first : first + 50] for first in range(0, len(levels), 50))
    figures = {
        "simulator_steps_per_s": _rate(lambda: _simulator(next(some)), seconds),
        "environment_steps_per_s": _rate(lambda: _environment(tables_first=True), seconds),
        "environment_steps_and_tables_per_s": _rate(lambda: _environment(tables_first=False), seconds),
        "resets_per_s": _rate(_resets, seconds),
        "snapshot_pairs_per_s": _rate(_snapshots, seconds),
        "base_snapshot_pairs_per_s": _rate(_base_snapshots, seconds),
        "state_pairs_per_s": _rate(lambda: _states(levels[0]), seconds),
        "distances_per_s": _rate(lambda: _distances(levels), seconds),
        **_tables(levels),
    }
    if large:
        figures |= _large(large)
    for name, rival in _rivals(original):
        figures |= _beside(name, rival, figures, seconds)
    return figures


Batch = Callable[[], tuple[int, float]]
"""Does something some times, and returns how often and how long it took."""


def _rate(batch: Batch, seconds: float) -> float:
    """How many a second: the best of several batches of about `seconds` in all, after one to warm up."""
    batch()
    rates: list[float] = []
    end = process_time() + seconds
    while not rates or process_time() < end:
        done, spent = batch()
        rates.append(done / spent)
    return max(rates)


def _times(do: Callable[[], Any], times: int) -> tuple[int, float]:
    start = process_time()
    for _ in range(times):
        do()
    return times, process_time() - start


def _level(recipe: Recipe, seed: int) -> Level:
    board = make_board(recipe, seed, 1000)
    return Level(f"train/{seed}", tuple(recipe), recipe.height, recipe.width, *board)


def _simulator(levels: list[Level]) -> tuple[int, float]:
    from rollback_gym.oracles.sokoban import distance

    moves = random.Random(levels[0].id)
    step, actions, begin = _RULES.step, _RULES.actions, _RULES.begin
    done, spent = 0, 0.0
    for level in levels:
        level.memo.clear()
        distance(level, level.start)
        coming = moves.choices(WORDS, k=_TURNS)
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


def _env() -> Any:
    return gym.make(SOKOBAN, disable_env_checker=True)


_seeds = count()
"""Never the same twice: rooms are kept for a while."""


def _environment(tables_first: bool) -> tuple[int, float]:
    from rollback_gym.oracles.sokoban import distance

    env, moves = _env(), random.Random(0)
    done, spent = 0, 0.0
    for _ in range(20):
        env.reset(seed=next(_seeds) % _TRAIN)
        if tables_first:
            distance(env.unwrapped.level, env.unwrapped.state)
        coming = moves.choices(WORDS, k=_TURNS)
        start = process_time()
        for move in coming:
            _, _, terminated, truncated, _ = env.step(move)
            done += 1
            if terminated or truncated:
                break
        spent += process_time() - start
    return done, spent


def _resets() -> tuple[int, float]:
    env = _env()
    return _times(lambda: env.reset(seed=next(_seeds) % _TRAIN), 50)


def _snapshots() -> tuple[int, float]:
    env = _played()
    return _times(lambda: restore(env, snapshot(env)), 500)


def _base_snapshots() -> tuple[int, float]:
    base = _played().unwrapped
    return _times(lambda: base.restore(base.snapshot()), 500)


def _played() -> Any:
    """An environment amid an episode."""
    env = _env()
    env.reset(seed=0)
    for move in ("left", "up", "right"):
        env.step(move)
    return env


def _states(level: Level) -> tuple[int, float]:
    """A state is a value: to keep one is to name it."""
    state, pairs = level.start, 200_000
    start = process_time()
    for _ in range(pairs):
        kept = state
        state = kept
    return pairs, process_time() - start


def _distances(levels: list[Level]) -> tuple[int, float]:
    """Of every state on some walks."""
    from rollback_gym.oracles.sokoban import distance

    moves = random.Random(0)
    done, spent = 0, 0.0
    for level in levels[:5]:
        states = [level.start]
        for move in moves.choices(WORDS, k=1000):
            states.append(_RULES.step(level, states[-1], move).state)
        distance(level, level.start)
        start = process_time()
        for state in states:
            distance(level, state)
        done, spent = done + len(states), spent + process_time() - start
    return done, spent


def _tables(levels: list[Level]) -> dict[str, float]:
    from rollback_gym.oracles.sokoban import solve

    times = [1e3 * _times(lambda level=level: solve(level), 1)[1] for level in levels]  # type: ignore[misc]
    return {"table_ms_median": statistics.median(times), "table_ms_mean": statistics.fmean(times)}


def _large(rooms: int) -> dict[str, float]:
    from rollback_gym.oracles.sokoban import solve

    solve(_level(_LARGE, rooms))  # compiles, where numba is installed
    made: list[Level] = []
    resets = [1e3 * _times(lambda: made.append(_level(_LARGE, len(made))), 1)[1] for _ in range(rooms)]
    tables = [1e3 * _times(lambda level=level: solve(level), 1)[1] for level in made]  # type: ignore[misc]
    return {
        "large_reset_ms_mean": statistics.fmean(resets),
        "large_table_ms_mean": statistics.fmean(tables),
        "accelerated": float(find_spec("numba") is not None),
    }


# --- The originals -------------------------------------------------------------------------------------------------


def _rivals(original: str | Path | None) -> Iterator[tuple[str, Original]]:
    with suppress(MissingExtra):
        yield "gym_sokoban", GymSokoban(size=6, boxes=2, max_turns=_TURNS)
    if original is not None:
        yield "original", RetroAgent(original, max_turns=_TURNS)


def _beside(name: str, rival: Original, ours: dict[str, float], seconds: float) -> dict[str, float]:
    seeds = count()
    moves = random.Random(0)

    def steps() -> tuple[int, float]:
        done, spent = 0, 0.0
        for _ in range(5):
            rival.reset(next(seeds))
            start = process_time()
            for move in moves.choices(WORDS, k=_TURNS):
                done += 1
                if rival.step(move).done:
                    break
            spent += process_time() - start
        return done, spent

    steps_per_s = _rate(steps, seconds)
    resets_per_s = _rate(lambda: _times(lambda: rival.reset(next(seeds)), 20), seconds)
    return {
        f"{name}_steps_per_s": steps_per_s,
        f"{name}_resets_per_s": resets_per_s,
        f"{name}_steps_ratio": ours["environment_steps_per_s"] / steps_per_s,
        f"{name}_resets_ratio": ours["resets_per_s"] / resets_per_s,
    }
