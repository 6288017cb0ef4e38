"""How fast MineSweeper is here, in numbers, and beside the original in the same run where one is given."""

import random
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium as gym

from rollback_gym.core.stack import restore, snapshot
from rollback_gym.envs.minesweeper import rules
from rollback_gym.envs.minesweeper.fidelity import load_original
from rollback_gym.envs.minesweeper.generator import Setup, generate
from rollback_gym.envs.minesweeper.types import Level

_CAP = 15


def measure(seconds: float = 1.0, original: str | Path | None = None) -> dict[str, float]:
    """Figures for 6 x 6 cells and 3 mines, each measured for about `seconds`.

    A step is a click on a random cell, in episodes of at most 15 turns; the resets between them are not counted.

    Args:
        seconds: How long to measure each.
        original: A checkout of RetroAgent, to measure its steps and resets too.

    Returns:
        `simulator_steps_per_s` (with text), `environment_steps_per_s` (`gym.make`, with history and admissible
        actions), `levels_per_s` (a board from a seed, with its text), `resets_per_s` (through `gym.make`),
        `snapshot_pairs_per_s` (taken and restored, through `gym.make`), `distance_us`, `belief_us_median`,
        `belief_us_mean`; and with the original `original_steps_per_s`, `original_resets_per_s`.
    """
    setup = Setup()
    levels = [generate(setup, seed) for seed in range(2000)]
    clicks = random.Random(0).choices(levels[0].grid.clicks, k=50_000)
    figures = {
        "simulator_steps_per_s": _rate(lambda n: _simulator(levels, clicks, n), seconds, 5000),
        "environment_steps_per_s": _environment_steps(clicks, seconds),
        "levels_per_s": _rate(lambda n: [rules.begin(generate(setup, seed)) for seed in range(n)], seconds, 1000),
        "resets_per_s": _rate(_resets, seconds, 1000),
        "snapshot_pairs_per_s": _rate(_snapshots, seconds, 5000),
        "distance_us": 1e6 / _rate(lambda n: _distances(levels, n), seconds, 20_000),
        **_belief(levels, seconds),
    }
    if original is not None:
        game = load_original(original).game(board_size=setup.rows, n_mines=setup.mines, board_type="board")
        figures["original_steps_per_s"] = _original_steps(game, seconds)
        figures["original_resets_per_s"] = _rate(lambda n: [game.reset(seed) for seed in range(n)], seconds, 200)
    return figures


def _rate(do: Callable[[int], Any], seconds: float, batch: int) -> float:
    """How many a second: the best of several batches of about `seconds` in all, after one to warm up."""
    do(batch)
    rates: list[float] = []
    end = perf_counter() + seconds
    while not rates or perf_counter() < end:
        start = perf_counter()
        do(batch)
        rates.append(batch / (perf_counter() - start))
    return max(rates)


def _simulator(levels: list[Level], clicks: list[str], steps: int) -> None:
    begin, step, done = rules.begin, rules.step, 0
    while True:
        for level in levels:
            state, _ = begin(level)
            for _ in range(_CAP):
                state, _, over, _, _, _ = step(level, state, clicks[done])
                done += 1
                if done == steps:
                    return
                if over:
                    break


def _environment_steps(clicks: list[str], seconds: float) -> float:
    env = gym.make("Rollback-MineSweeper-v0", disable_env_checker=True)

    def episode(seed: int) -> tuple[int, float]:
        env.reset(seed=seed)
        step, at = env.step, _CAP * seed % (len(clicks) - _CAP)
        done, start = 0, perf_counter()
        for click in clicks[at : at + _CAP]:
            _, _, terminated, truncated, _ = step(click)
            done += 1
            if terminated or truncated:
                break
        return done, perf_counter() - start

    return _best_of_batches(episode, seconds)


def _resets(resets: int) -> None:
    env = gym.make("Rollback-MineSweeper-v0", disable_env_checker=True)
    env.reset(seed=0)
    for _ in range(resets):
        env.reset()


def _snapshots(pairs: int) -> None:
    env = gym.make("Rollback-MineSweeper-v0", disable_env_checker=True)
    env.reset(seed=0)
    for _ in range(pairs):
        restore(env, snapshot(env))


def _distances(levels: list[Level], asked: int) -> None:
    from rollback_gym.oracles.minesweeper import distance

    for at in range(asked):
        level = levels[at % len(levels)]
        distance(level, level.start)


def _belief(levels: list[Level], seconds: float) -> dict[str, float]:
    """At every decision of a player of least risk; nothing is asked twice."""
    from rollback_gym.oracles.minesweeper_belief import posterior, view

    times: list[float] = []
    end = perf_counter() + seconds
    for level in levels:
        state, over = level.start, False
        while not over:
            seen = view(level, state)
            start = perf_counter()
            known = posterior.__wrapped__(seen)
            times.append(perf_counter() - start)
            state, _, over, _, _, _ = rules.step(level, state, known.least_risky[0])
        if perf_counter() > end:
            break
    return {"belief_us_median": 1e6 * statistics.median(times), "belief_us_mean": 1e6 * statistics.fmean(times)}


def _original_steps(game: Any, seconds: float) -> float:
    rng = random.Random(0)
    size = game.board_size
    moves = [(rng.randrange(1, size + 1), rng.randrange(1, size + 1)) for _ in range(10_000)]

    def episode(seed: int) -> tuple[int, float]:
        game.reset(seed)
        step, at = game.step, _CAP * seed % (len(moves) - _CAP)
        done, start = 0, perf_counter()
        for row, column in moves[at : at + _CAP]:
            _, _, over, _ = step("L", row, column)
            done += 1
            if over:
                break
        return done, perf_counter() - start

    return _best_of_batches(episode, seconds)


def _best_of_batches(episode: Callable[[int], tuple[int, float]], seconds: float) -> float:
    """Steps a second in the best of several batches; `episode(seed)` gives its steps and the time they took."""
    rates: list[float] = []
    end = perf_counter() + seconds
    while not rates or perf_counter() < end:
        episodes = [episode(len(rates) * 200 + number) for number in range(200)]
        rates.append(sum(done for done, _ in episodes) / sum(spent for _, spent in episodes))
    return max(rates)
