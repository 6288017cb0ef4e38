"""Recovery: why it is needed, as propositions on small policies; and the texts and states that it goes on from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import rollback_gym
from rollback_gym.play.run import make_env
from rollback_gym.trainer.advantages import group_relative
from rollback_gym.trainer.moments import context_at, followed, laid_out, moment, places
from rollback_gym.trainer.prevention import advantages
from tests.trainer.pivoting import CHAT, SETUP, played
from tests.trainer.scripted import PLAIN, act

# --- Propositions (PivotOPD, section 4) -------------------------------------------------------------------------------

logits = st.lists(st.floats(-8, 8), min_size=2, max_size=8)
DELTA = 5.0


def softmax(values):
    odds = np.exp(np.asarray(values) - max(values))
    return odds / odds.sum()


def update(drawn, policy, weights):
    """The expected policy gradient on the logits: E over a from `drawn` of w(a) (1[. = a] - p)."""
    return drawn * weights - policy * (drawn @ weights)


@given(logits, st.data())
def test_what_is_never_sampled_is_never_learned(values, data):
    """Proposition 2: g(a*) = p(a*) (w(a*) - E_p[w]), which vanishes as p(a*) does, whatever the weights."""
    weights = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=len(values), max_size=len(values))))
    policy = softmax(values)
    assert update(policy, policy, weights)[0] == pytest.approx(policy[0] * (weights[0] - policy @ weights))
    spread = weights.max() - weights.min()
    for logit in (-5.0, -20.0, -60.0):
        rare = softmax([logit, *values[1:]])
        assert abs(update(rare, rare, weights)[0]) <= rare[0] * spread + 1e-12
    assert abs(update(rare, rare, weights)[0]) < 1e-15


@given(st.integers(2, 16), st.floats(-5, 5))
def test_a_group_that_fails_as_one_has_no_advantage(size, reward):
    assert group_relative([reward] * size, [0] * size) == pytest.approx(0, abs=1e-9)


@given(st.integers(1, 64), st.floats(0, 1))
def test_g_rollouts_contain_an_action_with_a_chance_of_at_most_g_p(size, chance):
    assert 1 - (1 - chance) ** size <= size * chance + 1e-12


@given(logits, st.data())
def test_the_forward_kl_grows_where_the_policy_never_goes(values, data):
    """L_rec = D(q || p) >= q(a*) log(1 / p(a*)) - log 2."""
    other = data.draw(st.lists(st.floats(-8, 8), min_size=len(values), max_size=len(values)))
    teacher, policy = softmax(other), softmax(values)
    assert teacher @ np.log(teacher / policy) >= teacher[0] * math.log(1 / policy[0]) - math.log(2) - 1e-9


@given(logits, st.floats(0.01, 0.99))
def test_recovery_learns_what_is_never_sampled(values, share):
    """Its clipped update on a* is at least delta (q(a*) - p(a*)) > 0 where log q / p is at the clip: as p(a*) -> 0."""
    policy = softmax([-40.0, *values])
    rest = policy[1:] / policy[1:].sum()
    teacher = np.array([share, *(1 - share) * rest])
    weights = np.array(advantages(np.log(teacher), np.log(policy), 1.0, DELTA))
    assert weights[0] == DELTA
    gained = update(teacher, policy, weights)[0]
    assert gained >= DELTA * (teacher[0] - policy[0]) - 1e-9 > 0
    # The reverse KL on the policy's own samples gains nothing there.
    assert abs(update(policy, policy, np.log(teacher / policy))[0]) < 1e-12


@given(st.integers(1, 8), st.integers(0, 8), st.floats(0.001, 0.2))
def test_a_chain_is_as_weak_as_what_was_not_trained(depth, trained, rare):
    """Proposition 3: of d turns, K trained, the rest at most eps likely: finished with at most eps^(d - K)."""
    rng = np.random.default_rng(depth * 10 + trained)
    chances = [rng.uniform(0.5, 1) if turn < trained else rng.uniform(0, rare) for turn in range(depth)]
    assert math.prod(chances) <= rare ** max(0, depth - trained) + 1e-15


# --- Texts and states -------------------------------------------------------------------------------------------------

WINDOW = SETUP._replace(prompts=PLAIN._replace(window=2), context="turns")
TOLD = SETUP._replace(lesson=lambda start, view: "Go right.", hint=lambda start, view: f"({len(view.turns)} so far.)")


@examples(max_examples=30, deadline=None)
@given(moves=st.text("lrt012", max_size=9), setup=st.sampled_from([SETUP, WINDOW, TOLD]))
def test_the_text_after_a_turn_is_what_the_student_read_next(moves, setup):
    scene = played(moves, setup=setup)
    (trajectory,) = scene.trajectories
    said = places(scene.rows)
    for step in trajectory.steps:
        number, span = said[0, step.turn.index]
        row = scene.rows[number]
        text = context_at(setup, CHAT, trajectory, step.turn.index - 1)
        assert text.ids == (*row.prompt, *row.completion[: span.start])


@examples(max_examples=30, deadline=None)
@given(moves=st.text("lrt012", min_size=1, max_size=9))
def test_what_follows_in_a_copy_is_what_followed(moves):
    """Restored and gone on with, turn by turn, from every moment: as if the episode had been replayed up to there."""
    (trajectory,) = played(moves).trajectories
    env = make_env(SETUP.made)
    for one, other in zip(trajectory.steps, trajectory.steps[1:], strict=False):
        here = moment(trajectory, one.turn.index)
        after, seen = followed(env, one.after, here.view, other.turn.action, other.turn.text)
        assert after == other.after
        assert seen.view.turns[-1] == other.turn
        assert seen.state == other.after.state
        assert seen.history == other.after.history


def test_a_copy_goes_another_way_and_the_episode_stays():
    (trajectory,) = played("lrrrrr").trajectories
    step = trajectory.steps[0]
    before = step.after.to_bytes()
    env = make_env(SETUP.made)
    after, seen = followed(env, step.after, moment(trajectory, 1).view, "take", act("take"))
    assert seen.view.turns[-1].observation == "a coin?\r\n"
    assert seen.view.max_turns == trajectory.view.max_turns
    assert rollback_gym.snapshot(env) == after
    assert step.after.to_bytes() == before


@given(st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3)))
def test_a_row_is_laid_out_without_a_change(first, ids, answer):
    prompt, completion, begin = laid_out(tuple(first), tuple(ids), tuple(answer))
    assert (*prompt, *completion) == (*ids, *answer)
    assert completion[begin:] == tuple(answer)
    assert prompt in (tuple(first), tuple(ids))
