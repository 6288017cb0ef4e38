"""Two processes train as one would, though their rows are not equally many."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

import torch

from rollback_gym.trainer import parts
from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.critic import Critic
from rollback_gym.trainer.log import read_log
from tests.trainer import models
from tests.trainer.test_train_cli import SMALL, options
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
            "scored": training.logprobs(training.rows[-1] if training.accelerator.is_main_process else ()),
            "summed": parts._sum(len(training.rows[-1])),
            "critic": weights(training.plan.critic.model) if training.plan.critic else {},
        }
        torch.save(result, Path(out) / f"{method}-{training.accelerator.process_index}.pt")
    torch.distributed.destroy_process_group()


def launched(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A module in two processes, as `accelerate launch` starts them where there are two GPUs."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m"]
    done = subprocess.run(
        [*command, module, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return models.saved(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def two(base, tmp_path_factory):
    """A folder with what each of two processes came to."""
    out = tmp_path_factory.mktemp("two")
    launched(__name__, str(base), str(out))
    return out


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_are_one(base, two, tmp_path, method):
    results = [torch.load(two / f"{method}-{rank}.pt", weights_only=False) for rank in range(2)]
    single = trained(base, tmp_path, method, 1)
    counts = [result["rows"] for result in results]
    assert counts[0] != counts[1], "the test needs processes with unequal rows"
    assert [sum(of) for of in zip(*counts, strict=True)] == [len(rows) for rows in single.rows]
    assert [len(of) for of in results[0]["scored"]] == [len(row.completion) for row in single.rows[-1][: counts[0][-1]]]
    assert [result["summed"] for result in results] == [len(single.rows[-1])] * 2, "as PivotOPD shares its weight"
    assert results[1]["scored"] == (), "it had nothing to ask, and was asked with the other"
    start = weights(policy(base))
    for result in results:
        assert_alike(result["weights"], weights(single.model), start, 1e-4)
        if method == "ppo":
            assert_alike(result["critic"], weights(single.plan.critic.model), weights(critic_model(base)), 1e-4)
    for name in ("won", "return", "turns", "rollbacks"):
        assert results[0]["log"][1][name] == pytest.approx(single.state.log_history[1][name], abs=1e-5)


def test_a_whole_run_by_two_processes(tmp_path):
    """Data, base, demonstrations, reward, tables: one process writes, and the other waits."""
    out = tmp_path / "out"
    done = launched("rollback_gym", "train", "curriculum", "--out", str(out), *options(SMALL))
    assert done.stdout.count("Of 1 run") == 1, "one of them shows the table"
    steps = [line["step"] for line in read_log(out / "rl" / "log.jsonl") if line["what"] == "step"]
    assert steps == [1, 2, 3]
    for name in ("sft", "rl"):
        assert (out / name / "model" / "model.safetensors").exists()
        assert (out / f"evaluation-{name}.json").exists()
    assert {path.name for path in (out / "rl" / "checkpoint-3").glob("part-guide-*")} == {
        "part-guide-0.json", "part-guide-1.json",
    }  # fmt: skip
    assert not list(out.rglob(".*")), "no draft is left"


if __name__ == "__main__":
    one_of_two(*sys.argv[1:])
