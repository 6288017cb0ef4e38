"""Which games there are, and their bytes: ALFWorld's data from wherever it lies.

`open_games` takes what people have: a folder in ALFWorld's layout or a part of one, a game file, an archive. What
comes out is the same everywhere: game ids such as `valid_seen/<task>/<trial>/game.tw-pddl` in a fixed order, and
the bytes behind each. Nothing is ever written to the data.

Like the original, tasks with a movable receptacle and with sliced objects are left out of every listing, by their
names (`movable`, `Sliced`); they can still be read by id. Unlike the original, a game needs no `traj_data.json`
beside it: the type of its task stands in its folder's name, or else in its goal.
"""

import difflib
import heapq
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol, overload

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld import generator
from rollback_gym.envs.alfworld.files.access import accessing, identity
from rollback_gym.envs.alfworld.files.stores import Folder, LoneFile, Store, open_store
from rollback_gym.envs.alfworld.made.pddl import game_json
from rollback_gym.envs.alfworld.problem import Game, compile_level, read_game
from rollback_gym.envs.alfworld.types import TaskType

VARIABLE = "ALFWORLD_DATA"
"""The environment variable by which ALFWorld itself finds its data: the folder that contains `json_2.1.1`."""

_SPLITS = ("train", "valid_train", "valid_seen", "valid_unseen")
_TASK_FOLDER = re.compile(r"(?:pick|look)_[a-z_]+-\w+-\w+-\w+-\d+")
_WORDS = re.compile(r"[/_-]")
_LEFT_OUT = ("movable", "Sliced")
_HOW_TO_GET = (
    "`pip install alfworld && alfworld-download` fetches ALFWorld's own games into ~/.cache/alfworld; without data= "
    "the environment makes worlds of its own."
)


class Games(Protocol):
    """A fixed collection of games."""

    @property
    def source(self) -> str:
        """Where the games come from: for messages, and to open them again."""

    def __hash__(self) -> int: ...

    def splits(self) -> tuple[str, ...]:
        """The splits that have games, sorted; empty where the games belong to no split."""

    def ids(self, split: str | None = None, task_types: Iterable[TaskType | str] | None = None) -> Sequence[str]:
        """The ids of the games of a split (None: of all) and of some task types (None: of all), in a fixed order.

        Raises:
            DataError: if there is no such split or task type, or no game of it.
        """

    def read(self, id: str) -> bytes:
        """The content of a `game.tw-pddl` file.

        Raises:
            DataError: if there is no such game, or it cannot be read whole.
        """

    def game(self, id: str) -> Game:
        """What that file says.

        Raises:
            DataError: likewise, and if it is no game of ALFWorld.
        """


@overload
def open_games(data: str | os.PathLike[str]) -> Games: ...
@overload
def open_games(data: None) -> Games | None: ...
def open_games(data: str | os.PathLike[str] | None) -> Games | None:
    """The games at `data`; one object a path and process, until what is there changes.

    Args:
        data: a folder (that contains `json_2.1.1`, or splits, or task folders), one game file, or a `.tar.xz`,
            `.tar.gz`, `.tar` or `.zip` of such. None stands for `ALFWORLD_DATA`.

    Returns:
        The games; None if `data` is None and `ALFWORLD_DATA` is not set.

    Raises:
        DataError: if there is no game, whatever there is instead.
    """
    if data is None:
        chosen = chosen_by_environment()
        if chosen is None:
            return None
        try:
            return open_games(chosen)
        except DataError as error:
            raise DataError(f"{error} (The path comes from the environment variable {VARIABLE}.)") from error
    given = os.fspath(data)
    if not given or "\0" in given:
        raise DataError(f"data={given!r} is no path. {_HOW_TO_GET}")
    with accessing(given):
        path = os.path.abspath(os.path.expanduser(given))
    now = identity(path)
    with _lock:
        known = _opened.get(path)
        if known is None or known[0] != now:
            known = _opened[path] = now, FileGames(path)
        return known[1]


class FileGames:
    """The games in files. Safe to share between threads and to use after a fork; pickled as its path."""

    def __init__(self, path: str) -> None:
        self.source = path
        self._store = open_store(path)
        self._entries: dict[str, _Entry] = {}
        above = _above(path, self._store)
        for name in self._store.names:
            id, entry = _placed(name, above)
            if id in self._entries:
                raise DataError(
                    f"{path} holds two games {id}: {self._entries[id].name} and {name}. Pass the one folder or archive "
                    "that is meant as data=."
                )
            self._entries[id] = entry
        lone = isinstance(self._store, LoneFile)
        self._listed = tuple(sorted(id for id in self._entries if lone or not any(word in id for word in _LEFT_OUT)))
        if not self._listed:
            raise DataError(self._nothing_found())
        # A lone game is asked for by its path, whatever split that path would put it in.
        splits = () if lone else {self._entries[id].split for id in self._listed} - {""}
        self._splits = tuple(sorted(splits))
        self._selected: dict[tuple[str | None, frozenset[TaskType]], tuple[str, ...]] = {}

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return open_games, (self.source,)

    def __repr__(self) -> str:
        return f"FileGames({self.source!r}, {len(self._listed):,} games)"

    def splits(self) -> tuple[str, ...]:
        """See `Games`."""
        return self._splits

    def ids(self, split: str | None = None, task_types: Iterable[TaskType | str] | None = None) -> Sequence[str]:
        """See `Games`. Games that belong to no split belong to any that is asked for, if no other game has one."""
        types = frozenset(TaskType) if task_types is None else _task_types(task_types)
        key = split, types
        if key not in self._selected:
            self._selected[key] = self._select(split, types)
        return self._selected[key]

    def task_type(self, id: str) -> TaskType:
        """The type of a game's task, by its folder's name or else by its goal.

        Raises:
            DataError: if there is no such game, or its goal has to be read and is none of ALFWorld's.
        """
        entry = self._entry(id)
        if entry.task_type is None:
            level = compile_level(self.game(id), id, ())
            entry = self._entries[id] = entry._replace(task_type=level.goal.task_type)
        assert entry.task_type is not None
        return entry.task_type

    def read(self, id: str) -> bytes:
        """See `Games`."""
        return self._store.read(self._entry(id).name)

    def game(self, id: str) -> Game:
        """See `Games`."""
        return read_game(self.read(id), f"{id} in {self.source}")

    def _entry(self, id: str) -> "_Entry":
        entry = self._entries.get(id)
        if entry is None:
            raise DataError(self._unknown(id))
        return entry

    def _select(self, split: str | None, types: frozenset[TaskType]) -> tuple[str, ...]:
        if split is not None and self._splits and split not in self._splits:
            count = Counter(self._entries[id].split for id in self._listed)
            present = ", ".join(f"{name} ({count[name]:,} games)" for name in self._splits)
            raise DataError(f"No split {split!r} in {self.source}; it has {present}.")
        within = [id for id in self._listed if split is None or not self._splits or self._entries[id].split == split]
        if types == frozenset(TaskType):
            return tuple(within)
        chosen = tuple(id for id in within if self.task_type(id) in types)
        if not chosen:
            wanted = ", ".join(sorted(types))
            present = ", ".join(sorted({self.task_type(id) for id in within}))
            raise DataError(
                f"No game of type {wanted} in {split or 'any split'} of {self.source}; there are {present}."
            )
        return chosen

    def _unknown(self, id: str) -> str:
        # People paste longer paths, or leave the file's name away.
        near = [known for known in self._entries if id and (known in id or id in known)][:3]
        if not near:
            words = set(_WORDS.split(id))
            similar = heapq.nlargest(50, self._entries, key=lambda known: len(words.intersection(_WORDS.split(known))))
            near = difflib.get_close_matches(id, similar, 3)
        hint = f"near it are {', '.join(near)}" if near else f"a known one is {self._listed[0]}"
        return f"No game {id!r} among the {len(self._entries):,} of {self.source}; {hint}."

    def _nothing_found(self) -> str:
        left_out = (
            f" {len(self._entries):,} games with a movable receptacle or a sliced object are left out, as in ALFWorld; "
            "pass a single game's path to play one."
            if self._entries
            else ""
        )
        return (
            f"0 games found in {self.source}: looked for files named *.tw-pddl, as in "
            f"json_2.1.1/<split>/<task>/<trial>/game.tw-pddl; {self._store.seen}.{left_out} {_HOW_TO_GET}"
        )


@dataclass(frozen=True)
class GeneratedGames:
    """The worlds that are made here; see `generator`. They need no data."""

    difficulty: float = 1.0

    def __post_init__(self) -> None:
        generator.game_id(0, difficulty=self.difficulty)  # raises for a difficulty that there is not

    @property
    def source(self) -> str:
        """See `Games`."""
        return f"the generated worlds of difficulty {self.difficulty:g}"

    def splits(self) -> tuple[str, ...]:
        """See `Games`."""
        return tuple(generator.SPLIT_SIZES)

    def ids(self, split: str | None = None, task_types: Iterable[TaskType | str] | None = None) -> Sequence[str]:
        """See `Games`. In the order of the seeds, 0 first."""
        types = frozenset(TaskType) if task_types is None else _task_types(task_types)
        ids = _generated_ids(self.splits() if split is None else (split,), types, self.difficulty)
        if not ids:
            raise DataError(f"{self.source} have no tasks of the types {', '.join(sorted(types))}.")
        return ids

    def read(self, id: str) -> bytes:
        """See `Games`. Any generated game's id will do, listed or not."""
        game = self.game(id)
        return game_json(game.problem, game.task, game.walkthrough).encode()

    def game(self, id: str) -> Game:
        """See `Games`. Any generated game's id will do, listed or not."""
        return generator.read(id)


@lru_cache(maxsize=64)
def _generated_ids(splits: tuple[str, ...], types: frozenset[TaskType], difficulty: float) -> tuple[str, ...]:
    ids = (id for split in splits for id in generator.game_ids(split, difficulty))
    return tuple(id for id in ids if _placed(id, ())[1].task_type in types)


class _Entry(NamedTuple):
    name: str
    """Its name in the store."""
    split: str
    """Empty where nothing tells."""
    task_type: TaskType | None
    """None where its folder's name does not tell."""


_opened: dict[str, tuple[object, FileGames]] = {}
_lock = threading.Lock()
_variable_at_import = os.environ.get(VARIABLE)


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


# Another thread may have held it at the time of the fork, and will not release the child's copy.
os.register_at_fork(after_in_child=_new_lock)


def chosen_by_environment() -> str | None:
    """The value of ALFWORLD_DATA, if anybody chose it.

    Importing `alfworld` makes its default folder and puts it in the variable: then worlds would change in the middle
    of a process for no reason that the user can see.
    """
    value = os.environ.get(VARIABLE)
    default = os.path.expanduser("~/.cache/alfworld")
    if value == default and "alfworld.info" in sys.modules:
        chosen_before = value == _variable_at_import and os.path.isdir(os.path.join(value, "json_2.1.1"))
        return value if chosen_before else None
    return value or None


def _above(path: str, store: Store) -> tuple[str, ...]:
    """The folders above the store's names that may be a split, a task and a trial."""
    if isinstance(store, Folder):
        return tuple(store.path.split(os.sep)[-3:])
    return tuple(path.split(os.sep)[-4:-1]) if isinstance(store, LoneFile) else ()


def _placed(name: str, above: tuple[str, ...]) -> tuple[str, _Entry]:
    """The id of the game `name`: its path from the split on, or from the task on where nothing tells the split."""
    own = name.split("/")
    parts = [*above, *own]
    task = max((i for i, part in enumerate(parts) if _TASK_FOLDER.fullmatch(part)), default=None)
    if task is None:
        return name, _Entry(name, own[-4] if len(own) > 3 else "", None)
    has_split = task > 0 and (task > len(above) or parts[task - 1] in _SPLITS)
    split = parts[task - 1] if has_split else ""
    known = parts[task].partition("-")[0]
    task_type = TaskType(known) if known in frozenset(TaskType) else None
    return "/".join(parts[task - has_split :]), _Entry(name, split, task_type)


def _task_types(names: Iterable[TaskType | str]) -> frozenset[TaskType]:
    given = [names] if isinstance(names, str) else list(names)
    for name in given:
        if name not in frozenset(TaskType):
            raise DataError(f"Unknown task type {name!r}; the types are {', '.join(TaskType)}.")
    if not given:
        raise DataError(f"task_types is empty; leave it out for all, or name some of {', '.join(TaskType)}.")
    return frozenset(map(TaskType, given))
