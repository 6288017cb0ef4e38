"""Plays the same episodes here and in the original, side by side, and reports where they part.

After every step both must agree on the observation, the available actions, the reward and the end. Actions come from a
player that seeks out what is rare: it searches on pages without a search bar, pages past the end, chooses options
twice, writes in capitals, and says things that are no actions. It never searches for `<r>`, which the original answers
with other products every time. See `original` for what the original needs.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rollback_gym.core.simulator import Transition
from rollback_gym.envs.webshop.goals import ORDER_SEED, Goals, Kind, open_goals
from rollback_gym.envs.webshop.original import Original, Shown
from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.envs.webshop.types import Catalogue, Level, State
from rollback_gym.fidelity import Comparison, Difference, first_difference

ODD_ACTIONS = (
    *("", "search", "search[]", "search[ ]", "search[  two  spaces ]", "Search[shoes]", " search[shoes]", "click[]"),
    *("search[shoes] and then click[buy now]", "search[shoes]]", "search[a [b] c]", "search[shoes\nred]", "buy now"),
    *("click[search]", "CLICK[buy now]", "click[ buy now]", "click[Buy Now] please", "think[what now?]", "[x]"),
    *("search[search_results]", "search[item_page x]", "search[item_sub_page]", 'search["red" "s"]', "search[done]"),
    *("search[<a> soft]", "search[<c>]", "search[<c> beauty]", "search[<q>]", "search[\u00e9t\u00e9 \u2605]"),
    *("click[next >]", "click[< prev]", "click[back to search]", "click[description]", "click[attributes]"),
)
"""What no list of available actions names, but agents may say."""


class Episode(NamedTuple):
    """What the original answered, action by action."""

    goal: int
    start: Shown
    steps: tuple[tuple[str, Shown | None], ...]
    """Each action with its answer; None where the original stopped with an error."""


def goals_for(original: Original, catalogue: Catalogue, kind: Kind, seed: int) -> Goals:
    """The goals that `original` has, made with the same seed."""
    return open_goals(catalogue, kind, seed, seed if original.is_copy else ORDER_SEED)


def differing_goal(goals: Goals, original: Original) -> Difference | None:
    """The first goal, or price, that is not the same."""
    if len(goals) != len(original.goals):
        return Difference(0, "", "number of goals", len(goals), len(original.goals))
    for number, theirs in enumerate(original.goals):
        ours = goals[number]
        options = theirs["goal_options"]
        same = (
            theirs["asin"],
            theirs["name"],
            theirs["category"],
            theirs["query"],
            theirs["product_category"],
            theirs["instruction_text"],
            tuple(theirs["attributes"]),
            tuple(options.items()) if isinstance(options, dict) else tuple(options),
            theirs["price_upper"],
        )
        if tuple(ours) != same:
            return Difference(0, "", f"goal {number}", ours, same)
        if goals.weights[number] != theirs["weight"]:
            return Difference(0, "", f"weight of goal {number}", goals.weights[number], theirs["weight"])
    if dict(goals.shop.prices) != original.prices:
        return Difference(0, "", "prices", dict(goals.shop.prices), original.prices)
    return None


def play(original: Original, goals: Goals, number: int, steps: int, rng: random.Random) -> Episode:
    """An episode of the original, up to its end or an error. The player knows what the shop sells."""
    start = shown = original.reset(number)
    taken: list[tuple[str, Shown | None]] = []
    while len(taken) < steps and not shown.done:
        action = _action(shown, goals, number, rng)
        try:
            shown = original.step(action)
        except (KeyError, IndexError, TypeError, ValueError):
            taken.append((action, None))
            break
        taken.append((action, shown))
    return Episode(number, start, tuple(taken))


def replay(episode: Episode, rules: WebShopRules, level: Level) -> Difference | None:
    """Play the same here, and return the first difference, or None."""
    state, observation = rules.begin(level)
    ours = Shown(observation, rules.available(level, state))
    difference = first_difference(0, "", ours._asdict(), episode.start._asdict())
    for turn, (action, shown) in enumerate(episode.steps, start=1):
        if difference is not None:
            break
        after = rules.step(level, state, action)
        if shown is None:
            if after.invalid is None or after.state is not state:
                difference = Difference(turn, action, "error", after.feedback, "an error")
            continue
        ours = Shown(after.feedback, rules.available(level, after.state), after.reward, after.terminated)
        difference = first_difference(turn, action, ours._asdict(), shown._asdict())
        difference = difference or _inconsistency(rules, level, turn, action, after)
        state = after.state
    return difference


def compare(
    original: Original, goals: Goals, rules: WebShopRules, numbers: Iterable[int], steps: int, seed: int
) -> Iterator[Comparison]:
    """Play each goal of `numbers` in both for up to `steps` actions; what is played depends on the arguments alone."""
    for number in numbers:
        episode = play(original, goals, number, steps, random.Random(f"webshop {seed} {number}"))
        level = goals.level(number)
        last = episode.steps[-1][1] if episode.steps else None
        won = last is not None and last.done and last.reward == 1.0
        counts = Counter(_kind(action, shown) for action, shown in episode.steps)
        yield Comparison(level.id, len(episode.steps), won, counts, replay(episode, rules, level))


def _kind(action: str, shown: Shown | None) -> str:
    if shown is None:
        return "(stops the original with an error)"
    verb = action.partition("[")[0]
    return verb if verb in ("search", "click") and action.endswith("]") else "(neither search nor click)"


def _inconsistency(rules: WebShopRules, level: Level, turn: int, action: str, after: Transition) -> Difference | None:
    """A state must be enough to tell the page, and survive encoding."""
    state: State = after.state
    decoded = rules.decode(level, rules.encode(level, state))
    ours = {"page of the state": rules.describe(level, state), "decoded": decoded}
    return first_difference(turn, action, ours, {"page of the state": after.feedback, "decoded": state})


def _action(shown: Shown, goals: Goals, number: int, rng: random.Random) -> str:
    """What a player does who is after something, and lets itself be distracted."""
    clickables, chance = shown.available["clickables"], rng.random()
    if chance < 0.08:
        return rng.choice(ODD_ACTIONS)
    if shown.available["has_search_bar"] or chance < 0.12:
        return f"search[{_query(goals, number, rng)}]"
    if not clickables:
        return "search[again]"
    if "buy now" in clickables and chance < 0.2:
        return "click[Buy Now]"
    # What comes first is seldom worth a click: it leads back.
    choice = rng.choice(clickables[1:] or clickables) if rng.random() < 0.9 else rng.choice(clickables)
    return f"click[{choice.upper() if rng.random() < 0.1 else choice}]"


def _query(goals: Goals, number: int, rng: random.Random) -> str:
    goal, products = goals[number], goals.shop.catalogue.products
    product = rng.choice(products) if rng.random() < 0.5 else products[goals.shop.catalogue.numbers[goal.asin]]
    texts = (goal.text, product.title, product.description, product.query, " ".join(goal.attributes))
    words = rng.choice(texts).split(" ")
    start = rng.randrange(len(words))
    query = " ".join(words[start : start + rng.randint(1, 12)])
    return rng.choice((f"<q> {product.query}", f"<c> {product.category}")) if rng.random() < 0.05 else query
