"""Sokoban as a Gymnasium environment."""

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from gymnasium import spaces

from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.errors import DataError
from rollback_gym.core.options import count
from rollback_gym.core.snapshot import LevelName
from rollback_gym.core.spaces import AnyText
from rollback_gym.envs.sokoban import render
from rollback_gym.envs.sokoban.channels import Channels
from rollback_gym.envs.sokoban.data import Collection
from rollback_gym.envs.sokoban.generator import Recipe
from rollback_gym.envs.sokoban.parser import PARSERS, Parser
from rollback_gym.envs.sokoban.presets import PRESETS, Preset
from rollback_gym.envs.sokoban.rules import Rules
from rollback_gym.envs.sokoban.seeds import GeneratedRooms, Ids
from rollback_gym.envs.sokoban.text import LAYOUTS
from rollback_gym.envs.sokoban.types import MOST_CELLS, WORDS, Level

Size = int | tuple[int, int]
Mask = np.ndarray[Any, np.dtype[np.int8]]


class SokobanEnv(SnapshotEnv[Any, Any]):
    """Sokoban: walk about a room, and push every box onto a target. Boxes cannot be pulled.

    Observation space: with `observation="text"`, `AnyText`: the room, one row a line, of the symbols `#` wall, `_`
        floor, `O` target, `X` box, `√` box on a target, `P` player, `S` player on a target. With `"array"`, `Box` of
        (height, width, 4) uint8, ones where there is wall, a target, a box, the player.
    Action space: with `actions="text"`, `AnyText`: `up`, `down`, `left`, `right`. With `"discrete"`, `Discrete(4)`,
        these four in this order, and `info["action_mask"]`. All four are always admissible; a move against a wall or a
        box that cannot move changes nothing. So does any other action, which is reported as invalid.
    Starting state: `reset(seed=n)` plays the room that the original makes of seed n where n is a seed of the split (0
        to 65534 in `train`, from 65536 in `valid`), and otherwise one drawn with that seed; `reset()` draws, and
        `reset(options={"level": id})` chooses.
    Rewards: -0.1 with every action; 1 more where the number of boxes on targets rises, 1 less where it falls; and 10
        with the push that wins.
    Episode end: terminated by a win; with the wrapper `DeadEnd`, which the preset `retroagent` adds, also by a position
        that cannot be won any more, which loses the game; truncated after `max_turns`.
    Information: `admissible_actions`, `action_index`, `turn`, `won`, `task`, `level` (the room's id), and
        `invalid_action`.
    Snapshot contents: the level (one room); the state (the player's cell and the cells of the boxes); the random state
        that chooses later rooms; the turns; the last observation.
    Rollback: to any earlier node. Out of a dead position it is the only way, which `revive=True` keeps open where
        `DeadEnd` would end the episode.
    Oracle: `oracles.sokoban`, exact. All states of a room are solved when the first is asked for; of rooms too large
        for that, single states, or `OracleBudgetExceeded`.
    Differences from the original: a seed gives the same room in every process; every action is a turn; an episode that
        is over takes no steps; sentences are not searched for parts of words. `compat="original"` and
        `parser="original"` bring back the first and the last. docs/fidelity.md has all of them.
    Version history: `v0`, the first.

    Args:
        preset: `retroagent`, `verl-agent`, `ragen`, `gym-sokoban` or `boxoban`: what was published. See `presets`.
        size: Cells each way, or (height, width), of rooms that are made; with `data`, of arrays.
        boxes: How many, in rooms that are made.
        max_turns: The turn that truncates an episode.
        search_depth: How far rooms are played backwards when they are made.
        generation_steps: Of the walk that makes their floor; 1.7 times height plus width by default.
        max_attempts: How many seeds are tried for one room, before that is an error: fewer where each takes long. And
            how many rooms are drawn until one has the distance asked for.
        compat: `"original"` makes the room of a failed seed as RAGEN does in a process with PYTHONHASHSEED=`hash_seed`.
            By default it does not depend on that, and is the one for `hash_seed=0`.
        hash_seed: See `compat`.
        data: Level files: a `.txt`, `.xsb` or `.sok` file, or a folder of such. See `data`.
        split: `train` or `valid`; with `data`, a folder on the files' paths.
        level: Play only this room, by its id.
        min_distance: Play only rooms that need at least as many moves.
        max_distance: Play only rooms that need at most as many moves.
        observation: `text` or `array`.
        layout: How text is spaced, if not as in the preset: `rows` (RetroAgent: numbered rows), `tabs` (verl-agent),
            `plain` (RAGEN).
        actions: `text` or `discrete`.
        parser: `strict`, or `original` for the projection of sentences to actions of verl-agent and RetroAgent, which
            goes by parts of words. See `parser`.
        render_mode: `ansi` or `rgb_array` (32 pixels a cell).
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # type: ignore[misc]
    name = "sokoban"

    def __init__(
        self,
        *,
        preset: str = "retroagent",
        size: Size | None = None,
        boxes: int | None = None,
        max_turns: int | None = None,
        search_depth: int | None = None,
        generation_steps: int | None = None,
        max_attempts: int = 1000,
        compat: Literal["original"] | None = None,
        hash_seed: int | None = None,
        data: str | os.PathLike[str] | None = None,
        split: str | None = None,
        level: str | None = None,
        min_distance: int | None = None,
        max_distance: int | None = None,
        observation: Literal["text", "array"] = "text",
        layout: str | None = None,
        actions: Literal["text", "discrete"] = "text",
        parser: Parser = "strict",
        render_mode: str | None = None,
    ) -> None:
        published = find_preset(preset)
        super().__init__(max_turns=published.max_turns if max_turns is None else max_turns, render_mode=render_mode)
        self.observation = _one_of("observation", observation, ("text", "array"))
        self.actions = _one_of("actions", actions, ("text", "discrete"))
        self.parser = _one_of("parser", parser, PARSERS)
        self.layout = _one_of("layout", published.layout if layout is None else layout, LAYOUTS)
        self.max_attempts = count("max_attempts", max_attempts, 1)
        self._distances = _bounds(min_distance, max_distance)
        making = Making(size, boxes, search_depth, generation_steps, compat, hash_seed)
        self._rooms = find_rooms(preset, making, data, self.max_attempts)
        self._ids = self._rooms.ids(split) if level is None else (_id("level", level),)
        if level is not None and self._distances is not None:
            raise ValueError("level names the room to play; min_distance and max_distance have no use beside it.")
        self._asked: int | None = None

        self._parse = PARSERS[self.parser]
        self._channels: Channels | None = None
        self.observation_space: spaces.Space[Any] = AnyText()
        self.action_space: spaces.Space[Any] = AnyText()
        self.simulator = Rules(LAYOUTS[self.layout].describe)
        if observation == "array":
            height, width = self._rooms.size if size is None else _size(size)
            if height * width > MOST_CELLS:
                raise ValueError(f"size may be {MOST_CELLS} cells in all, got {height}x{width}.")
            self._channels = Channels(height, width)
            self.observation_space = self._channels.space
            self.simulator = Rules(self._channels.describe)
        if actions == "discrete":
            self.action_space = spaces.Discrete(len(WORDS))

    def settings(self) -> tuple[tuple[str, Any], ...]:
        """See `SnapshotEnv.settings`."""
        shown = self.layout if self._channels is None else f"{self._channels.height}x{self._channels.width}"
        return (
            *super().settings(),
            ("observation", self.observation),
            ("layout", shown),
            ("actions", self.actions),
            ("parser", self.parser),
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see `SnapshotEnv.reset`, and the class for which room a seed gives."""
        self._asked = seed
        return super().reset(seed=seed, options=options)

    def choose_level(self, options: dict[str, Any]) -> Level:
        """The room that `options` names, or that of the seed, or one drawn from those this environment plays.

        Raises:
            DataError: if there is no such room, or none of the distances asked for was found.
        """
        unknown = options.keys() - {"level"}
        if unknown:
            names = ", ".join(sorted(map(repr, unknown)))
            raise ValueError(f"Unknown reset options {names}; the only one is 'level', a room's id.")
        id = options.get("level")
        if id is not None:
            return self._fitting(self._rooms.level(_id("options['level']", id)))
        for _ in range(self.max_attempts):
            level = self._fitting(self._rooms.level(self._draw()))
            if self._distances is None or self._distances[0] <= _distance(level) <= self._distances[1]:
                return level
        low, high = self._distances or (0, 0)
        raise DataError(
            f"None of {self.max_attempts} rooms drawn needs {low:g} to {high:g} moves. Widen min_distance and "
            "max_distance, allow more max_attempts, or make larger rooms with more boxes."
        )

    def find_level(self, name: LevelName) -> Level:
        """The room of that id, if it is made, or stored, the way this environment does."""
        level = self._fitting(self._rooms.level(name.id))
        if name.locator != level.locator:
            raise DataError(f"that room was made with {name.locator!r}, rooms here with {level.locator!r}")
        return level

    def read_action(self, action: Any) -> str:
        """`action` as one of `WORDS`, or whatever else it says. Raises ValueError for a number that is none of them."""
        if self.actions == "text":
            if not isinstance(action, str):
                raise TypeError(f"An action must be a str, such as 'up', got {type(action).__name__}.")
            return self._parse(action)
        if isinstance(action, np.ndarray) and action.shape == ():  # as policies predict it
            action = action[()]
        if not isinstance(action, int | np.integer) or isinstance(action, bool):
            raise TypeError(f"An action must be a whole number, 0 to 3, got {type(action).__name__}.")
        if not 0 <= action < len(WORDS):
            raise ValueError(f"An action must be from 0 to {len(WORDS) - 1}, got {action}.")
        return WORDS[action]

    def write_action(self, action: str) -> str | int:
        """One of `WORDS`, such as an oracle's, as an action of this environment's action space."""
        return action if self.actions == "text" else WORDS.index(action)

    def info(self) -> dict[str, Any]:
        """See `SnapshotEnv.info`; with `Discrete` actions also `action_mask`."""
        info = super().info()
        if self.actions == "discrete":
            info["action_mask"] = self.action_masks()
        return info

    def action_masks(self) -> Mask:
        """(4,) int8: 1 for each admissible action, and all are. Raises TypeError but for `Discrete` actions."""
        if self.actions != "discrete":
            raise TypeError(f"Only Discrete actions have a mask; this action space is {self.action_space}.")
        return np.ones(len(WORDS), np.int8)

    def render(self) -> Any:
        """The room as coloured text or as a picture, as `render_mode` says."""
        if self.render_mode is None:
            return None
        picture = {"ansi": render.ansi, "rgb_array": render.rgb}[self.render_mode]
        return picture(self.level, self.state)

    def _draw(self) -> str:
        """The id of the seed's room, the first time that it is asked for; else one of those that are played."""
        seed, self._asked = self._asked, None
        if seed is not None and isinstance(self._ids, Ids):
            for split, seeds in self._ids.splits.items():
                if seed in seeds:
                    return f"{split}/{int(seed)}"
        return self._ids[int(self.np_random.integers(len(self._ids)))]

    def _fitting(self, level: Level) -> Level:
        shown = self._channels
        if shown is not None and (level.height > shown.height or level.width > shown.width):
            raise DataError(
                f"Room {level.id!r} is {level.height}x{level.width}; arrays here are {shown.height}x{shown.width}. "
                f"Pass a larger size."
            )
        return level


def levels(
    split: str | None = None, data: str | os.PathLike[str] | None = None, *, preset: str = "retroagent"
) -> Sequence[str]:
    """The ids of the rooms that can be played, in a fixed order; see `rollback_gym.levels`."""
    rooms = find_rooms(preset, Making(), data, 1)
    return rooms.ids(split) if isinstance(rooms, Collection) else Ids(split)


# --- Options -------------------------------------------------------------------------------------------------------


class Making(NamedTuple):
    """The options that say how rooms are made, None where the preset decides."""

    size: Size | None = None
    boxes: int | None = None
    search_depth: int | None = None
    generation_steps: int | None = None
    compat: str | None = None
    hash_seed: int | None = None


def find_preset(name: str) -> Preset:
    """The preset of this name. Raises ValueError where there is none."""
    if name not in PRESETS:
        raise ValueError(f"There is no preset {name!r}; there are {', '.join(PRESETS)}.")
    return PRESETS[name]


def find_rooms(
    preset: str, making: Making, data: str | os.PathLike[str] | None, attempts: int
) -> GeneratedRooms | Collection:
    """Where the rooms come from.

    Raises:
        ValueError: if the options contradict each other, or no room can be made by them.
        DataError: if level files are needed, and there are none.
    """
    published = find_preset(preset)
    if data is not None:
        unused = [name for name, value in making._asdict().items() if value is not None and name != "size"]
        if unused:
            raise ValueError(f"Rooms come from {data}: leave out {', '.join(unused)}, which are for making rooms.")
        return Collection(data)
    if preset == "boxoban":
        raise DataError("The preset 'boxoban' plays level files: pass data=, a file or a folder of them.")
    if making.compat not in (None, "original"):
        raise ValueError(f"compat must be None or 'original', got {making.compat!r}.")
    if making.hash_seed is not None and making.compat is None:
        raise ValueError("hash_seed is for compat='original'; without it no room depends on hashes.")
    height, width = published.size if making.size is None else _size(making.size)
    steps = int(1.7 * (height + width)) if making.generation_steps is None else making.generation_steps
    recipe = Recipe(
        published.method,
        height,
        width,
        published.boxes if making.boxes is None else count("boxes", making.boxes, 1),
        count("generation_steps", steps, 1),
        published.search_depth if making.search_depth is None else count("search_depth", making.search_depth, 3),
        0 if making.hash_seed is None else count("hash_seed", making.hash_seed, 0),
    )
    return GeneratedRooms(recipe, attempts)


def _distance(level: Level) -> float:
    """L of the room's start. Imported here: only a filter asks a solver, and no simulator does."""
    from rollback_gym.oracles import sokoban

    return sokoban.distance(level, level.start)


def _bounds(least: int | None, most: int | None) -> tuple[float, float] | None:
    if least is None and most is None:
        return None
    low = 0 if least is None else count("min_distance", least, 0)
    high = math.inf if most is None else count("max_distance", most, 0)
    if low > high:
        raise ValueError(f"min_distance is {low}, more than max_distance, {high}.")
    return low, high


def _size(size: Any) -> tuple[int, int]:
    height, width = size if isinstance(size, tuple | list) and len(size) == 2 else (size, size)
    return count("size", height, 1), count("size", width, 1)


def _id(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a room's id, a str, got {type(value).__name__}.")
    return str(value)


def _one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    if value not in tuple(choices):
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}.")
    return str(value)
