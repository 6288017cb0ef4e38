"""What `mkdocs build` does besides turning pages into HTML: see `mkdocs.yml`.

Pages hold markers, which are comments where the page is read without the site:

    <!-- summary: rollback_gym/envs/alfworld/env.py ALFWorldEnv -->    the first sentence of the class's docstring
    <!-- contract: rollback_gym/envs/alfworld/env.py ALFWorldEnv -->   all else that the docstring says
    <!-- playthrough: alfworld-0 3 -->                                 how a recorded episode begins, three actions long
    <!-- example: run -->                                              a run's page in a frame, with a link to it
    <!-- example: episode -->                                          the same, at an episode with a rollback
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

from contracts import contract, markdown  # noqa: E402  # beside this file, which is no package

MAPPED = "wrappers", "oracles", "trainer"
"""Folders that are installed inside `rollback_gym`, as `pyproject.toml` says."""
OF_THE_ROOT = "CHANGELOG.md", "CONTRIBUTING.md"
"""Files above `docs` that are pages of the site, too."""
EPISODES = 6

EXAMPLE = "example/run.html"

_CONTRACT = re.compile(r"<!-- (summary|contract): (\S+) (\S+) -->")
_PLAYTHROUGH = re.compile(r"<!-- playthrough: (\S+) (\d+) -->")
_LIVE = re.compile(r"<!-- example: (run|episode) -->")


@event_priority(100)  # before mkdocstrings looks at its settings
def on_config(config: Any) -> Any:
    """Show griffe the packages as they are installed: the mapped folders inside `rollback_gym`."""
    handlers = config.plugins["mkdocstrings"].config.handlers
    handlers.setdefault("python", {})["paths"] = [str(_as_installed())]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what is in no folder of documentation: two files of the root, and a run as its page."""
    for name in OF_THE_ROOT:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    files.append(File.generated(config, EXAMPLE, content=_example().page))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put what the markers stand for in their place."""
    up = "../" * page.file.src_uri.count("/")
    markdown = _CONTRACT.sub(lambda match: _contract(match[1], ROOT / match[2], match[3], up), markdown)
    markdown = _PLAYTHROUGH.sub(lambda match: _playthrough(match[1], int(match[2])), markdown)
    for name in OF_THE_ROOT:  # links are written as they are in the repository
        markdown = markdown.replace(f"](../{up}{name}", f"]({up}{name}")
    return _LIVE.sub(lambda match: _frame(up + EXAMPLE, match[1]), markdown)


def _contract(part: str, source: Path, name: str, up: str) -> str:
    told = contract(source, name)
    text = told.summary if part == "summary" else markdown(told)
    return text.replace("docs/fidelity.md has", f"[Fidelity]({up}fidelity.md) has")


def _playthrough(name: str, actions: int) -> str:
    """The first lines of a recorded episode, the long ones cut."""
    text = (ROOT / "tests" / "playthroughs" / f"{name}.txt").read_text(encoding="utf-8")
    parts = text.split("\n\n")[1 : 2 + actions]
    lines = [line if len(line) <= 160 else line[:157] + "..." for line in "\n\n".join(parts).splitlines()]
    return "\n".join(["```{ .text .episode }", *lines, "```"])


def _frame(url: str, part: str) -> str:
    at = "" if part == "run" else f"#episode={quote(_example().with_rollback)}"
    return (
        f'<iframe class="live" src="{url}{at}" title="A run, turn by turn" loading="lazy"></iframe>\n'
        f'<p class="live"><a href="{url}{at}">The same, as a page of its own</a></p>'
    )


@cache
def _as_installed() -> Path:
    """A folder with `rollback_gym` in it as a wheel has it. Copies: griffe follows links to where they lead."""
    folder = tempfile.TemporaryDirectory(prefix="rollback-gym-docs-")
    _kept.append(folder)
    package = Path(folder.name) / "rollback_gym"
    shutil.copytree(ROOT / "rollback_gym", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in MAPPED:
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []
"""Removed when the build's process ends."""


class Example(NamedTuple):
    """A run that was played for the site."""

    page: str
    with_rollback: str
    """The id of an episode in which the agent goes back."""


@cache
def _example() -> Example:
    """Some episodes of a policy that errs on purpose, as the page that `rollback-gym report` draws."""
    from rollback_gym.play.records import read

    playing = f"run --policy noisy-oracle --set recovers=rollback --max-turns 30 --episodes {EPISODES} --out run.jsonl"
    with tempfile.TemporaryDirectory() as folder:
        _command(*playing.split(), folder=folder)
        _command("report", "run.jsonl", "--title", "An agent that errs, and goes back", folder=folder)
        episodes = list(read(Path(folder) / "run.jsonl"))
        with_rollback = next(one for one in episodes if any(act.target is not None for act in one.acts))
        return Example((Path(folder) / "run.html").read_text(encoding="utf-8"), with_rollback.id)


def _command(*words: str, folder: str) -> None:
    alone = {name: value for name, value in os.environ.items() if name not in ("ALFWORLD_DATA", "WEBSHOP_DATA")}
    start = [sys.executable, "-m", "rollback_gym"]
    done = subprocess.run([*start, *words], cwd=folder, env=alone, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"rollback-gym {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
