"""States as plain nested tuples, and back."""

from typing import Any

from rollback_gym.envs.webshop.actions import read
from rollback_gym.envs.webshop.reward import worth
from rollback_gym.envs.webshop.text import SUB_PAGES
from rollback_gym.envs.webshop.types import START, Level, State
from rollback_gym.envs.webshop.views import check_query

_KINDS = ("search", "search_results", "item_page", "item_sub_page", "done")


def encode(state: State) -> tuple[Any, ...]:
    """`state` as nested tuples of str, int, float and None."""
    return tuple(state)


def decode(level: Level, data: Any, goes_on: bool = False) -> State:
    """The state that `encode` wrote. Raises ValueError where `data` is no state that `level` can be in.

    Args:
        level: What is played.
        data: What is read.
        goes_on: Whether one can shop on after a purchase, as in the original.
    """
    _require(isinstance(data, tuple) and len(data) == len(State._fields), f"expected {len(State._fields)} entries")
    state = State(*data)
    kind, query, page, asin, sub_page, options, seen, reward = state
    _require(isinstance(kind, str) and kind in _KINDS, f"no page {kind!r}")
    _require(query is None or isinstance(query, str), "query: expected a text")
    _require(type(page) is int and page >= 0, "page: expected a whole number")
    _require(asin is None or isinstance(asin, str), "asin: expected a text")
    _require(_are_texts(seen) and list(seen) == sorted(set(seen)), "seen: expected asins in order")
    _require(all(known in level.shop.catalogue.numbers for known in seen), "seen: an asin that is not sold here")
    _require(reward is None or (type(reward) is float and 0 <= reward <= 1), "reward: expected a number from 0 to 1")
    _require(reward is None or kind == "done" or goes_on, "reward: the purchase ends the game")
    _require(sub_page in (SUB_PAGES if kind == "item_sub_page" else ("",)), f"no sub-page {sub_page!r} here")
    if kind == "search":
        _require(state == START._replace(reward=reward), "the search page with more than a search")
        return state
    _require(read(f"search[{query}]") == ("search", query), "query: nothing that a search can say")
    check_query(level.shop.catalogue, query or "")
    if kind == "search_results":
        _require(asin is None and options == (), "a product or options on a page of results")
        return state
    _require(asin in seen, "asin: a product that was never opened")
    _require(page >= 1, "page: a product opened from before the first page of results, which lists none")
    _check_options(level, state)
    if kind == "done":
        product = level.shop.catalogue.products[level.shop.catalogue.numbers[asin or ""]]
        value = worth(level, product, [value for _, value in options]).reward
        _require(reward == value, f"reward: this purchase is worth {value}")
    return state


def _check_options(level: Level, state: State) -> None:
    options, catalogue = state.options, level.shop.catalogue
    pairs = isinstance(options, tuple) and all(_are_texts(pair) and len(pair) == 2 for pair in options)
    _require(pairs, "options: expected pairs of name and value")
    names = [name for name, _ in options]
    _require(names == sorted(set(names)), "options: names twice or out of order")
    product = catalogue.products[catalogue.numbers[state.asin or ""]]
    sold = {(name.lower(), value) for name, values in product.options for value in values}
    _require(all(pair in sold for pair in options), "options: one that the product does not have")


def _are_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"not a state of this WebShop level: {otherwise}")
