"""Two processes train as one would, though their rows are not equally many."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

import torch

from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.critic import Critic
from tests.trainer import models
from tests.trainer.training import assert_alike, critic_model, policy, trainer, weights

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
METHODS = ("grpo", "ppo")


def trained(base: Path, out: Path, method: str, processes: int):
    """Twice four groups, whoever plays them."""
    critic = None
    if method == "ppo":
        critic = Critic(critic_model(base), 0, total=total)
        critic.optimizer = torch.optim.SGD(critic.model.parameters(), lr=0.1)
    training = trainer(
        base, out, plan={"method": Method(method), "critic": critic}, max_steps=2, beta=0.1,
        gradient_accumulation_steps=4 // processes,
    )  # fmt: skip
    training.train()
    return training


def total(tensor):
    if torch.distributed.is_initialized():
        torch.distributed.all_reduce(tensor)


def one_of_two(base: str, out: str) -> None:
    """What a process of the launcher runs."""
    for method in METHODS:
        training = trained(Path(base), Path(out), method, 2)
        result = {
            "weights": weights(training.model),
            "rows": [len(rows) for rows in training.rows],
            "log": training.state.log_history,
            "critic": weights(training.plan.critic.model) if training.plan.critic else {},
        }
        torch.save(result, Path(out) / f"{method}-{training.accelerator.process_index}.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return models.saved(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def two(base, tmp_path_factory):
    """A folder with what each of two processes came to."""
    out, root = tmp_path_factory.mktemp("two"), Path(__file__).parents[2]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*command, "-m", __name__, str(base), str(out)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return out


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_are_one(base, two, tmp_path, method):
    results = [torch.load(two / f"{method}-{rank}.pt", weights_only=False) for rank in range(2)]
    single = trained(base, tmp_path, method, 1)
    counts = [result["rows"] for result in results]
    assert counts[0] != counts[1], "the test needs processes with unequal rows"
    assert [sum(of) for of in zip(*counts, strict=True)] == [len(rows) for rows in single.rows]
    start = weights(policy(base))
    for result in results:
        assert_alike(result["weights"], weights(single.model), start, 1e-4)
        if method == "ppo":
            assert_alike(result["critic"], weights(single.plan.critic.model), weights(critic_model(base)), 1e-4)
    for name in ("won", "return", "turns", "rollbacks"):
        assert results[0]["log"][1][name] == pytest.approx(single.state.log_history[1][name], abs=1e-5)


if __name__ == "__main__":
    one_of_two(*sys.argv[1:])
