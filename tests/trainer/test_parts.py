"""In what numbers models are trained and saved, and how a step is divided."""

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")
pytest.importorskip("yaml", reason="needs PyYAML: pip install 'rollback-gym[trainer]'")

import torch
from transformers import AutoModelForCausalLM

from rollback_gym.trainer import config as configs
from rollback_gym.trainer import parts, sft
from rollback_gym.trainer.credit import Method
from tests.trainer import models
from tests.trainer.training import assert_alike, weights

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
LOW = ("model.dtype", "bfloat16")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A model whose weights are stored in bfloat16, as those of the hub are."""
    folder, tokens = tmp_path_factory.mktemp("base"), models.tokenizer()
    models.model(tokens).to(torch.bfloat16).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return str(folder)


def moved(model, learning_rate=1e-6):
    """The share of the trained weights that a step of AdamW changes."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    before = [parameter.detach().clone() for parameter in trained]
    for parameter in trained:
        parameter.grad = torch.ones_like(parameter)
    torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.0).step()
    changed = sum(int((now != then).sum()) for now, then in zip(trained, before, strict=True))
    return changed / sum(parameter.numel() for parameter in trained)


def test_a_small_step_moves_what_is_trained(base):
    config = configs.read("tiny", [LOW])
    model, chat = parts.loaded(config, base)
    stored = AutoModelForCausalLM.from_pretrained(base, dtype="bfloat16")
    for trained in (model, parts.critic(config, base, chat).model):
        assert {parameter.dtype for parameter in trained.parameters()} == {torch.float32}
        assert moved(trained) > 0.9
    assert moved(stored) < 0.1, "the test shows nothing"


def test_what_is_only_evaluated_is_stored_as_it_is_computed(base):
    model, _ = parts.loaded(configs.read("tiny", [LOW]), base, trained=False)
    assert model.dtype == torch.bfloat16


def test_an_adapter_is_trained_in_full_and_survives_the_merge(base, tmp_path):
    pytest.importorskip("peft", reason="needs peft: pip install 'rollback-gym[trainer]'")
    config = configs.read("tiny", [LOW, ("model.lora_rank", 2)])
    plain, chat = parts.loaded(config, base)
    before = {name: weight.float().clone() for name, weight in plain.named_parameters()}
    adapted = parts.adapted(config, plain)
    kinds = {(parameter.requires_grad, parameter.dtype) for parameter in adapted.parameters()}
    assert kinds == {(True, torch.float32), (False, torch.bfloat16)}
    assert moved(adapted) > 0.9
    parts.save(config, adapted, chat.tokenizer, tmp_path / "model")
    saved = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert saved.dtype == torch.float32
    name = "model.layers.0.self_attn.q_proj.weight"
    change = saved.get_parameter(name).detach() - before[name]
    assert (change != 0).float().mean() > 0.9
    assert change.abs().max() < 1e-5


# --- How a step is divided --------------------------------------------------------------------------------------------


def taught(base, folder, *overrides):
    """The weights before and after a step of gradient descent on demonstrations, and the rows of each forward pass."""
    settings = [LOW, ("model.path", base), ("sft.batch", 4), ("sft.warmup", 0.0), ("sft.max_grad_norm", 1e9)]
    config = configs.read("tiny", [*settings, *overrides])
    model, chat = parts.loaded(config, base)
    ids = [tuple(range(5, 5 + size)) for size in (9, 4, 7, 12)]
    texts = [sft.Text(of, tuple(place % (2 + len(of) % 3) == 0 for place in range(len(of)))) for of in ids]
    arguments = parts.imitating(config, folder)
    arguments.max_steps, arguments.use_cpu = 1, True
    before, read = weights(model), []
    model.register_forward_pre_hook(lambda _, args, given: read.append(len(given["input_ids"])), with_kwargs=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sft.trainer(model, sft.Texts(texts), parts.pad(chat), arguments, [], optimizer).train()
    return before, weights(model), read


def test_demonstrations_that_are_read_a_few_at_once_teach_the_same(base, tmp_path):
    before, whole, read = taught(base, tmp_path / "whole")
    assert read == [4]
    _, few, read = taught(base, tmp_path / "few", ("sft.rows", 3), ("sft.checkpointing", True))
    assert read == [2, 2], "3 do not divide 4"
    assert_alike(few, whole, before, 1e-4)


@pytest.mark.parametrize(
    ("groups", "batch", "rows", "steps"), [(7, 10, 8, 7), (7, 56, 56, 1), (7, 99, 56, 1), (4, 8, 8, 4), (7, 3, 2, 28)]
)
def test_micro_batches_are_never_larger_than_asked(groups, batch, rows, steps):
    rl = configs.read("tiny", [("rl.groups", groups), ("rl.batch", batch)]).rl
    assert parts.divided(rl, 1) == {
        "per_device_train_batch_size": rows,
        "steps_per_generation": steps,
        "gradient_accumulation_steps": steps,
    }


def test_how_turns_are_given_credit_is_the_configs():
    rl = configs.Rl("gigpo", discount=0.9, scale=False, below=0.3, gae=0.5)
    assert parts.method_of(rl) == Method("gigpo", 0.9, scale=False, lam=0.5, below=0.3)
