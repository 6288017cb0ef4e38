"""How fast MineSweeper is here, in numbers, and beside the original in the same run where one is given.

Everything is 6 x 6 cells and 3 mines. A step is a click on a random cell, in episodes of at most 15 turns.
"""

import random
import statistics
from collections.abc import Iterator
from itertools import count
from time import perf_counter, process_time
from typing import Any

import gymnasium as gym

from rollback_gym.bench import Measure, percentile, rate, repeated
from rollback_gym.core.errors import DataError
from rollback_gym.core.stack import restore, snapshot
from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.fidelity import load_original
from rollback_gym.envs.minesweeper.generator import SPLITS, LevelIds, Setup, generate
from rollback_gym.envs.minesweeper.types import Level
from rollback_gym.registration import MINESWEEPER

_CAP = 15
_SECONDS = 1.0
"""How long each is measured."""
_LEVELS = 2_000
_BATCH = 5_000
"""Steps, or whatever else is counted, in a batch."""


def measures(
    data: str | None, games: int, seed: int, split: str | None = None, original: str | None = None
) -> Iterator[Measure]:
    """Measure one thing after the other; some 15 s in all.

    Args:
        data: None: boards come from seeds.
        games: How many episodes the original plays in each batch, where it is given.
        seed: Chooses the clicks.
        split: Which boards; `train` by default.
        original: A checkout of RetroAgent.

    Raises:
        DataError: if there is no such split, or no original at that path.
    """
    if data is not None:
        raise DataError("MineSweeper's boards come from seeds, not from data; leave --data out.")
    LevelIds(split)  # raises
    setup, first = Setup(), SPLITS[split or "train"].start
    theirs = None
    if original is not None and games:
        theirs = load_original(original).game(board_size=setup.rows, n_mines=setup.mines, board_type="board")
    levels = [generate(setup, first + number) for number in range(_LEVELS)]
    rng = random.Random(f"bench {seed}")
    clicks = rng.choices(levels[0].grid.clicks, k=50_000)
    env = gym.make(MINESWEEPER, split=split or "train", disable_env_checker=True)

    value = rate(lambda: _simulator(levels, clicks), _SECONDS)
    yield Measure("step, simulator", value, "steps/s", note="with text, resets between episodes included")
    value = rate(lambda: _environment(env, first, clicks), _SECONDS)
    reference = None if theirs is None else rate(lambda: _original(theirs, first, games, rng), _SECONDS)
    yield Measure("step", value, "steps/s", reference, "through gym.make, with history and admissible actions")
    seeds = count(first)
    value = rate(lambda: repeated(lambda: rules.begin(generate(setup, next(seeds))), 1_000), _SECONDS)
    yield Measure("board from a seed", value, "boards/s", note="with its text")
    env.reset(seed=first)
    value = rate(lambda: repeated(env.reset, 1_000), _SECONDS)
    reference = None if theirs is None else rate(lambda: repeated(lambda: theirs.reset(next(seeds)), 200), _SECONDS)
    yield Measure("reset", value, "resets/s", reference, "through gym.make, to a board that was not made before")
    value = rate(lambda: repeated(lambda: restore(env, snapshot(env)), _BATCH), _SECONDS)
    yield Measure("snapshot and restore", value, "pairs/s", note="rollback_gym.snapshot(env), and back")
    yield from _oracle(levels)


def reference_missing(original: str | None = None) -> str | None:
    """Why there is nothing to compare with; None where an original is given."""
    return None if original is not None else "pass a checkout of RetroAgent as --original"


def _simulator(levels: list[Level], clicks: list[str]) -> tuple[int, float]:
    begin, step, coming = rules.begin, rules.step, iter(clicks)
    done, start = 0, process_time()
    for level in levels:
        state, _ = begin(level)
        for click in (next(coming) for _ in range(_CAP)):
            state, _, over, _, _, _ = step(level, state, click)
            done += 1
            if over:
                break
        if done >= _BATCH:
            break
    return done, process_time() - start


def _environment(env: gym.Env[Any, Any], first: int, clicks: list[str]) -> tuple[int, float]:
    """The resets between are not counted."""
    done, spent = 0, 0.0
    for number in range(200):
        env.reset(seed=first + number)
        step, at = env.step, _CAP * number
        start = process_time()
        for click in clicks[at : at + _CAP]:
            _, _, terminated, truncated, _ = step(click)
            done += 1
            if terminated or truncated:
                break
        spent += process_time() - start
    return done, spent


def _original(game: Any, first: int, games: int, rng: random.Random) -> tuple[int, float]:
    size, done, spent = game.board_size, 0, 0.0
    for number in range(games):
        game.reset(first + number)
        moves = [(rng.randrange(1, size + 1), rng.randrange(1, size + 1)) for _ in range(_CAP)]
        start = process_time()
        for row, column in moves:
            _, _, over, _ = game.step("L", row, column)
            done += 1
            if over:
                break
        spent += process_time() - start
    return done, spent


def _oracle(levels: list[Level]) -> Iterator[Measure]:
    from rollback_gym.oracles.minesweeper import distance
    from rollback_gym.oracles.minesweeper_belief import posterior, view

    def distances() -> tuple[int, float]:
        start = process_time()
        for level in levels:
            distance(level, level.start)
        return len(levels), process_time() - start

    yield Measure("L(s)", 1 / rate(distances, _SECONDS), "s", note=f"of the starts of {len(levels):,} boards")

    times: list[float] = []
    end = process_time() + _SECONDS
    for level in levels:
        state, over = level.start, False
        while not over:
            seen = view(level, state)
            start = perf_counter()
            known = posterior.__wrapped__(seen)  # nothing is remembered
            times.append(perf_counter() - start)
            state, _, over, _, _, _ = rules.step(level, state, known.least_risky[0])
        if process_time() > end:
            break
    about = f"of {len(times):,} decisions of a player of least risk, nothing remembered"
    yield Measure("belief, median", statistics.median(times), "s", note=about)
    yield Measure("belief, mean", statistics.fmean(times), "s", note=about)
    yield Measure("belief, 99th percentile", percentile(times, 0.99), "s", note=about)
