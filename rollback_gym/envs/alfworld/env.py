"""ALFWorld as a Gymnasium environment."""

import os
import random
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar, Literal

from rollback_gym.core.env import SnapshotEnv, state_digest
from rollback_gym.core.errors import DataError
from rollback_gym.core.options import flag
from rollback_gym.core.simulator import Simulator
from rollback_gym.core.snapshot import LevelName
from rollback_gym.core.spaces import AnyText
from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.data import Games, GeneratedGames, open_games
from rollback_gym.envs.alfworld.problem import compile_level
from rollback_gym.envs.alfworld.types import Level, TaskType

Backend = Literal["native", "textworld"]

_PUT = re.compile(r"\s*put (.+?) (?:in/on|in|on) (.+)", re.DOTALL)
_NUMBERINGS = 2**32


class ALFWorldEnv(SnapshotEnv[str, str]):
    """ALFWorld: find, carry, clean, heat, cool and place things in a house that is told in text.

    Observation space: `AnyText`, word for word what ALFWorld on TextWorld prints; the first one ends with the task.
    Action space: `AnyText`, the original's commands, such as `go to fridge 1` and `move apple 1 to fridge 1`. A command
        that is not admissible, whatever the text, answers "Nothing happens." and spends its turn.
    Starting state: in the middle of the room, with nothing in hand; the level says what lies where. `reset(seed=n)`
        draws a level of the split, `reset(options={"level": id})` chooses one.
    Rewards: 1.0 with the action that reaches the goal, else 0.0.
    Episode end: terminated by a win, truncated after `max_turns`. A game cannot be lost.
    Information: `admissible_actions` (sorted, as the original offers them), `action_index`, `turn`, `won`, `task`,
        `level` (the game's path), and `invalid_action` (why) after a command that was not admissible.
    Snapshot contents: the level (one game file); the state (where the agent is, what it holds, what is open, what lies
        where, and what was cleaned, heated, cooled, sliced and switched on); the random state that chooses later
        levels; the turns; the last observation.
    Rollback: to any earlier node. Since no game is lost, `revive` changes nothing. A few things of the original data
        can be taken and put nowhere: L is infinite then, and only a rollback helps.
    Oracle: `oracles.alfworld`, exact from any state, without a search.
    Differences from the original: names are numbered anew only on request, and from the seed; to run out of turns is
        never a success; games by other rules are refused. docs/fidelity.md has all of them.
    Version history: `v0`, the first.

    Args:
        data: Where games are: a folder in ALFWorld's layout, a `game.tw-pddl`, or a `.tar.xz`, `.tar.gz` or `.zip` of
            such. By default `ALFWORLD_DATA`, and without it worlds that are made here, in the same format.
        split: `train`, `valid_seen` or `valid_unseen`.
        task_types: Play only these of the six `TaskType`s.
        level: Play only this level, by its id.
        backend: `native`, or `textworld` for the genuine engine behind the same interface (slow; needs the extra
            `alfworld`; snapshots by verified replay).
        max_turns: The turn that truncates an episode.
        shuffle_numbers: Deal the numbers in names (`drawer 3`) anew in every episode, as the original does in
            training, but from this environment's seed.
        accept_put: Also understand `put X in/on Y`, which ALFWorld's grammar before `move X to Y` used.
        difficulty: How large made worlds are; see `generator`. Only for those.
        render_mode: `ansi` renders the last observation.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # type: ignore[misc]
    name = "alfworld"
    simulator: Simulator = rules

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        split: str = "train",
        task_types: Iterable[TaskType | str] | None = None,
        level: str | None = None,
        backend: Backend = "native",
        max_turns: int = 50,
        shuffle_numbers: bool = False,
        accept_put: bool = False,
        difficulty: float | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(max_turns=max_turns, render_mode=render_mode)
        if backend not in ("native", "textworld"):
            raise ValueError(f"backend must be 'native' or 'textworld', got {backend!r}.")
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.backend: Backend = backend
        self.shuffle_numbers = flag("shuffle_numbers", shuffle_numbers)
        self.accept_put = flag("accept_put", accept_put)
        self._games = games(data, difficulty)
        self._ids = self._games.ids(split, task_types) if level is None else (level,)
        if backend == "textworld":
            from rollback_gym.envs.alfworld.genuine import GenuineSimulator

            self.simulator = GenuineSimulator(self._games)

    def settings(self) -> tuple[tuple[str, Any], ...]:
        """See `SnapshotEnv.settings`."""
        return (*super().settings(), ("backend", self.backend), ("accept_put", self.accept_put))

    def choose_level(self, options: dict[str, Any]) -> Level:
        """The level that `options` names, or one drawn from those this environment plays."""
        unknown = options.keys() - {"level"}
        if unknown:
            raise ValueError(f"Unknown reset options {sorted(unknown)}; the only one is 'level', a level's id.")
        id = options.get("level")
        if id is None:
            # Drawn even where there is one level only: the numbering must not depend on how many there are.
            id = self._ids[int(self.np_random.integers(len(self._ids)))]
        elif not isinstance(id, str):
            raise TypeError(f"options['level'] must be a level's id, a str, got {type(id).__name__}.")
        numbering = int(self.np_random.integers(_NUMBERINGS)) if self.shuffle_numbers else None
        return load_level(self._games, id, numbering)

    def find_level(self, name: LevelName) -> Level:
        """The level of that id among this environment's games, whatever files the locator speaks of."""
        match name.locator:
            case (None,):
                numbering = None
            case (int(numbering),) if 0 <= numbering < _NUMBERINGS:
                pass
            case other:
                raise DataError(f"expected a numbering of 32 bits or None, got {other!r}.")
        return load_level(self._games, name.id, numbering)

    def state_digest(self) -> str:
        """See `SnapshotEnv.state_digest`. The same for both backends, however a state was reached."""
        return state_digest(self.name, rules, self.level, self.state)

    def read_action(self, action: str) -> str:
        """`action`, with `put X in/on Y` turned into `move X to Y` where that is accepted."""
        if not isinstance(action, str):
            raise TypeError(f"An action must be a str, such as 'look', got {type(action).__name__}.")
        if self.accept_put and (match := _PUT.fullmatch(action)):
            return f"move {match[1]} to {match[2]}"
        return action


def games(data: str | os.PathLike[str] | None = None, difficulty: float | None = None) -> Games:
    """The games at `data`, or at `ALFWORLD_DATA`; without either, the worlds made here.

    Raises DataError where there are no games, and ValueError for a difficulty of games that are not made here.
    """
    found = open_games(data) if data is not None or difficulty is None else None
    if found is None:
        return GeneratedGames(1.0 if difficulty is None else difficulty)
    if difficulty is not None:
        raise ValueError(f"difficulty is for worlds made here; {found.source} has games of its own. Leave one out.")
    return found


@lru_cache(maxsize=256)
def load_level(games: Games, id: str, numbering: int | None = None) -> Level:
    """The level `id` of `games`, compiled once for all environments of the process that play it at the same time.

    `numbering` seeds the shuffled numbers in names; None leaves them in the order of the ids.
    """
    shuffled = None if numbering is None else random.Random(numbering)
    return compile_level(games.game(id), id, (numbering,), shuffled)
