"""How fast WebShop is here, in numbers, and beside the original in the same run where one is given."""

import random
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium as gym

from rollback_gym.bench import resident
from rollback_gym.core.stack import snapshot
from rollback_gym.envs.webshop.env import open_all
from rollback_gym.envs.webshop.goals import Goals
from rollback_gym.envs.webshop.original import Original
from rollback_gym.envs.webshop.reward import worth
from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.registration import WEBSHOP

_LIVE = 1000
_WALKS = 200
_STEPS = 15

Walk = tuple[int, tuple[str, ...]]


def measure(seconds: float = 1.0, data: str | None = None, original: str | Path | None = None) -> dict[str, float]:
    """Figures for one process, each measured for about `seconds`.

    A step is one of a mixed random walk: searches, results and their pages, items, sub-pages, options, and purchases,
    over 200 goals, 15 steps each; those walks were taken once before unless it says "new".

    Args:
        seconds: How long to measure each.
        data: As in the environment.
        original: A checkout of WebShop (see `original`), to measure its steps and resets too, with our ranking in the
            place of its search engine, so that its searches come out faster than they are.

    Returns:
        `first_make_s` (the first `gym.make` of the process, and the first search), `environments_mb` (1,000
        environments, each after a step), `simulator_steps_per_s`, `environment_steps_per_s` (`gym.make`, with history
        and admissible actions), `new_searches_per_s` (each a query never asked before), `resets_per_s`, `snapshot_us`
        (of the game), `stack_snapshot_us` (`rollback_gym.snapshot`), `rewards_per_s` (each purchase measured anew);
        and with the original `original_steps_per_s`, `original_resets_per_s`.
    """
    start = perf_counter()
    env = gym.make(WEBSHOP, data=data, disable_env_checker=True)
    env.reset(seed=0)
    env.step("search[red shoes]")
    figures = {"first_make_s": perf_counter() - start, "environments_mb": _memory(data)}
    goals = open_all(data, None, "synthetic", None, None)
    rules = WebShopRules()
    walks = [_walk(rules, goals, number) for number in random.Random(0).sample(range(len(goals)), _WALKS)]
    take = env.unwrapped.snapshot  # type: ignore[attr-defined]
    figures |= {
        "simulator_steps_per_s": _rate(lambda n: _simulator(rules, goals, walks, n), seconds, 5000),
        "environment_steps_per_s": _rate(lambda n: _environment(env, walks, n), seconds, 2000),
        "new_searches_per_s": _new_searches(rules, goals, seconds),
        "resets_per_s": _rate(lambda n: [env.reset() for _ in range(n)], seconds, 2000),
        "snapshot_us": 1e6 / _rate(lambda n: [take() for _ in range(n)], seconds, 20_000),
        "stack_snapshot_us": 1e6 / _rate(lambda n: [snapshot(env) for _ in range(n)], seconds, 20_000),
        "rewards_per_s": _rate(lambda n: _rewards(goals, n), seconds, 500),
    }
    if original is not None:
        figures |= _original(Original(original, goals.shop.catalogue), walks, seconds)
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


def _walk(rules: WebShopRules, goals: Goals, number: int) -> Walk:
    """A random walk that searches for something and buys something in the end."""
    rng, level = random.Random(number), goals.level(number)
    state, _ = rules.begin(level)
    taken: list[str] = []
    while len(taken) < _STEPS and state.kind != "done":
        clicks = [click for click in rules.actions(level, state) if click.startswith("click[")]
        forward = [click for click in clicks if click != "click[buy now]" or len(taken) > _STEPS // 2]
        if state.kind == "search" or rng.random() < 0.1:
            product = rng.choice(goals.shop.catalogue.products)
            taken.append(f"search[{' '.join(product.title.split()[:6])}]")
        else:
            taken.append(rng.choice(forward[1:] if rng.random() < 0.9 else forward))
        state = rules.step(level, state, taken[-1]).state
    return number, tuple(taken)


def _simulator(rules: WebShopRules, goals: Goals, walks: list[Walk], steps: int) -> None:
    step, done = rules.step, 0
    for number, walk in cycle(walks):
        level = goals.level(number)
        state, _ = rules.begin(level)
        for action in walk:
            state = step(level, state, action)[0]
        done += len(walk)
        if done >= steps:
            return


def _environment(env: gym.Env[Any, Any], walks: list[Walk], steps: int) -> None:
    done = 0
    for number, walk in cycle(walks):
        env.reset(options={"level": number})
        for action in walk:
            env.step(action)
        done += len(walk)
        if done >= steps:
            return


def _new_searches(rules: WebShopRules, goals: Goals, seconds: float) -> float:
    rng, level = random.Random(1), goals.level(0)
    words = [word for product in goals.shop.catalogue.products[:1000] for word in product.title.split()]
    state, _ = rules.begin(level)
    queries = [f"search[{' '.join(rng.choices(words, k=6))}]" for _ in range(5000)]
    end, start, done = perf_counter() + seconds, perf_counter(), 0
    for query in queries:
        rules.step(level, state, query)
        done += 1
        if perf_counter() > end:
            break
    return done / (perf_counter() - start)


def _rewards(goals: Goals, purchases: int) -> None:
    rng = random.Random(2)
    level = goals.level(0)
    for product in rng.choices(goals.shop.catalogue.products, k=purchases):
        worth(level, product, [rng.choice(values) for _, values in product.options if values])


def _memory(data: str | None) -> float:
    before = resident()
    live = [gym.make(WEBSHOP, data=data, disable_env_checker=True) for _ in range(_LIVE)]
    for env in live:
        env.reset(seed=0)
        env.step("search[red shoes]")
    after = resident()
    return float("nan") if before is None or after is None else (after - before) / 1e6


def _original(original: Original, walks: list[Walk], seconds: float) -> dict[str, float]:
    done, spent, resets, resetting = 0, 0.0, 0, 0.0
    for warm in walks[:3]:
        original.reset(warm[0])
        for action in warm[1]:
            original.step(action)
    for number, walk in islice(cycle(walks), 10_000):
        start = perf_counter()
        original.reset(number)
        resetting += perf_counter() - start
        resets += 1
        start = perf_counter()
        for action in walk:
            original.step(action)
        spent += perf_counter() - start
        done += len(walk)
        if spent > seconds:
            break
    return {"original_steps_per_s": done / spent, "original_resets_per_s": resets / resetting}
