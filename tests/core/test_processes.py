"""The same seed gives the same episode in every process, whatever the hash seed is."""

import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

import rollback_gym

_PLAY = """
import sys
from hashlib import sha256
import gymnasium as gym
import rollback_gym
from rollback_gym.core.codec import pack

seen = sha256()
env = gym.make(sys.argv[1], disable_env_checker=True)
for seed in range(3):
    observation, info = env.reset(seed=seed)
    for turn in range(25):
        seen.update(pack((observation, tuple(map(str, info["admissible_actions"])), str(info["level"]))))
        seen.update(env.unwrapped.state_digest().encode())
        action = info["admissible_actions"][(turn * 7 + seed) % len(info["admissible_actions"])]
        if turn % 6 == 5:
            action = f"rollback({info['rollback_targets'][turn // 6]})"
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    seen.update(rollback_gym.snapshot(env).to_bytes())
    env.reset()
print(seen.hexdigest())
"""


def play(env_id: str, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _PLAY, env_id], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("env_id", sorted(id for id in gym.registry if id.startswith("Rollback-")))
def test_hash_seeds_change_nothing(env_id: str) -> None:
    assert play(env_id, "0") == play(env_id, "4321")


def test_import_is_light() -> None:
    code = "import sys, rollback_gym; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    loaded = {name.partition(".")[0] for name in modules}
    assert not loaded & {"torch", "textworld", "alfworld", "numba", "rich", "typer", "hypothesis"}
    ours = {name for name in modules if name.startswith("rollback_gym.")}
    assert {name for name in ours if not name.startswith("rollback_gym.core")} == {"rollback_gym.registration"}


def test_import_costs_little_more_than_gymnasium() -> None:
    """What is imported stands for the time that it takes, which depends on the machine."""
    code = "import sys, gymnasium; a = {*sys.modules}; import rollback_gym; print(*sorted({*sys.modules} - a))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {name.partition(".")[0] for name in done.stdout.split()} - {"rollback_gym"} - sys.stdlib_module_names
    assert {name for name in others if not name.startswith("_")} <= {"cloudpickle", "gymnasium", "msgpack", "numpy"}


def test_every_package_is_declared() -> None:
    """A package that setuptools is not told of works in a checkout and is missing from the wheel."""
    import tomllib

    root = Path(__file__).parents[2]
    told = set(tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    inside = {".".join(file.parent.relative_to(root).parts) for file in (root / "rollback_gym").rglob("*.py")}
    mapped = {
        ".".join(("rollback_gym", *file.parent.relative_to(root).parts))
        for folder in ("wrappers", "oracles", "trainer")
        for file in (root / folder).rglob("*.py")
    }
    assert told == inside | mapped
    assert rollback_gym.__version__ == tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
