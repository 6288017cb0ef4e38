"""Prevention is the gradient of the reverse KL; the update that holds it is the one written out by hand."""

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

import torch
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.trainer.hints import gold_hint
from rollback_gym.trainer.moments import asking
from rollback_gym.trainer.pivot_settings import Recovering, Settings
from rollback_gym.trainer.pivotopd import PivotOPD, pivots
from rollback_gym.trainer.prevention import advantages
from rollback_gym.trainer.rows import Kind, Row, Span
from tests.trainer import models
from tests.trainer.pivoting import TEACHER, Obeying
from tests.trainer.scripted import act
from tests.trainer.training import (
    assert_alike,
    hand_loss,
    logprobs,
    policy,
    step_by_hand,
    trainer,
    weights,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return models.saved(tmp_path_factory.mktemp("base"))


@given(
    st.lists(st.tuples(st.floats(-50, 0), st.floats(-50, 0)), max_size=20), st.floats(0, 2), st.none() | st.floats(0, 9)
)
def test_advantages_are_weighed_differences_cut_before(pairs, weight, clip):
    found = advantages([one for one, _ in pairs], [other for _, other in pairs], weight, clip)
    for (one, other), of in zip(pairs, found, strict=True):
        bound = float("inf") if clip is None else clip
        assert of == pytest.approx(weight * max(-bound, min(bound, one - other)))


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: of.grad.detach().clone() for name, of in model.named_parameters() if of.grad is not None}


def assert_same(one, other, tolerance=1e-5):
    most = max(float(of.abs().max()) for of in one.values())
    assert most > 1e-6
    for name in one:
        assert float((one[name] - other[name]).abs().max()) <= tolerance * most, name


def distributions(model, chat_text, hint):
    """The next token's log-probs without and with a hint, (V,) each."""
    plain = torch.log_softmax(model(torch.tensor([list(chat_text)])).logits[0, -1], -1)
    with torch.no_grad():
        hinted = torch.log_softmax(model(torch.tensor([[*hint, *chat_text]])).logits[0, -1], -1)
    return plain, hinted


def expected_update(model, text, weights_of, given):
    """REINFORCE over rows of every token, each as often as it is drawn: E[A log p]."""
    rows = [Row(text, (token,), (Span(1, 0, 1),), (0.0,), Kind.RL, 0, (given[token],)) for token in range(len(given))]
    return -sum(often * of * logprobs(model, row)[0] for often, of, row in zip(weights_of, given, rows, strict=True))


def test_on_its_own_samples_it_is_the_reverse_kl(base):
    model = policy(base).double()
    text, hint = (5, 9, 11), (17, 18)
    plain, hinted = distributions(model, text, hint)
    divergence = gradients(model, (plain.exp() * (plain - hinted)).sum())
    now = plain.detach()
    given = advantages(hinted.tolist(), now.tolist(), 1.0)
    assert_same(gradients(model, expected_update(model, text, now.exp().tolist(), given)), divergence)


def test_on_the_self_teachers_samples_it_is_the_forward_one(base):
    # What recovery rows are trained by: the gradient of E_q[(log q - log p)^2] / 2, the second estimate of D(q || p).
    model = policy(base).double()
    text, hint = (5, 9, 11), (17, 18)
    plain, hinted = distributions(model, text, hint)
    divergence = gradients(model, (hinted.exp() * (hinted - plain).square() / 2).sum())
    given = advantages(hinted.tolist(), plain.detach().tolist(), 1.0)
    assert_same(gradients(model, expected_update(model, text, hinted.exp().tolist(), given)), divergence)


W_PREV, W_REC, CLIP = 0.3, 0.7, 0.8


def extending(chat, setup):
    """PivotOPD whose self-teacher walks right."""
    added = PivotOPD(
        Settings(prevention=W_PREV, lesson=0.0, recovering=Recovering(2, W_REC), clip=CLIP),
        setup,
        chat,
        lambda scene: TEACHER,
    )
    return lambda scene: added(scene._replace(generator=Obeying(chat, lambda action: act("right"))))


def made_with_pivotopd(base, out, **changed):
    made = trainer(base, out, **changed)
    collector = made.plan.collector
    # `trainer` remembers what its plan extends with, so the plan is made first.
    again = trainer(base, out, plan={"extending": extending(collector.chat, collector.setup)}, **changed)
    again.generator = made.generator
    return again


def distillation_by_hand(model, frozen, made):
    """L_prev and L_rec of the batch, as the method says, over the number of RL tokens; and how many terms there are."""
    (scene,), (rows,) = made.scenes, made.rows
    chat = made.plan.collector.chat
    found = {
        (of.episode, of.turn): of.gold for of in pivots(scene.trajectories, TEACHER.reports(scene.trajectories, 0))
    }
    total, terms = torch.zeros(()), 0
    for row in scene.rows:
        for span in row.spans:
            if (row.episode, span.turn) in found:
                total = total - W_PREV * distilled(model, frozen, chat, row, span, found[row.episode, span.turn], None)
                terms += 1
    for row in rows:
        if row.kind is Kind.RECOVERY:
            total = total - W_REC * distilled(model, frozen, chat, row, row.spans[0], "right", CLIP)
            terms += 1
    return total / sum(sum(row.mask) for row in rows if row.kind is Kind.RL), terms


def distilled(model, frozen, chat, row, span, gold, clip):
    ids, answer = asking(row, span.start, span.end)
    with torch.no_grad():
        told = logprobs(frozen, Row(chat.hinted(ids, gold_hint(gold)), answer, (), ()))
        before = logprobs(frozen, Row(ids, answer, (), ()))
    gain = told - before if clip is None else (told - before).clamp(-clip, clip)
    return (gain * logprobs(model, Row(ids, answer, (), ()))).sum()


def test_one_update_holds_rl_prevention_and_recovery_as_by_hand(base, tmp_path):
    made = made_with_pivotopd(base, tmp_path)
    made.train()
    (scene,), (rows,) = made.scenes, made.rows
    assert sum(row.kind is Kind.RECOVERY for row in rows) >= 4
    hand, frozen = policy(base), policy(base)
    start = weights(hand)
    added, terms = distillation_by_hand(hand, frozen, made)
    assert terms >= 8
    step_by_hand(hand, hand_loss(hand, scene.rows) + added, 1.0)
    assert_alike(weights(made.model), weights(hand), start, 1e-4)
    # The distilled part alone moves it too, so it was tested.
    without = policy(base)
    step_by_hand(without, hand_loss(without, scene.rows), 1.0)
    with pytest.raises(AssertionError, match="differs"):
        assert_alike(weights(made.model), weights(without), start, 1e-2)
    logged = made.state.log_history[0]
    assert logged["recovery/rows"] == sum(row.kind is Kind.RECOVERY for row in rows)
    assert logged["prevention/turns"] == logged["pivot/count"] > 0


def test_gradients_of_both_are_those_of_the_formulas(base, tmp_path):
    made = made_with_pivotopd(base, tmp_path)
    made.train()
    (scene,), (rows,) = made.scenes, made.rows
    model, frozen = policy(base), policy(base)
    by_hand, _ = distillation_by_hand(model, frozen, made)
    expected = gradients(model, by_hand)
    # The same from the rows: what was added to the advantages, and the recovery rows.
    base_of = {(row.episode, row.spans[0]): row for row in scene.rows}
    own = []
    for row in rows:
        was = base_of[row.episode, row.spans[0]].advantages if row.kind is Kind.RL else (0.0,) * len(row.completion)
        own.append(row._replace(advantages=tuple(a - b for a, b in zip(row.advantages, was, strict=True))))
    assert_same(gradients(model, hand_loss(model, own)), expected)


def test_nothing_weighs_nothing(base, tmp_path):
    off = Settings(prevention=0.0, lesson=0.0, recovering=Recovering(0))
    one = trainer(base, tmp_path / "one")
    setup, chat = one.plan.collector.setup, one.plan.collector.chat
    other = trainer(base, tmp_path / "other", plan={"extending": PivotOPD(off, setup, chat, lambda scene: TEACHER)})
    start = weights(one.model)
    for made in (one, other):
        made.train()
    assert one.rows == other.rows
    assert_alike(weights(one.model), weights(other.model), start, 1e-6)
