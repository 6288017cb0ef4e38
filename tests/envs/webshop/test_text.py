import pytest

from rollback_gym.envs.webshop import text
from rollback_gym.envs.webshop.goals import Goals
from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.envs.webshop.types import START, Catalogue, Level, Product, Shop
from tests.envs.webshop.shops import LongWords, product

SHIRT = product(
    "B000000001",
    "Soft Cotton Shirt",
    options=(("size", ("small", "large")), ("color", ("red",))),
    bullets=("Soft.", "", "\n", "Warm."),
    instruction="Find me a shirt",
    instruction_attributes=("soft",),
)


def level_of(sold: Product = SHIRT) -> Level:
    return Goals(Shop(Catalogue((sold,), LongWords()))).level(0)


def pages(*actions: str, rules: WebShopRules, at: Level) -> str:
    state, observation = rules.begin(at)
    for action in actions:
        state, _, _, observation, _, _ = rules.step(at, state, action)
    return observation


ITEM = ("search[shirt]", "click[b000000001]")
HEAD = "Instruction: [SEP] {task} [SEP] Back to Search"
SIMPLE = {
    (): "WebShop [SEP] Instruction: [SEP] {task} [SEP] Search",
    ITEM[:1]: HEAD
    + " [SEP] Page 1 (Total results: 1) [SEP] Next > [SEP] B000000001 [SEP] Soft Cotton Shirt [SEP] $25.0",
    (*ITEM[:1], "click[next >]"): HEAD + " [SEP] Page 2 (Total results: 1) [SEP] < Prev [SEP] Next >",
    ITEM: HEAD
    + " [SEP] < Prev [SEP] size [SEP] small [SEP] large [SEP] color [SEP] red [SEP] Soft Cotton Shirt"
    + " [SEP] Price: $25.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now",
    (*ITEM, "click[description]"): HEAD + " [SEP] < Prev [SEP] A shirt.",
    # An empty bullet is a blank between two separators; a line break is left out.
    (*ITEM, "click[features]"): HEAD + " [SEP] < Prev [SEP] Soft. [SEP]  [SEP] Warm.",
    (*ITEM, "click[reviews]"): HEAD + " [SEP] < Prev",
    (*ITEM, "click[red]", "click[buy now]"): (
        "Thank you for shopping with us! [SEP] Your code: [SEP] None [SEP] (Paste it in your MTurk interface.)"
        ' [SEP] Purchased [SEP] asin [SEP] B000000001 [SEP] options [SEP] {{"color": "red"}} [SEP] attrs [SEP] None'
        " [SEP] category [SEP] None [SEP] query [SEP] None [SEP] product category [SEP] None [SEP] Target [SEP] asin"
        " [SEP] options [SEP] attrs [SEP] price upper [SEP] instuction text [SEP] category [SEP] product category"
        " [SEP] query [SEP] Goal [SEP] None [SEP] Reward [SEP] Your score (min 0.0, max 1.0) [SEP] {reward}"
        " [SEP] Reward Details [SEP] None"
    ),
}


@pytest.mark.parametrize("actions", SIMPLE)
def test_simple_pages(actions: tuple[str, ...]) -> None:
    at, rules = level_of(), WebShopRules()
    reward = 0.75  # the attribute, the price, and one of two options
    assert pages(*actions, rules=rules, at=at) == SIMPLE[actions].format(task=at.task, reward=reward)


def test_rich_pages() -> None:
    at, rules = level_of(), WebShopRules("text_rich", show_attributes=True)
    assert pages(rules=rules, at=at) == f"WebShop\nInstruction: \n{at.task}\n[button] Search [button_]\n"
    assert pages(*ITEM, "click[< prev]", rules=rules, at=at) == (
        f"Instruction:\n{at.task}\n[button] Back to Search [button_]\nPage 1 (Total results: 1)\n"
        "[button] Next > [button_]\n\n[clicked button] B000000001 [clicked button_]\nSoft Cotton Shirt\n$25.0\n"
    )
    # What was clicked comes first, the lowest on the page at the top.
    assert pages(*ITEM, "click[large]", "click[red]", rules=rules, at=at) == (
        f"You have clicked red.\nYou have clicked large.\nInstruction:\n{at.task}\n[button] Back to Search [button_]\n"
        "[button] < Prev [button_]\nsize\n  [button] small [button_]\n  [clicked button] large [clicked button_]\n"
        "color\n  [clicked button] red [clicked button_]\nSoft Cotton Shirt\nPrice: $25.0\nRating: N.A.\n"
        "[button] Description [button_]\n[button] Features [button_]\n[button] Reviews [button_]\n"
        "[button] Attributes [button_]\n[button] Buy Now [button_]\n"
    )
    assert pages(*ITEM, "click[attributes]", rules=rules, at=at) == (
        f"Instruction:\n{at.task}\n[button] Back to Search [button_]\n[button] < Prev [button_]\n soft\nfashion\n"
        "women's shirts\nClothing \u203a Women \u203a Shirts\n"
    )


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("", ""),
        (" ", " "),
        ("   ", " "),
        ("\t", " "),
        ("\n", "\n"),
        (" \n ", "\n"),
        ("\u00a0", "\u00a0"),
        (" a ", " a "),
    ],
)
def test_blanks_as_the_parser_leaves_them(given: str, shown: str) -> None:
    assert text.collapsed(given) == shown


@pytest.mark.parametrize(
    ("value", "marked"),
    [("red", True), ("\u00e9t\u00e9", False), ('6" wide', False), ("back\\slash", False), ("a & b", True)],
)
def test_values_that_json_escapes_never_look_clicked(value: str, marked: bool) -> None:
    at = level_of(SHIRT._replace(options=(("x", (value,)),)))
    shown = pages(*ITEM, f"click[{value}]", rules=WebShopRules("text_rich"), at=at)
    assert (f"[clicked button] {value} [clicked button_]" in shown) is marked


def test_options_on_the_last_page_are_sorted_and_safe_for_html() -> None:
    pieces = [piece.text for piece in text.done_page("B1", (("b", "<'&'>"), ("a", "\u00e9")), 0.5)]
    assert '{"a": "\\u00e9", "b": "\\u003c\\u0027\\u0026\\u0027\\u003e"}' in pieces


def test_all_goals_share_a_page() -> None:
    goals = Goals(Shop(Catalogue((SHIRT,), LongWords())))
    rules = WebShopRules()
    bodies = {pages(*ITEM, rules=rules, at=at).replace(at.task, "") for at in map(goals.level, range(len(goals)))}
    assert len(bodies) == 1
    state, _ = rules.begin(goals.level(0))
    assert state == START
