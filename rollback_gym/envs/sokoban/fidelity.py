"""Plays rooms here and in an original, side by side, and reports where they part."""

import random
from collections.abc import Iterable
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.envs.sokoban.originals import Answer, Original
from rollback_gym.envs.sokoban.types import WORDS
from rollback_gym.registration import SOKOBAN

SENTENCES = (
    "<think>along the wall</think><action>up</action>",
    "<think>a</think><action>setup: down</action>",
    "<think>a</think><action> LEFT </action>",
    "<action>go right, then left</action>",
    "<action>still</action>",
    "<action>dance</action>",
    "</action>up<action>down",
    "</action>up<action>down</action>",
    "<action>up</action><action>down</action>",
    "<ACTION>Right</ACTION>",
    "move the box up",
    "<action></action>",
    "",
)
"""What agents may say, for comparing the two projections."""


class Difference(NamedTuple):
    """The first thing in an episode that the two do not agree on."""

    seed: int
    turn: int
    """0 for the start."""
    action: str
    what: str
    """`text`, `reward`, `done` or `won`."""
    ours: Any
    theirs: Any


class Comparison(NamedTuple):
    """What was compared, and what came of it."""

    episodes: int
    steps: int
    won: int
    differences: tuple[Difference, ...]


def compare(original: Original, seeds: Iterable[int], *, max_turns: int = 30, **options: Any) -> Comparison:
    """Play the rooms of `seeds`, each to its end, by moves of which about half are optimal.

    Nothing depends on anything but the arguments.

    Args:
        original: What to compare with.
        seeds: The rooms.
        max_turns: The turn that ends an episode: in the original's runs, the loop around it does.
        options: What makes `Rollback-Sokoban-v0` the same environment.
    """
    env = gym.make(SOKOBAN, rollback=False, layout="rows", max_turns=max_turns, disable_env_checker=True, **options)
    episodes = steps = won = 0
    differences = []
    for seed in seeds:
        played, has_won, difference = _episode(env, original, seed, max_turns)
        episodes, steps, won = episodes + 1, steps + played, won + has_won
        if difference is not None:
            differences.append(difference)
    return Comparison(episodes, steps, won, tuple(differences))


def differing_rooms(original: Original, seeds: Iterable[int], **options: Any) -> list[int]:
    """The seeds that give another room here than in the original."""
    env = gym.make(SOKOBAN, rollback=False, layout="rows", disable_env_checker=True, **options)
    return [seed for seed in seeds if begin(env, seed) != original.reset(seed)]


def begin(env: gym.Env[Any, Any], seed: int) -> str:
    """The text of the room of a seed, whichever split it is in."""
    text: str = env.reset(options={"level": f"{'train' if seed < 2**16 - 1 else 'valid'}/{seed}"})[0]
    return text


def next_action(env: gym.Env[Any, Any], rng: random.Random) -> str:
    """A move, optimal about every other time; now and then none at all."""
    from rollback_gym.oracles import sokoban

    chance = rng.random()
    if chance < 0.05:
        return "still"
    base: Any = env.unwrapped
    best = sokoban.optimal_actions(base.level, base.state) if chance < 0.55 else ()
    return rng.choice(best or WORDS)


def _episode(
    env: gym.Env[Any, Any], original: Original, seed: int, max_turns: int
) -> tuple[int, bool, Difference | None]:
    rng = random.Random(f"{seed}")
    ours, theirs = begin(env, seed), original.reset(seed)
    if ours != theirs:
        return 0, False, Difference(seed, 0, "", "text", ours, theirs)
    for turn in range(1, max_turns + 1):
        action = next_action(env, rng)
        text, reward, terminated, truncated, info = env.step(action)
        mine = Answer(text, float(reward), terminated or truncated, info["won"])
        yours = original.step(action)
        yours = yours._replace(done=yours.done or turn == max_turns)
        for what, a, b in zip(Answer._fields, mine, yours, strict=True):
            if a != b:
                return turn, False, Difference(seed, turn, action, what, a, b)
        if mine.done:
            return turn, mine.won, None
    raise AssertionError("the last turn ends an episode")
