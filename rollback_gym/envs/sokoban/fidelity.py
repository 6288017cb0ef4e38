"""Plays rooms here and in an original, side by side, and reports where they part."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import gymnasium as gym

from rollback_gym.envs.sokoban.originals import Answer, Original
from rollback_gym.envs.sokoban.types import WORDS
from rollback_gym.fidelity import Comparison, first_difference
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


def compare(
    original: Original, seeds: Iterable[int], seed: int = 0, *, max_turns: int = 30, **options: Any
) -> Iterator[Comparison]:
    """Play the rooms of `seeds`, each to its end, by moves of which about half are optimal.

    What is played depends on nothing but the arguments.

    Args:
        original: What to compare with.
        seeds: The rooms.
        seed: Chooses the moves.
        max_turns: The turn that ends an episode: in the original's runs, the loop around it does.
        options: What makes `Rollback-Sokoban-v0` the same environment.
    """
    env = gym.make(SOKOBAN, rollback=False, layout="rows", max_turns=max_turns, disable_env_checker=True, **options)
    for room in seeds:
        yield _play(env, original, room, max_turns, random.Random(f"{seed} {room}"))


def differing_rooms(original: Original, seeds: Iterable[int], **options: Any) -> list[int]:
    """The seeds that give another room here than in the original."""
    env = gym.make(SOKOBAN, rollback=False, layout="rows", disable_env_checker=True, **options)
    return [seed for seed in seeds if begin(env, seed) != original.reset(seed)]


def begin(env: gym.Env[Any, Any], seed: int) -> str:
    """The text of the room of a seed, whichever split it is in."""
    text: str = env.reset(options={"level": room_id(seed)})[0]
    return text


def room_id(seed: int) -> str:
    """The id of the room of a seed."""
    return f"{'train' if seed < 2**16 - 1 else 'valid'}/{seed}"


def next_action(env: gym.Env[Any, Any], rng: random.Random) -> str:
    """A move, optimal about every other time; now and then none at all."""
    from rollback_gym.oracles import sokoban

    chance = rng.random()
    if chance < 0.05:
        return "still"
    base: Any = env.unwrapped
    best = sokoban.optimal_actions(base.level, base.state) if chance < 0.55 else ()
    return rng.choice(best or WORDS)


def _play(env: gym.Env[Any, Any], original: Original, room: int, max_turns: int, rng: random.Random) -> Comparison:
    difference = first_difference(0, "", {"text": begin(env, room)}, {"text": original.reset(room)})
    turn, over, won = 0, False, False
    counts: Counter[str] = Counter()
    while not over and difference is None:
        turn += 1
        action = next_action(env, rng)
        text, reward, terminated, truncated, info = env.step(action)
        over, won = terminated or truncated, info["won"]
        theirs = original.step(action)
        theirs = theirs._replace(done=theirs.done or turn == max_turns)
        counts[action] += 1
        ours = Answer(text, float(reward), over, won)
        difference = first_difference(turn, action, ours._asdict(), theirs._asdict())
    return Comparison(room_id(room), turn, won, counts, difference)
