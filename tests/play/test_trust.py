"""What a record names runs only where the records are trusted."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rollback_gym.cli import app
from rollback_gym.core.errors import RecordError
from rollback_gym.play.records import Made, write
from rollback_gym.play.replay import replay
from rollback_gym.play.run import Plan, run
from rollback_gym.play.trust import check_policies, made_again
from rollback_gym.study import replays
from rollback_gym.study.counterfactual import eligible

SOKOBAN = Made("Rollback-Sokoban-v0", {"preset": "ragen", "max_turns": 6})


@pytest.fixture
def failure(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    run(Plan(SOKOBAN, "random", {}, 4), path)
    from rollback_gym.play.records import read

    return next(episode for episode in read(path) if eligible(episode))


@pytest.mark.parametrize(
    "policy",
    [
        {"name": "os:system", "command": "true"},
        {"name": "endpoint", "model": "m", "url": "http://localhost:1/v1", "key_variable": "HOME"},
        {"name": "local", "model": "some/model"},
        {"name": 3},
        {},
    ],
)
def test_what_records_name_does_not_run(policy):
    with pytest.raises(RecordError, match="If you trust them, pass --trust"):
        check_policies([{"name": "oracle"}, policy])


def test_a_record_cannot_run_a_function(failure, tmp_path):
    mark = tmp_path / "mark"
    evil = failure._replace(policy={"name": "os:mkdir", "path": str(mark)})
    with pytest.raises(RecordError, match="os:mkdir"):
        replays.replay_all([evil], tmp_path / "replays", replays.Plan(samples=1))
    assert not mark.exists()
    write(tmp_path / "evil.jsonl", [evil])
    told = CliRunner().invoke(app, ["diagnose", str(tmp_path / "evil.jsonl"), "--counterfactual"])
    assert told.exit_code == 2
    assert "os:mkdir" in told.output
    assert not mark.exists()


def test_trusted_records_run_what_they_name(failure, tmp_path):
    own = failure._replace(policy={"name": "rollback_gym.play.policies:RandomPolicy", "rollbacks": 0.5})
    plan = replays.Plan(samples=1, trusted=True)
    assert replays.replay_all([own], tmp_path / "replays", plan)


def test_the_caller_may_say_who_plays_on(failure, tmp_path):
    evil = failure._replace(policy={"name": "os:mkdir", "path": "x"})
    assert replays.replay_all([evil], tmp_path / "replays", replays.Plan(samples=1, policy={"name": "random"}))


def test_an_environment_of_an_unknown_module_is_not_imported(failure, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "never_imported.py").write_text("raise SystemExit('imported')\n")
    strange = failure._replace(made=Made("never_imported:X-v0", {}))
    with pytest.raises(RecordError, match="whose code would run here"):
        replay(strange)
    write(tmp_path / "strange.jsonl", [strange])
    assert CliRunner().invoke(app, ["replay", str(tmp_path / "strange.jsonl")]).exit_code == 2
    assert "never_imported" not in sys.modules
    assert made_again(Made(f"rollback_gym:{SOKOBAN.id}", SOKOBAN.kwargs))


@pytest.mark.parametrize(
    "made", [Made("", {}), Made("No-Such-v0", {}), Made(SOKOBAN.id, {"preset": []}), Made(SOKOBAN.id, {"no": 1})]
)
def test_an_environment_that_cannot_be_made(made):
    with pytest.raises(RecordError, match="There is no environment"):
        made_again(made)


@pytest.mark.parametrize("action", [5, None, ["look"], {"array": [1], "dtype": "evil", "shape": [1]}])
def test_an_action_that_is_none(failure, tmp_path, action):
    write(tmp_path / "run.jsonl", [failure])
    record = json.loads((tmp_path / "run.jsonl").read_text())
    record["acts"][0]["action"] = action
    (tmp_path / "run.jsonl").write_text(json.dumps(record) + "\n")
    for command in (["replay"], ["diagnose", "--counterfactual", "--samples", "1"]):
        told = CliRunner().invoke(app, [*command, str(tmp_path / "run.jsonl")])
        assert told.exit_code == 2, told.output
        assert "action 1: it is no action here" in " ".join(told.output.split())
        assert "Traceback" not in told.output


@pytest.mark.parametrize("options", [{"level": 3}, {"nothing": 1}])
def test_a_start_that_is_none(failure, options):
    with pytest.raises(RecordError, match="it cannot begin"):
        replay(failure._replace(options=options))
