"""The commands in the documentation of runs, diagnoses and data sets run, in their order, in one folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/index.md", "docs/playing.md", "docs/diagnosis.md", "docs/datasets.md"]
COMMANDS = "run", "replay", "diagnose", "report", "dataset"
FEWER = {"--episodes": "6", "--records": "12", "--samples": "1"}
"""Options as the tests have time for."""


def commands(page: str) -> list[list[str]]:
    lines = re.findall(r"^    rollback-gym (.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    return [words for line in lines if (words := shlex.split(line))[0] in COMMANDS]


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    found = commands(page)
    assert found
    environment = {name: value for name, value in os.environ.items() if name not in ("ALFWORLD_DATA", "WEBSHOP_DATA")}
    for words in found:
        shorter = [FEWER.get(before, word) for before, word in zip(["", *words], words, strict=False)]
        if "--counterfactual" in words:
            shorter += ["--samples", "1"]
        told = subprocess.run(
            [sys.executable, "-m", "tests.cli.command", *shorter],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.returncode == 0, f"{shlex.join(words)}\n{told.stdout}\n{told.stderr}"
