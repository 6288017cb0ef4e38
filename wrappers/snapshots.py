"""Snapshots for any Gymnasium environment, whoever wrote it."""

import copy
import itertools
import json
import re
import warnings
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from rollback_gym.core import attributes
from rollback_gym.core.attributes import Attributes, NotCopyable
from rollback_gym.core.codec import pack
from rollback_gym.core.errors import DataError, ReplayDiverged, SnapshotMismatch, SnapshotNotPortable
from rollback_gym.core.history import Point
from rollback_gym.core.host import Host
from rollback_gym.core.random import random_state, set_random_state
from rollback_gym.core.snapshot import LevelName, Origin, Outcome
from rollback_gym.core.spaces import apart
from rollback_gym.wrappers import native, trial
from rollback_gym.wrappers.tape import Moment, Start, State, TapeCoder, asked, fingerprint

Strategy = Literal["auto", "native", "deepcopy", "replay"]
Won = Callable[[Any, float, dict[str, Any]], bool]
_STRATEGIES = ("auto", "native", "deepcopy", "replay")
_REMEMBERED = 1 << 14
_UNSEEDED = itertools.count(1)
native.register()


class Snapshots(Host, gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Gives an environment of others `rollback_gym.snapshot`, `restore` and `fork`, and makes it ready for `Rollback`.

    What is taken is the whole stack beneath: the environment and its wrappers, their random generators, and whatever
    they were given, such as a buffer or the variables of a callback. Not taken: what only draws or records, and the
    generators of spaces, with which an agent samples. (The Atari emulator goes on showing the picture that it drew
    last until the next action.) A snapshot goes into bytes as what was done since `reset(seed=...)`, and is done again,
    every answer checked, where it is restored from them.

        >>> env = Snapshots(gym.make("CartPole-v1"))
        >>> observation, info = env.reset(seed=0)
        >>> here = rollback_gym.snapshot(env)
        >>> env.step(1)                                  # doctest: +SKIP
        >>> observation, info = rollback_gym.restore(env, here)

    Info: adds `turn` and `action_index`, and `won` where that is known.

    Args:
        env: Any environment whose future its own attributes, the state of its emulator or engine, or its seed and
            actions decide.
        strategy: How the environment is put back. `"native"`: attributes are copied, and what cannot be copied is asked
            for its state (`register_native`; Atari and MuJoCo are known). `"deepcopy"`: attributes are copied, and
            nothing is asked but random generators. `"replay"`: it is reset with the same seed, and the same actions
            are taken; slow, but needs nothing of the environment. `"auto"`: the first of these that keeps what it
            promises, tried on a few random actions at the first reset; replay too if copies fail later.
        max_turns: The turn that truncates the episode; by default the limit that the environment was registered with,
            if any. What a rollback gives back is given back to a `TimeLimit` beneath, but never to `max_turns`.
        won: `won(observation, reward, info)` says whether an episode that terminated was won. Without it that is
            unknown, and `Rollback(revive=True)` is refused.

    Raises:
        ReplayDiverged: at the first reset, if no strategy reproduces the environment: it depends on something outside
            itself, such as a global random generator. Later, as soon as an action is answered otherwise than it was
            before a restore.
        NotCopyable: at the first snapshot, if the strategy asked for does not fit the environment.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        strategy: Strategy = "auto",
        max_turns: int | None = None,
        won: Won | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, strategy=strategy, max_turns=max_turns, won=won)
        gym.Wrapper.__init__(self, env)
        if strategy not in _STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(_STRATEGIES)}, got {strategy!r}.")
        if any(isinstance(layer, Host) for layer in _stack(env)):
            raise TypeError(f"{env} has snapshots already; Snapshots is for environments that have none.")
        if max_turns is None and env.spec is not None:
            max_turns = env.spec.max_episode_steps
            if max_turns is not None and max_turns < 1:  # how gym.make is told to set none
                max_turns = None
        if max_turns is not None and (
            isinstance(max_turns, bool) or not isinstance(max_turns, int | np.integer) or max_turns < 1
        ):
            raise ValueError(f"max_turns must be None or a whole number of at least 1, got {max_turns!r}.")
        self.strategy: Strategy = strategy
        """How the environment is put back; `"auto"` until the first reset has decided."""
        self.max_turns = None if max_turns is None else int(max_turns)
        self.knows_losses = won is not None
        self._won = won
        self._auto = strategy == "auto"
        self._held = _stack(env)
        self._moment: Moment | None = None
        self._state: State | None = None
        """Of this moment, once it was asked for."""
        self._seeds = np.random.default_rng()
        self._answers: dict[bytes, int] = {}
        """What was answered lately, by what was asked: the same again, or something was not put back."""

    # The episode.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; only one begun with a seed can go into bytes."""
        if self._resumed is not None:
            seed, options = self._resumed.seed, self._resumed.options
        if self.strategy == "replay" and seed is None:
            seed = self._drawn_seed()
        observation, info = self._begun(seed, options)
        if seed is not None:
            self._seeds = np.random.default_rng(int(seed))
        if self.strategy == "auto":
            self.strategy = trial.copying(self._held, [self], info) or "replay"
            if self.strategy == "replay":
                seed = self._drawn_seed() if seed is None else seed
                if not trial.replays(self._held, seed, options):
                    self.strategy = "auto"
                    raise self._lawless(seed)
                observation, info = self._begun(seed, options)
        self._observation = observation
        self._level = self._resumed or self._start(seed, self._own(options))
        self._at(Moment(None, self._level.digest, fingerprint(observation), info))
        self._answers.clear()
        self._turn = 0
        self._outcome = Outcome.RUNNING
        return apart(observation), self.info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action, which spends one turn. Raises ResetNeeded where no episode is running."""
        before = self._moment
        if self._outcome is not Outcome.RUNNING or self._level is None or before is None:
            raise self._not_running()
        taken, drawn = apart(action), self._drawn_since(before)
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward, terminated, truncated = float(reward), bool(terminated), bool(truncated)
        check = fingerprint(observation, reward, (terminated, truncated))
        if self._answers.setdefault(asked(before, taken, drawn), check) != check:
            self._level = None
            raise self._contradicted(taken)
        if len(self._answers) > _REMEMBERED:
            del self._answers[next(iter(self._answers))]
        self._observation = apart(observation)
        self._at(Moment(before, taken, check, self._own(info), drawn))
        self._turn += 1
        if terminated:
            self._outcome = Outcome.ENDED
            self._outcome = self._ended(observation, reward, info)
            truncated = False
        elif truncated or self.last_turn:
            self._outcome = Outcome.TRUNCATED
            truncated = True
        return apart(observation), reward, terminated, truncated, self.info()

    def info(self) -> dict[str, Any]:
        """The environment's last info, and what is known here."""
        info: dict[str, Any] = self._own((self._moment and self._moment.info) or {})
        info["turn"] = info["action_index"] = self._turn
        if self.knows_losses:
            info["won"] = self._outcome is Outcome.WON
        return info

    def _at(self, moment: Moment) -> None:
        """The environment has just come to this moment."""
        moment.left = hash(self._random())
        self._moment, self._state = moment, None

    def _random(self) -> Any:
        """The state of the environment's generator, from which the wrappers around it draw too; None if it has none."""
        generator = self.env.unwrapped.np_random
        return random_state(generator) if isinstance(generator, np.random.Generator) else None

    def _drawn_since(self, moment: Moment) -> Any:
        """The random state, if somebody has drawn from it since the environment came to this moment."""
        random = self._random()
        return None if hash(random) == moment.left else random

    def _begun(self, seed: int | None, options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=self._own(options))
        _ = self.env.unwrapped.np_random  # which is made when it is first asked for, from nothing that can be put back
        return apart(observation), self._own(info)

    def _own(self, value: Any) -> Any:
        """`value` for somebody who may change it; environments in it are those of the stack themselves."""
        if not value:
            return copy.copy(value)
        try:
            return copy.deepcopy(value, {id(layer): layer for layer in (self, *self._held)})
        except Exception:  # whatever objects of others raise where they are to be copied
            return {name: self._own(one) for name, one in value.items()} if isinstance(value, dict) else value

    def _start(self, seed: int | None, options: Any) -> Start:
        name = self.origin.env
        if seed is None:
            # Nothing says how this episode began: it is equal to none but itself.
            return Start(f"{name}/unseeded", f"unseeded/{next(_UNSEEDED)}", name, None, options)
        try:
            begun = pack(options)
        except SnapshotNotPortable:
            begun = _described(options).encode()
        digest = sha256(pack((name, self.origin.settings, int(seed), begun))).hexdigest()
        return Start(f"{name}/seed={seed}", digest, name, int(seed), options)

    def _ended(self, observation: Any, reward: float, info: dict[str, Any]) -> Outcome:
        if self._won is None:
            return Outcome.ENDED
        return Outcome.WON if self._won(apart(observation), reward, info) else Outcome.LOST

    def _drawn_seed(self) -> int:
        return int(self._seeds.integers(2**31))

    def _contradicted(self, action: Any) -> ReplayDiverged:
        other = "" if self.strategy == "replay" else ", or make it with strategy='replay'"
        return ReplayDiverged(
            f"{self.env} was put back to turn {self._turn} of its episode, where {action!r:.60} gave another answer "
            f"than the last time: strategy={self.strategy!r} does not put everything back, or it depends on something "
            f"outside itself. Call reset(){other}."
        )

    def _lawless(self, seed: int) -> ReplayDiverged:
        return ReplayDiverged(
            f"{self.env} answers the same actions differently after reset(seed={seed}): it depends on something "
            "outside itself, such as a global random generator or a space that it samples from, and cannot be put "
            "back. Make it draw from self.np_random only."
        )

    # What a host provides.

    @cached_property
    def origin(self) -> Origin:
        """What this environment's snapshots say they belong to."""
        spec = self.env.spec
        inner = self.env.unwrapped
        name = spec.id if spec is not None else f"{type(inner).__module__}.{type(inner).__qualname__}"
        around = [type(env).__name__ for env in self._held if not isinstance(env, OrderEnforcing | PassiveEnvChecker)]
        # In what way pictures are drawn decides nothing.
        made = {} if spec is None else {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
        settings = (
            ("wrappers", " ".join(around)),
            ("kwargs", json.dumps(made, sort_keys=True, default=_described)),
            ("max_turns", self.max_turns),
        )
        return Origin(name, settings, self.coder)

    @cached_property
    def coder(self) -> TapeCoder:
        """Writes what was done, not what the environment holds."""
        return TapeCoder()

    def find_level(self, name: LevelName) -> Start:
        """See `Host.find_level`."""
        try:
            seed, options = name.locator
        except (TypeError, ValueError):
            seed, options = None, None
        if type(seed) is not int or seed < 0 or not (options is None or isinstance(options, dict)):
            raise DataError(f"Expected a seed and the options of reset, got {name.locator!r:.80}.")
        return self._start(seed, options)

    def decode_point(self, level: Start, data: Any, observation: Any, before: Point | None = None) -> Point:
        """See `Host.decode_point`; what was observed is checked when it is played again."""
        coder = self.coder
        try:
            tape, _ = data
            state = coder.decode(level, tape) if before is None else coder.decode_after(level, tape, before.state)
        except (ValueError, TypeError) as error:
            raise SnapshotMismatch(f"The snapshot's tape of {level.id!r} is damaged: {error}.") from error
        return Point(state, None, observation)

    def check_random(self, random: Any) -> None:
        """See `Host.check_random`: it is part of what the environment holds."""
        if random is not None:
            raise ValueError("expected no random state apart")

    def state_digest(self) -> str:
        """A hash of the environment, the start and what was done since: equal iff they are, in every process."""
        self._check_begun()
        assert self._moment is not None
        return sha256(pack((self.origin.env, self._level.digest, self._moment.digest))).hexdigest()

    def point(self) -> Point:
        """See `Host.point`."""
        assert self._moment is not None
        drawn = self._drawn_since(self._moment)
        if self._state is None or self._state.drawn != drawn:
            self._state = State(self._moment, self._taken(), drawn)
        return Point(self._state, None, self._observation)

    def accept_point(self, level: Start, point: Point) -> None:
        """See `Host.accept_point`. Raises ReplayDiverged where playing again gives other answers."""
        state: State = point.state
        if not self._put(level, state):
            self._play_again(level, state)
        self._level, self._moment, self._observation = level, state.moment, point.observation
        self._state = None if state.attributes is None else state

    def _taken(self) -> Attributes | None:
        """What the environment holds now; None where it will be played again instead."""
        if self.strategy == "replay":
            return None
        try:
            taken = attributes.take(self._held, [self])
        except NotCopyable as error:
            if not self._auto or self._level.seed is None:
                raise
            warnings.warn(f"{error}. From here on it is put back by playing again, which is slow.", stacklevel=4)
            self.strategy = "replay"
            return None
        if self.strategy == "deepcopy" and attributes.has_native(taken):
            raise NotCopyable(f"{self.env} holds what cannot be copied, but asked: use strategy='native'.")
        return taken

    def _put(self, level: Start, state: State) -> bool:
        """Put back what was taken; False where there is nothing, or another instance took what this one has not."""
        if state.attributes is None:
            return False
        try:
            attributes.put(state.attributes, self._held, [self])
        except (NotCopyable, SnapshotMismatch):
            if level.seed is None:
                raise
            return False
        return True

    def _play_again(self, level: Start, state: State) -> None:
        here = self._moment if self._level is not None and self._level.digest == level.digest else None
        if here is not None and self._drawn_since(here) is not None:
            here = None
        missing = state.moment.back_to(here)
        if here is not None and not missing:
            state.moment.info, state.moment.left = here.info, here.left
        if missing and missing[0].before is None and level.seed is None:
            raise SnapshotNotPortable("This episode was begun without a seed, and cannot be begun again.")
        for later in missing:
            try:
                answer, info = self._answer(level, later)
            except Exception as error:  # whatever a foreign environment does with actions that it did not take before
                self._level = None
                raise ReplayDiverged(f"{self.env} failed at turn {later.index}, played again: {error}") from error
            if answer != later.check:
                self._level = None
                what = f"action {later.index} ({later.action!r:.60})" if later.index else "the reset"
                raise ReplayDiverged(
                    f"{self.env} answered {what} differently from the first time: it does not depend on its seed and "
                    "actions alone. Call reset()."
                )
            later.info, later.left = self._own(info), hash(self._random())
        if state.drawn is not None:
            try:
                set_random_state(self.env.unwrapped.np_random, state.drawn)
            except ValueError as error:
                self._level = None
                raise SnapshotMismatch(f"The snapshot's random state does not fit {self.env}: {error}.") from error

    def _answer(self, level: Start, moment: Moment) -> tuple[int, dict[str, Any]]:
        """Do again what led to `moment`."""
        if moment.before is None:
            observation, info = self._begun(level.seed, level.options)
            return fingerprint(observation), info
        if moment.drawn is not None:
            set_random_state(self.env.unwrapped.np_random, moment.drawn)
        observation, reward, terminated, truncated, info = self.env.step(apart(moment.action))
        return fingerprint(observation, float(reward), (bool(terminated), bool(truncated))), info

    # Copies.

    def __deepcopy__(self, memo: dict[int, Any]) -> "Snapshots":
        twin = memo[id(self)] = copy.copy(self)
        clones = self._cloned()
        made = clones[0] if clones else self._made_anew()
        twin.env, twin._held, twin._seeds = made, _stack(made), copy.deepcopy(self._seeds)
        twin._answers = dict(self._answers)
        memo.update((id(mine), theirs) for mine, theirs in zip(self._held, twin._held, strict=True))
        if self._level is not None:
            point = self.point()
            if not clones:
                twin._level = None
            twin.accept_point(self._level, point)
        return twin

    def _cloned(self) -> tuple[Any, ...]:
        """Copies of what is beneath; none where they are known to be unlike it, or can only be made anew."""
        if self.strategy == "replay":
            return ()
        try:
            return attributes.clone(attributes.take(self._held, [self]), len(self._held))
        except NotCopyable:
            return ()

    def _made_anew(self) -> gym.Env[Any, Any]:
        made = None if self.env.spec is None else gym.make(self.env.spec)
        if made is None or [type(env) for env in _stack(made)] != [type(env) for env in self._held]:
            raise NotCopyable(
                f"{self.env} cannot be copied, and gym.make does not make it: register it with its wrappers, or make "
                "as many as you need and restore one snapshot into each."
            )
        return made


def _stack(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    """`env` and everything in it, outermost first."""
    stack = [env]
    while isinstance(env, gym.Wrapper):
        env = env.env
        stack.append(env)
    return stack


def _described(value: Any) -> str:
    """An object that an environment was made with, as text that is the same in every process."""
    if isinstance(value, np.ndarray | np.generic):
        return sha256(pack(value)).hexdigest()
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    return name if callable(value) and not name.endswith(".") else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
