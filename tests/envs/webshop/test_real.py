"""The real records, where they are at hand: they load, and every goal among them can be played."""

import shutil
from pathlib import Path

import pytest

from rollback_gym.envs.webshop.data import find, read_products
from rollback_gym.envs.webshop.goals import open_goals
from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.envs.webshop.types import Catalogue
from tests.envs.webshop.shops import LongWords

SHARED = Path(__file__).parents[4] / "shared" / "webshop"
PRODUCTS, ATTRIBUTES = SHARED / "sample_products.json", SHARED / "items_ins_v2_1000.json"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    for file in (PRODUCTS, ATTRIBUTES):
        if not file.is_file():
            pytest.skip(f"WebShop's real records are not at {file}")
    folder = tmp_path_factory.mktemp("webshop")
    shutil.copy(PRODUCTS, folder / "items_shuffle_1000.json")
    shutil.copy(ATTRIBUTES, folder)
    products, malformed = read_products(find(str(folder)))
    assert not malformed
    return Catalogue(products, LongWords())  # without spaCy


def test_real_records_load(real: Catalogue) -> None:
    by_asin = {product.asin: product for product in real.products}
    assert by_asin["B08R3XSC65"].price_text == "$100.0"
    assert by_asin["B08ZRR3DZT"].price_text == "$19.99 to $27.99"
    assert by_asin["B08ZRR3DZT"].options[0][0] == "size"
    assert by_asin["B08ZRR3DZT"].options[0][1][0] == "x-small"
    assert by_asin["B09DG92LJL"].options == ()


@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_every_goal_can_be_played(real: Catalogue, mode: str) -> None:
    goals, rules = open_goals(real), WebShopRules(mode)  # type: ignore[arg-type]
    assert len(goals) > 20
    for number, goal in enumerate(goals):
        level = goals.level(number)
        state, observation = rules.begin(level)
        assert goal.text in observation
        way = (f"search[{goal.text}]", f"click[{goal.asin}]", *(f"click[{value}]" for _, value in goal.options))
        for action in way:
            state, _, _, observation, _, invalid = rules.step(level, state, action)
            assert invalid is None
        assert state.options == goal.options
        _, reward, over, observation, won, _ = rules.step(level, state, "click[buy now]")
        assert over
        assert won is (reward == 1.0)
        assert reward > 0.5
        assert str(reward) in observation
