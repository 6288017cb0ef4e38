"""Records games of the original Sokobans, and plays them again here.

`python -m tests.fidelity.sokoban PATH` plays RetroAgent's, from a checkout at PATH, and gym-sokoban's, which must be
installed; and writes what they said to `tests/playthroughs/original-sokoban.txt`, in about five minutes: a line for
each game, with its room, its actions, its end and a digest of all that was answered; and a line for each hundred rooms
with a digest of them. `tests/envs/sokoban/test_original.py` plays the same here.
"""

import hashlib
import os
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.envs.sokoban.fidelity import begin, next_action
from rollback_gym.envs.sokoban.originals import Answer, GymSokoban, Original, RetroAgent
from rollback_gym.registration import SOKOBAN

PATH = Path(__file__).parents[1] / "playthroughs" / "original-sokoban.txt"
ROOMS = 100
"""In a digest."""
_LETTERS = {"up": "u", "down": "d", "left": "l", "right": "r", "still": "."}
_ACTIONS = {letter: action for action, letter in _LETTERS.items()}


class Settings(NamedTuple):
    """What is played."""

    preset: str
    size: int
    boxes: int
    search_depth: int
    max_turns: int
    hash_seed: int

    def original(self, path: str) -> Original:
        """The original environment."""
        preset, size, boxes, search_depth, max_turns, hash_seed = self
        if preset == "gym-sokoban":
            return GymSokoban(size=size, boxes=boxes, max_turns=max_turns)
        # In a process with that PYTHONHASHSEED, its own hash decides.
        told = None if os.environ.get("PYTHONHASHSEED") == str(hash_seed) else hash_seed
        return RetroAgent(path, size=size, boxes=boxes, search_depth=search_depth, max_turns=max_turns, hash_seed=told)

    def options(self) -> dict[str, Any]:
        """What makes ours the same."""
        made = self._asdict()
        if self.preset == "gym-sokoban":
            del made["hash_seed"]
        else:
            made |= {"compat": "original", "dead_end": self.search_depth}
        return {**made, "layout": "rows", "rollback": False, "disable_env_checker": True}


RETROAGENT = Settings("retroagent", 6, 2, 100, 30, 0)
PLAYED = (
    (RETROAGENT, range(500)),
    (RETROAGENT, range(2**16, 2**16 + 40)),
    (RETROAGENT._replace(hash_seed=7), range(60)),
    (Settings("verl-agent", 6, 1, 30, 15, 0), range(60)),
    (Settings("retroagent", 7, 3, 40, 40, 0), range(20)),
    (Settings("gym-sokoban", 7, 2, 300, 60, 0), range(60)),
    (Settings("gym-sokoban", 10, 4, 300, 120, 0), range(3)),
)
"""Settings, and the seeds of the games."""
MADE = (
    (RETROAGENT, range(3000)),
    (RETROAGENT._replace(hash_seed=4294967295), range(500)),
    (Settings("ragen", 6, 1, 300, 100, 0), range(200)),
    (Settings("gym-sokoban", 7, 2, 300, 60, 0), range(200)),
)
"""Settings, and the seeds of the rooms."""


class Game(NamedTuple):
    """A game of an original."""

    settings: Settings
    seed: int
    room: str
    """The rows' symbols, rows apart by `/`."""
    actions: tuple[str, ...]
    end: str
    """`won`, `lost` or `cut`."""
    digest: str
    """Of all texts, rewards and endings."""


class Rooms(NamedTuple):
    """The rooms of `ROOMS` seeds."""

    settings: Settings
    first: int
    digest: str


def short(text: str) -> str:
    """A room's text without what every room has."""
    return "/".join(line.partition(": ")[2].replace(" ", "") for line in text.split("\n"))


def digest(parts: Iterable[object]) -> str:
    """A short hash of all parts, as they print."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]


def room_digest(texts: Iterable[str]) -> str:
    """Of rooms, by their texts."""
    return digest(map(short, texts))


def answered(answer: Answer) -> str:
    """An answer as a line."""
    return f"{short(answer.text)} {answer.reward!r} {answer.done} {answer.won}"


def play(settings: Settings, original: Original, seed: int) -> Game:
    """A game of the original; ours goes along, and says which moves are good."""
    env = gym.make(SOKOBAN, **settings.options())
    rng = random.Random(f"{settings} {seed}")
    begin(env, seed)
    room = original.reset(seed)
    actions, answers = [], list[str]()
    end = "cut"
    for turn in range(1, settings.max_turns + 1):
        action = next_action(env, rng)
        answer = original.step(action)
        answer = answer._replace(done=answer.done or turn == settings.max_turns)
        actions.append(action)
        answers.append(answered(answer))
        env.step(action)
        if answer.done:
            end = "won" if answer.won else "cut" if turn == settings.max_turns else "lost"
            break
    return Game(settings, seed, short(room), tuple(actions), end, digest(answers))


def written(line: Game | Rooms) -> str:
    """A line of the file."""
    if isinstance(line, Rooms):
        return " ".join(map(str, ("rooms", *line.settings, line.first, line.digest)))
    moves = "".join(_LETTERS[action] for action in line.actions)
    return " ".join(map(str, ("game", *line.settings, line.seed, line.room, moves, line.end, line.digest)))


def read(text: str) -> Iterator[Game | Rooms]:
    """The lines that were written."""
    for line in text.splitlines():
        kind, preset, *fields = line.split()
        settings = Settings(preset, *map(int, fields[:5]))
        if kind == "rooms":
            yield Rooms(settings, int(fields[5]), fields[6])
        else:
            seed, room, moves, end, answers = fields[5:]
            yield Game(settings, int(seed), room, tuple(_ACTIONS[move] for move in moves), end, answers)


def main() -> None:
    """Record every game again."""
    if len(sys.argv) != 2:
        raise SystemExit("Say where a checkout of RetroAgent is: python -m tests.fidelity.sokoban PATH")
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.fidelity.sokoban", sys.argv[1]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    lines: list[Game | Rooms] = []
    for settings, seeds in MADE:
        original = settings.original(sys.argv[1])
        for first in range(seeds.start, seeds.stop, ROOMS):
            rooms = room_digest(original.reset(seed) for seed in range(first, first + ROOMS))
            lines.append(Rooms(settings, first, rooms))
    for settings, seeds in PLAYED:
        original = settings.original(sys.argv[1])
        lines += [play(settings, original, seed) for seed in seeds]
    PATH.write_text("\n".join(map(written, lines)) + "\n", encoding="utf-8")
    print(f"{len(lines)} lines: {PATH}")


if __name__ == "__main__":
    main()
