"""Small shops by chance, and L in them by a search over every state that the rules can reach."""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from random import Random

from rollback_gym.envs.webshop.types import Catalogue, Level, State
from rollback_gym.oracles.webshop import WebShopOracle
from tests.envs.webshop.shops import LongWords, product

MOST_STATES = 6000
LAST_PAGE = 4


class TooManyStates(Exception):
    """The shop is too large to search through."""


def edges(oracle: WebShopOracle, level: Level, state: State) -> Iterator[tuple[str, State]]:
    """Whatever can be done in `state`: every click, every query of the set, and the last query again."""
    if state.reward is not None:
        return
    rules = oracle.rules
    own = [] if state.query is None else [state.query]
    clicks = [f"click[{name}]" for name in rules.available(level, state)["clickables"]]
    for action in [*clicks, *(f"search[{query}]" for query in dict.fromkeys([*own, *oracle.queries(level)]))]:
        yield action, rules.step(level, state, action).state


def distances(oracle: WebShopOracle, level: Level, starts: Iterable[State]) -> dict[State, float]:
    """L of every state that `starts` lead to, without what was opened and without pages far behind the last hit."""
    before: dict[State, list[State]] = {}
    fresh = deque(state._replace(seen=()) for state in starts)
    known = set(fresh)
    while fresh:
        state = fresh.popleft()
        for _, after in edges(oracle, level, state):
            after = after._replace(seen=())
            if after.page <= LAST_PAGE:
                before.setdefault(after, []).append(state)
                if after not in known:
                    known.add(after)
                    fresh.append(after)
        if len(known) > MOST_STATES:
            raise TooManyStates
    found: dict[State, float] = {state: 0.0 for state in known if state.reward == 1.0}
    fresh = deque(found)
    while fresh:
        state = fresh.popleft()
        for earlier in before.get(state, ()):
            if earlier not in found:
                found[earlier] = found[state] + 1
                fresh.append(earlier)
    return {state: found.get(state, math.inf) for state in known}


_VALUES = ("red", "dark red", "large", "x-large", "xx-large", "plain")
_ODD_VALUES = ("next >", "search_results", "item_page", "buy now", "features", "search", "multi [2 pack]", "< prev")
_ODD_ASINS = ("b00000001", "B00000001", "NEXT >", "< PREV", "FEATURES", "SEARCH", "[B1]", "b1]")
QUERIES = (
    "shirt",
    "soft shirt",
    "search_results shirt",
    "item_page shirt",
    "lamp",
    "<q> shirts",
    "<c> fashion",
    "zzz",
)


def small_shop(rng: Random) -> Catalogue:
    """Up to 26 products, most of them alike, so that results have several pages; some of what they say is odd."""
    odd = rng.random() < 0.6
    plain_asins = [f"B{number:03}" for number in range(rng.randint(1, 20))]
    asins = [*plain_asins, *rng.sample(_ODD_ASINS, rng.randint(1, 6) if odd else 0)]
    rng.shuffle(asins)
    values = [*_VALUES, *(_ODD_VALUES if odd else ())]
    names = ["color", "size", *(("search_results", "next >") if odd else ())]
    simple = rng.random() < 0.4
    products = []
    for asin in asins:
        rich = rng.random() < 0.25
        options = tuple(
            (name, tuple(dict.fromkeys(rng.choices(values, k=rng.randint(1, 3)))))
            for name in rng.sample(names, rng.randint(1, 2) if rich else 0)
        )
        products.append(
            product(
                asin,
                rng.choice(("Shirt", "Soft Shirt", "Cotton Shirt", "Shirt item_page", "search_results Shirt", "Lamp")),
                options=options,
                query=rng.choice(("shirts", "shirts", "lamps")),
                product_category="",
                attributes=tuple(rng.sample(("soft", "cotton"), rng.randint(0, 2))),
                pricing=(rng.choice((5.0, 35.0)),),
                instruction="find a shirt" if simple or options else None,
                instruction_attributes=tuple(rng.sample(("soft", "cotton"), rng.randint(1, 2))),
            )
        )
    return Catalogue(tuple(products), LongWords())
