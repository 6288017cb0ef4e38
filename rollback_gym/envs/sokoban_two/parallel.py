"""Sokoban for two as a PettingZoo environment."""

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from pettingzoo import ParallelEnv

from rollback_gym.core.env import state_digest
from rollback_gym.core.errors import DataError, SnapshotMismatch
from rollback_gym.core.history import Point
from rollback_gym.core.host import Host
from rollback_gym.core.random import random_state, set_random_state
from rollback_gym.core.snapshot import LevelName, Origin, Outcome
from rollback_gym.core.spaces import AnyText, apart
from rollback_gym.envs.sokoban.parser import strict
from rollback_gym.envs.sokoban.seeds import SPLITS
from rollback_gym.envs.sokoban_two.generator import Recipe, check, ids, make_level
from rollback_gym.envs.sokoban_two.rules import Rules, why_invalid
from rollback_gym.envs.sokoban_two.types import AGENTS, WORDS, Level
from rollback_gym.envs.sokoban_two.views import Channels, Text

Answer = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]


class TwoPlayerSokoban(Host, ParallelEnv):  # type: ignore[misc]
    """Sokoban for two: walk about one room, both at once, and push every box onto a target, together.

    Agents: `player_0` and `player_1`, always both.
    Observation space, each agent's own: with `observation="text"`, `AnyText`: the room, one row a line, of the symbols
        of Sokoban; `P` is the one who looks (`S` on a target), `Q` the other one (`R` on a target). With `"array"`,
        `Box` of (height, width, 5) uint8, ones where there is wall, a target, a box, the one who looks, the other one.
    Action space: with `actions="text"`, `AnyText`: `up`, `down`, `left`, `right`, `stay`. With `"discrete"`,
        `Discrete(5)`, these five in this order. All are always admissible. Anything else is to stay, and is reported as
        invalid. What happens when the two are in each other's way is in `rules`: nobody is first.
    Starting state: `reset(seed=n)` plays the room of seed n where n is a seed of the split (0 to 65534 in `train`, from
        65536 in `valid`), and otherwise one drawn with that seed; `reset()` draws.
        `reset(options={"level": "train/17"})` plays that one.
    Rewards, the same for both: -0.1 with every turn; 1 for each box by which those on targets become more, -1 for each
        by which they become fewer; and 10 with the turn that wins.
    Episode end, for both: terminated by a win, truncated after `max_turns`.
    Information, for each agent: `admissible_actions`, `action_index`, `turn`, `won`, `task`, `level` (the room's id),
        `player` (0 or 1), and `invalid_action`.
    Snapshot contents: the level (one room); the state (the cells of both players and of the boxes); the random state
        that chooses later rooms; the turns; the last observations. `snapshot()` and `restore(snapshot)`; with
        `MultiAgentRollback`, its own.
    Rollback: `MultiAgentRollback`, for both at once.
    Oracle: `oracles.sokoban_two`, exact: the fewest turns of both together.
    Differences from the original: it has no original; rules and rooms are our own.
    Version history: `v0`, the first.

    Args:
        size: Cells each way, or (height, width).
        boxes: How many, 1 to 3.
        needs_both: Only rooms that neither player could win without the other in the room.
        min_distance: Only rooms that need at least as many turns.
        max_distance: Only rooms that need at most as many turns; None for no limit.
        max_turns: The turn that truncates an episode.
        split: `train` or `valid`.
        observation: `text` or `array`.
        actions: `text` or `discrete`.
        render_mode: `ansi`: the room as `player_0` sees it.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "name": "sokoban_two_v0", "is_parallelizable": True}
    name = "sokoban-two"

    def __init__(
        self,
        *,
        size: int | tuple[int, int] = 6,
        boxes: int = 2,
        needs_both: bool = True,
        min_distance: int = 4,
        max_distance: int | None = None,
        max_turns: int = 50,
        split: Literal["train", "valid"] = "train",
        observation: Literal["text", "array"] = "text",
        actions: Literal["text", "discrete"] = "text",
        render_mode: str | None = None,
    ) -> None:
        height, width = size if isinstance(size, tuple) else (size, size)
        for name, value in (("size", height), ("size", width), ("boxes", boxes), ("max_turns", max_turns)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        for name, given, known in (
            ("observation", observation, ("text", "array")),
            ("actions", actions, ("text", "discrete")),
            ("render_mode", render_mode, (None, "ansi")),
            ("split", split, tuple(SPLITS)),
        ):
            if given not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, got {given!r}.")
        self.recipe = Recipe(height, width, boxes, bool(needs_both), min_distance, max_distance)
        check(self.recipe)
        self.max_turns = max_turns
        self.split = split
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self.actions = actions
        self.observation = observation
        self._seen = Text() if observation == "text" else Channels(height, width)
        self.simulator = Rules(self._seen.describe)
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            agent: AnyText() if actions == "text" else spaces.Discrete(len(WORDS)) for agent in AGENTS
        }
        self.observation_spaces = dict.fromkeys(AGENTS, self._seen.space)
        self._random = np_random()[0]
        self._state: Any = None

    # The episode.

    @property
    def agents(self) -> list[str]:
        """Both while the episode runs, nobody before and after."""
        return list(AGENTS) if self.begun and self._outcome is Outcome.RUNNING else []

    @property
    def game_state(self) -> Any:
        """The state of the game, an immutable value. Raises ResetNeeded before the first reset or restore."""
        self._check_begun()
        return self._state

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of what `agent` sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of what `agent` can do."""
        return self.action_spaces[agent]

    def noop(self, agent: str) -> str | int:
        """To stay."""
        return self.write_action("stay")

    def write_action(self, word: str) -> str | int:
        """One of `WORDS`, such as an oracle's, as an action of this environment's action spaces."""
        return word if self.actions == "text" else WORDS.index(word)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode. Raises DataError where there is no such room."""
        generator = self._random if seed is None else np_random(seed)[0]
        self._level = self._chosen(seed, (options or {}).get("level"), generator)
        self._random = generator
        self._state, self._observation = self.simulator.begin(self._level)
        self._turn = 0
        self._outcome = Outcome.RUNNING
        return apart(self._observation), self.info()

    def step(self, actions: dict[str, Any]) -> Answer:
        """Take a turn, with an action of each agent. Raises ResetNeeded where no episode is running."""
        if self._outcome is not Outcome.RUNNING or self._level is None:
            raise self._not_running()
        words = tuple([self._word(actions[agent]) for agent in AGENTS])
        done = self.simulator.step(self._level, self._state, words)  # type: ignore[arg-type]
        self._state, self._observation = done.state, done.feedback
        self._turn += 1
        if done.terminated:
            self._outcome = Outcome.WON
        elif self.last_turn:
            self._outcome = Outcome.TRUNCATED
        infos = self.info()
        for agent, word in zip(AGENTS, words, strict=True):
            if word not in WORDS:
                infos[agent]["invalid_action"] = why_invalid(word)
        truncated = self._outcome is Outcome.TRUNCATED
        return (
            apart(self._observation),
            dict.fromkeys(AGENTS, done.reward),
            dict.fromkeys(AGENTS, done.terminated),
            dict.fromkeys(AGENTS, truncated),
            infos,
        )

    def info(self) -> dict[str, Any]:
        """What each agent is told beside its observation."""
        level = self._level
        info = {
            "admissible_actions": self.simulator.actions(level, self._state),
            "action_index": self._turn,
            "turn": self._turn,
            "won": self._outcome is Outcome.WON,
            "task": level.task,
            "level": level.id,
        }
        return {agent: {**info, "player": player} for player, agent in enumerate(AGENTS)}

    def render(self) -> str | None:
        """The room as `player_0` sees it, where `render_mode` is `"ansi"`."""
        if self.render_mode is None:
            return None
        self._check_begun()
        return Text().describe(self._level, self._state)[AGENTS[0]]

    def close(self) -> None:
        """Nothing is held open."""

    def state(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """(height, width, 5) uint8: the room as `player_0` sees it in arrays."""
        self._check_begun()
        return Channels(self.recipe.height, self.recipe.width).describe(self._level, self._state)[AGENTS[0]]

    def _word(self, action: Any) -> str:
        if self.actions == "text":
            if not isinstance(action, str):
                raise TypeError(f"An action must be a str, such as 'up', got {type(action).__name__}.")
            return strict(action) if action.strip().lower() != "stay" else "stay"
        if not isinstance(action, int | np.integer) or isinstance(action, bool):
            raise TypeError(f"An action must be a whole number, 0 to 4, got {type(action).__name__}.")
        if not 0 <= action < len(WORDS):
            raise ValueError(f"An action must be from 0 to {len(WORDS) - 1}, got {action}.")
        return WORDS[action]

    def _chosen(self, seed: int | None, id: Any, generator: np.random.Generator) -> Level:
        if id is not None and not isinstance(id, str):
            raise TypeError(f"options['level'] must be a room's id, a str, got {type(id).__name__}.")
        known = ids(self.split)
        if id is None and seed is not None and f"{self.split}/{seed}" in known:
            id = f"{self.split}/{seed}"
        return make_level(self.recipe, id or known[int(generator.integers(len(known)))])

    # What a host provides: see core/host.py.

    @cached_property
    def origin(self) -> Origin:
        """What this environment's snapshots say they belong to."""
        height, width = self.recipe[:2]
        settings = (
            ("max_turns", self.max_turns),
            ("observation", self.observation if self.observation == "text" else f"{height}x{width}"),
            ("actions", self.actions),
        )
        return Origin(self.name, settings, self.simulator)

    @property
    def coder(self) -> Rules:
        """The simulator."""
        return self.simulator

    def find_level(self, name: LevelName) -> Level:
        """The room of that id, if it is made the way this environment does."""
        if name.locator != tuple(self.recipe):
            raise DataError(f"that room was made with {name.locator!r:.80}, rooms here with {tuple(self.recipe)!r}")
        return make_level(self.recipe, name.id)

    def state_digest(self) -> str:
        """A hash of environment, level content and game state: equal iff they are, in every process."""
        self._check_begun()
        return state_digest(self.name, self.simulator, self._level, self._state)

    def point(self) -> Point:
        """See `Host.point`."""
        return Point(self._state, random_state(self._random), self._observation)

    def accept_point(self, level: Level, point: Point) -> None:
        """See `Host.accept_point`."""
        set_random_state(self._random, point.random)
        self._level, self._state, self._observation = level, point.state, point.observation

    def check_random(self, random: Any) -> None:
        """See `Host.check_random`."""
        set_random_state(np.random.Generator(np.random.PCG64(0)), random)

    def decode_point(self, level: Level, data: Any, observation: Any, before: Point | None = None) -> Point:
        """A point of `level` from plain values. Raises SnapshotMismatch where it is none."""
        try:
            state, random = data
            self.check_random(random)
            state = self.simulator.decode(level, state)
        except (ValueError, TypeError) as error:
            raise SnapshotMismatch(f"The snapshot's state is none of level {level.id!r}: {error}.") from error
        if not isinstance(observation, dict) or any(
            agent not in observation or not self.observation_spaces[agent].contains(observation[agent])
            for agent in AGENTS
        ):
            raise SnapshotMismatch(f"The snapshot's observations are none of this environment: {observation!r:.80}.")
        return Point(state, random, observation)
