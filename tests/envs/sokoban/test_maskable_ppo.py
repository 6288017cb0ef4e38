"""A masked policy from outside trains on Sokoban, rollbacks included, as in `docs/examples/maskable_ppo.py`."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "maskable_ppo.py"


@pytest.mark.filterwarnings("default")  # those of other libraries are not ours to forbid
def test_the_example_trains() -> None:
    pytest.importorskip("torch", reason="needs torch and sb3-contrib: pip install sb3-contrib")
    pytest.importorskip("sb3_contrib", reason="needs sb3-contrib: pip install sb3-contrib")
    example = runpy.run_path(str(EXAMPLE))
    model = example["train"](512)
    assert model.num_timesteps == 512
    played = example["evaluate"](model, 5)
    assert played["illegal"] == 0
    assert played["rollbacks"] > 0
