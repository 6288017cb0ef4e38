"""WebShop's oracle against a search over every state of small shops, and by its laws and plans in whole ones."""

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import product as combinations
from random import Random
from time import process_time
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rollback_gym  # noqa: F401
from rollback_gym.envs.webshop.data import open_catalogue
from rollback_gym.envs.webshop.goals import Goals, Kind, open_goals
from rollback_gym.envs.webshop.reward import has_attribute, type_factor, worth
from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.envs.webshop.types import START, Catalogue, Level, State
from rollback_gym.oracles import for_env, webshop
from rollback_gym.oracles.webshop import WebShopOracle
from rollback_gym.oracles.webshop_purchases import _may_be_of_the_type, choosable, having, perfect_products
from tests.envs.webshop.shops import LongWords, hostile, plain, plain_goals, product
from tests.oracles.small_shops import QUERIES, TooManyStates, distances, edges, small_shop

ORIGINAL = WebShopRules(compat="original")
VARIANTS = [WebShopRules(), ORIGINAL]


# --- A search over every state ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_every_state_of_small_shops(rng: Random) -> None:
    goals = open_goals(small_shop(rng))
    assume(len(goals) > 0)
    level = goals.level(rng.randrange(len(goals)))
    oracle = WebShopOracle(rng.choice(VARIANTS), debug_queries=rng.random() < 0.3)
    own = rng.choice(QUERIES)
    try:
        exact = distances(oracle, level, [START, oracle.rules.step(level, START, f"search[{own}]").state])
    except TooManyStates:
        assume(False)
    for state, expected in exact.items():
        assert oracle.distance(level, state) == expected, state
    for state in rng.sample(sorted(exact, key=repr), min(15, len(exact))):
        check_laws(oracle, level, state)
        check_plan(oracle, level, state)


# --- What a purchase is worth ----------------------------------------------------------------------------------------


def assignments(options: tuple[tuple[str, tuple[str, ...]], ...]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Every way to choose some of the options."""
    for chosen in combinations(*[[None, *values] for _, values in options]):
        yield tuple(
            sorted((name, value) for (name, _), value in zip(options, chosen, strict=True) if value is not None)
        )


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_purchases_against_the_reward(rng: Random) -> None:
    shop = rng.choice([small_shop(rng), plain(), hostile(rng.randrange(6))])
    goals = open_goals(shop, rng.choice(["synthetic", "human"]) if shop is not plain() else "synthetic")
    assume(len(goals) > 0)
    level, rules = goals.level(rng.randrange(len(goals))), rng.choice(VARIANTS)
    for number in rng.sample(range(len(shop.products)), min(12, len(shop.products))):
        check_purchases(level, rules, number)


def test_purchases_of_the_generated_shop() -> None:
    rng = Random(0)
    for level in sampled(30, "synthetic", 1):
        right = perfect_products(level, VARIANTS[0])
        every = range(len(level.shop.catalogue.products))
        for number in {*rng.sample(sorted(right), min(3, len(right))), *rng.sample(every, 20)}:
            check_purchases(level, VARIANTS[0], number)


def check_purchases(level: Level, rules: WebShopRules, number: int) -> None:
    """The clicks until the true reward is 1.0, from every choice of options."""
    sold = level.shop.catalogue.products[number]
    perfect = perfect_products(level, rules).get(number)
    options = choosable(level, rules, number)
    right = [
        chosen for chosen in assignments(options) if worth(level, sold, [value for _, value in chosen]).reward == 1.0
    ]
    assert bool(right) == (perfect is not None) or any("next >" in values for _, values in options)
    if perfect is None or perfect.all_values:
        return
    for chosen in assignments(options):
        expected = min(len(set(good) - set(chosen)) for good in right if {n for n, _ in good} >= {n for n, _ in chosen})
        assert perfect.clicks("shirt", chosen) == expected


def test_attributes_are_the_rewards() -> None:
    for shop in (plain(), hostile(2), open_catalogue(None, 150)):
        wanted = {attribute for one in shop.products for attribute in one.instruction_attributes}
        for attribute, numbers in having(shop, sorted(wanted)[:40]).items():
            assert numbers == {n for n, one in enumerate(shop.products) if has_attribute(one, attribute)}


# --- By hand ---------------------------------------------------------------------------------------------------------


def test_a_shop_by_hand() -> None:
    goals = plain_goals()
    level = level_of(goals, "B000000001", "large", "dark navy")
    start = webshop.distance(level, START)
    assert start == 5  # search, the shirt, size, color, Buy Now
    at = START
    for left, action in zip(range(4, -1, -1), webshop.plan(level, START), strict=True):
        at = VARIANTS[0].step(level, at, action).state
        assert webshop.distance(level, at) == left
    assert webshop.plan(level, at) == webshop.optimal_actions(level, at) == ()


def test_what_a_wrong_step_costs() -> None:
    level = level_of(plain_goals(), "B000000001", "large", "dark navy")
    after = {
        "search[zzz]": 6 - 1,
        "search[soft cotton shirt]": 4,
        "click[b000000001]": 3,
        "click[small]": 3,
        "click[description]": 4,
        "click[< prev]": 3,
        "click[dark navy]": 2,
        "click[red]": 3,
        "click[back to search]": 5,
        "search[lamp]": 5,
        "click[next >]": 5,
        "search[shirt]": 4,
        "click[buy now]": 4,
    }
    at = START
    for action, left in after.items():
        at = VARIANTS[0].step(level, at, action).state
        assert webshop.distance(level, at) == left, action
    for action in ("click[b000000001]", "click[large]", "click[buy now]"):
        at = VARIANTS[0].step(level, at, action).state
    assert at.reward not in (None, 1.0)
    assert webshop.distance(level, at) == math.inf
    assert webshop.plan(level, at) == webshop.optimal_actions(level, at) == ()


def test_a_price_that_is_no_number_is_within_no_limit() -> None:
    sold = product("B1", pricing=(math.inf, math.inf), instruction="a soft shirt", instruction_attributes=("soft",))
    level = open_goals(Catalogue((sold,), LongWords())).level(0)
    assert math.isnan(level.shop.prices["B1"])
    assert not worth(level, sold, []).r_price
    assert webshop.distance(level, START) == math.inf


def test_titles_that_cannot_do_are_told_without_their_nouns() -> None:
    catalogue = Catalogue(
        (
            product("B1", "\u03a6\u03a9\u03a3'\u0391 Lamp", instruction="a", instruction_attributes=("soft",)),
            product("B2", "\u03a6\u03a9\u03a3 Chair"),
            product("B3", "Lamp"),
            product("B4", "Chair"),
        ),
        _Letters(),
    )
    level = open_goals(catalogue).level(0)
    asked: list[str] = catalogue.nouns.asked  # type: ignore[attr-defined]
    assert set(perfect_products(level, WebShopRules())) == {0, 1, 2}
    assert "Chair" not in asked
    for level in (*sampled(20, "synthetic", 3), *(open_goals(hostile(seed)).level(0) for seed in range(5))):
        shop, goal = level.shop.catalogue, level.goal
        for item in shop.products:
            if type_factor(shop, item, goal).factor == 1.0:
                assert _may_be_of_the_type(shop, item, goal)


class _Letters:
    """Calls every run of letters a noun; remembers what it was asked."""

    name = "letters"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, title: str) -> tuple[str, ...]:
        self.asked.append(title)
        return tuple(word.lower() for word in re.findall(r"[^\W\d_]+", title))


def test_many_options_take_no_time() -> None:
    letters = "abcdefghijklmnopqrstuvwx"
    options = tuple((f"{letter * 5} part", (f"{letter * 7} {place}",)) for place, letter in enumerate(letters))
    sold = product("B1", options=options, instruction="a soft shirt", instruction_attributes=("soft",))
    level = open_goals(Catalogue((sold,), LongWords())).level(0)
    state = State("item_page", "soft", 1, "B1", "", ((options[3][0], options[3][1][0]),), ("B1",), None)
    started = process_time()
    assert webshop.distance(level, START) == len(letters) + 3
    assert webshop.distance(level, state) == len(letters)
    assert process_time() - started < 5


def test_what_no_purchase_satisfies() -> None:
    shop = Catalogue(
        (product("B1", instruction="a silk shirt", instruction_attributes=("silk",), attributes=("soft",)),),
        LongWords(),
    )
    level = open_goals(shop).level(0)
    assert webshop.distance(level, START) == math.inf
    assert webshop.holds_for_any_query(level)
    assert webshop.plan(level, START) == webshop.optimal_actions(level, START) == ()


def test_brackets_can_be_chosen_where_the_rules_mend_them() -> None:
    options = (("style", ("multi [2 pack]",)),)
    shop = Catalogue(
        (product("B1", options=options, instruction="a shirt", instruction_attributes=("soft",)),), LongWords()
    )
    level = open_goals(shop).level(0)
    assert webshop.distance(level, START) == 4
    assert "click[multi [2 pack]]" in webshop.plan(level, START)
    assert webshop.for_simulator(ORIGINAL).distance(level, START) == math.inf


def test_debug_queries_are_asked_for() -> None:
    level = plain_goals().level(0)
    hidden = [query for query in WebShopOracle(debug_queries=True).queries(level) if query.startswith("<")]
    assert hidden
    assert not set(hidden) & set(webshop.queries(level))
    # What the agent searched for last can be searched for again.
    at = VARIANTS[0].step(level, START, f"search[{hidden[-1]}]").state
    check_laws(WebShopOracle(), level, at)


def test_a_product_far_down_the_list() -> None:
    # 25 shirts with the same text: no search puts the last ones first.
    shirts = [product(f"B{number:02}", attributes=()) for number in range(25)]
    shirts[-1] = product("B99", attributes=("silk",), instruction="a silk shirt", instruction_attributes=("silk",))
    level = open_goals(Catalogue(tuple(shirts), LongWords())).level(0)
    assert webshop.distance(level, START) == 5  # search, Next, Next, the shirt, Buy Now
    assert not webshop.holds_for_any_query(level)
    check_laws(WebShopOracle(), level, START)
    at = VARIANTS[0].step(level, START, "search[shirt]").state
    for left in (3, 2, 3, 4, 5, 5):
        at = VARIANTS[0].step(level, at, "click[next >]").state
        assert webshop.distance(level, at) == left
        check_laws(WebShopOracle(), level, at)


def test_the_last_query_again() -> None:
    # What no query of the set knows of: a word of the description that only the agent searched for.
    shirts = [product(f"B{number:02}", attributes=()) for number in range(25)]
    shirts[-1] = product(
        "B99", attributes=("silk",), description="Unicorn.", instruction="a shirt", instruction_attributes=("silk",)
    )
    level = open_goals(Catalogue(tuple(shirts), LongWords())).level(0)
    at = VARIANTS[0].step(level, START, "search[unicorn shirt]").state
    for left, action in ((2, ""), (3, "click[next >]"), (3, "click[next >]"), (3, "click[next >]")):
        at = VARIANTS[0].step(level, at, action).state if action else at
        assert webshop.distance(level, at) == left
    assert webshop.optimal_actions(level, at) == ("search[unicorn shirt]",)
    at = VARIANTS[0].step(level, at, "click[back to search]").state
    assert webshop.distance(level, at) == 5
    check_laws(WebShopOracle(), level, at)


def test_options_that_turn_pages() -> None:
    # On the page of a product that was found with `search_results`, an option called like a button acts as one.
    turning = (("size", ("next >", "small")),)
    shirts = [product(f"B{number:02}", attributes=(), options=turning) for number in range(15)]
    shirts[-1] = product(
        "B99",
        attributes=("silk",),
        description="It is so long that it comes last. " * 9,
        instruction="a shirt",
        instruction_attributes=("silk",),
    )
    level = open_goals(Catalogue(tuple(shirts), LongWords())).level(0)
    for query, left in (("shirt", 4), ("search_results shirt", 3)):
        at = VARIANTS[0].step(level, START, f"search[{query}]").state
        at = VARIANTS[0].step(level, at, "click[b03]").state
        assert webshop.distance(level, at) == left
        assert ("click[next >]" in webshop.optimal_actions(level, at)) == (left == 3)
        check_laws(WebShopOracle(), level, at)
        check_plan(WebShopOracle(), level, at)


# --- The generated shop ----------------------------------------------------------------------------------------------


@cache
def generated(kind: Kind) -> Goals:
    return open_goals(open_catalogue(None, None), kind)


def sampled(count: int, kind: Kind, seed: int) -> list[Level]:
    goals = generated(kind)
    return [goals.level(number) for number in Random(seed).sample(range(len(goals)), count)]


def wander(oracle: WebShopOracle, level: Level, rng: Random, steps: int) -> Iterator[State]:
    """States of a walk that searches for this and that, and sometimes does what is right; it never buys."""
    words = " ".join([level.task, level.goal.title]).split()
    state = START
    for _ in range(steps):
        clicks = [a for a in oracle.rules.actions(level, state) if a.startswith("click[") and a != "click[buy now]"]
        products = [action for action in clicks if action.startswith("click[b0")]
        if state.kind == "search" or rng.random() < 0.1:
            action = f"search[{' '.join(rng.sample(words, min(len(words), rng.randint(1, 5))))}]"
        elif rng.random() < 0.15:
            best = [action for action in oracle.optimal_actions(level, state) if action != "click[buy now]"]
            action = rng.choice(best or clicks)
        else:
            action = rng.choice(products if products and rng.random() < 0.7 else clicks)
        state = oracle.rules.step(level, state, action).state
        yield state


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_plans_win(kind: Kind) -> None:
    rng, oracle, winnable = Random(1), WebShopOracle(), 0
    for level in sampled(160, kind, 2):
        check_plan(oracle, level, START)
        winnable += oracle.distance(level, START) < math.inf
        for number, state in enumerate(wander(oracle, level, rng, 12)):
            if number % 4 == 3:
                check_plan(oracle, level, state)
    assert winnable > 140


@pytest.mark.parametrize("rules", VARIANTS)
def test_laws_in_the_generated_shop(rules: WebShopRules) -> None:
    rng, oracle = Random(3), webshop.for_simulator(rules)
    for level in sampled(12, "synthetic", 4):
        for number, state in enumerate([START, *wander(oracle, level, rng, 15)]):
            if number % 3 == 0:
                check_laws(oracle, level, state)


def test_nearly_every_l_holds_for_any_query() -> None:
    levels = sampled(60, "synthetic", 5)
    assert sum(webshop.holds_for_any_query(level) for level in levels) >= 59


@pytest.mark.parametrize("rules", VARIANTS)
@pytest.mark.parametrize("seed", range(4))
def test_laws_in_hostile_shops(rules: WebShopRules, seed: int) -> None:
    rng, oracle = Random(seed), webshop.for_simulator(rules)
    goals = open_goals(hostile(5 if seed == 0 else seed))
    for number in rng.sample(range(len(goals)), 12):
        level = goals.level(number)
        for place, state in enumerate([START, *wander(oracle, level, rng, 20)]):
            if place % 4 == 0:
                check_laws(oracle, level, state)
                check_plan(oracle, level, state)


def test_memory_changes_no_answer() -> None:
    oracle = WebShopOracle()
    level = sampled(1, "synthetic", 6)[0]
    states = list(wander(oracle, level, Random(7), 30))
    warm = [(oracle.distance(level, state), oracle.optimal_actions(level, state)) for state in states]
    for state, answer in zip(states, warm, strict=True):
        level.memo.clear()
        for key in [key for key in level.shop.catalogue.memo if "oracle" in str(key)]:
            del level.shop.catalogue.memo[key]
        assert (oracle.distance(level, state), oracle.optimal_actions(level, state)) == answer


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webshop, "_MOST_QUERIES", 5)
    level = sampled(1, "synthetic", 8)[0]
    level.memo.clear()
    for state in wander(WebShopOracle(), level, Random(9), 40):
        webshop.distance(level, state)
        assert len(webshop._DEFAULT._map(level)._ways) <= 5


# --- Through the environment -----------------------------------------------------------------------------------------


def test_in_the_environment() -> None:
    env = gym.make("Rollback-WebShop-v0", oracle=True, level=3, disable_env_checker=True)
    _, info = env.reset(seed=0)
    base, oracle = env.unwrapped, for_env(env)
    assert isinstance(base, gym.Env)
    level: Any = base.level  # type: ignore[attr-defined]
    plan = oracle.plan(level, START)
    assert info["oracle"]["distance"] == len(plan) > 0
    reward = 0.0
    for action in plan:
        _, reward, terminated, _, info = env.step(action)
        assert info["oracle"]["regret"] == 0
        assert "invalid_action" not in info
    assert reward == 1.0
    assert terminated
    assert info["won"]
    assert info["oracle"]["distance"] == 0


def test_the_variant_of_the_environment_counts() -> None:
    env = gym.make("Rollback-WebShop-v0", compat="original", disable_env_checker=True)
    oracle = for_env(env)
    assert isinstance(oracle, WebShopOracle)
    assert oracle.rules.compat == "original"


# --- Laws ------------------------------------------------------------------------------------------------------------


def check_laws(oracle: WebShopOracle, level: Level, state: State) -> None:
    """L is 0 iff won, nothing lowers it by more than 1, and the optimal actions are all that lower it."""
    left = oracle.distance(level, state)
    assert isinstance(left, float)
    assert (left == 0) == (state.reward == 1.0)
    lowering = set()
    for action, after in edges(oracle, level, state):
        then = oracle.distance(level, after)
        assert then >= left - 1, (level.id, state, action)
        if then < left:
            lowering.add(action)
    found = oracle.optimal_actions(level, state)
    assert len(found) == len(set(found))
    assert set(found) == (lowering if left < math.inf else set()), (level.id, state)
    assert bool(found) == (0 < left < math.inf)


def check_plan(oracle: WebShopOracle, level: Level, state: State) -> None:
    """The plan wins with its last action, and is as long as L says."""
    left, plan = oracle.distance(level, state), oracle.plan(level, state)
    assert len(plan) == (0 if left == math.inf else left)
    for number, action in enumerate(plan, start=1):
        state, reward, _, _, won, invalid = oracle.rules.step(level, state, action)
        assert invalid is None
        assert won == (reward == 1.0) == (number == len(plan))


def level_of(goals: Goals, asin: str, *values: str) -> Level:
    for number, goal in enumerate(goals):
        if goal.asin == asin and {value for _, value in goal.options} >= set(values):
            return goals.level(number)
    raise LookupError(asin)
