import pickle
import random
from itertools import islice

import pytest

from rollback_gym.core.errors import DataError
from rollback_gym.envs.webshop.goals import Goals, draw, draw_as_original, open_goals, original_choices
from rollback_gym.envs.webshop.types import Catalogue, Shop, open_shop
from tests.envs.webshop.shops import LongWords, hostile, plain, product


def test_a_goal_for_every_way_to_choose() -> None:
    goals = open_goals(plain())
    assert len(goals) == 3 * 3 + 2 + 1
    found = {(goal.asin, goal.options) for goal in goals}
    assert len(found) == len(goals)
    assert ("B000000001", (("color", "red"), ("size", "large"))) in found  # by name, not in the product's order
    assert ("B000000004", ()) in found


def test_texts_and_limits() -> None:
    by_options = {goal.options: goal for goal in open_goals(plain())}
    goal = by_options[("color", "red"), ("size", "large")]
    assert goal.price_upper in (40.0, 50.0, 60.0)
    assert goal.text == (
        f"Find me a soft shirt with color: red, and size: large, and price lower than {goal.price_upper:.2f} dollars"
    )
    lamp = by_options[()]
    assert (lamp.text, lamp.price_upper) == ("Find me a lamp", 1000000)


def test_human_goals_without_attributes_are_left_out() -> None:
    (goal,) = open_goals(plain(), "human")
    assert goal.text.startswith("i want a silk dress, and price lower than ")
    assert goal.options == ("plain",)


def test_options_without_values_make_no_goal() -> None:
    sold = product("B1", options=(("size", ()),), instruction="x", instruction_attributes=("soft",))
    assert len(Goals(Shop(Catalogue((sold,), LongWords())))) == 0


def test_order_is_the_originals() -> None:
    places = list(range(len(open_goals(plain()))))
    random.Random(233).shuffle(places)
    in_file_order = Goals(open_shop(plain(), 0))
    in_file_order._order = range(len(places))  # type: ignore[assignment]
    assert list(open_goals(plain())) == [in_file_order[place] for place in places]


def test_seeds() -> None:
    first, again, other = (open_goals(plain(), "synthetic", seed) for seed in (1, 1, 2))
    assert first is again
    assert [goal.asin for goal in first] == [goal.asin for goal in other]
    assert first.shop.prices["B000000002"] != other.shop.prices["B000000002"]
    assert 10.0 <= first.shop.prices["B000000002"] <= 60.0
    assert first.shop.prices["B000000001"] == 25.0
    assert Goals(Shop(plain(), 1))[:] == first[:]


def test_weights() -> None:
    goals = open_goals(plain())
    by_asin = {goal.asin: weight for goal, weight in zip(goals, goals.weights, strict=True)}
    assert by_asin == {"B000000001": 1 / 9, "B000000003": 1 / 2, "B000000004": 1.0}
    assert list(open_goals(plain(), "human").weights) == [1.0]


def test_drawing() -> None:
    sums = [1.0, 3.0, 6.0]
    assert [draw(sums, at) for at in (0.0, 0.9, 1.0, 2.9, 3.0, 6.0)] == [0, 0, 1, 1, 2, 2]
    assert [draw_as_original(sums, at) for at in (0.0, 0.9, 1.0, 2.9, 3.0, 6.0)] == [1, 1, 2, 2, 2, 2]
    chosen = list(islice(original_choices(open_goals(hostile(1))), 500))
    assert 0 not in chosen
    assert chosen == list(islice(original_choices(open_goals(hostile(1))), 500))


def test_levels() -> None:
    goals = open_goals(plain())
    level = goals.level(3)
    assert level is goals.level(3)
    assert level.id == "synthetic/3"
    assert level.task == goals[3].text
    with pytest.raises(DataError, match="there are 12"):
        goals.level(12)
    with pytest.raises(DataError):
        goals.level(-1)


def test_digests_tell_content_apart() -> None:
    goals = open_goals(plain())
    digests = {goals.level(number).digest for number in range(len(goals))}
    assert len(digests) == len(goals)
    assert open_goals(plain(), "synthetic", 1).level(0).digest not in digests
    twin = Catalogue(tuple(plain().products), LongWords())
    assert open_goals(twin).level(0).digest == goals.level(0).digest
    cheaper = Catalogue((plain().products[0]._replace(title="Other"), *plain().products[1:]), LongWords())
    assert open_goals(cheaper).level(0).digest not in digests


def test_pickle() -> None:
    goals = open_goals(plain())
    for thing in (goals, goals.level(2), goals.shop, plain()):
        assert len(pickle.dumps(thing)) < 5000
    level = pickle.loads(pickle.dumps(goals.level(2)))
    assert level.digest == goals.level(2).digest
    twin = pickle.loads(pickle.dumps(goals))
    assert twin[:] == goals[:]
    assert len({level.shop for level in pickle.loads(pickle.dumps([goals.level(0), goals.level(1)]))}) == 1


def test_more_goals_than_memory_holds() -> None:
    options = tuple((f"option {name}", tuple(map(str, range(40)))) for name in range(8))
    sold = product("B1", options=options, instruction="a shirt", instruction_attributes=("soft",))
    with pytest.raises(DataError, match=r"6,553,600,000,012 goals here, 6,553,600,000,000 of them .* B1;"):
        Goals(Shop(Catalogue((*plain().products, sold), LongWords())))


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="'synthetic' or 'human'"):
        open_goals(plain(), "other")  # type: ignore[arg-type]
