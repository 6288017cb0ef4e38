"""The examples in the documentation of the doors and of vector environments run."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    (name, number, block)
    for name in ("doors", "vector")
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / f"{name}.md").read_text(), re.DOTALL))
]
NEEDED = {"sb3_contrib": "sb3-contrib", "openenv": "'rollback-gym[openenv]'"}


@pytest.mark.filterwarnings("default")  # those of other libraries are not ours to forbid
@pytest.mark.parametrize(("name", "number", "block"), BLOCKS, ids=[f"{name}-{number}" for name, number, _ in BLOCKS])
def test_the_examples_in_the_documentation_run(name: str, number: int, block: str) -> None:
    if "Qwen/" in block:
        compile(block, f"{name}.md", "exec")  # it would load a model; trl_grpo.py is the same with a tiny one
        return
    for library, extra in NEEDED.items():
        if library in block:
            pytest.importorskip(library, reason=f"needs {extra}")
    exec(compile(block, f"{name}.md, block {number}", "exec"), {"__name__": "example"})
