"""Environments that break one law each, in ways that are seen in the wild."""

import itertools
import random
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from rollback_gym import Transition
from rollback_gym.wrappers import Rollback
from tests.toy import ACTIONS, ToyEnv, ToyLevel, ToySimulator, ToyState
from tests.wrappers import hard

Env = gym.Env[Any, Any]


class _Toy(ToyEnv):
    """A toy whose simulator is replaced."""

    rules: type[ToySimulator]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.simulator = self.rules()


class MutableState(_Toy):
    """Changes the state that it was given."""

    class rules(ToySimulator):  # noqa: N801
        def begin(self, level: ToyLevel) -> Any:
            return [0, ()], ""

        def step(self, level: ToyLevel, state: Any, action: str) -> Transition:
            state[0] += 1
            return Transition(state, 0.1, False, str(state[0]))

        def encode(self, level: ToyLevel, state: Any) -> Any:
            return tuple(state)

        def decode(self, level: ToyLevel, data: Any) -> Any:
            return list(data)


class CountsOutside(_Toy):
    """Counts in the simulator, where no snapshot looks."""

    class rules(ToySimulator):  # noqa: N801
        def __init__(self) -> None:
            self.steps = 0

        def begin(self, level: ToyLevel) -> Any:
            self.steps = 0
            return super().begin(level)

        def step(self, level: ToyLevel, state: ToyState, action: str) -> Transition:
            self.steps += 1
            return super().step(level, state, action)._replace(reward=float(self.steps))


class GlobalDice(_Toy):
    """Draws from the global generator."""

    class rules(ToySimulator):  # noqa: N801
        def step(self, level: ToyLevel, state: ToyState, action: str) -> Transition:
            return super().step(level, state, action)._replace(reward=random.random())


class HashOrder(_Toy):
    """Lists what it sees in the order of a set."""

    class rules(ToySimulator):  # noqa: N801
        def step(self, level: ToyLevel, state: ToyState, action: str) -> Transition:
            seen = " ".join({"apple", "book", "cup", "dish", "egg", "fork"})
            return super().step(level, state, action)._replace(feedback=seen)


class LossyBytes(_Toy):
    """Forgets the coins on the way through bytes."""

    class rules(ToySimulator):  # noqa: N801
        def encode(self, level: ToyLevel, state: ToyState) -> Any:
            return (state.position, ())


class UnorderedBytes(_Toy):
    """Writes a set of names in the order of their hashes."""

    class rules(ToySimulator):  # noqa: N801
        def encode(self, level: ToyLevel, state: ToyState) -> Any:
            return (state.position, tuple(state.coins), tuple({"apple", "book", "cup", "dish", "egg", "fork"}))

        def decode(self, level: ToyLevel, data: Any) -> ToyState:
            return ToyState(data[0], frozenset(data[1]))


class LiarAboutActions(_Toy):
    """Offers what it refuses."""

    class rules(ToySimulator):  # noqa: N801
        def actions(self, level: ToyLevel, state: ToyState) -> tuple[str, ...]:
            return (*ACTIONS, "fly")


class UnseededStart(ToyEnv):
    """Chooses its level by a counter, whatever the seed is."""

    _count = itertools.count()

    def choose_level(self, options: dict[str, Any]) -> ToyLevel:
        return super().choose_level({"level": 3 + next(self._count) % 7})


class ForgetsRandom(ToyEnv):
    """Draws from a generator of its own in every step."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.dice = np.random.default_rng(0)

    def reset(self, **kwargs: Any) -> Any:
        self.dice = np.random.default_rng(0)
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward + float(self.dice.integers(100)), terminated, truncated, info


class OutsideItsSpace(ToyEnv):
    """Declares other observations than it shows."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.observation_space = spaces.Text(1, charset="x")


class PrivateDigest(ToyEnv):
    """Its digests mean something in one process only."""

    def state_digest(self) -> str:
        return str(id(self))


class HandsOutItsOwn(ToyEnv):
    """Hands out the list that it goes on with."""

    trail: tuple[Any, ...] | list[Any] = ()

    def reset(self, **kwargs: Any) -> Any:
        self.trail = []
        return super().reset(**kwargs)

    def info(self) -> dict[str, Any]:
        return {**super().info(), "trail": self.trail}

    def step(self, action: Any) -> Any:
        assert isinstance(self.trail, list)
        self.trail.append(action)
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward + len(self.trail), terminated, truncated, info


class NoRefund(Rollback):
    """Says that it refunds, and does not."""

    @staticmethod
    def _refund(node: Any, target: Any) -> float:
        return 0.0


class FreeTurns(Rollback):
    """Gives back the turns with the game."""

    def _roll_back(self, action: Any, request: Any) -> Any:
        target = self.history.find(request.target) if request.target in self.legal_targets() else None
        result = super()._roll_back(action, request)
        if target is not None:
            self._base._turn = result[4]["turn"] = result[4]["action_index"] = target.index
        return result


class ShowsTheWrongMoment(Rollback):
    """Shows, after going back, what was seen last."""

    def _roll_back(self, action: Any, request: Any) -> Any:
        last = self.history.node.observation + " "
        return (last, *super()._roll_back(action, request)[1:])


class StaysDead(Rollback):
    """Claims that a lost game goes back; it stays lost."""

    def _roll_back(self, action: Any, request: Any) -> Any:
        lost = self._base.outcome
        observation, reward, _, truncated, info = super()._roll_back(action, request)
        self._base._outcome = lost
        return observation, reward, False, truncated, info


class _Anew:
    """A copy of it has forgotten all."""

    value = 0

    def __reduce__(self) -> Any:
        return _Anew, ()


class CopiesAnew(hard.Hard):
    """Holds such an object, and shows it late."""

    def begin(self) -> None:
        self.held = _Anew()

    def pay(self, action: int) -> float:
        self.held.value += action
        return self.held.value if self.n > hard.LATE else 0
