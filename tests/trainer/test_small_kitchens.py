"""Small kitchens are ALFWorld's games, and cooks err and follow hints in them as they are told."""

import math
from itertools import pairwise

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")

from rollback_gym.oracles.lookup import for_env
from rollback_gym.play.playing import Table
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.registration import levels
from rollback_gym.trainer.pivot_demos import Habits, shown
from rollback_gym.trainer.small_kitchens import PLACES, SIZE, TASKS, kitchen, write

ID = "Rollback-ALFWorld-v0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("kitchens")
    write(made, 40, "train")
    write(made, 8, "valid_seen")
    return made


@pytest.fixture(scope="module")
def env(folder):
    return make_env(Made(ID, {"data": str(folder), "max_turns": 14, "max_rollbacks": 0}))


def test_every_kitchen_is_a_game_that_the_oracle_solves(folder, env):
    rooms = levels(ID, split="train", data=str(folder))
    assert len(rooms) == 40
    assert len(levels(ID, split="valid_seen", data=str(folder))) == 8
    oracle, kinds = for_env(env), set()
    for room in rooms:
        env.reset(options={"level": room})
        base = env.unwrapped
        assert len(base.level.receptacles) == len(PLACES)
        assert len(base.level.things) == SIZE
        kinds.add(base.level.goal.task_type)
        assert 4 <= oracle.distance(base.level, base.state) <= 8
        for action in oracle.plan(base.level, base.state):
            _, _, terminated, _, info = env.step(action)
        assert terminated
        assert info["won"]
    assert kinds == set(TASKS)


def test_a_number_is_a_kitchen():
    assert kitchen(3, "train") == kitchen(3, "train")
    assert kitchen(3, "train") != kitchen(3, "valid_seen")
    assert kitchen(3, "train") != kitchen(4, "train")


def lengths(env, room, habits, seed):
    views = shown(env, room, habits, seed)
    oracle, level = for_env(env), env.unwrapped.level
    return views, [oracle.distance(level, node.point.state) for node in Table(env).history.path]


def test_a_cook_without_errors_wins_and_never_raises_l(folder, env):
    for seed, room in enumerate(levels(ID, split="train", data=str(folder))[:12]):
        views, found = lengths(env, room, Habits(0.0, 0.0), seed)
        assert found[-1] == 0
        assert all(after <= before for before, after in pairwise(found))
        again = shown(env, room, Habits(0.0, 0.0), seed)
        assert [view.turns for view in views] == [view.turns for view in again]


def test_a_cook_that_errs_raises_l_and_never_finds_back(folder, env):
    for seed, room in enumerate(levels(ID, split="train", data=str(folder))[:12]):
        _, lost = lengths(env, room, Habits(1.0, 0.0), seed)
        assert any(after > before for before, after in pairwise(lost))
        assert not any(math.isinf(of) for of in lost)
        assert lost[-1] > 0


def test_a_hinted_cook_does_anything(folder, env):
    (room, *_) = levels(ID, split="train", data=str(folder))
    hinted = [
        str(views[-1].turns[1].action)
        for seed in range(12)
        for views in [shown(env, room, Habits(0.0, 0.0, hinted=1.0), seed)]
    ]
    assert len(set(hinted)) > 3
    assert not {"look", "inventory", "help"} & set(hinted)
