"""Environments that keep what decides their future where it is hard to copy; `n` actions end an episode."""

import functools
import itertools
import random
import threading
import types
import weakref
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

Array = np.ndarray[Any, Any]
LATE = 20
"""Later than any trial looks."""
_GLOBAL = {"sum": 0}


class Hard(gym.Env[Any, Any]):
    """Pays by what was done; it shows how many actions that were, and no more."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 100, (1,), np.int64)
        self.action_space = spaces.Discrete(3)
        self.n = 0

    def begin(self) -> None:
        """An episode begins."""

    def pay(self, action: int) -> float:
        """The reward of an action."""
        raise NotImplementedError

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.n = 0
        self.begin()
        return np.array([0]), {}

    def step(self, action: Any) -> Any:
        self.n += 1
        return np.array([self.n]), float(self.pay(int(action))), self.n >= 40, False, {}


class Slots(Hard):
    __slots__ = ("__hidden", "total")

    def begin(self) -> None:
        self.total = self.__hidden = 0

    def pay(self, action: int) -> float:
        self.total += action
        self.__hidden += 1
        return self.total * self.__hidden


class Views(Hard):
    """Arrays that show one buffer: parts, reversed, transposed, of another type, over bytes, read-only."""

    def begin(self) -> None:
        self.buffer = np.asfortranarray(np.zeros((3, 4)))
        self.row, self.turned, self.back = self.buffer[1], self.buffer.T, self.buffer[::-1, ::-1]
        self.raw = bytearray(16)
        self.over = np.frombuffer(self.raw, np.int32)
        self.fields = np.zeros(2, [("a", "f8"), ("b", "i4")])
        self.field = self.fields["b"]
        self.things = np.empty(3, object)
        self.things[:] = [[0], [0], [0]]
        self.some = self.things[1:]
        self.frozen = self.buffer[:]
        self.frozen.flags.writeable = False

    def pay(self, action: int) -> float:
        self.row += action
        self.over[1] += action
        self.field[1] += action
        self.some[0] = [*self.some[0], action]
        shown = self.turned[2, 1] + 10 * self.back[1, 1] + 100 * self.raw[4] + 1000 * self.fields[1]["b"]
        assert not self.frozen.flags.writeable
        return float(shown + 10_000 * sum(self.things[1]) + self.frozen[1, 0])


class Subclass(Array):
    """An array with an attribute."""

    name: str


class ViewsOfOtherKinds(Hard):
    def begin(self) -> None:
        self.masked = np.ma.zeros(4)
        self.part = self.masked[1:3]
        self.named = np.zeros(4).view(Subclass)
        self.named.name = "named"
        self.end = self.named[2:]
        self.zero = np.zeros(())
        self.same = self.zero[...]

    def pay(self, action: int) -> float:
        self.part += action
        self.end += action
        self.same += action
        assert self.named.name == "named"
        return float(self.masked.sum() + 10 * self.named.sum() + 100 * self.zero)


class Closures(Hard):
    """Functions made for the episode, which share a variable, and one that knows the environment."""

    def begin(self) -> None:
        total = 0

        def add(action: int, seen: list[int] = []) -> int:  # noqa: B006
            nonlocal total
            total += action
            seen.append(action)
            return total + len(seen)

        self.add, self.read = add, lambda: total
        self.knowing = lambda: self.n
        self.partial = functools.partial(lambda k, box: box.append(k) or len(box), 1, [])

    def pay(self, action: int) -> float:
        return self.add(action) + 10 * self.read() + 100 * self.knowing() + 1000 * self.partial()


class BoundMethods(Hard):
    def begin(self) -> None:
        self.seen: list[int] = []
        self.push = self.seen.append
        self.pays = types.MethodType(lambda self, action: action + sum(self.seen), self)

    def pay(self, action: int) -> float:
        self.push(action)
        return float(self.pays(action))


class Thing:
    def __init__(self, parent: "Thing | Hard | None" = None) -> None:
        self.value = 0
        self.parent = parent and weakref.ref(parent)


class WeakReferences(Hard):
    def begin(self) -> None:
        self.root = Thing(self)
        self.leaf = Thing(self.root)
        self.things = [Thing() for _ in range(3)]
        self.gone = weakref.ref(Thing())
        self.some = weakref.WeakSet(self.things[:2])
        self.by_name = weakref.WeakValueDictionary({"a": self.things[2]})
        self.paid = weakref.WeakKeyDictionary({self.things[0]: 0})

    def pay(self, action: int) -> float:
        assert self.leaf.parent is not None
        assert self.root.parent is not None
        self.leaf.parent().value += action
        for thing in self.some:
            thing.value += action
        self.by_name["a"].value += action
        self.paid[self.things[0]] += action
        paid = self.root.value + sum(thing.value for thing in self.things) + self.paid[self.things[0]]
        return float(paid + self.root.parent().n + 7 * (self.gone() is None))


class LeavesOut:
    """Says that there is nothing of it to copy."""

    def __init__(self) -> None:
        self.value = 0

    def __getstate__(self) -> dict[str, Any]:
        return {}


class Forgetful(Hard):
    def begin(self) -> None:
        self.held = LeavesOut()
        self.held.value = 0

    def pay(self, action: int) -> float:
        self.held.value += action
        return self.held.value


class Generators(Hard):
    """Of every kind, and some that spawn others."""

    def begin(self) -> None:
        seed = int(self.np_random.integers(1000))
        self.legacy, self.python = np.random.RandomState(seed), random.Random(seed)
        self.draw = self.legacy.rand
        self.numbers = itertools.count(seed)

    def pay(self, action: int) -> float:
        spawned = self.np_random.spawn(1)[0].random()
        return spawned + self.legacy.rand() + self.draw() + self.python.random() + next(self.numbers)


class MoreGenerators(Hard):
    """As many as there were actions."""

    def begin(self) -> None:
        self.generators: list[np.random.Generator] = []

    def pay(self, action: int) -> float:
        self.generators.append(np.random.default_rng(self.n + action))
        return sum(generator.random() for generator in self.generators)


class SharedBits(Hard):
    """Two generators draw from one stream."""

    def begin(self) -> None:
        self.bits = np.random.PCG64(int(self.np_random.integers(1000)))
        self.generator = np.random.Generator(self.bits)

    def pay(self, action: int) -> float:
        return self.generator.random() + np.random.Generator(self.bits).random()


class ById(Hard):
    """Knows its things by where they are in memory."""

    def begin(self) -> None:
        self.things = [Thing() for _ in range(3)]
        self.paid = {id(thing): 0 for thing in self.things}

    def pay(self, action: int) -> float:
        self.paid[id(self.things[action])] += 1
        return self.paid[id(self.things[0])]


class _Unreadable:
    def __reduce__(self) -> Any:
        return int, ("not a number",)


class Unreadable(Hard):
    """What was copied cannot be read again."""

    def begin(self) -> None:
        self.held = _Unreadable()
        self.total = 0

    def pay(self, action: int) -> float:
        self.total += action
        return self.total


class Elsewhere(Hard):
    """Its state is memory that belongs to somebody else."""

    def begin(self) -> None:
        import ctypes

        self.held = np.frombuffer((ctypes.c_double * 3)(), np.float64)

    def pay(self, action: int) -> float:
        self.held[action] += 1
        return float(self.held @ [1, 10, 100])


class LateGlobal(Hard):
    """Keeps its state where nothing can find it, and shows that late."""

    def begin(self) -> None:
        _GLOBAL["sum"] = 0

    def pay(self, action: int) -> float:
        _GLOBAL["sum"] += action
        return _GLOBAL["sum"] if self.n > LATE else 0


class Chain(Hard):
    """A chain that pickle cannot follow any more, after a while."""

    def begin(self) -> None:
        self.chain: Any = None

    def pay(self, action: int) -> float:
        for _ in range(60):
            self.chain = [self.chain, action]
        return float(self.chain[1])


class Refuses(Hard):
    """Raises where it does not like an action."""

    def pay(self, action: int) -> float:
        if action == 2:
            raise ValueError("illegal move")
        return action


class OwnState(Hard):
    """Hands out the very things that it goes on with."""

    def begin(self) -> None:
        self.state = np.zeros(1, np.int64)
        self.told: dict[str, Any] = {"seen": []}

    def reset(self, **kwargs: Any) -> Any:
        super().reset(**kwargs)
        return self.state, self.told

    def step(self, action: Any) -> Any:
        self.n += 1
        self.state += int(action)
        self.told["seen"].append(int(action))
        return self.state, float(self.state[0]), self.n >= 40, False, self.told


class Tells(Hard):
    """Tells what cannot be copied, itself too."""

    def pay(self, action: int) -> float:
        return action

    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], {"env": self, "lock": threading.Lock(), "n": [self.n]})


class Options(Hard):
    """Takes its options apart."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.factor = options.pop("factor")
        self.table = options["table"]
        return super().reset(seed=seed)

    def pay(self, action: int) -> float:
        return self.factor * float(self.table[action])
