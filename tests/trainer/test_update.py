"""The update is the one that is written out by hand: gradients, masks, clipping, and TRL's own."""

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

import torch

from rollback_gym.play.run import make_env
from rollback_gym.trainer.advantages import discounted_return, gae, group_relative
from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.critic import Critic
from rollback_gym.trainer.packing import in_parts, pack, padded_count, trimmed
from rollback_gym.trainer.rows import Kind, Row, Span
from rollback_gym.trainer.scene import Extension, Seeds
from rollback_gym.trainer.trajectory import start_after
from rollback_gym.trainer.update import Plan, RollbackTrainer
from tests.trainer import models
from tests.trainer.scripted import PLAIN, corridor
from tests.trainer.training import (
    GROUP,
    Trainer,
    arguments,
    assert_alike,
    critic_model,
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


LONG = corridor(max_turns=9)
"""So many turns that some episode goes back, and not to its start."""


class Injected:
    """Episodes that begin with an error in them."""

    def starts(self, seeds):
        env = make_env(LONG)
        return [start_after(env, ["right", "left"], seed=seed) for seed in seeds]


def with_others(scene):
    """Adds a recovery row, and a reflection row, to what was played."""
    first = scene.rows[0]
    span = first.spans[0]
    size = span.end
    advantages = tuple(0.3 if place >= span.start else 0.0 for place in range(size))
    recovery = Row(first.prompt, first.completion[:size], (span,), (0.0,) * size, Kind.RECOVERY, 0, advantages)
    reflection = Row(first.prompt, (5, 6, 7), (Span(0, 0, 3),), (0.0,) * 3, Kind.REFLECTION, 0, (-0.7,) * 3)
    return Extension([*scene.rows, recovery, reflection])


CASES = {
    "dialogues with branches": {},
    "a text a turn": {"setup": {"made": LONG, "prompts": PLAIN._replace(window=2), "context": "turns"}},
    "injected prefixes": {"setup": {"made": LONG}, "plan": {"source": Injected()}},
    "step-level groups": {"plan": {"method": Method("gigpo")}},
    "rows of other kinds": {"plan": {"extending": with_others}},
}


@pytest.mark.parametrize("case", CASES)
def test_an_update_is_reinforce_by_hand(base, tmp_path, case):
    changed = {"setup": {"made": LONG}, **CASES[case]}
    made = trainer(base, tmp_path, **changed)
    made.train()
    (rows,) = made.rows
    if case != "a text a turn":
        assert any(row.spans[0].start > 0 for row in rows), "no branch begins with what another row trains"
    assert len({value for row in rows for value in row.advantages}) > 3
    hand = policy(base)
    start = weights(hand)
    step_by_hand(hand, hand_loss(hand, rows), 1.0)
    assert_alike(weights(made.model), weights(hand), start, 1e-4)


def test_two_updates_on_a_batch_are_clipped_ppo_by_hand(base, tmp_path):
    made = trainer(base, tmp_path, max_steps=2, num_iterations=2, beta=0.05, learning_rate=3.0)
    made.train()
    (rows,) = made.rows
    hand, reference = policy(base), policy(base)
    start = weights(hand)
    with torch.no_grad():
        old = [logprobs(hand, row) for row in rows]
    for _ in range(2):
        step_by_hand(hand, hand_loss(hand, rows, old=old, reference=reference, beta=0.05), 3.0)
    assert_alike(weights(made.model), weights(hand), start, 1e-3)
    unclipped = policy(base)
    for _ in range(2):
        step_by_hand(unclipped, hand_loss(unclipped, rows, old=old, reference=reference, beta=0.05, clip=9e9), 3.0)
    with pytest.raises(AssertionError, match="differs"):
        assert_alike(weights(made.model), weights(unclipped), start, 1e-3)


@pytest.mark.parametrize("name", ["grpo", "gigpo"])
def test_what_lost_may_be_pushed_down_less(base, tmp_path, name):
    given = []
    for below in (1.0, 0.2):
        made = trainer(base, tmp_path / str(below), plan={"method": Method(name, below=below)})
        made.train()
        given.append([value for row in made.rows[0] for value in row.advantages])
    whole, lighter = given
    assert min(whole) < 0 < max(whole)
    assert lighter == pytest.approx([value if value > 0 else 0.2 * value for value in whole])


class Divided(Trainer):
    """The lengths of the rows that each loss was of."""

    def _compute_loss(self, model, inputs):
        lengths = inputs["prompt_mask"].sum(1) + inputs["completion_mask"].sum(1)
        self.lengths = [*getattr(self, "lengths", []), lengths.tolist()]
        return super()._compute_loss(model, inputs)


@pytest.mark.parametrize("updates", [1, 2])
def test_rows_of_like_length_are_together_where_one_update_reads_all(base, tmp_path, updates):
    steps = {"max_steps": updates, "gradient_accumulation_steps": 4 // updates, "steps_per_generation": 4}
    made = trainer(base, tmp_path, kind=Divided, per_device_train_batch_size=2 * GROUP, **steps)
    made.train()
    (rows,) = made.rows
    texts = sorted(len(row.prompt) + len(row.completion) for row in rows)
    assert len(set(texts)) > 2
    assert sorted(length for of in made.lengths for length in of if length > 2) == texts  # others fill up
    ordered = [length for of in made.lengths for length in of]
    assert (ordered == sorted(ordered)) == (updates == 1)


class Counting(Trainer):
    """How many rows micro-batches have, and how many of them the model reads at once for the loss."""

    def compute_loss(self, model, inputs, *args, **more):
        self.given = [*getattr(self, "given", []), len(inputs["prompt_ids"])]
        return super().compute_loss(model, inputs, *args, **more)

    def _get_per_token_logps_and_entropies(self, model, ids, *args, **more):
        self.read = [*getattr(self, "read", []), len(ids)]
        return super()._get_per_token_logps_and_entropies(model, ids, *args, **more)


def test_no_more_rows_are_read_at_once_than_asked_for(base, tmp_path):
    made = trainer(base, tmp_path, kind=Counting, **CASES["a text a turn"])
    made.train()
    assert min(made.given) > 2 * GROUP, "the test needs episodes of many rows"
    assert max(made.read) <= GROUP
    assert sum(made.read) == sum(made.given)


def test_a_loss_that_is_no_sum_is_computed_at_once(base, tmp_path):
    made = trainer(base, tmp_path, kind=Counting, loss_type="bnpo", **CASES["a text a turn"])
    made.train()
    assert made.read == made.given


class Perturbed(Trainer):
    """What stands at tokens that are not trained is changed."""

    def _batch(self, rows):
        batch = super()._batch(rows)
        free = 1 - batch["tool_mask"]
        noise = torch.randn(free.shape, generator=torch.Generator().manual_seed(0)) * free
        for name in ("advantages", "old_per_token_logps", "ref_per_token_logps"):
            batch[name] = batch[name] + 3 * noise
        beyond = 1 - batch["completion_mask"]
        batch["completion_ids"] = batch["completion_ids"] * (1 - beyond) + 9 * beyond
        return batch


def test_what_is_not_trained_changes_nothing(base, tmp_path):
    after = []
    for kind in (Trainer, Perturbed):  # one after the other: TRL seeds where it is made
        made = trainer(base, tmp_path / kind.__name__, kind=kind, beta=0.1, num_iterations=2, max_steps=2)
        made.train()
        after.append(weights(made.model))
    assert_alike(*after, weights(policy(base)), 1e-6)


class Watched(Trainer):
    """The gradients of the loss by the log-prob of each token."""

    def _get_per_token_logps_and_entropies(self, *args, **more):
        given = super()._get_per_token_logps_and_entropies(*args, **more)
        if given[0].requires_grad:
            given[0].retain_grad()
            self.given = given[0]
        return given

    def _compute_loss(self, model, inputs):
        self.inputs = trimmed(inputs)
        return super()._compute_loss(model, inputs)

    def training_step(self, *args):
        loss = super().training_step(*args)
        trained = (self.inputs["tool_mask"] * self.inputs["completion_mask"]).bool()
        assert bool(((self.given.grad != 0) == (trained & (self.inputs["advantages"] != 0))).all())
        self.seen = getattr(self, "seen", 0) + int((~trained & (self.inputs["completion_mask"] == 1)).sum())
        return loss


@pytest.mark.parametrize("case", CASES)
def test_no_token_of_the_environment_is_a_target(base, tmp_path, case):
    made = trainer(base, tmp_path, kind=Watched, **CASES[case])
    made.train()
    assert made.seen > 100 or case == "a text a turn"


# --- Stock TRL --------------------------------------------------------------------------------------------------------


def test_without_our_extras_it_is_stock_trl(base, tmp_path):
    from datasets import Dataset
    from trl import GRPOTrainer

    ours = trainer(
        base, tmp_path / "ours", setup={"made": corridor(max_turns=6, max_rollbacks=0)}, max_steps=3, beta=0.1
    )
    start = weights(ours.model)
    ours.train()
    batches = iter(ours.scenes)

    def rollout(prompts, stock):
        scene = next(batches)
        assert len(prompts) == len(scene.rows) == 2 * GROUP, "one row an episode"
        return {
            "prompt_ids": [list(row.prompt) for row in scene.rows],
            "completion_ids": [list(row.completion) for row in scene.rows],
            "logprobs": [list(row.logprobs) for row in scene.rows],
            "env_mask": [list(row.mask) for row in scene.rows],
            "earned": [discounted_return(of, 0.95) for of in scene.scores.rewards],
        }

    def reward(earned, **_):
        return earned

    model = policy(base)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    stock = GRPOTrainer(
        model, reward, arguments(tmp_path / "stock", max_steps=3, beta=0.1),
        Dataset.from_dict({"prompt": ["a"] * 100}), processing_class=ours.processing_class, rollout_func=rollout,
        optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)),
    )  # fmt: skip
    stock.train()
    assert_alike(weights(ours.model), weights(stock.model), start, 1e-5)
    for mine, theirs in zip(ours.state.log_history[:3], stock.state.log_history[:3], strict=True):
        for name in ("loss", "grad_norm"):  # its KL is a mean of micro-batches' means, and ours divides otherwise
            assert mine[name] == pytest.approx(theirs[name], rel=1e-4, abs=1e-5), name


# --- PPO --------------------------------------------------------------------------------------------------------------


def test_ppo_by_hand(base, tmp_path):
    critic = Critic(critic_model(base), 0)
    critic.optimizer = torch.optim.SGD(critic.model.parameters(), lr=0.1)
    critic._fitting = critic._fitting._replace(max_norm=1e9, rows=3)
    method = Method("ppo", gamma=0.9, lam=0.8)
    made = trainer(base, tmp_path, plan={"method": method, "critic": critic})
    made.train()
    (rows,), (scene,) = made.rows, made.scenes
    hand, values = critic_model(base).eval(), []
    start = weights(hand)
    for row in rows:
        expected = hand(torch.tensor([[*row.prompt, *row.completion]])).logits[0, :, 0]
        values += [(row.episode, span.turn, expected[len(row.prompt) + span.start - 1]) for span in row.spans]
    of = {(episode, turn): float(value.detach()) for episode, turn, value in values}
    advantages, targets = {}, {}
    for number, (trajectory, rewards) in enumerate(zip(scene.trajectories, scene.scores.rewards, strict=True)):
        turns = [step.turn.index for step in trajectory.steps]
        better, returns = gae(rewards, [of[number, turn] for turn in turns], gamma=0.9, lam=0.8)
        advantages |= {(number, turn): value for turn, value in zip(turns, better, strict=True)}
        targets |= {(number, turn): value for turn, value in zip(turns, returns, strict=True)}
    every = torch.tensor(list(advantages.values()))
    for row in rows:
        for turn, begin, end in row.spans:
            whitened = (advantages[row.episode, turn] - every.mean()) / (every.std() + 1e-4)
            assert row.advantages[begin:end] == pytest.approx([float(whitened)] * (end - begin), rel=1e-4)
    errors = torch.stack([(value - targets[episode, turn]).square() for episode, turn, value in values])
    assert made.state.log_history[0]["critic/error"] == pytest.approx(float(errors.mean()), rel=1e-4)
    step_by_hand(hand, errors.mean(), 0.1)
    assert_alike(weights(critic.model), weights(hand), start, 1e-3)
    policy_by_hand = policy(base)
    start = weights(policy_by_hand)
    step_by_hand(policy_by_hand, hand_loss(policy_by_hand, rows), 1.0)
    assert_alike(weights(made.model), weights(policy_by_hand), start, 1e-4)


def test_a_critic_learns_what_is_to_come(base):
    critic = Critic(critic_model(base), 0)
    critic.optimizer = torch.optim.AdamW(critic.model.parameters(), lr=3e-3)
    rows = [Row((5, 6), (7, 8, number), (Span(1, 0, 1), Span(2, 2, 3)), (0.0,) * 3) for number in (9, 10)]
    errors = [critic.fit(rows, [[2.0, -1.0]] * 2) for _ in range(60)]
    assert errors[-1] < errors[0] / 20
    assert critic.values(rows)[0] == pytest.approx((2.0, -1.0), abs=0.7)
    with pytest.raises(ValueError, match="one label"):
        Critic(policy(base), 0)


# --- What the sampler gave --------------------------------------------------------------------------------------------


def test_logprobs_of_the_sampler_are_those_of_the_trainer(base, tmp_path):
    given = {}

    def scored(scene):
        given["policy"] = scene.scorer.logprobs(scene.rows)
        given["reference"] = scene.scorer.logprobs(scene.rows, reference=True)
        assert scene.scorer.logprobs([]) == ()
        return Extension(scene.rows)

    made = trainer(base, tmp_path, varied=False, learning_rate=0.0, beta=0.1, plan={"extending": scored})
    made.train()
    (rows,) = made.rows
    assert sum(sum(row.mask) for row in rows) > 100
    for row, policy_given, reference_given in zip(rows, given["policy"], given["reference"], strict=True):
        for place, trained in enumerate(row.mask):
            assert policy_given[place] == pytest.approx(reference_given[place], abs=1e-5)
            if trained:
                assert row.logprobs[place] == pytest.approx(policy_given[place], abs=1e-4)
    assert made.state.log_history[0]["seconds/generating"] > 0


def test_an_adapter_alone_is_trained(base, tmp_path):
    pytest.importorskip("peft", reason="needs peft: pip install 'rollback-gym[trainer]'")
    from peft import LoraConfig

    given = []

    def scored(scene):
        given.append((scene.rows, scene.scorer.logprobs(scene.rows), scene.scorer.logprobs(scene.rows, reference=True)))
        return Extension(
            [
                row._replace(advantages=(float(number % 3),) * len(row.completion))
                for number, row in enumerate(scene.rows)
            ]
        )

    adapter = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    made = trainer(
        base, tmp_path, varied=False, sgd=False, more={"peft_config": adapter}, plan={"extending": scored},
        learning_rate=0.1, max_steps=2, beta=0.1,
    )  # fmt: skip
    start = weights(policy(base))
    made.train()
    kept = {
        name.replace("base_model.model.", "").replace(".base_layer", ""): of for name, of in weights(made.model).items()
    }
    assert all(torch.equal(kept[name], value) for name, value in start.items())
    rows, now, reference = given[1]
    moved = 0.0
    for row, policy_given, reference_given in zip(rows, now, reference, strict=True):
        for place in (place for place, trained in enumerate(row.mask) if trained):
            assert row.logprobs[place] == pytest.approx(policy_given[place], abs=1e-4)
            moved = max(moved, abs(policy_given[place] - reference_given[place]))
    assert moved > 1e-3


def test_what_is_computed_in_16_bits_is_trained_in_32(base, tmp_path):
    """And the reference, which is loaded once more, says what the policy does before it is trained."""
    given = []

    def scored(scene):
        given.append((scene.rows, scene.scorer.logprobs(scene.rows), scene.scorer.logprobs(scene.rows, reference=True)))
        return Extension([row._replace(advantages=(1.0,) * len(row.completion)) for row in scene.rows])

    made = trainer(
        base, tmp_path, sgd=False, varied=False, plan={"extending": scored}, bf16=True, learning_rate=1e-6, beta=0.1,
    )  # fmt: skip
    start = weights(made.model)
    made.train()
    after = weights(made.model)
    assert {value.dtype for value in after.values()} == {made.ref_model.dtype} == {torch.float32}
    changed = sum(int((value != start[name]).sum()) for name, value in after.items())
    assert changed > 0.5 * sum(value.numel() for value in after.values())
    ((rows, policy_given, reference_given),) = given
    assert policy_given == reference_given
    differences = [
        abs(row.logprobs[place] - of[place])
        for row, of in zip(rows, policy_given, strict=True)
        for place, trained in enumerate(row.mask)
        if trained
    ]
    assert 1e-4 < max(differences) < 0.1, "less is of 32 bits"


def test_a_reference_needs_a_weight(base, tmp_path):
    made = trainer(base, tmp_path)
    row = Row((5,), (6,), (Span(1, 0, 1),), (0.0,))
    with pytest.raises(ValueError, match="beta is 0"):
        made.logprobs([row], reference=True)


# --- Packing, and what is refused -------------------------------------------------------------------------------------


def test_rows_are_packed_from_both_sides():
    rows = [
        Row((1, 2), (3, 4, 5), (Span(1, 0, 1), Span(2, 2, 3)), (-1.0, 0.0, -2.0), advantages=(0.5, 0.0, 0.7)),
        Row((6,), (7,), (Span(1, 0, 1),), (-3.0,), Kind.RECOVERY, advantages=(0.1,)),
    ]
    batch = pack(rows, 3, 99)
    assert batch["prompt_ids"].tolist() == [[1, 2], [99, 6], [99, 99]]
    assert batch["prompt_mask"].tolist() == [[1, 1], [0, 1], [0, 1]]
    assert batch["completion_ids"].tolist() == [[3, 4, 5], [7, 99, 99], [99, 99, 99]]
    assert batch["completion_mask"].tolist() == [[1, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert batch["tool_mask"].tolist() == [[1, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert batch["advantages"][0].tolist() == pytest.approx([0.5, 0.0, 0.7])
    assert batch["sampling_per_token_logps"][1].tolist() == [-3.0, 0.0, 0.0]
    assert batch["sampled"].tolist() == [True, False, True]


def test_a_batch_is_divided_into_parts_of_like_length():
    rows = [
        Row((1,) * size, (2,), (Span(1, 0, 1),), (0.0,), advantages=(float(size),)) for size in (5, 1, 4, 2, 3, 6, 7)
    ]
    batch = {**pack(rows, 7, 0), "num_items": torch.tensor(7)}
    given = in_parts(batch, 3)
    assert [part["advantages"][:, 0].tolist() for part in given] == [[1, 2, 3], [4, 5], [6, 7]]
    assert all(part["num_items"] == 7 for part in given)
    assert len(in_parts(batch, 7)) == len(in_parts(batch, 100)) == 1


def test_columns_without_text_are_dropped():
    long = Row((1, 2, 3), (4, 5, 6), (Span(1, 2, 3),), (0.0, 0.0, -1.0), advantages=(0.0, 0.0, 2.0))
    short = Row((7,), (8, 9), (Span(1, 0, 2),), (-1.0, -1.0), advantages=(1.0, 1.0))
    both = {**pack([long, short], 2, 0), "importance_sampling_ratio": torch.ones(2, 1), "num_items": torch.tensor(3)}
    for part, row in ((0, long), (1, short)):
        got = trimmed({name: of[part : part + 1] if of.dim() else of for name, of in both.items()})
        alone = pack([row], 1, 0)
        assert all(torch.equal(got[name], alone[name]) for name in alone)
        assert got["importance_sampling_ratio"].shape == (1, 1)


def test_rows_that_cannot_be_packed():
    row = Row((1,), (2, 3), (Span(1, 0, 1),), (0.0, 0.0), advantages=(1.0, 0.0))
    for broken, match in (
        (row._replace(prompt=()), "at least one token"),
        (row._replace(logprobs=(0.0,)), "log-probs and advantages"),
        (row._replace(spans=(Span(1, 1, 3),)), "no part of"),
        (row._replace(advantages=()), "no advantages yet"),
    ):
        with pytest.raises(ValueError, match=match):
            pack([broken], 1, 0)
    with pytest.raises(ValueError, match="do not fit"):
        pack([row, row], 1, 0)


def test_every_process_packs_as_many():
    assert padded_count([3, 7], 4) == 8
    assert padded_count([8, 1], 4) == 8
    assert padded_count([0, 0], 2) == 2


@pytest.mark.parametrize(
    ("changed", "plan", "match"),
    [
        ({"max_steps": -1, "num_train_epochs": 1}, {}, "max_steps"),
        ({"loss_type": "grpo"}, {}, "dilute"),
        ({}, {"method": Method("ppo")}, "needs a critic"),
        ({"num_iterations": 2, "save_strategy": "steps", "save_steps": 1}, {}, "save_steps"),
    ],
)
def test_arguments_that_do_not_go_together(base, tmp_path, changed, plan, match):
    with pytest.raises(ValueError, match=match):
        trainer(base, tmp_path, plan=plan, **changed)


def test_a_sharded_model_is_refused(base, tmp_path, monkeypatch):
    create = Trainer.create_accelerator_and_postprocess

    def created(self):
        create(self)
        self.is_fsdp_enabled = True

    monkeypatch.setattr(Trainer, "create_accelerator_and_postprocess", created)
    with pytest.raises(ValueError, match=r"sharded .* is not supported"):
        trainer(base, tmp_path, sgd=False)


def test_texts_are_no_longer_than_the_model_reads(base, tmp_path):
    with pytest.raises(ValueError, match="reads 2048 tokens"):
        trainer(base, tmp_path, setup={"limits": models.LIMITS._replace(text=2049)})


def test_a_group_is_played_by_one_process(base, tmp_path):
    """Which TRL allows, since it compares what all processes did."""
    args = arguments(tmp_path)
    args.per_device_train_batch_size = 1
    with pytest.raises(ValueError, match=r"2 episodes a batch.*whole groups"):
        RollbackTrainer(policy(base), Plan(None, Seeds()), args)


def test_group_relative_is_what_trl_computes():
    values = torch.tensor([1.0, 4.0, 2.0, 2.5])
    theirs = (values - values.mean()) / (values.std() + 1e-4)
    assert group_relative(values.numpy(), [0] * 4) == pytest.approx(theirs.numpy(), rel=1e-6)
    assert issubclass(Trainer, RollbackTrainer)
    assert Plan(None, Seeds()).method == Method()
