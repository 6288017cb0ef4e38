"""RetroAgent's configs, and a training by one from nothing to a model."""

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")
pytest.importorskip("yaml", reason="needs PyYAML: pip install 'rollback-gym[trainer]'")

from typer.testing import CliRunner

from rollback_gym.cli import app
from rollback_gym.cli.settings import given
from rollback_gym.core.errors import ConfigError, MissingExtra, RunMismatch, RunStopped
from rollback_gym.trainer import parts, retro_runs
from rollback_gym.trainer.encoders import HashingEncoder
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.retro_config import names, read
from rollback_gym.trainer.trajectory import Start, groups
from tests.trainer import models
from tests.trainer.retro import CHAT, mirror, said

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
RUN = CliRunner(env={"COLUMNS": "160"})
HASHING = ("lessons.encoder", "hashing")


@pytest.mark.parametrize("name", names())
def test_every_config_is_whole_and_its_environment_is_there(name):
    config = read(name, [HASHING])
    checked = retro_runs.dry_run(config)
    assert checked["episodes a step"] == 128
    assert checked["turns"] == {"alfworld": 50, "webshop": 15, "sokoban": 30, "minesweeper": 15}[name.split("-")[0]]
    assert checked["L of the first level"] >= 1
    assert checked["looking back"] == ("trained" if "llama" in name else "context")
    assert config.reward.penalty == (0.1 if name == "alfworld-qwen2.5-7b" else 0.5)
    assert config.rl.steps == (150 if name.split("-")[0] in ("alfworld", "webshop") else 300)


def test_there_are_as_many_as_said():
    games = ("alfworld", "minesweeper", "sokoban", "webshop")
    assert names() == tuple(f"{game}-{model}" for game in games for model in ("llama3.1-8b", "qwen2.5-7b"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (("model.path", None), "model.path"),
        (("rl.algorithm", "ppo"), "grpo or gigpo"),
        (("rl.group", 1), "rl.group"),
        (("looking.text", 100), "looking.text"),
        (("limits.text", 100), "limits.text"),
        (("reward.decay", 1.0), "decay"),
        (("lessons.rule", "best"), "rule"),
        (("lessons.beta", 0), "beta"),
        (("asking.window", 9), "asking"),
        (("looking.source.x", 1), "no settings of its own"),
        (("unknown", 1), "unknown"),
    ],
)
def test_mistakes_are_told(override, message):
    with pytest.raises(ConfigError, match=message):
        read("sokoban-qwen2.5-7b", [override])
    with pytest.raises(ConfigError, match="There is no config"):
        read("nowhere")


class Seen(NamedTuple):
    """What came of two batches of a mechanism that a config made."""

    agent: Any
    first: Any
    told: tuple[bool, ...]
    """Who of the second batch was given lessons."""
    asked: int
    """Questions about episodes of the first batch."""


def seen(tmp_path, *set_):
    """By a config file and `--set`, as a user asks for it; a scripted model plays, and looks back."""
    path = tmp_path / "mine.yaml"
    configs = resources.files("rollback_gym.trainer") / "configs" / "retroagent"
    path.write_text((configs / "sokoban-llama3.1-8b.yaml").read_text())
    common = ["lessons.encoder=hashing", "limits.text=60000", "limits.turns=2", "looking.text=60000"]
    config = read(str(path), list(given([*common, *set_], "--set").items()))
    agent = retro_runs.agent_of(config, CHAT, None)
    collector, asked = retro_runs.collector_of(config, CHAT, agent), []

    def reflect(text):
        asked.append(text)
        return said()

    def played():
        starts = groups([Start(options={"level": retro_runs.levels(config)[0]})], 4)
        return collector.play(starts, mirror(reflect=reflect), 0).trajectories

    first = agent.look_back(played(), mirror(reflect=reflect), 0)
    return Seen(agent, first, tuple(bool(of.lesson) for of in played()), len(asked))


ABLATIONS = {
    "reward.coefficient=0": lambda of: set(of.first.rewards) == {0.0},
    "reward.decay=0.9": lambda of: of.agent.capability.decay == 0.9,
    "lessons.on=false": lambda of: not any(of.told) and of.agent.memory is None,
    "lessons.rule=similarity": lambda of: of.agent.memory.ranking.rule == "similarity",
    "lessons.rule=utility": lambda of: of.agent.memory.ranking.rule == "utility",
    "looking.source=context": lambda of: of.first.rows == () and of.asked == 4,
    "looking.source=oracle": lambda of: of.first.rows == () and of.asked == 0,
}


@pytest.mark.parametrize("setting", ABLATIONS)
def test_an_ablation_is_a_setting(setting, tmp_path):
    assert ABLATIONS[setting](seen(tmp_path, setting))


def test_without_an_ablation_there_is_all(tmp_path):
    whole = seen(tmp_path)
    assert [name for name, is_so in ABLATIONS.items() if is_so(whole)] == []
    assert len(whole.first.rows) == whole.asked == 4
    assert set(whole.first.rewards) == {0.5}
    assert whole.told == (False, True) * 2
    assert whole.agent.memory.ranking.rule == "ucb"


def test_the_page_names_every_ablation():
    page = (Path(__file__).parents[2] / "docs" / "retroagent.md").read_text(encoding="utf-8")
    table = page.partition("## Ablations")[2].partition("\n## ")[0]
    assert [setting for setting in ABLATIONS if f"`{setting}`" not in table] == []


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return models.saved(tmp_path_factory.mktemp("base"))


def small(base, steps=2, **more):
    settings = {
        "model.path": str(base), "model.dtype": "float32", "lessons.encoder": "hashing", "vllm": False,
        "rl.steps": steps, "rl.groups": 2, "rl.group": 2, "rl.batch": 2, "limits.answer": 4, "limits.text": 1200,
        "limits.turns": 2, "looking.answer": 8, "looking.text": 1900, "save_every": 1, **more,
    }  # fmt: skip
    return read("sokoban-llama3.1-8b", list(settings.items()))


def test_a_training_from_nothing_to_a_model(base, tmp_path):
    told = []
    retro_runs.train(small(base), tmp_path, told.append)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [line["step"] for line in told] == [1, 2]
    assert all(name in lines[0] for name in ("won", "reflection/malformed", "reflection/exact_phi", "inadmissible"))
    assert (tmp_path / "model" / "config.json").exists()
    Memory(HashingEncoder(), tmp_path / "lessons.sqlite").close()  # the training let go of it
    retro_runs.train(small(base), tmp_path, told.append)
    assert len(told) == 2, "it was done"
    with pytest.raises(RunMismatch, match="another config"):
        retro_runs.train(small(base, steps=3), tmp_path)
    with pytest.raises(RunStopped, match="99999"):
        retro_runs.train(small(base, **{"looking.text": 99_999}), tmp_path / "long")
    with pytest.raises(RunStopped, match="no model at"):
        retro_runs.train(small(tmp_path / "nowhere"), tmp_path / "other")


def test_a_run_that_died_before_its_first_checkpoint_begins_anew(base, tmp_path):
    memory = Memory(HashingEncoder(), tmp_path / "lessons.sqlite")
    memory.add("a task", "of a dead run", "", "lost")
    memory.close()
    retro_runs.train(small(base, steps=1), tmp_path)
    memory = Memory(HashingEncoder(), tmp_path / "lessons.sqlite")
    assert "a task" not in {lesson.task for lesson in memory.lessons()}
    memory.close()


def test_the_log_of_a_run_that_goes_on_is_whole_at_any_moment(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"st')
    before = path.read_text()

    def killed(draft, target):
        assert path.read_text() == before
        raise KeyboardInterrupt

    logging = retro_runs._Logging(path, lambda line: None, True)
    monkeypatch.setattr("pathlib.Path.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        logging.on_train_begin(None, SimpleNamespace(global_step=2), None)
    monkeypatch.undo()
    assert path.read_text() == before
    logging.on_train_begin(None, SimpleNamespace(global_step=2), None)
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_two_processes_learn_the_same(base, tmp_path):
    run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "tests.trainer.retro_process"]
    env = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *run, str(base), str(tmp_path)], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = ((tmp_path / f"state-{rank}.json").read_text() for rank in (0, 1))
    assert first == second
    assert len(json.loads(first)["capability"]["reached"]) == 4, "two groups a step, one a process"
    assert (tmp_path / "model").exists()
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2, "one of them writes"


def test_a_dry_run_checks_what_trl_is_told(monkeypatch):
    config, told = read("sokoban-qwen2.5-7b", [HASHING]), retro_runs.arguments_of
    with monkeypatch.context() as changed:
        changed.setattr(parts, "common", lambda config: {"use_cpu": True, "bf16": True, "fp16": True})
        with pytest.raises(ValueError, match="fp16"):
            retro_runs.dry_run(config)

    def diluted(config, out):
        arguments = told(config, out)
        arguments.loss_type = "grpo"
        return arguments

    monkeypatch.setattr(retro_runs, "arguments_of", diluted)
    with pytest.raises(ValueError, match="dilute"):
        retro_runs.dry_run(config)


def test_vllm_is_asked_for_where_it_is_not(base, tmp_path, monkeypatch):
    served, own = read("sokoban-qwen2.5-7b", [HASHING]), read("sokoban-qwen2.5-7b", [HASHING, ("vllm", False)])
    for spec, there in ((None, "vLLM (not here: vllm: true needs vLLM: pip install 'vllm"), (object(), "vLLM")):
        monkeypatch.setattr(retro_runs, "find_spec", lambda name, spec=spec: spec)
        assert retro_runs.dry_run(served)["sampled by"].startswith(there)
        assert retro_runs.dry_run(own)["sampled by"] == "transformers"
    monkeypatch.setattr(retro_runs, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="vllm=false"):
        retro_runs.train(small(base, vllm=True), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_checks_without_training(base, tmp_path):
    out = tmp_path / "out"
    arguments = ["train", "retroagent", "-o", str(out), "-c", "minesweeper-qwen2.5-7b", "--dry-run"]
    done = RUN.invoke(app, [*arguments, "--set", "lessons.encoder=hashing"])
    assert done.exit_code == 0, done.output
    assert "episodes a step: 128" in done.output
    assert not out.exists()
    wrong = RUN.invoke(app, [*arguments, "--set", "rl.steps=0"])
    assert wrong.exit_code == 2
    assert "rl.steps" in wrong.output
