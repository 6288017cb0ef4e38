"""Mistakes in WebShop."""

from collections.abc import Iterator, Mapping
from typing import Any

from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.envs.webshop.text import collapsed
from rollback_gym.envs.webshop.types import Catalogue, Level, Product, State
from rollback_gym.study.inject.types import Kind, Lapse, Step

_RULES = WebShopRules()
_BUY, _BACK, _PREVIOUS, _LOOK = "click[buy now]", "click[back to search]", "click[< prev]", "click[description]"
_OTHER_SEARCHES = 6


def lapses(level: Level, state: State, path: tuple[Step, ...], plan: tuple[str, ...], kind: Kind) -> Iterator[Lapse]:
    """See `inject.types.Lapses`."""
    offered = _RULES.actions(level, state)
    match kind:
        case Kind.INTENT:
            return _misread(level, state, offered)
        case Kind.WRONG_ARGUMENT:
            return _misclicked(level, state, offered, plan)
        case Kind.FORGOTTEN_CONTEXT:
            return _forgotten(path)
        case Kind.FAILED_CALL:
            return _refused(plan)


# --- Intent: another product ----------------------------------------------------------------------------------------


def _misread(level: Level, state: State, offered: tuple[str, ...]) -> Iterator[Lapse]:
    """Buy another product of the page, after a look at it; or this one without its options; or search for another."""
    for action in offered:
        product = _linked(level, action)
        if product is not None:
            yield Lapse(Kind.INTENT, product.asin, (action, *_bought(product)))
    if state.kind == "item_page" and state.asin is not None:
        yield Lapse(Kind.INTENT, f"{state.asin} as it is", (_BUY,))
        yield Lapse(Kind.INTENT, f"{state.asin} as it is, after a look", (_LOOK, _PREVIOUS, _BUY))
    for query in _other_queries(level):
        if query != state.query:
            yield Lapse(Kind.INTENT, f"search {query}", (f"search[{query}]", *_first_hit(level, query)))


def _bought(product: Product) -> tuple[str, ...]:
    chosen = [f"click[{values[0].lower()}]" for _, values in product.options if values]
    return (_LOOK, _PREVIOUS, *chosen, _BUY)


def _first_hit(level: Level, query: str) -> tuple[str, ...]:
    """Buy what a search shows first."""
    results = State("search_results", query, 1, None, "", (), (), None)
    for action in _RULES.actions(level, results):
        product = _linked(level, action)
        if product is not None:
            return (action, *_bought(product))
    return ()


def _other_queries(level: Level) -> tuple[str, ...]:
    """What the products that follow the goal's in the catalogue were found with."""
    catalogue, goal = level.shop.catalogue, level.goal
    products = catalogue.products
    at = catalogue.numbers.get(goal.asin, 0)
    queries: dict[str, None] = {}
    for number in range(at + 1, at + len(products)):
        product = products[number % len(products)]
        if product.query and product.query != goal.query and product.category != goal.category:
            queries[product.query] = None
            if len(queries) == _OTHER_SEARCHES:
                break
    return tuple(queries)


def _linked(level: Level, action: str) -> Product | None:
    """The product that a link leads to."""
    links: Mapping[str, Any] = _links(level.shop.catalogue)
    number = links.get(action)
    return None if number is None else level.shop.catalogue.products[number]


def _links(catalogue: Catalogue) -> Mapping[str, int]:
    known = catalogue.memo.get("study: links")
    if known is None:
        known = {f"click[{collapsed(product.asin).lower()}]": n for n, product in enumerate(catalogue.products)}
        catalogue.memo["study: links"] = known
    return known


# --- Wrong argument: another link, another option -------------------------------------------------------------------


def _misclicked(level: Level, state: State, offered: tuple[str, ...], plan: tuple[str, ...]) -> Iterator[Lapse]:
    """Click another product than planned, or another option, then go on as planned."""
    if not plan or not plan[0].startswith("click["):
        return
    wanted = _linked(level, plan[0])
    for action in offered:
        if action == plan[0]:
            continue
        product = _linked(level, action)
        if wanted is not None and product is not None:
            same = [then for then in plan[1:] if then == _BUY or then in _values(product)]
            yield Lapse(Kind.WRONG_ARGUMENT, action, (action, *same))
        elif wanted is None and state.asin is not None and action in _values(_product(level, state.asin)):
            yield Lapse(Kind.WRONG_ARGUMENT, action, (action, *[then for then in plan if then != action]))


def _values(product: Product) -> frozenset[str]:
    return frozenset(f"click[{value.lower()}]" for _, values in product.options for value in values)


def _product(level: Level, asin: str) -> Product:
    catalogue = level.shop.catalogue
    return catalogue.products[catalogue.numbers[asin]]


# --- Forgotten context, failed call ---------------------------------------------------------------------------------


def _forgotten(path: tuple[Step, ...]) -> Iterator[Lapse]:
    """Go back to a page that was left for good, look again at what was seen, or search once more."""
    if not path:
        return
    yield Lapse(Kind.FORGOTTEN_CONTEXT, "previous page", (_PREVIOUS, _BACK, path[0].action))
    yield Lapse(Kind.FORGOTTEN_CONTEXT, "back to search", (_BACK, *[step.action for step in path]))
    for number in range(len(path) - 1, -1, -1):
        again = tuple([step.action for step in path[number:]])
        yield Lapse(Kind.FORGOTTEN_CONTEXT, f"repeat {again[0]} of {number}", again)


def _refused(plan: tuple[str, ...]) -> Iterator[Lapse]:
    """The planned click, written in a way that the shop does not understand; then on with the plan."""
    if len(plan) < 2:
        return
    name = plan[0].removeprefix("click[").removesuffix("]")
    for call in (name, f"choose[{name}]", f"click {name}", f"click[{name} button]"):
        yield Lapse(Kind.FAILED_CALL, call, (call, *plan[1:]))
