"""Free texts as feasible actions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.trainer.gold import NOTHING, Resolved, Step, resolve, same

HOUSE = (
    "go to drawer 1",
    "go to drawer 12",
    "go to fridge 1",
    "open fridge 1",
    "take apple 1 from drawer 1",
    "move mug 1 to desk 1",
    "look",
    "inventory",
)
KNOWN = (*HOUSE, "close fridge 1", "take mug 1 from desk 1", "go to drawer 2")


@pytest.mark.parametrize(
    ("text", "action", "step"),
    [
        ("go to drawer 1", "go to drawer 1", Step.EXACT),
        ("  Go to\n DRAWER  1. ", "go to drawer 1", Step.EXACT),
        ("'open fridge 1'", "open fridge 1", Step.EXACT),
        ("Open the fridge 1!", "open fridge 1", Step.ARTICLES),
        ("take an apple 1 from the drawer 1", "take apple 1 from drawer 1", Step.ARTICLES),
        ("You should go to drawer 12 now", "go to drawer 12", Step.CONTAINED),
        ("take apple 1", "take apple 1 from drawer 1", Step.CONTAINED),
        ("look around you", "look", Step.CONTAINED),
        ("put mug 1 on desk 1", "move mug 1 to desk 1", Step.OVERLAP),
        ("walk to the fridge 1", "go to fridge 1", Step.OVERLAP),
    ],
)
def test_each_step_finds_what_the_ones_before_it_do_not(text: str, action: str, step: Step) -> None:
    assert resolve(text, HOUSE, KNOWN) == Resolved(action, step)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " .'! ",
        "go to drawer 2",  # a number is a number, whatever else agrees
        "go to drawer",  # which of them?
        "close fridge 1",  # known, and not feasible now
        "close the fridge 1",  # likewise, in other words
        "take mug 1 from desk 1",  # never the opposite
        "look or inventory",  # two at once
        "dance",
        "1",
    ],
)
def test_what_is_none_of_them_or_could_be_several_is_none(text: str) -> None:
    assert resolve(text, HOUSE, KNOWN) == NOTHING


def test_numbers_come_in_their_order() -> None:
    assert resolve("4, 3", ["(3, 4)", "(1, 1)"]) == NOTHING
    assert resolve("3 4", ["(3, 4)", "(1, 1)"]).action == "(3, 4)"


def test_an_action_with_a_gap_stands_for_all_that_fill_it() -> None:
    shop = ("search[<your query>]", "click[back to search]")
    assert resolve("Search[Red  hat, size 4]", shop) == Resolved("Search[Red hat, size 4]", Step.EXACT)
    for text in ("search[<your query>]", "search[ ]", "search", "search[<size>] ]"):
        assert resolve(text, shop).action != "search[<your query>]"
    assert resolve("search[ ]", shop) == NOTHING
    assert resolve("search[red", shop) == NOTHING


SOME = "go to the a take open drawer fridge 1 2 mug look .".split()
words = st.lists(st.sampled_from(SOME), max_size=7).map(" ".join)


@given(text=words | st.text(max_size=40), feasible=st.lists(words | st.text(max_size=12), max_size=6))
def test_what_is_found_is_feasible_and_keeps_its_numbers(text: str, feasible: list[str]) -> None:
    found = resolve(text, feasible).action
    if found is not None:
        gap = any("<" in action for action in feasible)
        assert gap or found in feasible
        # Digits of the text are in what was found, unless the whole of it stands in the text.
        inside = all(word in text for word in found.lower().split())
        assert set("12") & set(text.split()) <= set(found.split()) or inside


@given(
    feasible=st.lists(st.sampled_from(KNOWN), min_size=1, unique=True),
    at=st.integers(0, 7),
    blanks=st.lists(st.sampled_from([" ", "  ", "\n", "\t "]), min_size=6, max_size=6),
    upper=st.booleans(),
)
def test_case_and_blanks_change_nothing(feasible: list[str], at: int, blanks: list[str], upper: bool) -> None:
    action = feasible[at % len(feasible)]
    parts = action.split()
    written = "".join(part + blank for part, blank in zip(parts, blanks, strict=False))
    written = written.upper() if upper else written
    assert resolve(written, feasible) == Resolved(action, Step.EXACT)
    assert same(written, action)
    assert not same(written + "x", action)
