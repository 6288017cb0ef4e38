"""How fast WebShop is here, in numbers, and beside the original in the same run where one is given.

A step is one of a mixed random walk: searches, results and their pages, items, sub-pages, options, and purchases. Walks
are of at most 15 steps, and were taken once before, unless it says "new".
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle
from time import perf_counter, process_time
from typing import Any

import gymnasium as gym

from rollback_gym.bench import Measure, percentile, rate, repeated, resident
from rollback_gym.core.stack import restore, snapshot
from rollback_gym.envs.webshop.env import numbers_of, open_all
from rollback_gym.envs.webshop.goals import Goals
from rollback_gym.envs.webshop.original import Original
from rollback_gym.envs.webshop.reward import worth
from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.registration import WEBSHOP

_SECONDS = 1.0
"""How long each is measured."""
_LIVE = 1_000
_WALKS = 200
_STEPS = 15
_CALLS = 20_000
_BATCH = 2_000
"""Steps in a batch."""
_RULES = WebShopRules()

_FIRST_MAKE = """
import sys, time
import gymnasium as gym
import rollback_gym
start = time.perf_counter()
env = gym.make(sys.argv[1], data=sys.argv[2] or None, disable_env_checker=True)
env.reset(seed=0)
env.step("search[red shoes]")
print(time.perf_counter() - start)
"""

Walk = tuple[int, tuple[str, ...]]
"""A goal's number, and actions."""


def measures(
    data: str | None, games: int, seed: int, split: str | None = None, original: str | None = None
) -> Iterator[Measure]:
    """Measure one thing after the other; with the embedded catalogue in less than a minute.

    Args:
        data: Where the official files are, as in the environment; None for the catalogue that is made here.
        games: How many of the walks the original takes as well, where it is given.
        seed: Chooses the goals, and the walks.
        split: Which goals; all by default.
        original: A checkout of WebShop (see `original`); its search engine is replaced by our ranking, so that its
            searches come out faster than they are.

    Raises:
        DataError: if there are no such goals, or no original at that path.
        MissingExtra: if something that the original needs is not installed.
    """
    goals = open_all(data, None, "synthetic", None, None)
    rng = random.Random(f"bench {seed}")
    numbers = numbers_of(goals, "webshop", split or "all")
    theirs = Original(original, goals.shop.catalogue) if original is not None and games else None
    yield from _first_make(data)
    yield from _memory(data)
    walks = [_walk(goals, number, rng) for number in rng.sample(numbers, min(_WALKS, len(numbers)))]
    env = gym.make(WEBSHOP, data=data, disable_env_checker=True)
    stepping = resetting = None
    if theirs is not None:
        stepping, resetting = _original(theirs, walks[:games])
    value = rate(lambda: _simulator(goals, walks), _SECONDS)
    yield Measure("step, simulator", value, "steps/s", note=f"on {len(walks)} walks, resets included")
    value = rate(lambda: _environment(env, walks), _SECONDS)
    about = "through gym.make, with history and admissible actions"
    if theirs is not None:
        about += f"; the original on {min(games, len(walks))} of the walks, with our ranking for its search engine"
    yield Measure("step", value, "steps/s", stepping, about)
    yield _new_searches(goals, rng)
    value = rate(lambda: repeated(env.reset, _BATCH), _SECONDS)
    yield Measure("reset", value, "resets/s", resetting, "through gym.make, to goals at random")
    yield from _going_back(env)
    value = rate(lambda: _purchases(goals, rng), _SECONDS)
    yield Measure("reward", 1 / value, "s", note="what a purchase is worth, measured anew")
    yield from _oracle(goals, walks)


def reference_missing(original: str | None = None) -> str | None:
    """Why there is nothing to compare with; None where an original is given."""
    if original is not None:
        return None
    return "pass a checkout of WebShop, the folder that holds web_agent_site, as --original"


def _first_make(data: str | None) -> Iterator[Measure]:
    """In processes of their own: what one process has read, it keeps."""
    with tempfile.TemporaryDirectory(prefix="rollback-gym-") as folder:
        for name, about in (
            ("first gym.make", "in a new process, nothing in the cache; with a reset and a search"),
            ("first gym.make, cached", "the same once more"),
        ):
            command = [sys.executable, "-c", _FIRST_MAKE, WEBSHOP, data or ""]
            environment = {**os.environ, "ROLLBACK_GYM_CACHE": folder}
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            yield Measure(name, float(done.stdout), "s", note=about)


def _memory(data: str | None) -> Iterator[Measure]:
    before = resident()
    live = [gym.make(WEBSHOP, data=data, disable_env_checker=True) for _ in range(_LIVE)]
    for env in live:
        env.reset(seed=0)
        env.step("search[red shoes]")
    after = resident()
    if before is not None and after is not None:
        about = "each after a step; what they share is counted where this process had not read it before"
        yield Measure(f"{len(live):,} live environments", (after - before) / 1e6, "MB", note=about)


def _walk(goals: Goals, number: int, rng: random.Random) -> Walk:
    """A random walk that searches for something and buys something in the end."""
    level = goals.level(number)
    state, _ = _RULES.begin(level)
    taken: list[str] = []
    while len(taken) < _STEPS and state.kind != "done":
        clicks = [click for click in _RULES.actions(level, state) if click.startswith("click[")]
        forward = [click for click in clicks if click != "click[buy now]" or len(taken) > _STEPS // 2]
        if state.kind == "search" or rng.random() < 0.1:
            product = rng.choice(goals.shop.catalogue.products)
            taken.append(f"search[{' '.join(product.title.split()[:6])}]")
        else:
            taken.append(rng.choice(forward[1:] if rng.random() < 0.9 else forward))
        state = _RULES.step(level, state, taken[-1]).state
    return number, tuple(taken)


def _simulator(goals: Goals, walks: list[Walk]) -> tuple[int, float]:
    step, done, start = _RULES.step, 0, process_time()
    for number, walk in cycle(walks):
        level = goals.level(number)
        state, _ = _RULES.begin(level)
        for action in walk:
            state = step(level, state, action)[0]
        done += len(walk)
        if done >= _BATCH:
            break
    return done, process_time() - start


def _environment(env: gym.Env[Any, Any], walks: list[Walk]) -> tuple[int, float]:
    """The resets between are not counted."""
    done, spent = 0, 0.0
    for number, walk in cycle(walks):
        env.reset(options={"level": number})
        start = process_time()
        for action in walk:
            env.step(action)
        spent += process_time() - start
        done += len(walk)
        if done >= _BATCH:
            break
    return done, spent


def _new_searches(goals: Goals, rng: random.Random) -> Measure:
    level = goals.level(0)
    words = [word for product in goals.shop.catalogue.products[:1000] for word in product.title.split()]
    state, _ = _RULES.begin(level)

    def searches() -> tuple[int, float]:
        queries = [f"search[{' '.join(rng.choices(words, k=6))}]" for _ in range(200)]
        start = process_time()
        for query in queries:
            _RULES.step(level, state, query)
        return len(queries), process_time() - start

    about = "of the simulator; six words of titles at random, never searched for before"
    return Measure("new search", rate(searches, _SECONDS), "steps/s", note=about)


def _purchases(goals: Goals, rng: random.Random) -> tuple[int, float]:
    level = goals.level(0)
    products = rng.choices(goals.shop.catalogue.products, k=500)
    bought = [(product, [rng.choice(values) for _, values in product.options if values]) for product in products]
    start = process_time()
    for product, options in bought:
        worth(level, product, options)
    return len(bought), process_time() - start


def _going_back(env: gym.Env[Any, Any]) -> Iterator[Measure]:
    env.reset(options={"level": 0})
    env.step("search[red shoes]")
    base = env.unwrapped

    def both() -> None:
        restore(env, snapshot(env))

    value = 1 / rate(lambda: repeated(base.snapshot, _CALLS), _SECONDS)  # type: ignore[attr-defined]
    yield Measure("snapshot, game", value, "s", note="env.unwrapped.snapshot()")
    value = 1 / rate(lambda: repeated(lambda: snapshot(env), _CALLS), _SECONDS)
    yield Measure("snapshot, all", value, "s", note="rollback_gym.snapshot(env): with the history, and every wrapper")
    value = 1 / rate(lambda: repeated(both, _CALLS // 4), _SECONDS)
    yield Measure("snapshot and restore", value, "s", note="rollback_gym.snapshot(env), and back")


def _oracle(goals: Goals, walks: list[Walk]) -> Iterator[Measure]:
    from rollback_gym.oracles.webshop import for_simulator

    oracle = for_simulator(_RULES)
    lengths, choices = list[float](), list[float]()
    for number, walk in walks:
        level = goals.level(number)
        state, _ = _RULES.begin(level)
        states = [state]
        for action in walk:
            states.append(_RULES.step(level, states[-1], action).state)
        for state in dict.fromkeys(states):
            for ask, times in ((oracle.distance, lengths), (oracle.optimal_actions, choices)):
                for key in [key for key in level.memo if isinstance(key, tuple) and "oracle" in key]:
                    del level.memo[key]
                start = perf_counter()
                ask(level, state)
                times.append(perf_counter() - start)
    about = f"of {len(lengths):,} distinct states on {len(walks)} walks, nothing remembered of the goal"
    for name, times in (("L(s)", lengths), ("optimal actions", choices)):
        yield Measure(f"{name}, median", statistics.median(times), "s", note=about)
        yield Measure(f"{name}, 99th percentile", percentile(times, 0.99), "s", note=about)


def _original(original: Original, walks: list[Walk]) -> tuple[float, float]:
    """Steps and resets a second, after three walks to warm up."""
    for number, walk in walks[:3]:
        original.reset(number)
        for action in walk:
            original.step(action)
    stepping = resetting = 0.0
    for number, walk in walks:
        start = process_time()
        original.reset(number)
        resetting += process_time() - start
        start = process_time()
        for action in walk:
            original.step(action)
        stepping += process_time() - start
    return sum(len(walk) for _, walk in walks) / stepping, len(walks) / resetting
