"""The code in the documentation runs, block after block, as a reader would type it."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/your-environment.md", "docs/many-agents.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": f"docs_{Path(page).stem}"}
    for block in blocks:
        line = text[: block.start()].count("\n") + 2
        exec(compile("\n" * (line - 1) + block[1], page, "exec"), namespace)
