"""Records games of the original MineSweeper, and plays them again here.

`python -m tests.fidelity.minesweeper PATH` plays the original, from a checkout of RetroAgent at PATH, and writes what
it said to `tests/playthroughs/original-minesweeper.txt`: a block a game, with the seed, the opening, and a line a
turn. `tests/envs/minesweeper/test_original.py` plays the same actions here.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rollback_gym.envs.minesweeper.fidelity import as_if_seeded, load_original

PATH = Path(__file__).parents[1] / "playthroughs" / "original-minesweeper.txt"
GAMES = ((6, 3, 40, False), (6, 3, 20, True), (6, 1, 12, False), (4, 4, 12, True), (9, 10, 8, False))
"""Size, mines, how many games, and whether with flags."""


class Turn(NamedTuple):
    """What the original answered to a click (`L`) or a flag (`R`)."""

    kind: str
    row: int
    column: int
    reward: float
    done: bool
    won: bool
    board: str
    """Its letters, row by row, rows apart by `/`."""


class Record(NamedTuple):
    """A game of the original."""

    size: int
    mines: int
    seed: int
    flags: bool
    board: str
    """Before the first turn."""
    turns: tuple[Turn, ...]


def short(text: str) -> str:
    """A board's text without what every board has: `?1.?/...`."""
    return "/".join(line.partition(": ")[2].replace(" ", "") for line in text.split("\n"))


def record(game: Any, size: int, mines: int, seed: int, flags: bool) -> Record:
    """Play the original on one board until the game is over, with clicks of every kind."""
    rng = random.Random(f"{size} {mines} {seed}")
    with as_if_seeded(seed, size):
        env = game(board_size=size, n_mines=mines, board_type="board")
        start, _ = env.reset(seed)
    turns: list[Turn] = []
    while len(turns) < 30 and not (turns and turns[-1].done):
        kind = "R" if flags and rng.random() < 0.4 else "L"
        row, column = rng.randrange(0, size + 2), rng.randrange(0, size + 2)
        safe = [
            cell for cell in range(size * size) if not env.board_mine.flat[cell] and env.board_disp.flat[cell] == "?"
        ]
        if kind == "L" and safe and rng.random() < 0.7:
            row, column = (number + 1 for number in divmod(rng.choice(safe), size))
        elif kind == "R" and rng.random() < 0.6:
            mined = [cell for cell in range(size * size) if env.board_mine.flat[cell]]
            row, column = (number + 1 for number in divmod(rng.choice(mined), size))
        board, reward, done, info = env.step(kind, row, column)
        turns.append(Turn(kind, row, column, float(reward), bool(done), bool(info["won"]), short(board)))
    return Record(size, mines, seed, flags, short(start), tuple(turns))


def written(record: Record) -> str:
    """A record as text."""
    head = f"size {record.size} mines {record.mines} seed {record.seed} flags {int(record.flags)} {record.board}"
    return "\n".join([head, *(" ".join(map(str, turn)) for turn in record.turns)])


def read(text: str) -> Iterator[Record]:
    """The records that were written."""
    for block in text.strip().split("\n\n"):
        head, *lines = block.split("\n")
        _, size, _, mines, _, seed, _, flags, board = head.split()
        turns = []
        for line in lines:
            kind, row, column, reward, done, won, shown = line.split()
            turns.append(Turn(kind, int(row), int(column), float(reward), done == "True", won == "True", shown))
        yield Record(int(size), int(mines), int(seed), flags == "1", board, tuple(turns))


def main() -> None:
    """Record every game again."""
    if len(sys.argv) != 2:
        raise SystemExit("Say where a checkout of RetroAgent is: python -m tests.fidelity.minesweeper PATH")
    game = load_original(sys.argv[1]).game
    rng = random.Random(0)
    records = [
        record(game, size, mines, rng.randrange(2**16 - 1), flags)
        for size, mines, games, flags in GAMES
        for _ in range(games)
    ]
    PATH.write_text("\n\n".join(map(written, records)) + "\n", encoding="ascii")
    print(f"{len(records)} games, {sum(len(record.turns) for record in records)} turns: {PATH}")


if __name__ == "__main__":
    main()
