"""The rooms of a generator, by their seeds."""

from collections.abc import Sequence
from functools import lru_cache
from typing import overload

from rollback_gym.core.errors import DataError
from rollback_gym.envs.sokoban.generator import Recipe, check, make_board
from rollback_gym.envs.sokoban.types import Level

SPLITS = {"train": range(2**16 - 1), "valid": range(2**16, 2**32 - 1)}
"""The seeds that verl-agent draws its rooms from."""
_MOST_DIGITS = 10


class GeneratedRooms:
    """Rooms that need no data.

    Raises ValueError for a recipe that no seed can follow.
    """

    def __init__(self, recipe: Recipe, attempts: int) -> None:
        check(recipe)
        self.recipe = recipe
        self.attempts = attempts

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.recipe.height, self.recipe.width

    def ids(self, split: str | None = None) -> "Ids":
        """The ids of the rooms: the split and the seed, as in `train/17`. `train`, unless `split` says otherwise."""
        return Ids(split or "train")

    def level(self, id: str) -> Level:
        """The room of this id. Raises DataError where there is none."""
        split, _, digits = id.partition("/")
        if split not in SPLITS or id not in Ids(split):
            raise DataError(
                f"There is no room {id!r}. Rooms are named by split and seed: "
                + ", ".join(f"'{name}/{seeds[0]}' to '{name}/{seeds[-1]}'" for name, seeds in SPLITS.items())
                + "."
            )
        return _level(self.recipe, id, int(digits), self.attempts)


@lru_cache(maxsize=256)
def _level(recipe: Recipe, id: str, seed: int, attempts: int) -> Level:
    """Made once for all environments of the process that play it at the same time."""
    board = make_board(recipe, seed, attempts)
    return Level(id, tuple(recipe), recipe.height, recipe.width, *board)


class Ids(Sequence[str]):
    """The ids of a split's rooms, in the order of their seeds; too many to be listed in memory.

    Raises DataError where there is no such split.
    """

    def __init__(self, split: str) -> None:
        if split not in SPLITS:
            raise DataError(f"There is no split {split!r} of generated rooms; there are {', '.join(SPLITS)}.")
        self.split = split
        self._seeds = SPLITS[split]

    def __len__(self) -> int:
        return len(self._seeds)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return tuple(f"{self.split}/{seed}" for seed in self._seeds[index])
        return f"{self.split}/{self._seeds[index]}"

    def __contains__(self, id: object) -> bool:
        split, _, digits = id.partition("/") if isinstance(id, str) else ("", "", "")
        if split != self.split or not digits.isdecimal() or len(digits) > _MOST_DIGITS:
            return False
        return str(int(digits)) == digits and int(digits) in self._seeds
