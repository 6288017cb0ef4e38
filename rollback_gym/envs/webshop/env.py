"""WebShop as a Gymnasium environment."""

import os
import re
from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from rollback_gym.core.env import SnapshotEnv
from rollback_gym.core.errors import DataError
from rollback_gym.core.options import flag
from rollback_gym.core.snapshot import LevelName
from rollback_gym.core.spaces import AnyText
from rollback_gym.envs.webshop.data import open_catalogue
from rollback_gym.envs.webshop.goals import ORDER_SEED, SPLITS, Goals, Kind, draw, draw_as_original, open_goals
from rollback_gym.envs.webshop.rules import Compat, Mode, WebShopRules
from rollback_gym.envs.webshop.types import Catalogue, Level

Sampling = Literal["uniform", "weighted"]

VERL_SEED = 42
"""What verl-agent's copy is seeded with unless told otherwise."""


class Preset(NamedTuple):
    """How a published line of work runs WebShop."""

    max_turns: int
    splits: dict[str, tuple[int, int | None]]


_VERL_AGENT = Preset(15, {"train": (500, None), "valid": (0, 500), "all": (0, None)})
PRESETS = {"webshop": Preset(15, SPLITS), "verl-agent": _VERL_AGENT, "retroagent": _VERL_AGENT}
"""`webshop`: the original's splits (arXiv 2207.01206). `verl-agent` (arXiv 2505.10978) and `retroagent`
(arXiv 2603.08561): 500 goals to validate, the others to train."""


class WebShopEnv(SnapshotEnv[str, str]):
    """WebShop: search, look at products, choose options, and buy what an instruction asks for.

    Observation space: `AnyText`, the page, character for character as in WebShop. `"text"` joins its texts by
        ` [SEP] `; what was chosen cannot be seen. `"text_rich"` has a line a text, marks buttons, and shows what was
        clicked.
    Action space: `AnyText`: `search[red shoes]`, understood on every page, and `click[buy now]`, with what is written
        on a button, a product's link or an option, in whatever case. Anything else changes nothing and spends its turn.
    Starting state: the page with the search bar and the instruction. `reset(seed=n)` draws a goal of the split,
        `reset(options={"level": number or id})` chooses one.
    Rewards: with Buy Now what the purchase is worth, from 0.0 to 1.0: the share of attributes, options and price limit
        that are met, times a factor for the type of product. Else 0.0.
    Episode end: terminated by Buy Now, which wins with a reward of exactly 1.0 and else loses the game; truncated after
        `max_turns`.
    Information: `admissible_actions` (as verl-agent writes them; `search[<your query>]` stands for every search),
        `available_actions` (the original's dict of `has_search_bar` and `clickables`), `page` (its kind),
        `action_index`, `turn`, `won`, `task` (the instruction), `level` (its id), `invalid_action` (why) after an
        action that changed nothing, and after a purchase `reward_details` (`reward.Worth`).
    Snapshot contents: the level (a goal in a shop); the state (the page, what was searched for, the product, what was
        chosen, what was opened); the random state that chooses later levels; the turns; the last observation.
    Rollback: to any earlier page, with what was chosen there. With `revive=True` a purchase worth less than 1.0 does
        not end the episode, and can be taken back.
    Oracle: `oracles.webshop`, exact over every click, and over the searches that its docstring names;
        `holds_for_any_query` tells where no other search could do better.
    Differences from the original: prices and price limits are drawn from a seed, so that a goal is the same text in
        every process; the splits are disjoint; every goal can be drawn; nothing happens after Buy Now; options that
        hold a bracket can be chosen. `compat="original"` draws goals, and reads clicks, as it is done there.
        docs/fidelity.md has all of them.
    Version history: `v0`, the first.

    Args:
        data: Where the official files are; by default `WEBSHOP_DATA`, and without it a catalogue made here (see
            `data`). Or a `Catalogue` of your own.
        products: Only the first so many products.
        goals: `synthetic`, or `human` for those that people wrote.
        preset: `webshop`, `verl-agent` or `retroagent`: the splits and `max_turns`.
        split: Which goals, by number: `test` (0 to 499), `eval` (500 to 1499), `train` (from 1500) or `all`; with
            verl-agent's preset `valid` (0 to 499), `train` (from 500) or `all`.
        level: Play only this goal: its number, or a level's id such as `synthetic/17`.
        sampling: `uniform`, or `weighted` as in the original, which draws goals with rare attributes more often. By
            default uniform, and weighted with `compat="original"`.
        goal_seed: Fixes drawn prices and price limits; with `compat="verl-agent"` it also orders the goals, and is 42
            by default.
        max_turns: The turn that truncates an episode; by default the preset's, 15.
        observation: `text` or `text_rich`.
        show_attributes: Whether item pages link to the attributes, which goals are made of.
        compat: None mends the original's defects; `original` and `verl-agent` keep those of the original and of the
            copy that verl-agent and RetroAgent use.
        render_mode: `ansi` renders the last observation.

    Raises:
        DataError: if there are no such goals.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # type: ignore[misc]
    name = "webshop"
    simulator: WebShopRules

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | Catalogue | None = None,
        products: int | None = None,
        goals: Kind = "synthetic",
        preset: str = "webshop",
        split: str = "train",
        level: int | str | None = None,
        sampling: Sampling | None = None,
        goal_seed: int | None = None,
        max_turns: int | None = None,
        observation: Mode = "text",
        show_attributes: bool = False,
        compat: Compat = None,
        render_mode: str | None = None,
    ) -> None:
        made = _preset(preset)
        super().__init__(max_turns=made.max_turns if max_turns is None else max_turns, render_mode=render_mode)
        if sampling not in (None, "uniform", "weighted"):
            raise ValueError(f"sampling must be 'uniform' or 'weighted', got {sampling!r}.")
        self.simulator = WebShopRules(observation, flag("show_attributes", show_attributes), compat)
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.sampling: Sampling = sampling or ("weighted" if compat == "original" else "uniform")
        self.goals = open_all(data, products, goals, goal_seed, compat)
        self._numbers = numbers_of(self.goals, preset, split) if level is None else _only(self._number(level))

    def settings(self) -> tuple[tuple[str, Any], ...]:
        """See `SnapshotEnv.settings`."""
        rules = self.simulator
        return (
            *super().settings(),
            ("observation", rules.observation),
            ("show_attributes", rules.show_attributes),
            ("compat", rules.compat),
        )

    def choose_level(self, options: dict[str, Any]) -> Level:
        """The level that `options` names, by number or id, or one drawn from those this environment plays."""
        unknown = options.keys() - {"level"}
        if unknown:
            raise ValueError(
                f"Unknown reset options {sorted(unknown)}; the only one is 'level', a goal's number or id."
            )
        named = options.get("level")
        return self.goals.level(self._drawn() if named is None else self._number(named))

    def find_level(self, name: LevelName) -> Level:
        """The level of that id among this environment's goals."""
        return self.goals.level(self._number(name.id))

    def read_action(self, action: str) -> str:
        """`action`, which must be a str."""
        if not isinstance(action, str):
            raise TypeError(f"An action must be a str, such as 'search[red shoes]', got {type(action).__name__}.")
        return action

    def info(self) -> dict[str, Any]:
        """See `SnapshotEnv.info`."""
        info = super().info()
        level, state = self._level, self._state
        info["available_actions"] = self.simulator.available(level, state)
        info["page"] = state.kind
        if state.kind == "done":
            info["reward_details"] = self.simulator.purchase(level, state).details()
        return info

    def _number(self, level: Any) -> int:
        """The number of the goal that a number or an id names."""
        if isinstance(level, int | np.integer) and not isinstance(level, bool):
            number = int(level)
        elif isinstance(level, str):
            named = re.fullmatch(f"{self.goals.kind}/(0|[1-9][0-9]{{0,17}})", level)
            if named is None:
                raise DataError(
                    f"There is no level {level!r:.60} here: expected '{self.goals.kind}/' and a goal's number."
                )
            number = int(named[1])
        else:
            raise TypeError(f"A level must be a goal's number or a level's id, got {type(level).__name__}.")
        if not 0 <= number < len(self.goals):
            raise DataError(f"There is no {self.goals.kind} goal {number} here: there are {len(self.goals)}, from 0.")
        return number

    def _drawn(self) -> int:
        numbers, generator = self._numbers, self.np_random
        if self.sampling == "uniform":
            return numbers.start + int(generator.integers(len(numbers)))
        sums = self._sums
        choose = draw_as_original if self.simulator.compat == "original" else draw
        return numbers.start + choose(sums, float(generator.random()) * sums[-1])

    @cached_property
    def _sums(self) -> Sequence[float]:
        weights = self.goals.weights
        return array("d", accumulate(weights[number] for number in self._numbers))


class LevelIds(Sequence[str]):
    """The ids of goals, made when they are asked for."""

    def __init__(self, kind: Kind, numbers: range) -> None:
        self.kind, self.numbers = kind, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        found = self.numbers[index]
        return LevelIds(self.kind, found) if isinstance(found, range) else f"{self.kind}/{found}"


def levels(
    split: str | None = None,
    *,
    data: str | os.PathLike[str] | Catalogue | None = None,
    products: int | None = None,
    goals: Kind = "synthetic",
    preset: str = "webshop",
) -> Sequence[str]:
    """The ids of the goals of a split; of all for None. Options as in the environment. Raises DataError likewise."""
    found = open_all(data, products, goals, None, None)
    return LevelIds(goals, numbers_of(found, preset, "all" if split is None else split))


def open_all(
    data: str | os.PathLike[str] | Catalogue | None, products: int | None, kind: Kind, seed: int | None, compat: Compat
) -> Goals:
    """The goals that an environment of these options has."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise TypeError(f"goal_seed must be a whole number, got {type(seed).__name__}.")
    seed = (VERL_SEED if compat == "verl-agent" else 0) if seed is None else int(seed)
    catalogue = data if isinstance(data, Catalogue) else open_catalogue(data, products)
    return open_goals(catalogue, kind, seed, seed if compat == "verl-agent" else ORDER_SEED)


def numbers_of(goals: Goals, preset: str, split: str) -> range:
    """The numbers of the goals of a split. Raises DataError where there are none."""
    splits = _preset(preset).splits
    if split not in tuple(splits):
        raise DataError(f"There is no split {split!r}: with preset={preset!r} there are {', '.join(splits)}.")
    first, end = splits[split]
    numbers = range(len(goals))[first:end]
    if not len(goals):
        needed = "products with an instruction and attributes" if goals.kind == "synthetic" else "items_human_ins.json"
        raise DataError(f"There are no {goals.kind} goals here; they need {needed}.")
    if not numbers:
        raise DataError(
            f"The split {split!r} begins at goal {first}, and there are only {len(goals)} {goals.kind} goals here. "
            "Use split='all', or more data."
        )
    return numbers


def _preset(name: str) -> Preset:
    if name not in tuple(PRESETS):
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}.")
    return PRESETS[name]


def _only(number: int) -> range:
    return range(number, number + 1)
