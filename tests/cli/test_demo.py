"""The demo: for every seed a mistake that raises L, a rollback that pays, and a win; drawn for any screen."""

import itertools
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rollback_gym.cli import app, demo
from rollback_gym.cli.demo import perform
from rollback_gym.core.history import Node

ESCAPE = "\x1b"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-c", "from rollback_gym.cli import main; main()", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**plain, **environment}, encoding="utf-8"
    )


@pytest.mark.parametrize("seed", range(100))
def test_every_seed_makes_a_mistake_and_takes_it_back(seed: int) -> None:
    show = perform(seed)
    assert show.slip is not None
    assert show.undone is not None
    history, lengths = show.history, show.lengths
    (back,) = history.rollbacks
    assert back.index == show.undone
    assert back.reason
    assert back.target is not None
    pivot = back.abandoned[0]
    target = back.target.index
    assert lengths[pivot] > lengths[target], "the first abandoned action is the pivotal mistake"
    assert 1 + lengths[target] < lengths[back.index - 1], "going back pays"
    before = [node.index for node in history.path if node.index <= target]
    assert all(lengths[after] <= lengths[node] for node, after in itertools.pairwise(before))
    assert lengths[history.index] == 0
    assert not math.isinf(max(lengths.values()))
    assert all(node.invalid is None for node in history.nodes)


def test_the_mistakes_are_of_many_kinds_and_are_followed_by_more() -> None:
    slips = [show.slip for show in map(perform, range(40)) if show.slip is not None]
    assert len({slip.kind for slip in slips}) >= 5
    assert all(len(slip.actions) > slip.pivot + 1 for slip in slips)


def test_the_oracle_s_verdicts_are_shown() -> None:
    out = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "100"})
    assert out.exit_code == 0
    assert "pivotal mistake: setback" in out.output
    assert re.search(r"saves \d turns: 1 \+ \d < \d", out.output)
    assert re.search(r"Won in \d+ turns\. Without going back it would have taken \d+\.", out.output)


def test_where_no_mistake_is_to_be_made_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module(), "choose", lambda *_: None)
    out = CliRunner().invoke(app, ["demo"])
    assert out.exit_code == 0
    assert "the agent made none" in " ".join(out.output.replace("│", " ").split())


def demo_module() -> object:
    return sys.modules[demo.__module__]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    for seed in range(5):
        out = CliRunner().invoke(app, ["demo", "--seed", str(seed)], env={"COLUMNS": str(width)})
        assert out.exit_code == 0
        assert max(map(len, out.output.splitlines())) <= width


def test_piped_output_and_no_color_hold_no_escapes() -> None:
    assert ESCAPE not in run("demo").stdout
    forced = run("demo", FORCE_COLOR="1").stdout
    assert ESCAPE in forced
    assert "\x1b[31m" not in run("demo", FORCE_COLOR="1", NO_COLOR="1").stdout


def test_the_same_in_every_process() -> None:
    first, second = (run("demo", "--seed", "7", PYTHONHASHSEED=seed).stdout for seed in ("1", "2"))
    assert first == second
    assert "Won in" in first


def test_a_terminal_that_shows_only_ascii() -> None:
    out = run("demo", PYTHONIOENCODING="ascii")
    assert out.returncode == 0
    assert out.stdout.isascii()
    assert "?" not in out.stdout


def test_the_picture(tmp_path: Path) -> None:
    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for file in files:
        out = CliRunner().invoke(app, ["demo", "--svg", str(file)], env={"NO_COLOR": "1"})
        assert out.exit_code == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    words = "".join(ET.parse(files[0]).getroot().itertext())
    assert "pivotal" in words
    assert "#cc555a" in files[0].read_text(encoding="utf-8"), "in colour, whatever the screen"


def test_a_picture_that_cannot_be_written(tmp_path: Path) -> None:
    out = CliRunner().invoke(app, ["demo", "--svg", str(tmp_path / "missing" / "x.svg")])
    assert out.exit_code == 2
    assert "missing" in out.stderr


def test_another_split_and_level() -> None:
    show = perform(1, split="valid_unseen")
    assert show.level.startswith("valid_unseen/")
    again = perform(1, level=show.level)
    assert again.level == show.level
    assert isinstance(again.history.nodes[-1], Node)
