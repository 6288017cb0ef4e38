"""list, export, bench, and what every command does with what it cannot do."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import rollback_gym
from rollback_gym import registration
from rollback_gym.bench import Measure
from rollback_gym.cli import app
from rollback_gym.cli.bench import written
from rollback_gym.cli.errors import asked_for, polite
from rollback_gym.cli.rooms import BENCHES
from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld import bench
from rollback_gym.envs.alfworld.generator import generate
from rollback_gym.envs.alfworld.problem import read_game


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})


def test_version_and_help() -> None:
    assert run("--version").output == f"rollback-gym {rollback_gym.__version__}\n"
    for command in ("list", "demo", "play", "fidelity", "bench"):
        assert command in run("--help").output
        assert run(command, "-h").exit_code == 0
    assert run("export", "alfworld", "--help").exit_code == 0


def test_list_shows_every_environment_and_its_splits() -> None:
    out = run("list").output
    for id in registration._FACTORIES:
        assert id in out
    for word in ("valid_unseen", "3,000", "max_rollbacks", "eval", "65,535", "4,294,901,759"):
        assert word in out


@pytest.mark.parametrize("id", registration._FACTORIES)
def test_list_of_one_environment(id: str) -> None:
    out = run("list", id)
    assert out.exit_code == 0
    assert id in out.output
    assert "train" in out.output
    assert [other for other in registration._FACTORIES if other in out.output] == [id]


def test_list_of_levels() -> None:
    out = run("list", "Rollback-ALFWorld-v0", "--split", "valid_seen", "--levels")
    assert tuple(out.output.splitlines()) == tuple(rollback_gym.levels("Rollback-ALFWorld-v0", split="valid_seen"))


def test_list_of_data(tmp_path: Path) -> None:
    file = tmp_path / "game.tw-pddl"
    assert run("export", "alfworld", "--out", str(file)).exit_code == 0
    out = run("list", "--data", str(file)).output
    assert "Rollback-ALFWorld-v0" in out
    assert "MineSweeper" not in out


@pytest.mark.parametrize(
    "arguments", [("list", "Nothing-v0"), ("list", "--split", "nowhere"), ("list", "--data", "/nowhere")]
)
def test_list_of_what_there_is_not(arguments: tuple[str, ...]) -> None:
    out = run(*arguments)
    assert out.exit_code == 2
    assert out.stderr.startswith("error: ")
    assert out.stderr.count("\n") == 1


def test_export(tmp_path: Path) -> None:
    file = tmp_path / "game.tw-pddl"
    arguments = (
        "export",
        "alfworld",
        "--seed",
        "3",
        "--split",
        "valid_unseen",
        "--difficulty",
        "0.5",
        "--out",
        str(file),
    )
    out = run(*arguments)
    assert out.exit_code == 0
    game = generate(3, "valid_unseen", None, 0.5)
    assert game.task in out.output
    assert read_game(file.read_bytes(), "file").problem == game.problem
    again = run(*arguments)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert run(*arguments, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--task-type", "juggle"),
        ("--difficulty", "9"),
        ("--split", "x"),
        ("--out", "/nowhere/game.tw-pddl"),
        ("--out", "x"),
    ],
)
def test_export_of_what_there_is_not(tmp_path: Path, option: str, value: str) -> None:
    out = run("export", "alfworld", "--out", str(tmp_path / "game.tw-pddl"), option, value)
    assert out.exit_code == 2
    assert out.stderr.count("\n") == 1


# --- bench ---


def test_bench_measures_what_is_played_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"_LIVE": 3, "_PAIRS": 20, "_RESETS": 20, "_GAMES": 4, "_CALLS": 50}.items():
        monkeypatch.setattr(bench, name, value)
    file = tmp_path / "bench.json"
    out = run("bench", "alfworld", "--games", "0", "--json", str(file))
    assert out.exit_code == 0
    assert "left out" in out.output
    result = json.loads(file.read_text(encoding="utf-8"))
    measured = {measure["name"]: measure for measure in result["measures"]}
    for name in ("step", "load and reset", "restore", "L(s), median"):
        assert 0 < measured[name]["value"] < 1
        assert measured[name]["reference"] is None
    assert result["machine"]["processor"]


ROOMS = {
    "minesweeper": ["step, simulator", "step", "reset", "snapshot and restore", "L(s)", "belief, median"],
    "sokoban": [
        *("step, simulator", "step", "reset", "snapshot and restore", "snapshot and restore, state", "L(s)"),
        *("table, median", "room of 10 x 10", "table of 10 x 10"),
    ],
    "webshop": [
        *("first gym.make", "first gym.make, cached", "step, simulator", "step", "new search", "reset"),
        *("snapshot, game", "L(s), median", "L(s), 99th percentile", "optimal actions, median"),
    ],
}


@pytest.mark.parametrize("name", ROOMS)
def test_bench_of_a_room(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = import_module(BENCHES[name])
    small = {"_SECONDS": 0.0, "_LEVELS": 50, "_BATCH": 100, "_ROOMS": 1, "_CALLS": 10, "_LIVE": 3, "_WALKS": 5}
    for constant, value in small.items():
        monkeypatch.setattr(module, constant, value, raising=False)
    file = tmp_path / "bench.json"
    out = run("bench", name, "--games", "0", "--json", str(file))
    assert out.exit_code == 0
    measured = {one["name"]: one for one in json.loads(file.read_text(encoding="utf-8"))["measures"]}
    assert set(ROOMS[name]) <= set(measured)
    assert all(one["value"] > 0 or one["unit"] == "MB" for one in measured.values())
    assert "left out: not asked for" in " ".join(out.output.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("alfworld", "--original", "x"), "leave --original out"),
        (("minesweeper", "--data", "x"), "leave --data out"),
        (("sokoban", "--data", "x"), "leave --data out"),
        (("minesweeper", "--split", "x"), "there are train, valid"),
        (("sokoban", "--split", "x"), "there are train, valid"),
        (("webshop", "--split", "x"), "there are test, eval, train"),
        (("minesweeper", "--original", "/nowhere"), "expected a checkout of RetroAgent"),
        (("sokoban", "--original", "/nowhere"), "expected a checkout of RetroAgent"),
        (("webshop", "--original", "/nowhere"), "expected a folder that holds web_agent_site"),
    ],
)
def test_bench_of_what_there_is_not_in_a_room(arguments: tuple[str, ...], said: str) -> None:
    out = run("bench", *arguments)
    assert out.exit_code == 2
    assert said in out.stderr


@pytest.mark.parametrize("name", ROOMS)
def test_bench_says_what_to_pass(name: str) -> None:
    missing = import_module(BENCHES[name]).reference_missing()
    assert "--original" in missing


def test_bench_all_is_one_after_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def measures(*_: object) -> Iterator[Measure]:
        yield Measure("step", 2e-5, "s")

    for module in BENCHES.values():
        monkeypatch.setattr(import_module(module), "measures", measures)
    file = tmp_path / "bench.json"
    out = run("bench", "all", "--games", "0", "--json", str(file))
    assert out.exit_code == 0
    assert [of["environment"] for of in json.loads(file.read_text(encoding="utf-8"))["benches"]] == list(BENCHES)
    refused = run("bench", "all", "--data", "games.zip")
    assert refused.exit_code == 2
    assert "belong to one bench" in refused.stderr


def test_a_rate_is_better_for_being_larger() -> None:
    assert Measure("step", 1000.0, "steps/s", 50.0).ratio == 20
    assert Measure("step", 2e-5, "s", 5e-2).ratio == pytest.approx(2500)


def test_bench_shows_the_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    def measures(*_: object) -> Iterator[Measure]:
        yield Measure("step", 2e-5, "s", 5e-2, "a note")

    monkeypatch.setattr(bench, "measures", measures)
    monkeypatch.setattr(bench, "reference_missing", lambda original: None)
    out = run("bench", "alfworld").output
    assert "20 us" in out
    assert "50 ms" in out
    assert "2,500" in out


def test_bench_of_what_there_is_not() -> None:
    out = run("bench", "chess")
    assert out.exit_code == 2
    assert all(name in out.stderr for name in BENCHES)
    assert run("bench", "alfworld", "--data", "/nowhere").exit_code == 2


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.5, "s", "2.5 s"),
        (0.0123, "s", "12.3 ms"),
        (4.56e-6, "s", "4.56 us"),
        (2e-10, "s", "0.2 ns"),
        (1234, "MB", "1,234.0 MB"),
        (123456.7, "steps/s", "123,457 steps/s"),
    ],
)
def test_values_as_they_are_written(value: float, unit: str, text: str) -> None:
    assert written(value, unit) == text


# --- errors ---


def test_only_what_the_user_asked_for_is_polite() -> None:
    @polite
    def broken() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        broken()

    with pytest.raises(DataError, match="as it was"), asked_for():
        raise DataError("as it was")
