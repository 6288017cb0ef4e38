"""`rollback-gym dataset`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rollback_gym.cli import app
from rollback_gym.study import dataset


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["dataset", *map(str, arguments)], env={"COLUMNS": "200"})


def test_it_makes_a_file_and_checks_it(tmp_path: Path) -> None:
    out, rows = tmp_path / "data.jsonl", tmp_path / "sft.jsonl"
    made = run("--level", 2, "-n", 12, "-o", out, "--clean", 0.25, "--sft", rows)
    assert made.exit_code == 0, made.output
    assert f"12 samples, every one replayed, are in {out}" in made.output
    assert "several wrong steps" in made.output
    samples = [json.loads(line) for line in out.read_text().splitlines()]
    told = [json.loads(line) for line in rows.read_text().splitlines()]
    assert len(told) == sum(len(sample["trace"]) - len(sample["injected"]) for sample in samples)
    assert all(row["completion"][0]["role"] == "assistant" for row in told)

    dialogues = tmp_path / "dialogues.jsonl"
    assert run("--check", out, "--sft", dialogues, "--sft-form", "dialogues").exit_code == 0
    told = [json.loads(line) for line in dialogues.read_text().splitlines()]
    assert len(told) == sum(2 if sample["form"] else 1 for sample in samples)
    assert all(isinstance(message["train"], bool) for row in told for message in row["messages"])

    checked = run("--check", out)
    assert checked.exit_code == 0
    assert "word for word: 12 samples" in checked.output

    samples[3]["trace"][0]["observation"] = "nowhere"
    out.write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))
    checked = run("--check", out)
    assert checked.exit_code == 1
    assert "sample 000003: turn 1 was" in checked.output


def test_a_file_that_is_there_is_kept_unless_force_is_given(tmp_path: Path) -> None:
    out = tmp_path / "data.jsonl"
    out.write_text("mine\n")
    refused = run("-n", 2, "-o", out)
    assert refused.exit_code == 2
    assert "exists already; choose another name, or pass --force" in refused.output
    assert out.read_text() == "mine\n"
    assert run("-n", 2, "-o", out, "--force").exit_code == 0
    assert len(out.read_text().splitlines()) == 2


def test_rows_that_are_there_are_kept_unless_force_is_given(tmp_path: Path) -> None:
    out, rows = tmp_path / "data.jsonl", tmp_path / "sft.jsonl"
    rows.write_text("mine\n")
    refused = run("-n", 2, "-o", out, "--sft", rows)
    assert refused.exit_code == 2
    assert "choose another name for --sft" in refused.output
    assert (rows.read_text(), out.exists()) == ("mine\n", False)
    assert run("-n", 2, "-o", out, "--sft", rows, "--force").exit_code == 0
    assert "completion" in rows.read_text()
    assert "--check" in run("-n", 2, "-o", out, "--sft", tmp_path / "more").output


def test_options_reach_the_environment_and_the_prompts(tmp_path: Path) -> None:
    out = tmp_path / "data.jsonl"
    made = run(
        "-n", 3, "-o", out, "--env", "Rollback-Sokoban-v0", "--option", "preset=ragen", "--prompt", "think=false"
    )
    assert made.exit_code == 0, made.output
    sample = json.loads(out.read_text().splitlines()[0])
    assert sample["env"] == {"id": "Rollback-Sokoban-v0", "kwargs": {"revive": True, "preset": "ragen"}}
    assert "<think>" not in json.dumps(sample["conversations"][0][-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Say where the samples go: --out FILE"),
        (("-o", "x", "--kind", "typo"), "There is no kind 'typo'; there are intent"),
        (("-o", "x", "--split", "dev"), "split must be one of train, eval, test"),
        (("-o", "x", "--clean", 2), "clean must be a share from 0 to 1"),
        (("-o", "x", "--prompt", "loud=true"), "--prompt has no loud"),
        (("-o", "x", "--option", "size"), "--option expects NAME=VALUE"),
        (("-o", "x", "--option", "size=3"), "size"),
        (("-o", "x", "--option", "level=3"), "leave the option level out"),
        (("-o", "x", "--env", "Rollback-Chess-v0"), "Chess"),
        (("-o", "x", "--env", "Rollback-Sokoban-v0", "--searches", 4), "searches is for ALFWorld"),
        (("-o", "x", "--fumbles", 2), "fumbles must be a share from 0 to 1"),
        (("-o", "x", "--env", "Rollback-Sokoban-v0", "--fumbles", 0.1), "fumbles is for ALFWorld"),
        (("-o", "x", "--env", "Rollback-Sokoban-v0", "--notes"), "notes is for ALFWorld"),
        (("-o", "x", "--notes", "--prompt", "think=false"), "notes are what is thought"),
        (("-o", "no/such/folder/x"), "no/such/folder"),
        (("--check", "no-such-file"), "no-such-file"),
        (("-o", "x", "--sft", "x"), "--sft x is the file of the samples"),
        (("-o", "x", "--sft", "no/such/folder/y"), "There is no folder no/such/folder"),
        (("-o", "x", "--prompt", "style=loud"), "style must be dialogue or single, got 'loud'"),
        (("-o", "x", "--prompt", "window=x"), "window must be null or a whole number"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    arguments: tuple[object, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run(*arguments, *(() if "--check" in arguments else ("-n", 2)))
    assert refused.exit_code == 2, refused.output
    assert message in refused.output
    assert len(refused.output.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, real = tmp_path / "data.jsonl", dataset._ordered

    def interrupted(*arguments: object) -> object:
        for number, made in enumerate(real(*arguments)):  # type: ignore[arg-type]
            if number == 1:
                raise KeyboardInterrupt
            yield made

    monkeypatch.setattr(dataset, "_ordered", interrupted)
    stopped = run("-n", 60, "-o", out)
    assert stopped.exit_code == 130
    assert "Interrupted. The same command goes on." in stopped.output
    assert not out.exists()
    monkeypatch.setattr(dataset, "_ordered", real)
    done = run("-n", 60, "-o", out)
    assert done.exit_code == 0
    assert "60 samples" in done.output
    assert "were made before" in done.output
