"""In what numbers models are trained and saved, and how a step is divided."""

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")
pytest.importorskip("yaml", reason="needs PyYAML: pip install 'rollback-gym[trainer]'")

import torch
from transformers import AutoModelForCausalLM

from rollback_gym.trainer import config as configs
from rollback_gym.trainer import parts
from tests.trainer import models

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
