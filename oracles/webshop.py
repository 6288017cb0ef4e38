"""Exact L(s) for WebShop: the fewest turns to a purchase worth 1.0, over all products, from any page.

What is exact
-------------
L is the length of a shortest path in a graph whose edges are all clicks that the rules understand, and the searches
of an explicit set: `queries(level)`, and what the agent searched for last, as long as the page's address holds it. The
set holds the instruction, the goal's attributes, one by one and together, alone and after the query that its product
was found with, that query, its category and the parts of its path of categories, and the titles of the goal's product
and of every product that can be worth 1.0. `<r>`, `<c> ...` and `<q> ...`, with which the original's authors looked
into their shop, are in it only with `debug_queries`. What cannot be typed as `search[...]` (a bracket, a line break)
is left out.

The texts that could be searched for are endless, so a better one outside the set is conceivable: `holds_for_any_query`
tells where none exists, which is nearly always. No search does better than to show the product that needs the fewest
clicks on its first page; where one of the set does that, L is exact over every action that there is. (The actions that
`optimal_actions` names are still those of the set.)

How it is computed
------------------
A purchase ends the game: L is 0 after one worth 1.0, and infinite after any other, also where `compat="original"` lets
an agent shop on. Before it, L depends on the page but not on what was opened before, and:

1. To *buy here* on a product's page takes the clicks of `webshop_purchases`, and Buy Now.
2. From a page of results *a product is reached* by a turn for every page in between, and a click. From a page of a
   product, `< Prev` first. Where the address holds `search_results` (searched for or chosen), the rules take the page
   for one of results, and there `< Prev` and an option called `next >` turn the pages of results.
3. *A search* is understood on every page, and its first page of results is the same from everywhere. So what a search
   leads to is one number a goal.

Nothing else shortens a way: Back to Search is a turn before a search that could be made at once; sub-pages lead back
to their product's page, or on to a page of results that is at least as near from the product's page (the pages of
results differ by a turn); and to choose an option only for what it writes into the address gains nothing over `< Prev`
and turning the pages. The tests compare all of this with a search over every state of small shops, hostile ones
among them.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property

from rollback_gym.envs.webshop.actions import read
from rollback_gym.envs.webshop.rules import WebShopRules, page_name
from rollback_gym.envs.webshop.text import collapsed
from rollback_gym.envs.webshop.types import Catalogue, Level, State
from rollback_gym.envs.webshop.views import PAGE_SIZE, NoSearch, Views
from rollback_gym.oracles.webshop_purchases import is_taken_for_results, perfect_products

_MOST_QUERIES = 256
"""The most queries whose ways are kept in a level's memo; it is emptied beyond that."""

_DEBUG = ("<r>", "<a>", "<c>", "<q>")
_PLAIN_ASIN = re.compile("[A-Z0-9]*[0-9][A-Z0-9]*")
"""No button is called like this, in small letters."""

_NEXT = "next >"
_CATEGORY_SEPARATOR = "\u203a"


@dataclass(frozen=True)
class WebShopOracle:
    """The oracle for one variant of the rules.

    Args:
        rules: The variant; whether it mends the original's defects is all that matters.
        debug_queries: Whether `<r>`, `<c> ...` and `<q> ...` are among the queries.
    """

    rules: WebShopRules = field(default_factory=WebShopRules)
    debug_queries: bool = False

    def distance(self, level: Level, state: State) -> float:
        """L(s): the fewest turns until a purchase worth 1.0, a whole number; math.inf if there can be none."""
        return self._map(level).distance(state)

    def optimal_actions(self, level: Level, state: State) -> tuple[str, ...]:
        """Every first action of a shortest solution: clicks as the page has them, then searches as in `queries`."""
        known = self._map(level)
        left = known.distance(state)
        if left in (0, math.inf):
            return ()
        clicks = [
            action
            for action in known.rules.actions(level, state)
            if action.startswith("click[") and known.distance(known.rules.step(level, state, action).state) < left
        ]
        if left - 1 < known.floor:
            return tuple(clicks)
        searched = dict.fromkeys([*([state.query] if known.is_typable(state.query) else []), *known.queries])
        searches = [f"search[{query}]" for query in searched if known.from_results(query or "", 1) == left - 1]
        return (*clicks, *searches)

    def plan(self, level: Level, state: State) -> tuple[str, ...]:
        """One shortest solution: always the first of the optimal actions. Empty where there is none, or none needed."""
        actions = []
        while best := self.optimal_actions(level, state):
            actions.append(best[0])
            state = self._map(level).rules.step(level, state, best[0]).state
        return tuple(actions)

    def queries(self, level: Level) -> tuple[str, ...]:
        """What the oracle searches for, in small letters; beside it, whatever the agent searched for last."""
        return self._map(level).queries

    def holds_for_any_query(self, level: Level) -> bool:
        """Whether no query whatsoever would make L smaller, in any state of the level."""
        known = self._map(level)
        return known.search == known.floor

    def _map(self, level: Level) -> "_Map":
        original = self.rules.dialect.original
        key = ("oracle", original, self.debug_queries)
        known: _Map | None = level.memo.get(key)
        return known or level.memo.setdefault(key, _Map(level, original, self.debug_queries))


_DEFAULT = WebShopOracle()


def distance(level: Level, state: State) -> float:
    """`WebShopOracle.distance` by the default rules."""
    return _DEFAULT.distance(level, state)


def optimal_actions(level: Level, state: State) -> tuple[str, ...]:
    """`WebShopOracle.optimal_actions` by the default rules."""
    return _DEFAULT.optimal_actions(level, state)


def plan(level: Level, state: State) -> tuple[str, ...]:
    """`WebShopOracle.plan` by the default rules."""
    return _DEFAULT.plan(level, state)


def queries(level: Level) -> tuple[str, ...]:
    """`WebShopOracle.queries` by the default rules."""
    return _DEFAULT.queries(level)


def holds_for_any_query(level: Level) -> bool:
    """`WebShopOracle.holds_for_any_query` by the default rules."""
    return _DEFAULT.holds_for_any_query(level)


@cache
def for_simulator(rules: WebShopRules) -> WebShopOracle:
    """The oracle for an environment of these rules."""
    return WebShopOracle(rules)


class _Map:
    """What L rests on in one level."""

    def __init__(self, level: Level, original: bool, debug_queries: bool) -> None:
        self.level = level
        self.catalogue = level.shop.catalogue
        self.rules = WebShopRules(compat="original" if original else None)
        self.debug_queries = debug_queries
        self.views = Views(self.catalogue, self.rules.dialect)
        self.perfect = perfect_products(level, self.rules)
        self.odd = _odd_links(self.catalogue)
        self._ways: dict[str, tuple[tuple[int, float], ...]] = {}

    def distance(self, state: State) -> float:
        """See `WebShopOracle.distance`."""
        kind, query, page, asin, _, _, _, reward = state
        if reward is not None:
            return 0.0 if reward == 1.0 else math.inf
        if not self.perfect:
            return math.inf
        if query is None:
            return 1.0 + self.search
        again = self.from_results(query, 1) if self.is_typable(query) else math.inf
        searching = 1 + min(self.search, again)
        if kind == "search_results":
            return float(min(searching, self.from_results(query, page)))
        assert asin is not None
        at = page_name(state)
        if kind == "item_sub_page":
            if at == "item_sub_page":
                return float(min(searching, 1 + self.from_product(state)))
            back = page - 1 if at == "search_results" else page
            return float(min(searching, 1 + self.from_results(query, back)))
        return float(min(searching, self.from_product(state)))

    def from_product(self, state: State) -> float:
        """The fewest turns from the page of a product without another search."""
        _, query, page, asin, _, options, _, _ = state
        assert query is not None
        assert asin is not None
        perfect = self.perfect.get(self.catalogue.numbers[asin])
        buying = math.inf if perfect is None else perfect.clicks(query, options) + 1
        if not is_taken_for_results(query, options):
            return min(buying, 1 + self.from_results(query, page))
        item = State("item_page", query, page, asin, "", options, (), None)
        turned = [page - 1, page + 1] if _NEXT in self.views.of(item).elements else [page - 1]
        return min(buying, *[1 + self.from_results(query, to) for to in turned])

    def from_results(self, query: str, page: int) -> float:
        """The fewest turns from a page of results without another search."""
        return min([abs(to - page) + turns for to, turns in self.ways(query)], default=math.inf)

    def ways(self, query: str) -> tuple[tuple[int, float], ...]:
        """The pages of results that lead to a purchase worth 1.0, with the turns from there."""
        known = self._ways.get(query)
        if known is None:
            if len(self._ways) >= _MOST_QUERIES:
                self._ways.clear()
            known = self._ways[query] = tuple(self._new_ways(query).items())
        return known

    def _new_ways(self, query: str) -> dict[int, float]:
        try:
            hits = self.views.hits(query)
        except NoSearch:
            return {}
        costs = self._costs[is_taken_for_results(query, ())]
        best: dict[int, float] = {}
        for place, number in enumerate(hits):
            if number in costs or number in self.odd:
                page = place // PAGE_SIZE + 1
                opened = self._opened(query, page, number) if number in self.odd else number
                turns = costs.get(opened, math.inf)
                if turns < best.get(page, math.inf):
                    best[page] = turns
        return best

    def _opened(self, query: str, page: int, number: int) -> int:
        """The number of the product that a link leads to; -1 where it leads to none."""
        results = State("search_results", query, page, None, "", (), (), None)
        link = collapsed(self.catalogue.products[number].asin).lower()
        after = self.rules.step(self.level, results, f"click[{link}]").state
        return -1 if after.asin is None else self.catalogue.numbers[after.asin]

    @cached_property
    def _costs(self) -> tuple[dict[int, float], dict[int, float]]:
        """The turns from a product's link: its click, the clicks on options, Buy Now.

        Twice: where the query does not make the rules take the product's page for one of results, and where it does.
        """
        plain = {number: perfect.clicks("", ()) + 2 for number, perfect in self.perfect.items()}
        if not any(perfect.all_values for perfect in self.perfect.values()):
            return plain, plain
        return plain, {number: perfect.clicks("search_results", ()) + 2 for number, perfect in self.perfect.items()}

    @cached_property
    def floor(self) -> float:
        """What no page of results can do better than."""
        return min(self._costs[0].values(), default=math.inf)

    @cached_property
    def search(self) -> float:
        """The fewest turns after the best search."""
        if not self.perfect:
            return math.inf
        costs = self._costs[0]
        # The title of what is cheapest to buy nearly always does it.
        titles = [self._title(number) for number in sorted(costs, key=costs.__getitem__)]
        best = math.inf
        for query in [*titles, *self.queries]:
            if self.is_typable(query) and self._is_allowed(query):
                best = min(best, self.from_results(query, 1))
                if best == self.floor:
                    break
        return best

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """See `WebShopOracle.queries`."""
        texts = dict.fromkeys(text.lower() for text in self._texts())
        return tuple([text for text in texts if self.is_typable(text) and self._is_allowed(text)])

    def _texts(self) -> Iterator[str]:
        goal = self.level.goal
        together = " ".join(goal.attributes)
        yield goal.text
        yield f"{goal.query} {together}"
        yield goal.query
        yield together
        yield from goal.attributes
        yield goal.category
        yield from [part.strip() for part in goal.product_category.split(_CATEGORY_SEPARATOR)]
        yield goal.title
        yield from map(self._title, self.perfect)
        sold = [self.catalogue.products[number] for number in self.perfect]
        yield "<r>"
        yield from [f"<q> {query}" for query in (goal.query, *(product.query for product in sold))]
        yield from [f"<c> {category}" for category in (goal.category, *(product.category for product in sold))]

    def _title(self, number: int) -> str:
        return self.catalogue.products[number].title.lower()

    def is_typable(self, query: str | None) -> bool:
        """Whether `search[...]` can say it."""
        return query is not None and read(f"search[{query}]") == ("search", query)

    def _is_allowed(self, query: str) -> bool:
        return self.debug_queries or query.split(" ")[0] not in _DEBUG


def _odd_links(catalogue: Catalogue) -> frozenset[int]:
    """The numbers of products whose link may lead elsewhere, or nowhere."""
    known: frozenset[int] | None = catalogue.memo.get("oracle: odd links")
    if known is None:
        known = frozenset(n for n, product in enumerate(catalogue.products) if not _PLAIN_ASIN.fullmatch(product.asin))
        catalogue.memo["oracle: odd links"] = known
    return known
