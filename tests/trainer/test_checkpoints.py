"""A training that is interrupted and resumed is the one that was not."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

import torch

from rollback_gym.core.errors import RunMismatch
from rollback_gym.trainer import config
from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.critic import Critic
from rollback_gym.trainer.guide import Guide
from rollback_gym.trainer.log import Log
from rollback_gym.trainer.rows import Row, Span
from rollback_gym.trainer.scene import Part, Seeds
from rollback_gym.trainer.update import WHOLE, last_checkpoint
from tests.trainer import models
from tests.trainer.training import critic_model, policy, trainer, weights

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return models.saved(tmp_path_factory.mktemp("base"))


class Wandering(Seeds):
    """A source with a state: what it gives depends on all that it gave before."""

    def __init__(self):
        super().__init__()
        self.place = 0

    def starts(self, seeds):
        self.place = (31 * self.place + sum(seeds) + 1) % 1009
        return super().starts([seed + self.place for seed in seeds])

    def state(self):
        return {"place": self.place}

    def resume(self, state):
        self.place = state["place"]


def made(base: Path, out: Path, method: str):
    source = Wandering()
    critic = Critic(critic_model(base), 0) if method == "ppo" else None
    plan = {"source": source, "parts": {"source": source}, "method": Method(method), "critic": critic}
    return trainer(
        base, out, plan=plan, sgd=False, varied=False, learning_rate=3e-3, beta=0.01, max_steps=4,
        save_strategy="steps", save_steps=2, lr_scheduler_type="linear",
    )  # fmt: skip


@pytest.mark.parametrize("method", ["grpo", "ppo"])
def test_a_resumed_training_is_bit_for_bit_the_same(base, tmp_path, method):
    whole = made(base, tmp_path / "whole", method)
    whole.train()
    (tmp_path / "whole" / "checkpoint-4" / WHOLE).unlink()
    checkpoint = last_checkpoint(tmp_path / "whole")
    assert checkpoint == str(tmp_path / "whole" / "checkpoint-2"), "one that was not written to its end is passed over"
    torch.manual_seed(123)
    resumed = made(base, tmp_path / "resumed", method)
    resumed.train(resume_from_checkpoint=checkpoint)
    assert resumed.rows == whole.rows[2:]
    assert whole.rows[2] != whole.rows[3]
    assert resumed.plan.source.place == whole.plan.source.place
    for name, value in weights(whole.model).items():
        assert torch.equal(value, weights(resumed.model)[name]), name
    if method == "ppo":
        for name, value in weights(whole.plan.critic.model).items():
            assert torch.equal(value, weights(resumed.plan.critic.model)[name]), name
    timed = ("seconds/playing", "seconds/generating", "step_time")
    logs = [
        [{name: value for name, value in of.items() if name not in timed} for of in each.state.log_history[2:4]]
        for each in (whole, resumed)
    ]
    assert logs[0] == logs[1]


def test_what_a_checkpoint_holds(base, tmp_path):
    training = made(base, tmp_path, "ppo")
    training.train()
    folder = Path(last_checkpoint(tmp_path))
    assert folder.name == "checkpoint-4"
    assert json.loads((folder / "part-source-0.json").read_text()) == training.plan.source.state()
    assert isinstance(training.plan.source, Part)
    assert (folder / "critic.pt").exists()
    assert last_checkpoint(tmp_path / "nowhere") is None
    (folder / "part-source-1.json").write_text("{}")  # as if there had been two
    with pytest.raises(RunMismatch, match=r"checkpoint-4 was written by 2 processes, and here are 1: go on with 2"):
        made(base, tmp_path, "ppo").train(resume_from_checkpoint=str(folder))


def test_the_critic_goes_back_with_the_policy(base, tmp_path):
    """To the last good weights, and what their optimizers had gathered."""
    model, critic = policy(base), Critic(critic_model(base), 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

    def learnt():
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        row = Row((5, 6), (7, 8), (Span(1, 0, 2),), (0.0, 0.0))
        critic.fit([row], [[3.0]])
        return {**weights(model), **{f"critic.{name}": value for name, value in weights(critic.model).items()}}

    guide = Guide(config.read("tiny"), None, None, None, tmp_path, Log(tmp_path / "log.jsonl", print), critic)
    good = learnt()
    guide._keep(model, optimizer)
    once = learnt()
    assert not any(torch.equal(value, good[name]) for name, value in once.items() if "score.weight" in name)
    learnt()
    guide._put_back(model, optimizer, 0)
    again = learnt()
    assert all(torch.equal(value, once[name]) for name, value in again.items())
