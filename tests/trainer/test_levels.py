"""Where episodes of the curriculum begin."""

import math
from collections import Counter

import pytest

import rollback_gym
from rollback_gym.oracles.pivots import assessments
from rollback_gym.play.records import Made
from rollback_gym.play.run import made_by, make_env
from rollback_gym.study.dataset import split_of
from rollback_gym.trainer.evaluation import CLEAN, Counts, estimates, from_plain, mean, plain, together
from rollback_gym.trainer.levels import Beginnings, Note
from rollback_gym.trainer.shaping import facts
from rollback_gym.wrappers import Rollback

MADE = made_by("Rollback-ALFWorld-v0", {"difficulty": 0.25, "max_turns": 16, "data": None})


@pytest.fixture(scope="module")
def train() -> Beginnings:
    return Beginnings(MADE, clean=0.3, think=False)


def restored(start):
    env = make_env(MADE)
    if start.snapshot is None:
        env.reset(seed=start.seed, options=dict(start.options))
    else:
        rollback_gym.restore(env, start.snapshot)
    return env


def history_of(env):
    while not isinstance(env, Rollback):
        env = env.env
    return env.history


@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_agent_takes_over_right_after_the_error(train, level):
    turns = []
    for start in train.errors(level, 8, "test"):
        note: Note = start.note
        env = restored(start)
        history = history_of(env)
        # What the snapshot holds is what the context tells.
        assert [turn.action for turn in start.turns] == [
            entry.action if n else None for n, entry in enumerate(history.entries)
        ]
        assert all(turn.text == f"<action>{turn.action}</action>" for turn in start.turns[1:])
        judged = assessments(history, env.unwrapped.level, train.oracle)
        first = next(each.entry.index for each in judged if each.pivotal)
        assert first == note.error
        # And the error stands: the right target is the index before it, and going back there is worth a turn.
        found = facts(history, env.unwrapped.level, train.oracle, len(start.turns) - 1)
        assert found[-1].left == note.error
        assert not any(fact.own for fact in found)
        turns.append(len(start.turns) - note.error)
        if note.form == level:
            assert turns[-1] >= {1: 1, 2: 2, 3: 3}[level]
        # There is time to go back and to win.
        length = train.oracle.distance(env.unwrapped.level, history.find(note.error - 1).point.state)
        assert not math.isinf(length)
        assert history.index + 1 + length <= 16
    assert len(turns) == 8


def test_clean_ones_begin_at_the_start_or_in_the_middle(train):
    starts = train.cleans(16, "test")
    begun = [start.snapshot is not None for start in starts]
    assert 2 < sum(begun) < 14
    for start in starts:
        assert (start.note.form, start.note.error) == (0, None)
        env = restored(start)
        found = facts(history_of(env), env.unwrapped.level, train.oracle)
        assert all(fact.error is None and fact.left is None for fact in found)


def test_shares_of_levels_and_of_clean_ones(train):
    drawn = train.draw((0.5, 0.5, 0.0), 60, "shares")
    levels = Counter(start.note.level for start in drawn)
    assert set(levels) == {1, 2}
    assert 15 < levels[1] < 45
    assert 6 < sum(start.note.form == 0 for start in drawn) < 32
    # Level 1 holds some easier ones of the levels above.
    assert {start.note.form for start in drawn if start.note.level == 1} > {0, 1}
    assert {start.note.form for start in drawn if start.note.level == 2} == {0, 2}


def test_the_same_again_and_another_for_another_step(train):
    again = Beginnings(MADE, clean=0.3, think=False)
    one, two = train.draw((1, 0, 0), 4, "step 7"), again.draw((1, 0, 0), 4, "step 7")
    assert one == two
    assert train.draw((1, 0, 0), 4, "step 8") != one


def test_splits_share_no_goal(train):
    env = make_env(MADE)
    for split in ("train", "test"):
        drawn = Beginnings(MADE, split, think=False).cleans(5, "split")
        for start in drawn:
            env.reset(options={"level": start.options["level"]})
            assert split_of("alfworld", env.unwrapped.level) == split


def test_one_kind_of_error_only():
    only = Beginnings(MADE, clean=0.0, kinds=("wrong_argument",), think=True)
    starts = only.errors(2, 4, "kinds")
    assert {start.note.kind for start in starts} == {"wrong_argument"}
    assert all(turn.text.startswith("<think>") for turn in starts[0].turns[1:])
    assert {start.note.kind for start in only.errors(3, 2, "kinds")} == {"intent"}


def test_an_environment_without_an_injector():
    with pytest.raises(TypeError, match="No mistakes are defined for CartPoleEnv"):
        Beginnings(Made("CartPole-v1", {}))
    for asked in ({"notes": True}, {"fumbles": 0.1}, {"searches": 2}):
        with pytest.raises(ValueError, match="is for ALFWorld"):
            Beginnings(Made("Rollback-Sokoban-v0", {"revive": True}), **asked)
    with pytest.raises(ValueError, match="they need think"):
        Beginnings(MADE, think=False, notes=True)


# --- What is counted ------------------------------------------------------------------------------------------------


def one(**changed: int | None) -> Counts:
    return Counts(**{**dict.fromkeys(Counts._fields, 0), "noticed": None, **changed})


def test_estimates_and_means_agree():
    episodes = [
        one(won=1, answers=4, readable=4, noticed=1, aimed=2, exact=1, near=2),
        one(won=0, answers=6, readable=3, noticed=0),
        one(won=1, answers=2, readable=2, needless=1),
    ]
    found = estimates(episodes)
    for name, estimate in found.items():
        assert estimate.value == pytest.approx(mean(episodes, name)), name
    assert found["success"].value == pytest.approx(2 / 3)
    assert found["format"].value == pytest.approx(9 / 12)
    assert (found["noticed"].value, found["noticed"].size) == (0.5, 2)
    assert (found["exact"].value, found["near"].value) == (0.5, 1.0)
    assert found["needless"].value == pytest.approx(1 / 3)
    assert found["success"].low < found["success"].value < found["success"].high
    assert estimates([])["success"].value is None
    assert mean([], "success") is None


def test_tallies_are_written_down_and_put_together():
    tally = {CLEAN: (one(won=1),), "1": (one(noticed=1), one(noticed=0))}
    assert from_plain(plain(tally)) == tally
    assert together([tally, {"1": (one(),)}]) == {CLEAN: tally[CLEAN], "1": (*tally["1"], one())}
