"""`rollback-gym run`, `replay` and `schema`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rollback_gym.cli import app
from rollback_gym.cli.errors import Refused
from rollback_gym.cli.settings import given
from rollback_gym.play.records import read, timeless, write

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _made_worlds(monkeypatch):
    for variable in ("ALFWORLD_DATA", "WEBSHOP_DATA"):
        monkeypatch.delenv(variable, raising=False)


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def plainly(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    told = command("run", "-o", path, "-n", 3, "--env", "Rollback-Sokoban-v0", "--option", "preset=ragen")
    assert told.exit_code == 0
    assert "Played: 3 of 3 episodes are in" in plainly(told.output)
    assert "3 won (100.0%)" in plainly(told.output)
    return path


def test_a_run_and_its_replay(played):
    assert [episode.made.kwargs for episode in read(played)] == [{"preset": "ragen"}] * 3
    told = command("replay", played, "--oracle")
    assert told.exit_code == 0
    actions = sum(len(episode.acts) for episode in read(played))
    assert f"The same, word for word: 3 episodes, {actions} actions." in told.output


def test_a_run_that_is_there_already(played):
    told = command("run", "-o", played, "-n", 3, "--env", "Rollback-Sokoban-v0", "--option", "preset=ragen")
    assert told.exit_code == 0
    assert "3 were there before" in plainly(told.output)


def test_another_run_into_the_same_file(played):
    told = command("run", "-o", played, "-n", 3, "--env", "Rollback-Sokoban-v0")
    assert told.exit_code == 2
    assert "option preset is 'ragen' there and not given here" in plainly(told.output)


def test_a_replay_that_differs(played, tmp_path):
    first, second, third = read(played)
    act = second.acts[0]._replace(reward=7.0)
    path = tmp_path / "run.jsonl"
    write(path, [first, second._replace(acts=(act, *second.acts[1:])), third])
    told = command("replay", path)
    assert told.exit_code == 1
    assert "Not the same: episode 1-0, action 1: reward was 7.0, and is -0.1 now." in plainly(told.output)


def test_every_level(tmp_path):
    path = tmp_path / "run.jsonl"
    told = command(
        "run", "-o", path, "--env", "Rollback-MineSweeper-v0", "--policy", "random", "--split", "valid",
        "--every-level", "-n", 2, "--set", "rollbacks=0.1", "--no-oracle", "--max-turns", 4,
    )  # fmt: skip
    assert told.exit_code == 0
    assert "2 of them have no L(s)" in plainly(told.output)
    assert [episode.level for episode in read(path)] == ["valid/65536", "valid/65537"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--env", "Rollback-Chess-v0"], "Rollback-Chess"),
        (["--option", "colour=red"], "colour"),
        (["--option", "colour"], "NAME=VALUE"),
        (["--option", "max_turns=1", "--option", "max_turns=2"], "twice"),
        (["--option", "rollback=false"], "max_rollbacks=0"),
        (["--policy", "nobody"], "there are random"),
        (["--policy", "random", "--set", "rollbacks=7"], "from 0 to 1"),
        (["--level", "train/1", "--every-level"], "choose one"),
        (["--split", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_told_at_once(arguments, told, tmp_path):
    path = tmp_path / "run.jsonl"
    result = command("run", "-o", path, "--env", "Rollback-Sokoban-v0", *arguments)
    assert result.exit_code == 2
    assert told in plainly(result.output)
    assert not path.exists()


def test_a_file_that_there_is_not(tmp_path):
    for arguments in (["replay", tmp_path / "none.jsonl"], ["run", "-o", tmp_path / "none" / "run.jsonl", "-n", 1]):
        result = command(*arguments)
        assert result.exit_code == 2
        assert "none" in plainly(result.output)


def test_the_schema_is_published():
    told = command("schema")
    assert told.exit_code == 0
    published = (ROOT / "docs" / "episode.schema.json").read_text(encoding="utf-8")
    assert json.loads(told.output) == json.loads(published), "rollback-gym schema > docs/episode.schema.json"


def test_values():
    options = ["a=30", "b=true", "c=None", "d=text", "e=[1, 2]", "f=x=y", "g=", "h=NaN", 'i="7"', "j=0.5"]
    assert given(options, "--set") == {
        "a": 30, "b": True, "c": None, "d": "text", "e": [1, 2], "f": "x=y", "g": "", "h": "NaN", "i": "7", "j": 0.5,
    }  # fmt: skip
    with pytest.raises(Refused, match="NAME=VALUE"):
        given(["=3"], "--set")


def start(path, how, *arguments):
    """The command in a process of its own, with a policy that breaks."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cli.command", "run", "-o", str(path), "--env", "Rollback-Sokoban-v0",
         "--policy", "tests.play.broken:Breaking", "--set", f"how={how}", *map(str, arguments)],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=_heeding,
    )  # fmt: skip


def _heeding():
    """A shell that runs the tests in its background has Ctrl-C ignored, by their children too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def size(path):
    return path.stat().st_size if path.exists() else 0


@pytest.mark.skipif(os.name != "posix", reason="needs signals to groups of processes")
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_stopped_and_continued(how, tmp_path):
    """By Ctrl-C, which reaches every process of the group, or by killing the one that writes."""
    path, marker = tmp_path / "run.jsonl", tmp_path / "marker"
    # The first episode that it meets hangs, once; the other worker plays on.
    process = start(path, "slow", "-n", 8, "-w", 2, "--set", f"marker={marker}")
    wait_for(lambda: marker.exists() and size(path))
    if how == "interrupt":
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Interrupted: " in out
        assert "The same command goes on there." in plainly(out)
        assert err == ""
    else:
        os.kill(process.pid, signal.SIGKILL)
        os.killpg(process.pid, signal.SIGKILL)  # the worker that hangs, too
        process.communicate(timeout=30)
    there = {episode.id: timeless(episode) for episode in read(path)}
    assert 1 <= len(there) < 8
    process = start(path, "slow", "-n", 8, "-w", 2, "--set", f"marker={marker}")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    episodes = {episode.id: timeless(episode) for episode in read(path)}
    assert list(episodes) == [f"{seed}-0" for seed in range(8)]
    assert {id: episodes[id] for id in there} == there


def test_a_worker_that_dies_is_told(tmp_path):
    process = start(tmp_path / "run.jsonl", "kill", "-n", 3)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "0 of 3 episodes" in plainly(out)
    assert "not played: 0-0, 1-0, 2-0: its process died (killed by SIGKILL)" in plainly(err)


def test_a_level_that_there_is_not_is_told_at_once(tmp_path):
    told = command("run", "-o", tmp_path / "run.jsonl", "-n", 3, "--level", "nowhere")
    assert told.exit_code == 2
    assert told.output.count("nowhere") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_is_no_file_of_records():
    told = command("run", "-o", "/dev/full", "-n", 1, "--env", "Rollback-Sokoban-v0")
    assert told.exit_code == 2
    assert "/dev/full is no file that a run can go on with" in plainly(told.output)


def test_a_policy_of_the_folder_where_the_command_is_given(tmp_path):
    (tmp_path / "of_mine.py").write_text(
        "from rollback_gym.play.policies import RandomPolicy\n\n\nclass Mine(RandomPolicy):\n    pass\n"
    )
    script = "import sys; sys.path.remove(''); from rollback_gym.cli import main; main()"  # as the installed one is
    options = ["run", "--policy", "of_mine:Mine", "-n", "2", "-o", "run.jsonl", "--env", "Rollback-Sokoban-v0"]
    told = subprocess.run(
        [sys.executable, "-c", script, *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert "Played: 2 of 2 episodes" in plainly(told.stdout)


def test_a_replay_of_a_run_that_was_stopped(played, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(played.read_bytes()[:-30])
    told = command("replay", path)
    assert told.exit_code == 0
    assert "The same, word for word: 2 episodes" in told.output
    assert "Left out:" in told.output
