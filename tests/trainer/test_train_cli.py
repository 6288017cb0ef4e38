"""`rollback-gym train` and `rollback-gym eval`, from nothing to a table, interrupted and resumed."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")
pytest.importorskip("yaml", reason="needs PyYAML: pip install 'rollback-gym[trainer]'")

from safetensors.torch import load_file
from typer.testing import CliRunner

from rollback_gym.cli import app
from rollback_gym.trainer import config, guide, parts, report, runs
from rollback_gym.trainer.evaluation import Counts
from rollback_gym.trainer.log import read_log
from tests.trainer import models

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
models.quiet()

SMALL: dict[str, Any] = {
    "model.hidden": 16, "model.layers": 1, "model.heads": 2, "model.feed_forward": 32,
    "environment.options.max_turns": 10, "environment.options.data": None,
    "data.records": 10, "sft.levels": [1], "sft.epochs": 1, "sft.batch": 4, "limits.answer": 6,
    "rl.steps": 3, "rl.groups": 2, "rl.group": 2, "rl.batch": 2, "save_every": 1,
    "evaluation.every": 1, "evaluation.episodes": 1, "evaluation.clean": 1, "evaluation.final": 2,
}  # fmt: skip
TIMES = ("step_time", "seconds/playing", "seconds/generating", "epoch")


def options(settings: dict[str, Any]) -> list[str]:
    return [part for name, value in settings.items() for part in ("--set", f"{name}={json.dumps(value)}")]


def timeless(folder: Path) -> list[dict[str, Any]]:
    log = read_log(folder / "rl" / "log.jsonl")
    return [{name: value for name, value in line.items() if name not in TIMES} for line in log]


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """A whole run, by the command."""
    out = tmp_path_factory.mktemp("run") / "out"
    result = CliRunner().invoke(app, ["train", "curriculum", "--out", str(out), *options(SMALL)])
    assert result.exit_code == 0, result.output
    assert "level 3" in result.output
    return out


def test_from_nothing_to_a_table(done):
    table = (done / "report.md").read_text()
    assert "| clean | episodes won |" in table
    log = read_log(done / "rl" / "log.jsonl")
    assert [line["step"] for line in log if line["what"] == "step"] == [1, 2, 3]
    assert [line["step"] for line in log if line["what"] == "evaluation"] == [0, 1, 2, 3]
    assert any(line["what"] == "decision" for line in log)
    for term in ("step", "rollback", "exact", "charge", "end", "needless"):
        assert f"reward/{term}" in next(line for line in log if line["what"] == "step")
    assert (done / "rl" / "model" / parts.SETTINGS).exists()


def test_interrupted_and_resumed_it_ends_in_the_same(done, tmp_path):
    settings = config.read("tiny", list(SMALL.items()))
    stops = [
        lambda told: told["stage"] == "sft" and told.get("step") == 1,
        lambda told: told["stage"] == "evaluation",
        lambda told: told.get("what") == "step" and told["step"] == 2,
    ]
    for stop in stops:

        def tell(told, stop=stop):
            if stop(told):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            runs.run(settings, tmp_path, "curriculum", tell)
    runs.run(settings, tmp_path, "curriculum")
    for name in ("sft", "rl"):
        one = load_file(done / name / "model" / "model.safetensors")
        two = load_file(tmp_path / name / "model" / "model.safetensors")
        assert one.keys() == two.keys()
        assert all((one[key] == two[key]).all() for key in one), name
        assert (done / f"evaluation-{name}.json").read_text() == (tmp_path / f"evaluation-{name}.json").read_text()
    assert timeless(done) == timeless(tmp_path)


def test_the_same_command_again_does_nothing_but_show(done):
    before = {path: path.stat().st_mtime_ns for path in (done / "rl" / "model").iterdir()}
    result = CliRunner().invoke(app, ["train", "curriculum", "--out", str(done), *options(SMALL)])
    assert result.exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (done / "rl" / "model").iterdir()} == before


def test_a_model_is_evaluated_as_it_was_trained(done):
    result = CliRunner().invoke(app, ["eval", "--policy", f"hf:{done / 'rl' / 'model'}", "-n", "2"])
    assert result.exit_code == 0, result.output
    assert "level 1" in result.output


def test_runs_are_put_together(done):
    one, two = report.tallies([done]), report.tallies([done, done])
    assert len(two["rl"]["1"]) == 2 * len(one["rl"]["1"])
    assert "Of 2 runs" in report.markdown(report.rows(two), 2)


def test_a_run_is_drawn(done, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'rollback-gym[plots]'")
    result = CliRunner().invoke(app, ["train", "report", str(done), "--plot", str(tmp_path / "run.png")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def weights(folder: Path) -> dict[str, Any]:
    return load_file(folder / "model.safetensors")


@pytest.mark.parametrize(
    "changed",
    [{"rl.algorithm": "ppo"}, {"rl.algorithm": "gigpo"}, {"model.lora_rank": 2}],
    ids=["ppo", "gigpo", "lora"],
)
def test_other_ways_to_learn(done, tmp_path, changed):
    if "model.lora_rank" in changed:
        pytest.importorskip("peft", reason="needs peft: pip install 'rollback-gym[trainer]'")
    settings = config.read("tiny", list({**SMALL, "rl.steps": 1, "rl.learning_rate": 0.01, **changed}.items()))
    runs.reinforce(settings, tmp_path, done / "sft" / "model", "rl", lambda told: None)
    before, after = weights(done / "sft" / "model"), weights(tmp_path / "rl" / "model")
    assert before.keys() == after.keys()
    assert all(bool(after[name].isfinite().all()) for name in after)


@pytest.mark.parametrize("teacher", ["oracle", "self"])
def test_pivotopd_by_config(done, tmp_path, teacher):
    changed = {"rl.steps": 1, "pivotopd.on": True, "pivotopd.turns": 2, "pivotopd.teacher.source": teacher}
    settings = config.read("tiny", list({**SMALL, **changed}.items()))
    runs.reinforce(settings, tmp_path, done / "sft" / "model", "rl", lambda told: None)
    step = next(line for line in read_log(tmp_path / "rl" / "log.jsonl") if line["what"] == "step")
    assert step["seconds/pivotopd"] > 0
    assert (step.get("teacher/malformed", 0.0) == 0.0) == (teacher == "oracle")
    assert step["pivot/count"] >= 0
    assert ("seconds/oracle" in step) == (teacher == "self"), "the oracle is not measured by itself"


def test_recovery_by_the_initial_model(done, tmp_path, monkeypatch):
    asked = []

    class Asked(parts.TransformersGenerator):
        def goes_on(self, wanted):  # so small a model makes no mistake, since it says no action
            asked.append({name: of.clone() for name, of in self.model.state_dict().items()})
            return super().goes_on(wanted)

    monkeypatch.setattr(parts, "TransformersGenerator", Asked)
    changed = {"rl.steps": 2, "rl.learning_rate": 0.01, "pivotopd.on": True, "pivotopd.frozen": "initial"}
    settings = config.read("tiny", list({**SMALL, **changed}.items()))
    runs.reinforce(settings, tmp_path, done / "sft" / "model", "rl", lambda told: None)
    before, after = weights(done / "sft" / "model"), weights(tmp_path / "rl" / "model")
    assert any(bool((before[name] != after[name]).any()) for name in before)
    assert len(asked) == 2
    for model in asked:
        assert all(bool((model[name] == before[name]).all()) for name in before)


@pytest.mark.parametrize("name", [name for name in config.names() if name.startswith("pivotopd/")])
def test_a_dry_run(tmp_path, name):
    result = CliRunner().invoke(app, ["train", "rl", "--config", name, "--out", str(tmp_path / "out"), "--dry-run"])
    assert result.exit_code == 0, result.output
    told = dict(line.split(": ", 1) for line in result.stdout.splitlines())
    assert told["teacher"] == config.read(name).pivotopd.teacher.model
    assert told["episodes a step"] == "128"
    assert told["first level"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("stage", ["sft", "curriculum"])
def test_a_dry_run_of_tiny(tmp_path, stage):
    result = CliRunner().invoke(app, ["train", stage, "--out", str(tmp_path / "out"), "--dry-run"])
    assert result.exit_code == 0, result.output
    assert "model: made here" in result.stdout
    assert not (tmp_path / "out").exists()


def test_after_a_sustained_fall_the_last_good_weights_are_back(done, tmp_path, monkeypatch):
    success = iter([1, 0, 0])

    def evaluated(collector, model, held, groups, temperature):
        won = next(success)
        return {name: (Counts(won, 1, 1, 1, None, 0, 0, 0, 0),) for name in groups}

    monkeypatch.setattr(guide, "evaluate", evaluated)
    changed = {"rl.steps": 2, "rl.learning_rate": 0.1, "rl.kl": 0.0, "curriculum.patience": 2}
    settings = config.read("tiny", list({**SMALL, **changed}.items()))
    runs.reinforce(settings, tmp_path, done / "sft" / "model", "curriculum", lambda told: None)
    decisions = [line for line in read_log(tmp_path / "rl" / "log.jsonl") if line["what"] == "decision"]
    assert [line["kind"] for line in decisions if line["kind"] in ("good", "back")] == ["good", "back"]
    assert decisions[-1]["to"] == 0
    before, after = weights(done / "sft" / "model"), weights(tmp_path / "rl" / "model")
    assert all(bool((before[name] == after[name]).all()) for name in before)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "curriculum", "--set", "rl.stepz=3"], "rl.stepz is no setting"),
        (["train", "sft", "--config", "nowhere.yaml"], "There is no config 'nowhere.yaml'"),
        (["train", "rl", "--set", "environment.id=CartPole-v1"], "environment:"),
        (["train", "rl", "--set", "environment.options.difficulty=9"], "environment:"),
        (["train", "rl", "--set", "generation.backend=vllm_server"], "generation.url must be an address"),
        (
            ["train", "rl", "--set", "rl.groups=1", "--set", "rl.group=3", "--set", "pivotopd.on=1"],
            "pivotopd.on must be",
        ),
        (["train", "sft", "--set", "model.path=/nowhere"], "There is no model at"),
        (["train", "sft", "--set", 'report_to=["neptune"]'], "neptune is not installed"),
        (["train", "rl", "--set", 'report_to=["neptune"]'], "neptune is not installed"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, arguments, said):
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stderr.count("error:") == 1
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists(), "it was said before anything was made"


def test_another_config_in_the_same_folder(done):
    result = CliRunner().invoke(app, ["train", "curriculum", "--out", str(done), *options({**SMALL, "rl.steps": 4})])
    assert result.exit_code == 2
    assert "holds a run by another config (rl differ)" in " ".join(result.stderr.split())


@pytest.mark.parametrize(("policy", "said"), [("oracle", "must be hf:PATH"), ("hf:/nowhere", "was not trained here")])
def test_what_cannot_be_evaluated(policy, said):
    result = CliRunner().invoke(app, ["eval", "--policy", policy])
    assert result.exit_code == 2
    assert said in result.stderr


def test_no_evaluation_no_report(tmp_path):
    result = CliRunner().invoke(app, ["train", "report", str(tmp_path)])
    assert result.exit_code == 2
    assert "holds no evaluation" in result.stderr
