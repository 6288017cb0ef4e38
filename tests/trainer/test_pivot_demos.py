"""Cooks err and follow hints as they are told."""

import math
from itertools import pairwise

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")

from rollback_gym.oracles.lookup import for_env
from rollback_gym.play.playing import Table
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.registration import levels
from rollback_gym.trainer.cooks import Habits
from rollback_gym.trainer.pivot_demos import shown

ID = "Rollback-ALFWorld-v0"


@pytest.fixture(scope="module")
def env():
    return make_env(Made(ID, {"difficulty": 0, "max_turns": 14, "max_rollbacks": 0}))


def lengths(env, room, habits, seed):
    views = shown(env, room, habits, seed)
    oracle, level = for_env(env), env.unwrapped.level
    return views, [oracle.distance(level, node.point.state) for node in Table(env).history.path]


def test_a_cook_without_errors_wins_and_never_raises_l(env):
    for seed, room in enumerate(levels(ID, split="train", difficulty=0)[:12]):
        views, found = lengths(env, room, Habits(0.0, 0.0), seed)
        assert found[-1] == 0
        assert all(after <= before for before, after in pairwise(found))
        again = shown(env, room, Habits(0.0, 0.0), seed)
        assert [view.turns for view in views] == [view.turns for view in again]


def test_a_cook_that_errs_raises_l_and_never_finds_back(env):
    for seed, room in enumerate(levels(ID, split="train", difficulty=0)[:12]):
        _, lost = lengths(env, room, Habits(1.0, 0.0), seed)
        assert any(after > before for before, after in pairwise(lost))
        assert not any(math.isinf(of) for of in lost)
        assert lost[-1] > 0


def test_a_hinted_cook_does_anything(env):
    room = levels(ID, split="train", difficulty=0)[0]
    hinted = [
        str(views[-1].turns[1].action)
        for seed in range(12)
        for views in [shown(env, room, Habits(0.0, 0.0, hinted=1.0), seed)]
    ]
    assert len(set(hinted)) > 3
    assert not {"look", "inventory", "help"} & set(hinted)
