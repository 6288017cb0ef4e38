"""Which purchases are worth 1.0 for a goal, and how many clicks on options lead to one.

A purchase is worth n / n times its type factor if everything that was asked for is met, and n - 1 or less of n if not.
So it is worth 1.0 iff the product is of the right type, within the price limit and has all attributes, and the chosen
values match all options that the goal asks for. The first three depend on the product alone. The last is a cover: each
of the product's options contributes what its chosen value matches, one value may match several wanted options, and
further values never harm. A click replaces the value of one option, so the fewest clicks are the fewest options whose
value must change.

What an attribute is found in, and what can be chosen on a product's page, is worked out once a catalogue.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from rollback_gym.envs.webshop.reward import LEAST_TITLE_SCORE, color_of, nouns, option_text, type_factor
from rollback_gym.envs.webshop.rules import WebShopRules, page_name
from rollback_gym.envs.webshop.similarity import alike
from rollback_gym.envs.webshop.types import Catalogue, Goal, Level, Product, State
from rollback_gym.envs.webshop.views import Memory, Views

Options = tuple[tuple[str, str], ...]
"""The (name, value) of what is chosen, as in `State`."""

_TURNS_PAGES = "next >"
"""An option's value of this name cannot be chosen where the rules take the product's page for one of results."""

_REMEMBERED = 4096
_BYTES_A_NUMBER = 64
_KEPT_TEXTS = 20_000
"""The largest catalogue whose texts are kept in lower case; a larger one's are read again for new attributes."""

_BETWEEN = "\ue000\0\ue000"
"""Stands between the texts of a product; in no attribute, which is something that people read."""


class Choice(NamedTuple):
    """One of a product's options, seen from a goal."""

    name: str
    values: Mapping[str, int]
    """Which of the goal's options each value matches, as bits; values that match none are absent."""
    masks: frozenset[int]
    """What one click on this option can match, but for what another value matches too, and more."""
    needed: int
    """What must be matched once this option and those before it are chosen: the options after it cannot."""


class Perfect(NamedTuple):
    """A product that is worth 1.0 once the right values are chosen."""

    everything: int
    """Bits for all the options that the goal asks for."""
    choices: tuple[Choice, ...]
    """The options that can match something."""
    all_values: tuple[tuple[str, tuple[str, ...]], ...]
    """All that can be chosen, where one of the values is `next >`; else empty."""

    def clicks(self, query: str, options: Options) -> float:
        """The fewest clicks on options until a purchase is worth 1.0; math.inf where none is.

        Args:
            query: What was searched for.
            options: What is chosen already.
        """
        if not self.everything:
            return 0
        if self.all_values:
            return self._clicks_step_by_step(query, options)
        chosen = dict(options)
        fewest: dict[int, int] = {0: 0}
        for name, values, masks, needed in self.choices:
            kept = values.get(chosen[name], 0) if name in chosen else 0
            after: dict[int, int] = {}
            for matched, clicks in fewest.items():
                for mask, more in ((kept, 0), *((mask, 1) for mask in masks)):
                    both, total = matched | mask, clicks + more
                    if both & needed == needed and total < after.get(both, total + 1):
                        after[both] = total
            fewest = after
        return fewest.get(self.everything, math.inf)

    def _clicks_step_by_step(self, query: str, options: Options) -> float:
        """The same breadth-first, since the order of the clicks counts where `next >` can be chosen only at times."""
        known, fresh, clicks = {options}, [options], 0
        while fresh:
            if any(self._matched(options) == self.everything for options in fresh):
                return clicks
            reached = {after for options in fresh for after in self._next(query, options)}
            fresh, clicks = list(reached - known), clicks + 1
            known |= reached
        return math.inf

    def _matched(self, options: Options) -> int:
        chosen, matched = dict(options), 0
        for name, values, *_ in self.choices:
            matched |= values.get(chosen[name], 0) if name in chosen else 0
        return matched

    def _next(self, query: str, options: Options) -> Iterable[Options]:
        turning = is_taken_for_results(query, options)
        for name, values in self.all_values:
            for value in values:
                if not (turning and value == _TURNS_PAGES):
                    yield tuple(sorted({**dict(options), name: value}.items()))


def perfect_products(level: Level, rules: WebShopRules) -> dict[int, Perfect]:
    """The products of the catalogue that can be worth 1.0 for the level's goal, by their number."""
    catalogue, goal, prices = level.shop.catalogue, level.goal, level.shop.prices
    texts = [option_text(option) for option in goal.options]
    found = {}
    for number in sorted(_with_attributes(catalogue, goal)):
        product = catalogue.products[number]
        within = prices[product.asin] <= goal.price_upper
        if not (within and _may_be_of_the_type(catalogue, product, goal) and _has_options(product, texts)):
            continue
        perfect = _perfect(texts, choosable(level, rules, number))
        # The type comes last, since spaCy takes milliseconds to find the nouns of a title.
        if math.isfinite(perfect.clicks("", ())) and type_factor(catalogue, product, goal).factor == 1.0:
            found[number] = perfect
    return found


def _may_be_of_the_type(catalogue: Catalogue, product: Product, goal: Goal) -> bool:
    """False only where `type_factor` is below 1.0, whatever the nouns of the product's title are: they stand in it."""
    wanted = nouns(catalogue, goal.title)
    # What a capital sigma becomes depends on what follows, which is not the same for a noun by itself.
    title = product.title.lower().replace("\u03c2", "\u03c3")
    most = sum([noun.replace("\u03c2", "\u03c3") in title for noun in set(wanted)])
    return not wanted or most / len(wanted) >= LEAST_TITLE_SCORE


def _has_options(product: Product, texts: list[str]) -> bool:
    """Whether some value matches each of `texts`, if it could be chosen."""
    values = [value for _, values in product.options for value in values]
    return all(any(_matches(value, text) for value in values) for text in texts)


def is_taken_for_results(query: str, options: Options) -> bool:
    """Whether `< Prev` and `next >` turn the pages of results on the page of a product."""
    return page_name(State("item_page", query, 1, None, "", options, (), None)) == "search_results"


def choosable(level: Level, rules: WebShopRules, number: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The options of a product with the values that a click can choose: found by clicking each one.

    Values that are written like a button, or that several options have, cannot all be chosen.
    """
    catalogue = level.shop.catalogue
    known = catalogue.memo.setdefault(("oracle: choosable", rules.dialect.original), {})
    found: tuple[tuple[str, tuple[str, ...]], ...] | None = known.get(number)
    if found is None:
        if len(known) >= _REMEMBERED:
            known.clear()
        found = known[number] = _tried(level, rules, catalogue.products[number])
    return found


def _tried(level: Level, rules: WebShopRules, product: Product) -> tuple[tuple[str, tuple[str, ...]], ...]:
    page = State("item_page", "", 1, product.asin, "", (), (), None)
    values: dict[str, list[str]] = {}
    for written, element in Views(level.shop.catalogue, rules.dialect).of(page).elements.items():
        if element.kind == "option":
            after = rules.step(level, page, f"click[{written}]").state
            if after.kind == "item_page":
                for name, value in after.options:
                    values.setdefault(name, []).append(value)
    return tuple((name, tuple(values[name])) for name in values)


def _perfect(texts: list[str], options: tuple[tuple[str, tuple[str, ...]], ...]) -> Perfect:
    choices: list[Choice] = []
    everything = unmatched = (1 << len(texts)) - 1
    for name, values in reversed(options):
        matched = {value: sum(_matches(value, text) << at for at, text in enumerate(texts)) for value in values}
        telling = {value: mask for value, mask in matched.items() if mask}
        masks = set(telling.values())
        if masks:
            best = frozenset(mask for mask in masks if not any(mask | other == other != mask for other in masks))
            choices.append(Choice(name, telling, best, unmatched))
            unmatched &= ~reduce(or_, masks)
    turning = any(_TURNS_PAGES in values for _, values in options)
    return Perfect(everything, tuple(reversed(choices)), options if turning else ())


@lru_cache(maxsize=1 << 16)
def _matches(value: str, text: str) -> bool:
    return alike(color_of(value), text)


def _with_attributes(catalogue: Catalogue, goal: Goal) -> frozenset[int]:
    """The numbers of the products that have all attributes that the goal asks for; there is at least one."""
    known: Memory[frozenset[int]] = catalogue.memo.setdefault("oracle: products by attribute", Memory())
    found = {wanted: known[wanted] for wanted in goal.attributes if wanted in known}
    new = having(catalogue, [wanted for wanted in goal.attributes if wanted not in found])
    for wanted, numbers in new.items():
        known.remember(wanted, numbers, _BYTES_A_NUMBER * len(numbers))
    return frozenset.intersection(*found.values(), *new.values())


def having(catalogue: Catalogue, attributes: Collection[str]) -> dict[str, frozenset[int]]:
    """The numbers of the products that have each attribute, as `reward.has_attribute` has it, in one pass.

    Every different attribute of the catalogue is compared once, not once a product.
    """
    if not attributes:
        return {}
    every: frozenset[str] | None = catalogue.memo.get("oracle: attributes")
    if every is None:
        every = frozenset(attribute for product in catalogue.products for attribute in product.attributes)
        catalogue.memo["oracle: attributes"] = every
    alikes = [(wanted, {other for other in every if alike(other, wanted)}) for wanted in dict.fromkeys(attributes)]
    found: dict[str, list[int]] = {wanted: [] for wanted in attributes}
    for number, (own, text) in enumerate(_texts(catalogue)):
        for wanted, others in alikes:
            if wanted in text or not others.isdisjoint(own):
                found[wanted].append(number)
    return {wanted: frozenset(numbers) for wanted, numbers in found.items()}


def _texts(catalogue: Catalogue) -> Iterable[tuple[tuple[str, ...], str]]:
    """Every product's attributes, and the texts that an attribute may stand in."""
    known: tuple[tuple[tuple[str, ...], str], ...] | None = catalogue.memo.get("oracle: texts")
    if known is not None:
        return known
    texts = ((product.attributes, _text(product)) for product in catalogue.products)
    if len(catalogue.products) > _KEPT_TEXTS:
        return texts
    known = catalogue.memo["oracle: texts"] = tuple(texts)
    return known


def _text(product: Product) -> str:
    """Lower case text by text, since a letter's lower case may depend on its neighbours."""
    return _BETWEEN.join([product.title.lower(), " ".join(product.bullets).lower(), product.description.lower()])
