"""The code in the documentation runs, block after block, as a reader would type it."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if BLOCK.search(page.read_text(encoding="utf-8"))
]
SKETCHES = {"docs/pivotopd.md"}
"""Pages whose code is about objects that the reader has."""
EXTRAS = {"datasets", "openenv", "pettingzoo", "sb3_contrib", "torch", "transformers", "trl"}


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if '"run.jsonl"' in text:
        _run(tmp_path / "run.jsonl")
    namespace: dict[str, Any] = {"__name__": f"docs_{Path(page).stem}"}
    missing = set()
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 2
        code = compile("\n" * (line - 1) + block[1], page, "exec")
        if page in SKETCHES or '"Qwen/' in block[1]:  # whose weights would be downloaded
            continue
        try:
            exec(code, namespace)
        except ImportError as error:
            needed = {name for name in EXTRAS if re.search(rf"\b{name}\b", f"{error.name} {error}")}
            if not needed:
                raise
            missing |= needed
        except NameError:
            if not missing:  # else it speaks of what a block before would have made
                raise
    if missing:
        pytest.skip(f"some of its code needs {', '.join(sorted(missing))}")


def _run(file: Path) -> None:
    """A few episodes, for code that reads a run."""
    from rollback_gym.play.records import Made
    from rollback_gym.play.run import Plan, run

    run(Plan(Made("Rollback-Sokoban-v0", {"max_turns": 8}), "random", {}, 4), file)
