"""The side by side comparison: what it prints, its exit code, and how it goes on after an interruption."""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from rollback_gym.cli import app
from rollback_gym.cli.differences import plain, side_by_side
from rollback_gym.cli.fidelity import fidelity
from rollback_gym.cli.sources import SOURCES, Source
from rollback_gym.cli.theme import THEME
from rollback_gym.fidelity import Comparison, Difference

MODULE = sys.modules[fidelity.__module__]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The games that were really played. Game g7 differs; playing g9 is interrupted while `stop` is in the list."""
    order: list[str] = []

    def compare(id: str, content: bytes, steps: int, seed: int) -> Comparison:
        if id == "g9" and "stop" in order:
            raise KeyboardInterrupt
        order.append(id)
        difference = Difference(3, "open box 1", "observation", "It is empty.", "It is full.") if id == "g7" else None
        return Comparison(id, steps, id == "g1", Counter({"go": 2, "(won)": 1}), difference)

    source = Source([f"g{n}" for n in range(10)], compare, str.encode)
    monkeypatch.setitem(SOURCES, "toy", lambda data, split, original: source)
    return order


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["fidelity", "toy", *arguments], env={"COLUMNS": "100"})


def test_no_difference(played: list[str]) -> None:
    out = run("--games", "3", "--steps", "5", "--seed", "2")
    assert out.exit_code == 0
    assert out.stdout.splitlines()[-1] == "games 3 steps 15 differences 0"
    assert "go" in out.stdout
    assert len(played) == 3


def test_a_difference_is_shown_and_is_exit_code_1(played: list[str]) -> None:
    out = run("--games", "99")
    assert out.exit_code == 1
    assert out.stdout.splitlines()[-1] == "games 10 steps 600 differences 1"
    assert "observation at turn 3, 'open box 1'" in out.stdout
    assert "[empty.]" in out.stdout
    assert "[full.]" in out.stdout


def test_from_leaves_out_the_first(played: list[str]) -> None:
    run("--games", "10", "--seed", "4")
    everything = played.copy()
    run("--games", "10", "--seed", "4", "--from", "7")
    assert played[10:] == everything[7:]


def test_a_rerun_skips_what_is_in_the_file(played: list[str], tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    first = run("--games", "10", "--json", str(file))
    again = run("--games", "10", "--json", str(file))
    assert len(played) == 10
    assert first.stdout == again.stdout
    assert first.exit_code == again.exit_code == 1


def test_it_goes_on_after_an_interruption_and_a_torn_line(played: list[str], tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    played.append("stop")
    out = run("--games", "10", "--json", str(file))
    assert out.exit_code == 130
    assert "run it again to go on" in out.stdout
    before = played.copy()
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole + '{"id": "g9", "st', encoding="utf-8")
    played.remove("stop")
    assert run("--games", "10", "--json", str(file)).exit_code == 1
    assert sorted(played) == [f"g{n}" for n in range(10)]
    assert len(played) > len(before) - 1
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 10


@pytest.mark.parametrize("content", ["no json\n", "[1]\n", '{"id": 1}\n'])
def test_a_file_of_something_else_is_left_alone(played: list[str], tmp_path: Path, content: str) -> None:
    file = tmp_path / "games.jsonl"
    file.write_text(content, encoding="utf-8")
    out = run("--json", str(file))
    assert out.exit_code == 2
    assert "line 1" in out.stderr
    assert file.read_text(encoding="utf-8") == content
    assert not played


def test_a_file_of_other_settings_is_refused(played: list[str], tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    run("--steps", "5", "--json", str(file))
    out = run("--steps", "6", "--json", str(file))
    assert out.exit_code == 2
    assert "--steps 5 --seed 0" in out.stderr


def test_what_cannot_be_compared() -> None:
    assert CliRunner().invoke(app, ["fidelity", "chess"]).exit_code == 2
    assert CliRunner().invoke(app, ["fidelity", "alfworld", "--data", "/nowhere"]).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("minesweeper",), "--original"),
        (("webshop",), "web_agent_site"),
        (("minesweeper", "--data", "x"), "leave --data out"),
        (("sokoban", "--data", "x"), "leave --data out"),
        (("alfworld", "--original", "x"), "leave --original out"),
        (("minesweeper", "--original", "/nowhere"), "expected a checkout of RetroAgent"),
        (("webshop", "--original", "/nowhere"), "expected a folder that holds web_agent_site"),
    ],
)
def test_without_an_original_it_says_what_to_pass(arguments: tuple[str, ...], said: str) -> None:
    out = CliRunner().invoke(app, ["fidelity", *arguments])
    assert out.exit_code == 2
    assert said in out.stderr
    assert out.stderr.count("\n") == 1


@pytest.mark.parametrize("installed", [True, False])
def test_sokoban_goes_by_what_is_installed(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if installed:
        pytest.importorskip("gym_sokoban", reason="needs gym-sokoban 0.0.6, to be played beside ours")
    else:
        monkeypatch.setitem(sys.modules, "gym_sokoban.envs.sokoban_env", None)
    out = CliRunner().invoke(app, ["fidelity", "sokoban", "--games", "2", "--steps", "5"])
    assert out.exit_code == (0 if installed else 2)
    assert "differences 0" in out.stdout if installed else "pip install gym-sokoban" in out.stderr


@pytest.mark.parametrize("name", ["minesweeper", "sokoban"])
def test_beside_retroagent(name: str) -> None:
    checkout = os.environ.get("ROLLBACK_GYM_RETROAGENT")
    if checkout is None:
        pytest.skip("set ROLLBACK_GYM_RETROAGENT to a checkout of RetroAgent to play it as well")
    if name == "sokoban":
        pytest.importorskip("gym_sokoban", reason="RetroAgent's Sokoban needs gym-sokoban 0.0.6")
    out = CliRunner().invoke(app, ["fidelity", name, "--games", "3", "--original", checkout])
    assert out.stdout.splitlines()[-1].endswith("differences 0")
    assert out.exit_code == 0


def test_alfworld_beside_the_genuine_engine() -> None:
    pytest.importorskip("textworld")
    pytest.importorskip("alfworld")
    arguments = ["fidelity", "alfworld", "--games", "1", "--steps", "3", "--split", "valid_unseen"]
    out = CliRunner().invoke(app, arguments)
    assert out.stdout.splitlines()[-1] == "games 1 steps 3 differences 0"


# --- side by side ---


def shown(ours: Any, theirs: Any) -> str:
    console = Console(theme=THEME, width=100)
    with console.capture() as capture:
        console.print(side_by_side(plain(ours), plain(theirs)))
    return capture.get()


def test_actions_that_only_one_has() -> None:
    out = shown(("look", "open box 1"), ("look", "go to box 1"))
    assert "open box 1" in out
    assert "go to box 1" in out
    assert "look" not in out


def test_actions_in_another_order_or_number() -> None:
    assert "number 2 on" in shown(("a", "b", "c"), ("a", "c", "b"))
    assert "number 2 on" in shown(("a",), ("a", "a"))


def test_fields_of_a_state() -> None:
    one = Difference(1, "x", "y", (1, 2), True)
    out = shown(one, one._replace(turn=2))
    assert "turn" in out
    assert "command" not in out


def test_anything_else() -> None:
    assert "True" in shown(True, False)
    assert "0.5" in shown(0.5, "half")
