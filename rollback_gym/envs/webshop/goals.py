"""What can be asked for in a shop: every goal has one number, the same in every process.

Goals are worked out when they are asked for, since a large catalogue has millions. Their order is the original's:
goals product by product, then shuffled by a seed of its own, 233 there. So goal 17 here is about the same product with
the same options as goal 17 there; what the original draws without a seed (prices in a range, price limits) comes from
the shop's seed here. The published splits are by number: see `SPLITS`.
"""

import random
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, count
from math import prod
from typing import Any, Literal, NamedTuple

from rollback_gym.core.errors import DataError
from rollback_gym.envs.webshop.types import Catalogue, Goal, GoalOption, Level, Product, Shop, open_shop

Kind = Literal["synthetic", "human"]

ORDER_SEED = 233
"""What the original shuffles its goals by."""

NO_LIMIT = 1000000
"""The price limit of a goal that names none."""

SPLITS = {"test": (0, 500), "eval": (500, 1500), "train": (1500, None), "all": (0, None)}
"""The original's, by goal number."""

MOST_GOALS = 100_000_000
"""Of more goals not even their order is kept: a few bytes each."""

_LIMITS = [10.0 * tens for tens in range(1, 100)]


class Wanted(NamedTuple):
    """A text that asks for a product, with its price limit; it makes a goal for each way to choose its options."""

    product: int
    text: str
    attributes: tuple[str, ...]
    options: tuple[GoalOption, ...] | None
    """None where every choice of the product's options makes a goal."""
    price_upper: float
    price_text: str
    goals: int
    """How many it makes."""


class Goals(Sequence[Goal]):
    """The goals of a shop, in their order.

    Args:
        shop: Whose products are asked for.
        kind: `synthetic` (made from attributes and options) or `human` (written by people, where the data has them).
        order_seed: Shuffles the goals.

    Raises:
        DataError: if there are more than MOST_GOALS.
    """

    def __init__(self, shop: Shop, kind: Kind = "synthetic", order_seed: int = ORDER_SEED) -> None:
        self.shop = shop
        self.kind: Kind = kind
        self.order_seed = order_seed
        self._wanted = tuple(_wanted(shop, kind))
        self._ends = list(accumulate(wanted.goals for wanted in self._wanted))
        count = self._ends[-1] if self._ends else 0
        if count > MOST_GOALS:
            raise self._too_many(count)
        self._order = array("I", range(count))
        random.Random(order_seed).shuffle(self._order)
        self._levels: dict[int, Level] = {}

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        return self._goal(self._order[number])

    def level(self, number: int) -> Level:
        """The level that asks for goal `number`. Raises DataError where there is none such."""
        known = self._levels.get(number)
        if known is not None:
            return known
        if not 0 <= number < len(self):
            raise DataError(f"There is no {self.kind} goal {number} here: there are {len(self)}, counted from 0.")
        catalogue = self.shop.catalogue
        locator = (catalogue.locator, self.kind, self.shop.seed, self.order_seed, number)
        if len(self._levels) >= _REMEMBERED:
            self._levels.clear()
        return self._levels.setdefault(number, Level(f"{self.kind}/{number}", locator, self.shop, self[number]))

    @cached_property
    def weights(self) -> Sequence[float]:
        """How often each goal is to be drawn, relative to the others: the original gives rare attributes more."""
        if self.kind == "human":
            return array("d", [1.0]) * len(self)
        counts: Counter[str] = Counter()
        for wanted in self._wanted:
            for attribute in wanted.attributes:
                counts[attribute] += wanted.goals
        each = array("d")
        for wanted in self._wanted:
            share = sum(1.0 / counts[a] for a in wanted.attributes) / len(wanted.attributes) if wanted.goals else 0.0
            each.extend([share] * wanted.goals)
        return array("d", [each[place] for place in self._order])

    def _too_many(self, count: int) -> DataError:
        most = max(self._wanted, key=lambda wanted: wanted.goals)
        asin = self.shop.catalogue.products[most.product].asin
        return DataError(
            f"There would be {count:,} goals here, {most.goals:,} of them for the options of {asin}; {MOST_GOALS:,} "
            "are the most. Leave out what has so many ways to choose its options."
        )

    def _goal(self, place: int) -> Goal:
        index = bisect_right(self._ends, place)
        wanted = self._wanted[index]
        product = self.shop.catalogue.products[wanted.product]
        options, text = wanted.options, wanted.text
        if options is None:
            options = _choice(sorted(product.options), place - (self._ends[index - 1] if index else 0))
            asked = ", and ".join([f"{name}: {value}" for name, value in options])
            text += f" with {asked}" if asked else ""
        return Goal(
            product.asin,
            product.title,
            product.category,
            product.query,
            product.product_category,
            text + wanted.price_text,
            wanted.attributes,
            options,
            wanted.price_upper,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return open_goals, (self.shop.catalogue, self.kind, self.shop.seed, self.order_seed)

    def __copy__(self) -> "Goals":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Goals":
        return self


_REMEMBERED = 50_000


def open_goals(
    catalogue: Catalogue, kind: Kind = "synthetic", price_seed: int = 0, order_seed: int = ORDER_SEED
) -> Goals:
    """The goals, the same object for every caller in a process."""
    if kind not in ("synthetic", "human"):
        raise ValueError(f"goals must be 'synthetic' or 'human', got {kind!r}.")
    key = ("goals", kind, price_seed, order_seed)
    goals: Goals = catalogue.memo.get(key) or catalogue.memo.setdefault(
        key, Goals(open_shop(catalogue, price_seed), kind, order_seed)
    )
    return goals


def draw(cumulative: Sequence[float], position: float) -> int:
    """The goal at `position`, from 0 to the sum of all weights, given their running sums."""
    return min(bisect_right(cumulative, position), len(cumulative) - 1)


def draw_as_original(cumulative: Sequence[float], position: float) -> int:
    """The same with the original's defect: it is one off, so that goal 0 is never drawn and the last one twice."""
    return min(bisect_right(cumulative, position) + 1, len(cumulative) - 1)


def original_choices(goals: Goals, seed: int = ORDER_SEED, limit: int | None = None) -> Iterator[int]:
    """The goals that the original plays, reset after reset, from the moment that its constructor has finished.

    It draws them from the global generator, which it has seeded to shuffle the goals; each time after ten letters
    for the name of the session. verl-agent's copy draws once more after each purchase.

    Args:
        goals: All of them.
        seed: What it has shuffled them by.
        limit: Its `limit_goals`: so many goals are drawn first, and only they are played.
    """
    generator = random.Random(seed)
    generator.shuffle(array("Q", range(len(goals))))

    def chosen(among: Sequence[int]) -> Iterator[int]:
        sums = list(accumulate(goals.weights[number] for number in among))
        while True:
            yield among[draw_as_original(sums, generator.uniform(0, sums[-1]))]

    played: Sequence[int] = range(len(goals))
    if limit is not None and limit < len(goals):
        drawn = chosen(played)
        kept: dict[int, None] = {}
        while len(kept) < limit:
            kept[next(drawn)] = None
        played = list(kept)
    choices = chosen(played)
    for reset in count():
        generator.choices("abcdefghijklmnopqrstuvwxyz", k=10)
        choice = next(choices)
        if reset:  # the first is the constructor's own
            yield choice


def _wanted(shop: Shop, kind: Kind) -> Iterator[Wanted]:
    """In the order in which the original draws the price limits: product by product, text by text."""
    generator = shop.random_after_prices()
    for number, product in enumerate(shop.catalogue.products):
        for text, attributes, options in _asked(product, kind):
            # Without attributes there is nothing to measure a purchase by; the original passes over it, or stops.
            if attributes:
                upper, price_text = _limit(shop.prices[product.asin], generator)
                count = prod([len(values) for _, values in product.options]) if options is None else 1
                yield Wanted(number, text, attributes, options, upper, price_text, count)


def _asked(product: Product, kind: Kind) -> Iterator[tuple[str, tuple[str, ...], tuple[GoalOption, ...] | None]]:
    if kind == "human":
        for text, attributes, options in product.human_instructions:
            yield text.strip("."), attributes, options
    elif product.instruction is not None:
        yield product.instruction, product.instruction_attributes, None


def _limit(price: float, generator: random.Random) -> tuple[float, str]:
    """A price limit above `price`: the larger of two of the four next tens; none where fewer than two are left."""
    candidates = [limit for limit in _LIMITS if limit > price][:4]
    if len(candidates) < 2:
        return NO_LIMIT, ""
    upper = max(generator.sample(candidates, 2))
    return upper, f", and price lower than {upper:.2f} dollars"


def _choice(options: Sequence[tuple[str, tuple[str, ...]]], number: int) -> tuple[tuple[str, str], ...]:
    """The choice of that number among all, where the last option changes fastest."""
    chosen = []
    for name, values in reversed(options):
        number, at = divmod(number, len(values))
        chosen.append((name, values[at]))
    return tuple(reversed(chosen))
