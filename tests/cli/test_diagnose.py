"""The command `diagnose`: its tables, its files, and what it says of files that are none."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rollback_gym.cli import app
from rollback_gym.cli.diagnosed import _ROWS
from rollback_gym.play.playing import play
from rollback_gym.play.policies import make_policy
from rollback_gym.play.records import Episode, Made, write
from rollback_gym.play.run import make_env
from rollback_gym.study.diagnosis import Numbers
from tests.study.episodes import Back, episode


def diagnose(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["diagnose", *map(str, arguments)], env={"COLUMNS": "100"})
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    write(before, _named([episode(3, 2, 4, 4), episode(3, 2, 1, 0), episode(3, 4, 4, 4), episode(3, 3, 3)]))
    write(after, _named([episode(3, 2, 4, Back(1), 1, 0), episode(3, 2, 1, 0), episode(3, 3, 3, kind="heat")]))
    return before, after


def _named(episodes: list[Episode]) -> list[Episode]:
    return [one._replace(id=f"{number}-0") for number, one in enumerate(episodes)]


def row(output: str, name: str) -> str:
    return next(line for line in output.splitlines() if name in line)


def test_a_row_a_number_and_a_column_a_run(runs: tuple[Path, Path]) -> None:
    output = diagnose(*runs).output
    assert row(output, "before").split() == ["before", "after"]
    assert row(output, "episodes").split() == ["episodes", "4", "3"]
    assert "25.0%" in row(output, "success")
    assert "66.7%" in row(output, "success")
    assert row(output, "failures with one").split()[3] == "66.7%"
    assert "100.0%" in row(output, "target exact")
    assert "unreadable" not in output  # nobody answered
    assert "heat" in output


def test_labels_follow_checkpoints_and_files_of_one_label_count_together(runs: tuple[Path, Path]) -> None:
    assert row(diagnose(*runs, "--label", "step 0", "--label", "step 9").output, "step").split() == [
        *("step", "0", "step", "9"),
    ]
    together = diagnose(*runs, "--label", "both", "--label", "both").output
    assert row(together, "episodes").split() == ["episodes", "7"]
    assert "1 labels" in diagnose(*runs, "--label", "both", code=2).output


def test_every_number_has_a_row() -> None:
    named = {section: {field for _, field in rows} for section, rows in _ROWS.values()}
    hints = Numbers.__annotations__
    assert named == {name: set(kind._fields) for name, kind in hints.items() if hasattr(kind, "_fields")}


def test_json_and_plots(runs: tuple[Path, Path], tmp_path: Path) -> None:
    diagnose(*runs, "--json", tmp_path / "found.json", "--plots", tmp_path / "plots")

    def no_constant(name: str) -> Any:
        raise AssertionError(name)

    found = json.loads((tmp_path / "found.json").read_text(), parse_constant=no_constant)
    assert found["schema"] == "rollback-gym/diagnosis/1"
    assert [one["label"] for one in found["runs"]] == ["before", "after"]
    assert found["runs"][0]["all"]["mistakes"]["failures_with_pivot"]["value"] == 2 / 3
    assert found["runs"][1]["by_kind"]["heat"]["episodes"] == 1
    assert {"figure-1.png", "figure-1.svg", "rollbacks.svg"} <= {one.name for one in (tmp_path / "plots").iterdir()}


def test_an_empty_run_and_half_a_line(runs: tuple[Path, Path], tmp_path: Path) -> None:
    empty, cut = tmp_path / "empty.jsonl", tmp_path / "cut.jsonl"
    empty.write_text("")
    assert row(diagnose(empty, "--json", tmp_path / "found.json").output, "episodes").split() == ["episodes", "0"]
    assert json.loads((tmp_path / "found.json").read_text())["runs"][0]["all"]["results"]["success"]["value"] is None
    cut.write_bytes(runs[0].read_bytes()[:-40])
    output = diagnose(cut).output
    assert row(output, "episodes").split() == ["episodes", "3"]
    assert "line 4" in output


def test_what_is_no_run_is_told_in_a_line(runs: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text('{"task": 1}\n')
    assert "line 1" in diagnose(tmp_path / "none.jsonl", code=2).output
    assert "error: " in diagnose(tmp_path / "missing.jsonl", code=2).output
    assert "error: " in diagnose(runs[0], "--plots", runs[1], code=2).output


def test_plots_without_matplotlib_are_refused_before_anything_is_played(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    output = diagnose(runs[0], "--counterfactual", "--plots", tmp_path / "plots", code=2).output
    assert output.splitlines() == ["error: Plots need matplotlib: pip install 'rollback-gym[plots]'."]
    assert not (tmp_path / "before.jsonl.replays").exists()


def test_replays_are_kept_beside_the_run_and_counted_in_all_outputs(tmp_path: Path) -> None:
    made = Made("Rollback-ALFWorld-v0", {"max_turns": 12})
    env, policy = make_env(made), make_policy("noisy-oracle", rate=0.5)
    run = tmp_path / "run.jsonl"
    write(run, [play(env, policy, id=f"{seed}-0", made=made, seed=seed) for seed in range(4)])
    output = diagnose(run, "--counterfactual", "--samples", 2, "--json", tmp_path / "found.json").output
    assert "correct the pivot" in output
    arms = json.loads((tmp_path / "found.json").read_text())["runs"][0]["counterfactual"]
    assert arms["go on"]["replays"] == 2 * arms["go on"]["episodes"] > 0
    kept = (tmp_path / "run.jsonl.replays").read_bytes()
    again = diagnose(run, "--counterfactual", "--samples", 2, "--replays", tmp_path / "elsewhere").output
    assert again == output
    assert (tmp_path / "elsewhere" / "run.jsonl.replays").read_bytes() == kept
    assert "another record, policy or seed" in diagnose(run, "--counterfactual", "--seed", 1, code=2).output
