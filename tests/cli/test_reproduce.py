"""`rollback-gym reproduce`."""

import pytest
from typer.testing import CliRunner

from rollback_gym.cli import app

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
RUN = CliRunner(env={"COLUMNS": "160"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--config", "large"], "--config is tiny"),
        (["--arm", "PPO"], "--arm is one of GRPO"),
        (["--set", "step=3"], "step"),
        (["--set", "steps=0"], "steps"),
    ],
)
def test_a_mistake_is_told_in_a_line(tmp_path, options, message):
    done = RUN.invoke(app, ["reproduce", "retroagent", "-o", str(tmp_path / "out"), *options])
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "out").exists(), "nothing was begun"


def test_a_study_that_is_done_is_shown(tmp_path):
    import json
    from dataclasses import asdict

    from rollback_gym.trainer.retro_study import Study

    (tmp_path / "base").mkdir()
    (tmp_path / "study.json").write_text(json.dumps(asdict(Study(seeds=1))))
    result = {"series": [{"won": 1.0}], "evaluated": [True], "seen": [[True] * 3], "unseen": [[False] * 3]}
    (tmp_path / "grpo-0.json").write_text(json.dumps(result))
    arguments = ["reproduce", "retroagent", "-o", str(tmp_path), "--arm", "GRPO"]
    done = RUN.invoke(app, [*arguments, "--seeds", "1"])
    assert done.exit_code == 0, done.output
    assert "GRPO" in done.output
    assert (tmp_path / "results.md").exists()
    other = RUN.invoke(app, [*arguments, "--seeds", "2"])
    assert other.exit_code == 2
    assert "another size" in other.output
