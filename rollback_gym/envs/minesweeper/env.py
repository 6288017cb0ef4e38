"""MineSweeper as a Gymnasium environment."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from gymnasium import spaces

from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.errors import DataError
from rollback_gym.core.options import flag
from rollback_gym.core.simulator import Simulator
from rollback_gym.core.snapshot import LevelName
from rollback_gym.core.spaces import AnyText
from rollback_gym.envs.minesweeper import render, rules, text
from rollback_gym.envs.minesweeper.generator import (
    SPLITS,
    VERSION,
    LevelIds,
    Opening,
    Setup,
    check_opening,
    generate,
    read_id,
)
from rollback_gym.envs.minesweeper.grid import grid
from rollback_gym.envs.minesweeper.types import FirstClick, Level


class Preset(NamedTuple):
    """A size of board that has a name."""

    rows: int
    columns: int
    mines: int
    max_turns: int | None = None
    """None for as many turns as there are safe cells: no game needs more."""
    first_click: FirstClick = FirstClick.SAFE


PRESETS = {
    "retroagent": Preset(6, 6, 3, 15),
    "beginner": Preset(9, 9, 10, first_click=FirstClick.EMPTY),
    "intermediate": Preset(16, 16, 40, first_click=FirstClick.EMPTY),
    "expert": Preset(16, 30, 99, first_click=FirstClick.EMPTY),
}
"""RetroAgent's published runs (arXiv 2603.08561), and the three boards of the game that came with Windows."""


class MineSweeperEnv(SnapshotEnv[Any, Any]):
    """MineSweeper: open every cell that holds no mine; an open cell tells how many mines touch it.

    Observation space: `"text"` is `AnyText`, a line a row, such as `Row 1: . 1 ? ? ? ?`, character for character as in
        RetroAgent: `?` closed, `.` open with no mine around it, `1` to `8`, `F` flag, `*` the mine that was hit.
        `"array"` is a `Box(0, 1, (rows, columns, 12), uint8)`: a channel for closed, nine for open with 0 to 8 mines
        around, one for flag, one for the mine that was hit; exactly one of them is 1 at each cell.
    Action space: `"text"` is `AnyText`: `(3, 4)` opens the cell in row 3, column 4, counted from 1; with flags,
        `flag (3, 4)` puts a flag on it or takes it off. `"discrete"` is `Discrete(rows * columns)`, row by row, and
        with flags twice as many: the second half flags.
    Starting state: the board after its first click, unless the player makes it; see `opening`. `reset(seed=42)` plays
        the board that the original makes of seed 42, if 42 is in the split; without a seed, or with another one, boards
        are drawn from the split. `reset(options={"level": id})` chooses one.
    Rewards: 0.5 where one cell changes, 2.0 where more do, 10.0 for the win, -0.1 for a mine, -1.0 for an action that
        cannot be done.
    Episode end: terminated by a win (every safe cell is open, or flags are on exactly the mines), or by a mine, which
        loses the game; truncated after `max_turns`.
    Information: `admissible_actions` (as text), `action_index`, `turn`, `won`, `task`, `level` (its id),
        `invalid_action` (why) after an action that could not be done, and with discrete actions `action_mask`, (n,)
        int8.
    Snapshot contents: the level (where the mines are, and which cell is open at the start); the state (what is open,
        what is flagged, the mine that was hit, and where the mines made way for a first click); the random state that
        chooses later levels; the turns; the last observation.
    Rollback: to any earlier node. The mines stay where they are, and the agent keeps what it has seen. With
        `revive=True` a mine does not end the episode, and can be taken back.
    Oracle: `oracles.minesweeper` knows the mines; `oracles.minesweeper_belief` knows what the player can know.
    Differences from the original: the opening comes from the seed instead of NumPy's global generator; no game is won
        or lost before the first turn (`compat="original"` keeps that); nothing can be done once a game is over.
        docs/fidelity.md has all of them.
    Version history: `v0`, the first.

    Args:
        preset: `retroagent`, or `beginner`, `intermediate`, `expert`, whose openings are empty.
        rows: How many rows; likewise columns and mines. By default the preset's.
        columns: See rows.
        mines: See rows.
        max_turns: The turn that truncates an episode: the preset's by default, and on a board that is not the
            preset's as many as there are safe cells.
        first_click: What the first click is promised: `safe` (no mine), `empty` (none around it either, so it opens
            an area), or `any` (nothing).
        opening: Who makes the first click. `drawn`: the environment does, in a cell drawn from the seed, before the
            first turn, as the original does. A `(row, column)`: it does there. `player`: nothing is open at the
            start; if mines are in the way of what the player's first click is promised, they move.
        flags: Whether flags may be put.
        observation: `text` or `array`.
        actions: `text` or `discrete`.
        parser: How text actions are read: `strict` (the whole text is the action) or `original` (RetroAgent's
            projection: the first pair of numbers in brackets inside `<action> </action>`).
        split: Which seeds: `train` (0 to 65534) or `valid` (65536 and above), as in the published runs.
        level: Play only this level, by its id, such as `train/42`; `train/42@3,4` is opened there.
        compat: `original` makes the original's boards with its defects; None without them.
        min_distance: Play only levels whose exact L at the start is at least this; not with `level`.
        max_distance: Likewise at most.
        max_attempts: How many boards may be drawn until one is not won by its opening, and how many levels until one
            has the distance asked for.
        render_mode: `ansi` is the board in colours, `rgb_array` a picture, (32 rows, 32 columns, 3) uint8.

    Raises:
        ValueError: if there can be no such boards, such as with more mines than cells.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # type: ignore[misc]
    name = "minesweeper"
    simulator: Simulator = rules

    def __init__(
        self,
        *,
        preset: str = "retroagent",
        rows: int | None = None,
        columns: int | None = None,
        mines: int | None = None,
        max_turns: int | None = None,
        first_click: FirstClick | str | None = None,
        opening: Opening | Sequence[int] = "drawn",
        flags: bool = False,
        observation: Literal["text", "array"] = "text",
        actions: Literal["text", "discrete"] = "text",
        parser: Literal["strict", "original"] = "strict",
        split: str = "train",
        level: str | None = None,
        compat: Literal["original"] | None = None,
        min_distance: int | None = None,
        max_distance: int | None = None,
        max_attempts: int = 1000,
        render_mode: str | None = None,
    ) -> None:
        made = _preset(preset)
        own = made.first_click if compat is None else FirstClick.SAFE
        self.setup = Setup(
            rows=made.rows if rows is None else rows,
            columns=made.columns if columns is None else columns,
            mines=made.mines if mines is None else mines,
            first_click=own if first_click is None else _choice("first_click", first_click, FirstClick),
            opening=_opening(opening),
            flags=flag("flags", flags),
            original=_one_of("compat", compat, (None, "original")) == "original",
            max_attempts=max_attempts,
        )
        board = grid(self.setup.rows, self.setup.columns)
        if max_turns is None:
            as_named = (self.setup.rows, self.setup.columns, self.setup.mines) == made[:3]
            max_turns = (made.max_turns if as_named else None) or board.cells - self.setup.mines
        super().__init__(max_turns=max_turns, render_mode=render_mode)
        self.observation = _one_of("observation", observation, ("text", "array"))
        self.actions = _one_of("actions", actions, ("text", "discrete"))
        self.parser = _one_of("parser", parser, ("strict", "original"))
        if self.parser == "original" and (self.actions != "text" or self.setup.flags):
            raise ValueError("parser='original' reads clicks from text: use it with actions='text' and flags=False.")
        self._distances = _distances(min_distance, max_distance)
        self._seeds = SPLITS[_one_of("split", split, tuple(SPLITS))]
        self._given = None if level is None else read_id(level)
        self._asked: int | None = None
        if level is not None and (min_distance is not None or max_distance is not None):
            raise ValueError("level names the level to play; min_distance and max_distance have no use beside it.")

        if self.observation == "array":
            self.simulator = rules.ARRAYS
        self._names = (*board.clicks, *board.flaggings) if self.setup.flags else board.clicks
        shape = (board.rows, board.columns, len(rules.CHANNELS))
        self.observation_space = AnyText() if self.observation == "text" else spaces.Box(0, 1, shape, np.uint8)
        self.action_space = AnyText() if self.actions == "text" else spaces.Discrete(len(self._names))

    def settings(self) -> tuple[tuple[str, Any], ...]:
        """See `SnapshotEnv.settings`."""
        made = self.setup
        opening = made.opening if isinstance(made.opening, str) else "{},{}".format(*made.opening)
        return (
            *super().settings(),
            ("rows", made.rows),
            ("columns", made.columns),
            ("mines", made.mines),
            ("first_click", str(made.first_click)),
            ("opening", opening),
            ("flags", made.flags),
            ("compat", "original" if made.original else None),
            ("observation", self.observation),
            ("actions", self.actions),
            ("parser", self.parser),
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see `SnapshotEnv.reset`, and the class for which board a seed gives."""
        self._asked = seed
        return super().reset(seed=seed, options=options)

    def choose_level(self, options: dict[str, Any]) -> Level:
        """The level that `options` names, or that of the seed, or one drawn from those this environment plays.

        Options: `level`, an id; `opening`, a `(row, column)` to open the level at.
        """
        unknown = options.keys() - {"level", "opening"}
        if unknown:
            names = ", ".join(sorted(map(repr, unknown)))
            raise ValueError(f"Unknown reset options {names}; there are 'level' and 'opening'.")
        id, opening = options.get("level"), _opening(options.get("opening"))
        if opening is not None:
            check_opening(opening, self.setup.rows, self.setup.columns)
        if id is not None:
            seed, named = read_id(id)
            return generate(self.setup, seed, opening or named)
        if self._given is not None:
            seed, named = self._given
            return generate(self.setup, seed, opening or named)
        return self._drawn(opening)

    def _drawn(self, opening: tuple[int, int] | None) -> Level:
        if self._distances is None:
            return generate(self.setup, self._seed(), opening)
        from rollback_gym.oracles.minesweeper import distance

        least, most = self._distances
        for _ in range(self.setup.max_attempts):
            level = generate(self.setup, self._seed(), opening)
            if least <= distance(level, level.start) <= most:
                return level
        raise DataError(
            f"Of {self.setup.max_attempts} levels drawn, none has L between {least:g} and {most:g} at the start. "
            "Widen min_distance and max_distance, or raise max_attempts."
        )

    def _seed(self) -> int:
        """The seed that was asked for, once and if it is in the split; else one drawn from the split."""
        seed, self._asked = self._asked, None
        if seed is not None and seed in self._seeds:
            return int(seed)
        return self._seeds[int(self.np_random.integers(len(self._seeds)))]

    def find_level(self, name: LevelName) -> Level:
        """The level of the same seed and opening, made as this environment makes levels."""
        match name.locator:
            case (int(version), int(seed), opening) if version == VERSION and 0 <= seed < 2**32:
                pass
            case other:
                raise DataError(f"expected generator version {VERSION}, a seed and an opening, got {other!r}.")
        try:
            return generate(self.setup, seed, opening)
        except ValueError as error:
            raise DataError(str(error)) from error

    def read_action(self, action: Any) -> str:
        """The action as text."""
        if self.actions == "discrete":
            if isinstance(action, np.ndarray) and action.shape == ():  # as policies predict it
                action = action[()]
            if isinstance(action, bool) or not isinstance(action, int | np.integer):
                raise TypeError(f"An action must be a whole number, got {type(action).__name__}.")
            code = int(action)
            if not 0 <= code < len(self._names):
                raise ValueError(f"An action must be from 0 to {len(self._names) - 1}, got {code}.")
            return self._names[code]
        if self.parser == "original":
            if not isinstance(action, str):
                raise TypeError(f"An action must be a str, got {type(action).__name__}.")
            return text.loose(action)
        return action  # type: ignore[no-any-return]  # the rules check it

    def write_action(self, action: str) -> str | int:
        """The agent's own action for the simulator's, such as one from an oracle's plan."""
        if self.actions == "discrete":
            return self._names.index(action)
        return f"<action>{action}</action>" if self.parser == "original" else action

    def info(self) -> dict[str, Any]:
        """See `SnapshotEnv.info`."""
        info = super().info()
        if self.actions == "discrete":
            info["action_mask"] = self._mask(info["admissible_actions"])
        return info

    def action_masks(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        """(n,) int8: 1 where an action is admissible now. Raises TypeError where actions are text."""
        if self.actions != "discrete":
            raise TypeError("Only discrete actions have a mask; make the environment with actions='discrete'.")
        return self._mask(self.simulator.actions(self.level, self.state))

    def _mask(self, admissible: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.int8]]:
        codes = self._level.grid.codes
        mask = np.zeros(len(self._names), dtype=np.int8)
        mask[[codes[name] for name in admissible]] = 1
        return mask

    def render(self) -> Any:
        """The board in colours, or as a picture."""
        if self.render_mode == "ansi":
            return render.ansi(self.level, self.state)
        if self.render_mode == "rgb_array":
            return render.picture(self.level, self.state)
        return None


def levels(split: str | None = None, **options: Any) -> Sequence[str]:
    """The ids of the levels of a split, `train` or `valid`; of both for None. `options` as in the environment.

    Raises DataError for another split, ValueError where there can be no such boards.
    """
    MineSweeperEnv(**options)  # raises
    return LevelIds(split)


def _preset(name: str) -> Preset:
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}.")
    return PRESETS[name]


def _one_of(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return value


def _opening(opening: Any) -> Any:
    """A pair as a tuple of plain numbers; `Setup` checks it, and whatever else it is."""
    if not isinstance(opening, tuple | list | np.ndarray):
        return opening
    return tuple([int(number) if isinstance(number, np.integer) else number for number in opening])


def _choice(name: str, value: Any, choices: type[FirstClick]) -> FirstClick:
    return choices(_one_of(name, value, tuple(map(str, choices))))


def _distances(least: float | None, most: float | None) -> tuple[float, float] | None:
    if least is None and most is None:
        return None
    for name, bound in (("min_distance", least), ("max_distance", most)):
        number = isinstance(bound, int | float | np.integer | np.floating) and not isinstance(bound, bool)
        if bound is not None and not number:
            raise ValueError(f"{name} must be a number of turns, got {bound!r}.")
    bounds = (0.0 if least is None else float(least), np.inf if most is None else float(most))
    if not bounds[0] <= bounds[1]:
        raise ValueError(f"min_distance must be at most max_distance, got {least!r} and {most!r}.")
    return bounds
