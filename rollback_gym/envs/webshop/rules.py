"""WebShop's rules, as pure functions on `Level` and `State`: the simulator of `core.simulator`.

A page seen before costs a look-up: see `views`.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from rollback_gym.core.simulator import Transition
from rollback_gym.envs.webshop import text
from rollback_gym.envs.webshop.actions import mended, read
from rollback_gym.envs.webshop.codec import decode, encode
from rollback_gym.envs.webshop.reward import Worth, worth
from rollback_gym.envs.webshop.types import START, Level, PageKind, Product, State
from rollback_gym.envs.webshop.views import Dialect, Element, NoSearch, View, Views, written

Mode = Literal["text", "text_rich"]
Compat = Literal["original", "verl-agent"] | None

SEARCH_ACTION = "search[<your query>]"
"""What stands among the admissible actions for every search."""

_SEARCH_VIEW = View("", "", {"search": Element("button", "")}, ("search",), ("click[search]",))
_LAST_VIEW = View("", "", {}, (), ())
_new: Any = tuple.__new__  # a NamedTuple's own constructor takes twice as long


class Desk(NamedTuple):
    """What a level needs at hand in every step."""

    views: Views
    head: str
    """The instruction, as pages but the first show it."""
    search_page: str


@dataclass(frozen=True)
class WebShopRules:
    """The rules in one of their variants.

    Args:
        observation: `text`, or `text_rich`, which marks buttons and what was clicked.
        show_attributes: Whether item pages link to the sub-page that lists the attributes, which the goal is made of.
        compat: None mends the original's defects that docs/fidelity.md lists; `original` keeps them; `verl-agent`
            keeps those of the copy that verl-agent and RetroAgent use.
    """

    observation: Mode = "text"
    show_attributes: bool = False
    compat: Compat = None
    dialect: Dialect = field(init=False, repr=False, compare=False)
    key: str = field(init=False, repr=False, compare=False)
    """Where a level remembers what belongs to this variant."""

    def __post_init__(self) -> None:
        if self.observation not in ("text", "text_rich"):
            raise ValueError(f"observation must be 'text' or 'text_rich', got {self.observation!r}.")
        if self.compat not in (None, "original", "verl-agent"):
            raise ValueError(f"compat must be None, 'original' or 'verl-agent', got {self.compat!r}.")
        dialect = Dialect(self.observation == "text_rich", bool(self.show_attributes), self.compat is not None)
        object.__setattr__(self, "dialect", dialect)
        object.__setattr__(self, "key", f"desk {self.observation} {self.show_attributes} {self.compat}")

    def begin(self, level: Level) -> tuple[State, str]:
        """The search page, where every level starts."""
        return START, self._desk(level).search_page

    def step(self, level: Level, state: State, action: str) -> Transition:
        """What `action` does in `state`.

        `search[words]` is understood on every page, whether or not it has a search bar; `click[button]` clicks what
        is written on the page, in whatever case. Anything else changes nothing; `Transition.invalid` then says why.
        Buy Now ends the game with the reward of the purchase, from 0.0 to 1.0; 1.0 wins. Raises TypeError for an
        action that is no str.
        """
        desk = self._desk(level)
        view = self._view(desk, state)
        name, argument = read(action) if self.dialect.original else mended(action, view.elements)
        if state.kind == "done" and not self.dialect.original:
            return self._refuse(level, state, "the purchase is made, and the game over")
        if name == "search":
            return self._search(level, desk, state, argument, 1)
        if name == "click" and argument in view.elements and not self._is_dead(state, argument):
            return self._click(level, desk, state, view, argument)
        return self._refuse(level, state, _why(name, argument))

    def actions(self, level: Level, state: State) -> tuple[str, ...]:
        """The admissible actions: a search where there is a search bar, and every click in the original's order."""
        if state.kind == "search":
            return self._on_search_page
        if state.kind == "done":
            # verl-agent's copy has begun the next episode by the time it is asked.
            return self._on_search_page if self.compat == "verl-agent" else ()
        return self._view(self._desk(level), state).clicks

    def available(self, level: Level, state: State) -> dict[str, Any]:
        """The original's `get_available_actions()`: `has_search_bar`, a bool, and `clickables`, a list of str."""
        searching = state.kind == "search" or (state.kind == "done" and self.compat == "verl-agent")
        view = _SEARCH_VIEW if searching else self._view(self._desk(level), state)
        return {"has_search_bar": searching, "clickables": list(view.clickables)}

    def describe(self, level: Level, state: State) -> str:
        """The page that is shown in `state`."""
        desk, kind = self._desk(level), state.kind
        if kind == "search":
            return desk.search_page
        if kind == "done":
            assert state.asin is not None
            assert state.reward is not None
            return "".join(self._written(text.done_page(state.asin, state.options, state.reward)))
        front, body, *_ = desk.views.of(state)
        return f"{front}{desk.head}{body}"

    def encode(self, level: Level, state: State) -> Any:
        """`state` as nested tuples of plain values."""
        return encode(state)

    def decode(self, level: Level, data: Any) -> State:
        """The inverse of `encode`. Raises ValueError where `data` is no state that `level` can be in."""
        return decode(level, data, self.dialect.original)

    def purchase(self, level: Level, state: State) -> Worth:
        """What Buy Now is worth in `state`, and why. Raises ValueError where there is nothing to buy."""
        if state.asin is None:
            raise ValueError(f"There is nothing to buy on this page ({state.kind}).")
        return worth(level, _product(level, state.asin), [value for _, value in state.options])

    def hits(self, level: Level, query: str) -> tuple[int, ...]:
        """What `search[query]` finds: numbers in `level.shop.catalogue.products`, ten a page.

        Raises NoSearch where the search cannot be carried out.
        """
        return self._desk(level).views.hits(query.lower())

    # What an action does.

    def _is_dead(self, state: State, name: str) -> bool:
        """The search button does nothing by itself; the original takes anything of that name for it."""
        return name == "search" and (self.dialect.original or state.kind == "search")

    def _search(self, level: Level, desk: Desk, state: State, query: str, page: int) -> Transition:
        try:
            desk.views.hits(query)
        except NoSearch as error:
            return self._refuse(level, state, str(error))
        return self._go(level, _new(State, ("search_results", query, page, None, "", (), state.seen, state.reward)))

    def _click(self, level: Level, desk: Desk, state: State, view: View, name: str) -> Transition:
        """The original goes by what is written, whatever kind of thing it is written on."""
        _, query, page, asin, _, options, seen, reward = state
        if name == "buy now":
            return self._buy(level, state)
        if name == "back to search":
            return self._go(level, START._replace(reward=reward))
        at: PageKind | None = page_name(state) if name in ("< prev", "next >") else None
        if at == "search_results":
            assert query is not None
            return self._search(level, desk, state, query, page + (1 if name == "next >" else -1))
        if name == "< prev" and at == "item_page":
            assert query is not None
            return self._search(level, desk, state, query, page)
        if name in _SUB_PAGES:
            if asin is None:
                return self._refuse(level, state, f"{name} needs a product's page")
            return self._go(level, State("item_sub_page", query, page, asin, _SUB_PAGES[name], options, seen, reward))
        kind, written_on = view.elements[name]
        if kind == "product":
            asin = name.upper() if self.dialect.original else written_on
            if asin not in level.shop.catalogue.numbers:
                return self._refuse(level, state, f"the original looks for {asin}, and stops")
            seen = seen if asin in seen else tuple(sorted([*seen, asin]))
        elif kind == "option":
            options = tuple(sorted({**dict(options), written_on.lower(): name}.items()))
        return self._go(level, State("item_page", query, page, asin, "", options, seen, reward))

    def _buy(self, level: Level, state: State) -> Transition:
        if state.asin is None:
            return self._refuse(level, state, "there is nothing to buy on this page")
        reward = self.purchase(level, state).reward
        done = state._replace(kind="done", sub_page="", reward=reward)
        return Transition(done, reward, True, self.describe(level, done), reward == 1.0)

    def _go(self, level: Level, state: State) -> Transition:
        return Transition(state, 0.0, False, self.describe(level, state))

    def _refuse(self, level: Level, state: State, why: str) -> Transition:
        done = state.kind == "done" and not self.dialect.original
        return Transition(state, 0.0, done, self.describe(level, state), done and state.reward == 1.0, why)

    # What is at hand.

    def _desk(self, level: Level) -> Desk:
        desk: Desk | None = level.memo.get(self.key)
        return desk or level.memo.setdefault(self.key, self._new_desk(level))

    def _new_desk(self, level: Level) -> Desk:
        memo, task = level.shop.catalogue.memo, level.task
        views = memo.get(self.dialect) or memo.setdefault(self.dialect, Views(level.shop.catalogue, self.dialect))
        between = "" if self.dialect.rich else text.SEPARATOR
        head = "".join(self._written(text.head(task))) + between
        return Desk(views, head, "".join(self._written(text.search_page(task))))

    def _written(self, pieces: Any) -> tuple[str, str]:
        return written(pieces, self.dialect.rich, lambda piece: False)

    def _view(self, desk: Desk, state: State) -> View:
        if state.kind == "search":
            return _SEARCH_VIEW
        return _LAST_VIEW if state.kind == "done" else desk.views.of(state)

    @property
    def _on_search_page(self) -> tuple[str, ...]:
        return (SEARCH_ACTION, "click[search]") if self.dialect.original else (SEARCH_ACTION,)


_SUB_PAGES = {name.lower(): name for name in text.SUB_PAGES}


def page_name(state: State) -> PageKind:
    """Which page the original takes this one for: it looks for the pages' names anywhere in the address.

    A search for `search_results` puts that name into the addresses of items, and `< Prev` there then does what it
    does on a page of results; so does an option of that name once it is chosen.
    """
    if state.kind not in ("item_page", "item_sub_page"):
        return state.kind
    address = [state.query or "", *(part for option in state.options for part in option)]
    if any("search_results" in part for part in address):
        return "search_results"
    return "item_page" if any("item_page" in part for part in address) else state.kind


def _product(level: Level, asin: str) -> Product:
    catalogue = level.shop.catalogue
    return catalogue.products[catalogue.numbers[asin]]


def _why(name: str, argument: str) -> str:
    if name == "click":
        return f"there is no {argument!r} to click on this page"
    return "expected search[words] or click[what is written on a button or link]"
