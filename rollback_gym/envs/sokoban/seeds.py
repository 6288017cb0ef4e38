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
        return Ids("train" if split is None else split)

    def level(self, id: str) -> Level:
        """The room of this id. Raises DataError where there is none."""
        if id not in _ALL:
            raise DataError(
                f"There is no room {id!r}. Rooms are named by split and seed: "
                + ", ".join(f"'{name}/{seeds[0]}' to '{name}/{seeds[-1]}'" for name, seeds in SPLITS.items())
                + "."
            )
        return _level(self.recipe, id, int(id.partition("/")[2]), self.attempts)


@lru_cache(maxsize=256)
def _level(recipe: Recipe, id: str, seed: int, attempts: int) -> Level:
    """Made once for all environments of the process that play it at the same time."""
    board = make_board(recipe, seed, attempts)
    return Level(id, tuple(recipe), recipe.height, recipe.width, *board)


class Ids(Sequence[str]):
    """The ids of a split's rooms, or of all splits' for None, in the order of their seeds; too many for a list.

    Raises DataError where there is no such split.
    """

    def __init__(self, split: str | None) -> None:
        if split is not None and split not in tuple(SPLITS):
            raise DataError(f"There is no split {split!r} of generated rooms; there are {', '.join(SPLITS)}.")
        self.splits = dict(SPLITS) if split is None else {split: SPLITS[split]}

    def __len__(self) -> int:
        return sum(map(len, self.splits.values()))

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return tuple([self[number] for number in range(*index.indices(len(self)))])
        at = index + len(self) if index < 0 else index
        for split, seeds in self.splits.items():
            if 0 <= at < len(seeds):
                return f"{split}/{seeds[at]}"
            at -= len(seeds)
        raise IndexError(f"no room {index}; there are {len(self)}")

    def __contains__(self, id: object) -> bool:
        split, _, digits = id.partition("/") if isinstance(id, str) else ("", "", "")
        if split not in self.splits or not digits.isdecimal() or len(digits) > _MOST_DIGITS:
            return False
        return str(int(digits)) == digits and int(digits) in self.splits[split]


_ALL = Ids(None)
