"""How fast ALFWorld is here, beside the genuine engine: the same games, the same run, one core.

Everything is measured through `gym.make`, with the history kept. Games are loaded and walked for the first time in the
process, so no cache is warm but what the game itself warmed. Ours and theirs take turns, game by game.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.bench import Measure, percentile, resident, seconds
from rollback_gym.core.errors import DataError
from rollback_gym.core.stack import restore, snapshot
from rollback_gym.envs.alfworld.data import Games, open_games
from rollback_gym.envs.alfworld.env import load_level
from rollback_gym.envs.alfworld.export import export
from rollback_gym.envs.alfworld.generator import game_ids, read
from rollback_gym.envs.alfworld.problem import read_content
from rollback_gym.envs.alfworld.textworld import TextWorldGame
from rollback_gym.oracles.lookup import for_env
from rollback_gym.registration import ALFWORLD

_STEPS = 50
_LIVE = 1_000
_PAIRS = 100_000
_RESETS = 10_000
_GAMES = 140
"""At most; as many as `valid_seen` has."""
_CALLS = 20_000
_MB = 1e6

Walk = tuple[str, ...]


class _Subject(NamedTuple):
    """What is measured."""

    env: gym.Env[Any, Any]
    data: str
    games: Games
    ids: tuple[str, ...]
    """In the order in which they are played."""
    genuine: frozenset[str]
    """The games that the genuine engine plays as well, spread evenly."""
    rng: random.Random


def measures(
    data: str | None, games: int, seed: int, split: str | None = None, original: str | None = None
) -> Iterator[Measure]:
    """Measure one thing after the other; with the genuine engine about 5 s a game, without it half a minute in all.

    Args:
        data: Where games are, as in the environment; None makes some, and reads them from a temporary folder.
        games: How many games the genuine engine plays as well, where it is installed.
        seed: Chooses the games that both play, and the walks.
        split: Which games; `valid_seen` by default.
        original: Not for ALFWorld, whose original is installed.

    Raises:
        DataError: if there are no such games, or `original` is given.
    """
    if original is not None:
        raise DataError("ALFWorld's original is an installed package, not a checkout; leave --original out.")
    split = split or "valid_seen"
    with tempfile.TemporaryDirectory(prefix="rollback-gym-") as folder:
        if data is None:
            data = folder
            for id in game_ids(split):
                target = Path(folder, id)
                target.parent.mkdir(parents=True)
                export(read(id), target)
        opened = open_games(data)
        assert opened is not None
        rng = random.Random(f"bench {seed}")
        ids = rng.sample(listed := opened.ids(split), min(len(listed), _GAMES))
        count = 0 if reference_missing() else min(games, len(ids))
        both = frozenset(ids[number * len(ids) // count] for number in range(count))
        env = gym.make(ALFWORLD, data=data, split=split, disable_env_checker=True)
        subject = _Subject(env, data, opened, tuple(ids), both, rng)
        # Memory first: what earlier measuring has freed would hide what is lost here.
        yield from _memory(subject)
        yield _loading(subject)
        yield (step := _stepping(subject))
        yield from _going_back(subject, step.value)
        yield from _oracle(subject)


def reference_missing(original: str | None = None) -> str | None:
    """Why there is nothing to compare with; None where the genuine engine is installed."""
    missing = [name for name in ("textworld", "alfworld") if find_spec(name) is None]
    if not missing:
        return None
    return f"{' and '.join(missing)} not installed: pip install 'rollback-gym[alfworld]'"


def _loading(subject: _Subject) -> Measure:
    ours, theirs = {}, {}
    load_level.cache_clear()
    for id in subject.ids:
        start = time.perf_counter()
        subject.env.reset(options={"level": id})
        ours[id] = time.perf_counter() - start
        if id in subject.genuine:
            start = time.perf_counter()
            game = TextWorldGame(read_content(subject.games.read(id), id))
            game.reset()
            theirs[id] = time.perf_counter() - start
            game.close()
    return _compared("load and reset", ours, theirs, "read the file, compile, first observation; every game once")


def _stepping(subject: _Subject) -> Measure:
    ours, theirs = {}, {}
    load_level.cache_clear()
    for id in subject.ids:
        walk, ours[id] = _walk(subject, id)
        if id in subject.genuine:
            theirs[id] = _genuine_walk(subject, id, walk)
    about = f"observation, admissible actions, reward, won; the first {_STEPS} random steps ever made in a game"
    return _compared("step", ours, theirs, about)


def _walk(subject: _Subject, id: str) -> tuple[Walk, float]:
    """A random walk through a game that was just loaded, and the mean time of its steps."""
    env, choice, clock = subject.env, subject.rng.choice, time.perf_counter
    _, info = env.reset(options={"level": id})
    walk, spent = [], 0.0
    for _ in range(_STEPS):
        action = choice(info["admissible_actions"])
        start = clock()
        _, _, terminated, truncated, info = env.step(action)
        spent += clock() - start
        walk.append(action)
        if terminated or truncated:
            break
    return tuple(walk), spent / len(walk)


def _genuine_walk(subject: _Subject, id: str, walk: Walk) -> float:
    """The mean time of the same steps in the genuine engine."""
    game = TextWorldGame(read_content(subject.games.read(id), id))
    game.reset()
    start = time.perf_counter()
    for action in walk:
        game.step(action)
    spent = time.perf_counter() - start
    game.close()
    return spent / len(walk)


def _compared(name: str, ours: dict[str, float], theirs: dict[str, float], about: str) -> Measure:
    """Medians over the games that both played; over all of ours where there is nothing to compare with."""
    everything = statistics.median(ours.values())
    if not theirs:
        return Measure(name, everything, "s", note=f"{about}; median of {len(ours)} games")
    both = statistics.median(ours[id] for id in theirs)
    note = f"{about}; medians of {len(theirs)} games (ours of all {len(ours)}: {everything * 1e6:,.1f} us)"
    return Measure(name, both, "s", statistics.median(theirs.values()), note)


def _going_back(subject: _Subject, step: float) -> Iterator[Measure]:
    env = subject.env
    _, info = env.reset(options={"level": subject.ids[0]})
    taken = []
    for turn in range(30):
        _, _, _, _, info = env.step(next(action for action in info["admissible_actions"] if action.startswith("go to")))
        if turn in (9, 29):
            taken.append(snapshot(env))
    base = env.unwrapped
    early, late = taken
    yield Measure("snapshot, game", seconds(base.snapshot, repeat=_CALLS), "s", note="env.unwrapped.snapshot()")  # type: ignore[attr-defined]
    yield Measure(
        "snapshot, all",
        seconds(lambda: snapshot(env), repeat=_CALLS),
        "s",
        note="rollback_gym.snapshot(env): with the history, and the counters of every wrapper",
    )

    def both() -> None:
        restore(env, early)
        restore(env, late)

    spent = seconds(both, repeat=_CALLS // 2) / 2
    note = f"rollback_gym.restore(env, s), with observation and info; {spent / step:.2f} of a step"
    yield Measure("restore", spent, "s", note=note)


def _oracle(subject: _Subject) -> Iterator[Measure]:
    env = subject.env
    oracle, base = for_env(env), env.unwrapped
    times = []
    for id in subject.ids:
        _, info = env.reset(options={"level": id})
        level = base.level  # type: ignore[attr-defined]
        states: dict[Any, None] = {}
        for _ in range(_STEPS):
            states[base.state] = None  # type: ignore[attr-defined]
            _, _, terminated, truncated, info = env.step(subject.rng.choice(info["admissible_actions"]))
            if terminated or truncated:
                break
        for state in states:
            level.memo.pop("oracle", None)  # everything that the oracle knows of the level
            start = time.perf_counter()
            oracle.distance(level, state)
            times.append(time.perf_counter() - start)
    about = f"of {len(times):,} distinct states on random walks through {len(subject.ids)} games, nothing remembered"
    yield Measure("L(s), median", statistics.median(times), "s", note=about)
    yield Measure("L(s), 99th percentile", percentile(times, 0.99), "s", note=about)


def _memory(subject: _Subject) -> Iterator[Measure]:
    env, id = subject.env, subject.ids[0]
    if resident() is None:
        return
    env.reset(options={"level": id})
    before = _resident()
    for turn in range(_PAIRS + 1_000):
        if turn == 1_000:
            before = _resident()
        restore(env, snapshot(env))
    growth = (_resident() - before) / _MB
    yield Measure(f"growth, {_PAIRS:,} pairs", growth, "MB", note="snapshot and restore, after 1,000 to warm up")

    rounds = -(-_RESETS // len(subject.ids)) + 1
    for number in range(rounds):
        if number == 1:
            before = _resident()
        for id in subject.ids:
            env.reset(options={"level": id})
    growth = (_resident() - before) / _MB
    resets = (rounds - 1) * len(subject.ids)
    yield Measure(f"growth, {resets:,} resets", growth, "MB", note="over all games in turn, after each was played once")

    def make() -> gym.Env[Any, Any]:
        made = gym.make(ALFWORLD, data=subject.data, level=id, disable_env_checker=True)
        made.reset()
        made.step("look")
        return made

    make()
    before = _resident()
    alive = [make() for _ in range(_LIVE)]
    yield Measure(f"{len(alive):,} live environments", (_resident() - before) / _MB, "MB", note="all on one game")


def _resident() -> int:
    held = resident()
    assert held is not None
    return held
