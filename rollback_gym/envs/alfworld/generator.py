"""Worlds in ALFWorld's form, made from a seed: what is played where there is no data.

>>> generate(3).task
'put a cool plate in cabinet.'
>>> game_ids("valid_unseen")[0]
'valid_unseen/pick_heat_then_place_in_recep-Cup-None-Cabinet-30/trial_G1_000000_100/game.tw-pddl'
>>> read(_).task
'heat some cup and put it in cabinet.'

A first, cheap draw settles the task and the room, and with them the game's id, which says everything that is needed
to make the game again. The last `UNSEEN` rooms of each kind occur in `valid_unseen` only, the others in `train` and
`valid_seen`, whose games differ in their tasks and in where things lie. At difficulty 0 all splits play in one small
kitchen (`made.kitchen`), with games of their own. Every game can be solved, and none is solved
at its start.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from numbers import Real
from operator import index
from types import MappingProxyType
from typing import NamedTuple, SupportsFloat, SupportsIndex

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld.made import kitchen
from rollback_gym.envs.alfworld.made.layout import ROOMS_PER_KIND, furniture, has_lamp, kind_of, lay_out
from rollback_gym.envs.alfworld.made.population import populate
from rollback_gym.envs.alfworld.made.randomness import VERSION, pick, stream, weighted
from rollback_gym.envs.alfworld.made.rooms import (
    BATHROOM,
    BEDROOM,
    CAPACITY,
    CLEANABLE,
    CONTAINS,
    COOLABLE,
    HEATABLE,
    KITCHEN,
    LIVING_ROOM,
    NEVER_A_TARGET,
)
from rollback_gym.envs.alfworld.made.solution import DEVICES, solve
from rollback_gym.envs.alfworld.made.world import render_goal, render_problem
from rollback_gym.envs.alfworld.problem import Game
from rollback_gym.envs.alfworld.types import TaskType

SPLIT_SIZES: Mapping[str, int] = MappingProxyType({"train": 3000, "valid_seen": 140, "valid_unseen": 134})
"""The splits, and how many games `game_ids` lists of each."""

UNSEEN = 3
"""How many rooms of each kind occur in `valid_unseen` only."""

MIN_DIFFICULTY, MAX_DIFFICULTY = 0.25, 2.0
"""Difficulty 1 is the size of the official games; see `generate`. Below the least there is only 0."""

_SIZES = f"a number from {MIN_DIFFICULTY} to {MAX_DIFFICULTY}, 1 the size of the official games, or 0 for the smallest"
_MAX_SEED = 10**9 - 1
_LAMP = "DeskLamp"
_ABLE = {TaskType.CLEAN: CLEANABLE, TaskType.HEAT: HEATABLE, TaskType.COOL: COOLABLE}
# How often a task is set in each kind of room, in percent: about as often as in the official games.
_ROOM_KINDS = {
    TaskType.PICK_AND_PLACE: ((BATHROOM, 30), (BEDROOM, 30), (LIVING_ROOM, 25), (KITCHEN, 15)),
    TaskType.LOOK_IN_LIGHT: ((BEDROOM, 80), (LIVING_ROOM, 20)),
    TaskType.CLEAN: ((KITCHEN, 75), (BATHROOM, 25)),
    TaskType.HEAT: ((KITCHEN, 100),),
    TaskType.COOL: ((KITCHEN, 100),),
    TaskType.PICK_TWO: ((BEDROOM, 30), (BATHROOM, 30), (LIVING_ROOM, 25), (KITCHEN, 15)),
}
_SENTENCES = {
    TaskType.PICK_AND_PLACE: ("put a {object} in {target}.", "put some {object} on {target}."),
    TaskType.LOOK_IN_LIGHT: ("look at {object} under the {target}.", "examine the {object} with the {target}."),
    TaskType.CLEAN: ("put a clean {object} in {target}.", "clean some {object} and put it in {target}."),
    TaskType.HEAT: ("put a hot {object} in {target}.", "heat some {object} and put it in {target}."),
    TaskType.COOL: ("put a cool {object} in {target}.", "cool some {object} and put it in {target}."),
    TaskType.PICK_TWO: ("put two {object} in {target}.", "find two {object} and put them in {target}."),
}
_ID = re.compile(r"(\w+)/(\w+)-(\w+)-None-(\w+)-(\d+)/trial_G(\d+)_(\d{6,9})_(\d{3})/game\.tw-pddl", re.ASCII)


def generate(
    seed: SupportsIndex,
    split: str = "train",
    task_type: TaskType | str | None = None,
    difficulty: SupportsFloat = 1.0,
) -> Game:
    """The game of a seed; the same in every process, on every machine, for the same `layout.VERSION`.

    `seed` is a whole number from 0 to 999,999,999; every split has games of its own for all of them. Without
    `task_type` the seed chooses one, and naming the one it chooses changes nothing.

    `difficulty`, from 0.25 to 2 in steps of 0.01, multiplies the cabinets, drawers and shelves, and the objects of
    each type. Up to 1 it multiplies all furniture; at least one of each type stays, and the kinds of things, the task
    and the room stay the same. At 1 a kitchen has about 30 receptacles and 60 objects, other rooms 14 and 30, as the
    official games do; at 2 a kitchen has up to 70 and 130. Difficulty 0 is a kitchen of six places and five things,
    all of different kinds, in four of the six types of task; see `made.kitchen`.

    Raises DataError for a split, task type, seed or difficulty that there is not; TypeError for one of a wrong type.
    """
    draft = _draft(_seed(seed), _split(split), _task_type(task_type), _percent(difficulty))
    return _build(draft)


def game_id(
    seed: SupportsIndex,
    split: str = "train",
    task_type: TaskType | str | None = None,
    difficulty: SupportsFloat = 1.0,
) -> str:
    """The id of the game that `generate` makes of the same arguments; takes microseconds, and raises the same."""
    return _draft(_seed(seed), _split(split), _task_type(task_type), _percent(difficulty)).id


def game_ids(split: str = "train", difficulty: SupportsFloat = 1.0) -> Sequence[str]:
    """The ids of a split's games: the seeds 0, 1, 2 ... in order, as many as `SPLIT_SIZES` says."""
    return _game_ids(_split(split), _percent(difficulty))


def read(id: str) -> Game:
    """The game that an id names. Raises DataError for an id that `game_id` never gives."""
    match = _ID.fullmatch(id)
    if match is None:
        raise DataError(
            f"{id!r:.200} is no generated game; expected an id such as {game_id(0)!r}. "
            "List them with generator.game_ids(split), or pass data= to play the official games."
        )
    split, task_type, _, _, _, version, seed, percent = match.groups()
    if int(version) != VERSION:
        raise DataError(f"{id!r} is of version {version} of the generator; this release makes version {VERSION}.")
    draft = _draft(_seed(int(seed)), _split(split), _task_type(task_type), _percent(int(percent) / 100))
    if draft.id != id:
        raise DataError(f"There is no generated game {id!r}; with this seed and task it is {draft.id!r}.")
    return _build(draft)


# --- What is asked for --------------------------------------------------------------------------------------------


def _seed(seed: SupportsIndex) -> int:
    if isinstance(seed, bool) or not isinstance(seed, SupportsIndex):
        raise TypeError(f"seed={seed!r}: expected a whole number.")
    number = index(seed)
    if not 0 <= number <= _MAX_SEED:
        raise DataError(f"seed={seed!r}: expected a whole number from 0 to {_MAX_SEED:,}.")
    return number


def _split(split: str) -> str:
    if not isinstance(split, str) or split not in SPLIT_SIZES:
        raise DataError(f"split={split!r}: no such split; expected one of {', '.join(SPLIT_SIZES)}.")
    return split


def _task_type(task_type: TaskType | str | None) -> TaskType | None:
    if task_type is None:
        return None
    try:
        return TaskType(task_type)
    except ValueError:
        known = ", ".join(TaskType)
        raise DataError(f"task_type={task_type!r}: no such task; expected one of {known}.") from None


def _percent(difficulty: SupportsFloat) -> int:
    if isinstance(difficulty, bool) or not isinstance(difficulty, Real):
        raise TypeError(f"difficulty={difficulty!r}: expected {_SIZES}.")
    if float(difficulty) != 0 and not MIN_DIFFICULTY <= float(difficulty) <= MAX_DIFFICULTY:
        raise DataError(f"difficulty={difficulty!r}: expected {_SIZES}.")
    return round(float(difficulty) * 100)


# --- The first draw: task and room --------------------------------------------------------------------------------


class _Draft(NamedTuple):
    """What a game is about."""

    split: str
    seed: int
    percent: int
    task_type: TaskType
    object_type: str
    target_type: str
    room: int

    @property
    def id(self) -> str:
        return (
            f"{self.split}/{self.task_type}-{self.object_type}-None-{self.target_type}-{self.room}/"
            f"{self.trial}/game.tw-pddl"
        )

    @property
    def trial(self) -> str:
        return f"trial_G{VERSION}_{self.seed:06d}_{self.percent:03d}"


def _draft(seed: int, split: str, task_type: TaskType | None, percent: int) -> _Draft:
    task_type = task_type or pick(stream("task", split, seed), tuple(TaskType) if percent else kitchen.TASKS)
    rng = stream("room", split, seed, task_type)
    if not percent:
        if task_type not in kitchen.TASKS:
            raise DataError(f"task_type={task_type!s}: difficulty 0 has only {', '.join(kitchen.TASKS)}.")
        return _Draft(split, seed, percent, task_type, *kitchen.task(rng, task_type), kitchen.ROOM)
    kind = weighted(rng, _ROOM_KINDS[task_type])
    room = pick(rng, _rooms(kind.first, split == "valid_unseen", task_type is TaskType.LOOK_IN_LIGHT))
    object_type, targets = pick(rng, _tasks(room, task_type))
    return _Draft(split, seed, percent, task_type, object_type, pick(rng, targets), room)


@lru_cache(maxsize=64)
def _game_ids(split: str, percent: int) -> tuple[str, ...]:
    return tuple(_draft(seed, split, None, percent).id for seed in range(SPLIT_SIZES[split]))


@lru_cache(maxsize=64)
def _rooms(first: int, unseen: bool, lit: bool) -> tuple[int, ...]:
    """The rooms of a kind that a split plays in; where a lamp is needed, those that have one."""
    seen = first + ROOMS_PER_KIND - UNSEEN
    numbers = range(seen, first + ROOMS_PER_KIND) if unseen else range(first, seen)
    return tuple(room for room in numbers if has_lamp(room) or not lit)


@lru_cache(maxsize=1024)
def _tasks(room: int, task_type: TaskType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(object type, target types) of every task of this type that makes sense in the room."""
    types = [item.type for item, _, _ in furniture(room)]
    tasks: list[tuple[str, tuple[str, ...]]] = []
    for stock in kind_of(room).stock:
        if stock.type not in _ABLE.get(task_type, (stock.type,)):
            continue
        if task_type is TaskType.LOOK_IN_LIGHT:
            tasks.append((stock.type, (_LAMP,)))
            continue
        places = {type for type in types if type in stock.places and type not in CAPACITY}
        targets = tuple(
            type
            for type in types
            if stock.type in CONTAINS.get(type, ())
            and type not in NEVER_A_TARGET
            and type != DEVICES.get(task_type)
            and (task_type is not TaskType.PICK_TWO or CAPACITY.get(type, 2) >= 2)
            and places - {DEVICES.get(task_type, type)}
        )
        if targets:
            tasks.append((stock.type, targets))
    return tuple(tasks)


# --- The second draw: the world -----------------------------------------------------------------------------------


def _build(draft: _Draft) -> Game:
    rng = stream("world", draft.split, draft.seed, draft.task_type)
    about = draft.task_type, draft.object_type, draft.target_type
    if draft.percent:
        sentence = pick(rng, _SENTENCES[draft.task_type])
        world = populate(rng, lay_out(draft.room, draft.percent / 100), *about, draft.percent / 100)
    else:
        sentence = _SENTENCES[draft.task_type][0]
        world = kitchen.furnish(rng, *about)
    return Game(
        where=draft.id,
        problem=render_problem(f"plan_{draft.trial}", world, render_goal(*about)),
        task=sentence.format(object=draft.object_type.lower(), target=draft.target_type.lower()),
        walkthrough=solve(world, *about),
    )
