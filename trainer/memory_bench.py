"""How fast a memory of lessons is when it is full: `rollback-gym bench memory`.

As many lessons as a memory holds by default, of a thousand tasks, with the hashing encoder, in a file. What another
encoder takes to read a text comes on top.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from rollback_gym.bench import Measure, repeated
from rollback_gym.core.errors import DataError
from rollback_gym.trainer.encoders import HashingEncoder
from rollback_gym.trainer.lessons import Lesson
from rollback_gym.trainer.memory import Memory

_LESSONS = 100_000
_TASKS = 1_000
_CALLS = 50
_WORDS = 20
"""Of a lesson."""
_TRANSCRIPT = "[1] go to shelf 1 -> On the shelf 1, you see a mug 1.\n" * 20


def measures(
    data: str | None, games: int, seed: int, split: str | None = None, original: str | None = None
) -> Iterator[Measure]:
    """Measure one thing after the other; half a minute in all.

    Args:
        data: None, as `split` and `original`: lessons are made.
        games: Not used; nothing is compared.
        seed: Of the words.

    Raises:
        DataError: if there is something to read from, which nothing would.
    """
    if data or split or original:
        raise DataError("The lessons of this bench are made; leave --data, --split and --original out.")
    rng, encoder = random.Random(f"bench {seed}"), HashingEncoder()
    tasks = [f"put a {_some(rng, 2)} in the {_some(rng, 2)}" for _ in range(min(_TASKS, _LESSONS))]
    lessons = [
        Lesson(number + 1, tasks[number % len(tasks)], _some(rng, _WORDS), _TRANSCRIPT, "won", 0.5, 1, 0.0)
        for number in range(_LESSONS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lessons.sqlite"
        memory = Memory(encoder, path, capacity=_LESSONS + 10 * _CALLS)
        state = {"encoder": encoder.name, "lessons": lessons, "next": _LESSONS + 1, "pruned": []}
        yield _once("fill from a checkpoint", lambda: memory.resume(state), "every text is encoded, and all is written")
        numbers = count(1)
        yield _each(
            "add",
            lambda: memory.add(tasks[next(numbers) % len(tasks)], _some(rng, _WORDS), _TRANSCRIPT, "lost"),
            "to see whether it says what another does, and to write it",
        )
        yield _each("add what is known", lambda: memory.add(tasks[0], lessons[0].text, "", "won"), "which merges")
        yield _each("retrieve", lambda: memory.retrieve(rng.choice(tasks)), "the three best by SimUtil-UCB")
        yield _each(
            "retrieve, by outcome", lambda: memory.retrieve(rng.choice(tasks), outcome="lost"), "as for comparisons"
        )
        yield _each(
            "learn", lambda: memory.learn([(rng.randint(1, _LESSONS), 1.0) for _ in range(3)]), "of three lessons"
        )
        memory.close()
        size = path.stat().st_size
        yield Measure("file", size / 1e6, "MB", note=f"of {_LESSONS:,} lessons with a transcript each")
        yield _once("open", lambda: Memory(encoder, path, capacity=memory.capacity).close(), "and read all of it")


def reference_missing(original: str | None = None) -> str | None:
    """Nothing is compared."""
    return None


def _some(rng: random.Random, words: int) -> str:
    """Made-up words."""
    return " ".join("".join(rng.choices("abcdefghijklmnopqrst", k=5)) for _ in range(words))


def _each(name: str, do: Callable[[], object], note: str) -> Measure:
    times, spent = repeated(do, _CALLS)
    return Measure(name, spent / times, "s", note=f"{note}; {_LESSONS:,} lessons")


def _once(name: str, do: Callable[[], object], note: str) -> Measure:
    start = time.process_time()
    do()
    return Measure(name, time.process_time() - start, "s", note=f"{note}; {_LESSONS:,} lessons")
