"""Snapshots for any Gymnasium environment, whoever wrote it."""

import copy
import itertools
import json
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from rollback_gym.core import attributes
from rollback_gym.core.attributes import NotCopyable
from rollback_gym.core.codec import pack
from rollback_gym.core.errors import DataError, ReplayDiverged, SnapshotMismatch, SnapshotNotPortable
from rollback_gym.core.history import Point
from rollback_gym.core.host import Host
from rollback_gym.core.simulator import Coder
from rollback_gym.core.snapshot import LevelName, Origin, Outcome
from rollback_gym.core.spaces import apart
from rollback_gym.wrappers import native
from rollback_gym.wrappers.tape import Moment, Start, TapeCoder, fingerprint

Strategy = Literal["auto", "native", "deepcopy", "replay"]
Won = Callable[[Any, float, dict[str, Any]], bool]
_STRATEGIES = ("auto", "native", "deepcopy", "replay")
_TRIED = 8
_UNSEEDED = itertools.count(1)
native.register()


class Snapshots(Host, gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Gives an environment of others `rollback_gym.snapshot`, `restore` and `fork`, and makes it ready for `Rollback`.

    What is taken is the whole stack beneath: the environment and its wrappers, their random generators too. Not taken:
    what only draws, and the generators of spaces, with which an agent samples. A snapshot goes into bytes as what was
    done since `reset(seed=...)`, and is done again, every answer checked, where it is restored from them.

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
            promises, tried on a few random actions at the first reset.
        max_turns: The turn that truncates the episode; by default the limit that the environment was registered with,
            if any. What a rollback gives back is given back to a `TimeLimit` beneath, but never to `max_turns`.
        won: `won(observation, reward, info)` says whether an episode that terminated was won. Without it that is
            unknown, and `Rollback(revive=True)` is refused.

    Raises:
        ReplayDiverged: at the first reset, if no strategy reproduces the environment: it depends on something outside
            itself, such as a global random generator. Later, if it does so then.
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
        if max_turns is not None and (isinstance(max_turns, bool) or int(max_turns) < 1):
            raise ValueError(f"max_turns must be None or a whole number of at least 1, got {max_turns!r}.")
        self.strategy: Strategy = strategy
        """How the environment is put back; `"auto"` until the first reset has decided."""
        self.max_turns = None if max_turns is None else int(max_turns)
        self.knows_losses = won is not None
        self._won = won
        self._held = _stack(env)
        self._moment = Moment(None, None, 0, None)
        self._seeds = np.random.default_rng(0)

    # The episode.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; only one begun with a seed can go into bytes."""
        if self._resumed is not None:
            seed, options = self._resumed.seed, self._resumed.options
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        elif self.strategy == "replay":
            seed = self._drawn_seed()
        observation, info = self.env.reset(seed=seed, options=options)
        _ = self.env.unwrapped.np_random  # which is made when it is first asked for, from nothing that can be put back
        if self.strategy == "auto":
            self.strategy = self._tried(fingerprint(observation))
            if self.strategy == "replay":
                seed = self._drawn_seed() if seed is None else seed
                self._try_replay(seed, options)
                observation, info = self.env.reset(seed=seed, options=options)
        self._begin(seed, options, observation, info)
        return apart(observation), self.info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action, which spends one turn. Raises ResetNeeded where no episode is running."""
        if self._outcome is not Outcome.RUNNING or self._level is None:
            raise self._not_running()
        taken = apart(action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward, terminated, truncated = float(reward), bool(terminated), bool(truncated)
        check = fingerprint(observation, reward, (terminated, truncated))
        self._observation = apart(observation)
        self._moment = Moment(self._moment, taken, check, apart(info))
        self._turn += 1
        if terminated:
            self._outcome = self._ended(observation, reward, info)
            truncated = False
        elif truncated or self.last_turn:
            self._outcome = Outcome.TRUNCATED
            truncated = True
        return observation, reward, terminated, truncated, self.info()

    def info(self) -> dict[str, Any]:
        """The environment's last info, and what is known here."""
        info = dict(apart(self._moment.info or {}))
        info["turn"] = info["action_index"] = self._turn
        if self.knows_losses:
            info["won"] = self._outcome is Outcome.WON
        return info

    def _begin(self, seed: int | None, options: Any, observation: Any, info: dict[str, Any]) -> None:
        self._observation = apart(observation)
        self._moment = Moment(None, None, fingerprint(observation), apart(info))
        self._level = self._resumed or self._start(seed, apart(options))
        self._turn = 0
        self._outcome = Outcome.RUNNING

    def _start(self, seed: int | None, options: Any) -> Start:
        name = self.origin.env
        if seed is None:
            # Nothing says how this episode began: it is equal to none but itself.
            return Start(f"{name}/unseeded", f"unseeded/{next(_UNSEEDED)}", name, None, options)
        try:
            begun = pack(options)
        except SnapshotNotPortable:
            begun = repr(options).encode()
        digest = sha256(pack((name, self.origin.settings, int(seed), begun))).hexdigest()
        return Start(f"{name}/seed={seed}", digest, name, int(seed), options)

    def _ended(self, observation: Any, reward: float, info: dict[str, Any]) -> Outcome:
        if self._won is None:
            return Outcome.ENDED
        return Outcome.WON if self._won(observation, reward, info) else Outcome.LOST

    def _drawn_seed(self) -> int:
        return int(self._seeds.integers(2**31))

    # Which strategy keeps its promise.

    def _tried(self, shown: int) -> Strategy:
        """`"native"` or `"deepcopy"`, if a copy of what the environment holds puts it back; else `"replay"`."""
        try:
            before = attributes.take(self._held)
        except NotCopyable:
            return "replay"
        first = self._played()
        attributes.put(before, self._held)
        second = self._played()
        attributes.put(before, self._held)
        if first != second:
            return "replay"
        return "native" if attributes.has_native(before) else "deepcopy"

    def _try_replay(self, seed: int, options: Any) -> None:
        answers = []
        for _ in range(2):
            observation, _ = self.env.reset(seed=seed, options=options)
            answers.append([fingerprint(observation), *self._played()])
        if answers[0] != answers[1]:
            raise ReplayDiverged(
                f"{self.env} answers the same actions differently after reset(seed={seed}): it depends on something "
                "outside itself, such as a global random generator, and cannot be put back. Make it draw from "
                "self.np_random only."
            )

    def _played(self) -> list[int]:
        """The fingerprints of a few actions, always the same ones."""
        space = copy.deepcopy(self.env.action_space)
        space.seed(0)
        answers = []
        for _ in range(_TRIED):
            observation, reward, terminated, truncated, _ = self.env.step(space.sample())
            answers.append(fingerprint(observation, float(reward), (bool(terminated), bool(truncated))))
            if terminated or truncated:
                break
        return answers

    # What a host provides.

    @cached_property
    def origin(self) -> Origin:
        """What this environment's snapshots say they belong to."""
        spec = self.env.spec
        inner = self.env.unwrapped
        name = spec.id if spec is not None else f"{type(inner).__module__}.{type(inner).__qualname__}"
        around = [type(env).__name__ for env in self._held if not isinstance(env, OrderEnforcing | PassiveEnvChecker)]
        made = {} if spec is None else spec.kwargs
        settings = (
            ("wrappers", " ".join(around)),
            ("kwargs", json.dumps(made, sort_keys=True, default=repr)),
            ("max_turns", self.max_turns),
        )
        return Origin(name, settings, self.coder)

    @cached_property
    def coder(self) -> Coder:
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

    def decode_point(self, level: Start, data: Any, observation: Any) -> Point:
        """See `Host.decode_point`; what was observed is checked when it is played again."""
        try:
            state, _ = data
            return Point(self.coder.decode(level, state), None, observation)
        except (ValueError, TypeError) as error:
            raise SnapshotMismatch(f"The snapshot's tape of {level.id!r} is damaged: {error}.") from error

    def check_random(self, random: Any) -> None:
        """See `Host.check_random`: it is part of what the environment holds."""
        if random is not None:
            raise ValueError("expected no random state apart")

    def state_digest(self) -> str:
        """A hash of the environment, the start and what was done since: equal iff they are, in every process."""
        self._check_begun()
        return sha256(pack((self.origin.env, self._level.digest, self._moment.digest))).hexdigest()

    def point(self) -> Point:
        """See `Host.point`."""
        moment = self._moment
        if moment.attributes is None and self.strategy != "replay":
            moment.attributes = attributes.take(self._held)
            if self.strategy == "deepcopy" and attributes.has_native(moment.attributes):
                raise NotCopyable(f"{self.env} holds what cannot be copied, but asked: use strategy='native'.")
        return Point(moment, None, self._observation)

    def accept_point(self, level: Start, point: Point) -> None:
        """See `Host.accept_point`. Raises ReplayDiverged where playing again gives other answers."""
        moment: Moment = point.state
        if moment.attributes is not None:
            attributes.put(moment.attributes, self._held)
        else:
            self._play_again(level, moment)
        self._level, self._moment, self._observation = level, moment, point.observation

    def _play_again(self, level: Start, moment: Moment) -> None:
        here = self._moment if self._level == level else None
        missing = moment.back_to(here)
        if missing and missing[0].before is None and level.seed is None:
            raise SnapshotNotPortable("This episode was begun without a seed, and cannot be begun again.")
        for later in missing:
            try:
                answer, info = self._answer(level, later)
            except Exception as error:  # whatever a foreign environment does with actions that it did not take before
                self._level = None
                raise ReplayDiverged(f"{self.env} failed at action {later.index}, played again: {error}") from error
            if answer != later.check:
                self._level = None
                raise ReplayDiverged(
                    f"{self.env} answered action {later.index} ({later.action!r:.60}) differently from the first time: "
                    "it does not depend on its seed and actions alone. Call reset()."
                )
            later.info = apart(info)

    def _answer(self, level: Start, moment: Moment) -> tuple[int, dict[str, Any]]:
        """Do again what led to `moment`."""
        if moment.before is None:
            observation, info = self.env.reset(seed=level.seed, options=level.options)
            return fingerprint(observation), info
        observation, reward, terminated, truncated, info = self.env.step(apart(moment.action))
        return fingerprint(observation, float(reward), (bool(terminated), bool(truncated))), info

    # Copies.

    def __deepcopy__(self, memo: dict[int, Any]) -> "Snapshots":
        twin = self._twin()
        memo[id(self)] = twin
        twin._seeds = copy.deepcopy(self._seeds)
        if self._level is not None:
            point = self.point()
            if twin._level is None:
                twin.accept_point(self._level, point)
            twin._turn, twin._outcome = self._turn, self._outcome
        return twin

    def _twin(self) -> "Snapshots":
        """Another of its kind, which stands where this one stands if it could be copied, and else has not begun."""
        try:
            made: Any = attributes.clone(attributes.take(self._held), len(self._held))[0]
            at = self._level, self._moment, self._observation
        except NotCopyable as error:
            made, at = self._made_anew(error), (None, self._moment, None)
        twin = Snapshots(made, strategy=self.strategy, max_turns=self.max_turns, won=self._won)
        twin._level, twin._moment, twin._observation = at
        return twin

    def _made_anew(self, why: NotCopyable) -> gym.Env[Any, Any]:
        made = None if self.env.spec is None else gym.make(self.env.spec)
        if made is None or [type(env) for env in _stack(made)] != [type(env) for env in self._held]:
            raise NotCopyable(
                f"{why} And gym.make does not make {self.env}: register it with its wrappers, or make as many as you "
                "need and restore one snapshot into each."
            ) from why
        return made


def _stack(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    """`env` and everything in it, outermost first."""
    stack = [env]
    while isinstance(env, gym.Wrapper):
        env = env.env
        stack.append(env)
    return stack
