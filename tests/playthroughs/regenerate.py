"""Writes one episode of each environment and seed as a text that can be read: `<environment>-<seed>.txt`.

`python -m tests.playthroughs.regenerate` writes all of them; names after it, such as `minesweeper`, only those.
`tests/test_playthroughs.py` plays every episode again and compares. So a change in what an environment says, pays,
offers or draws shows as a difference in these files; where it was meant, write them anew and commit them with it.

An episode is played by optimal, random and inadmissible actions and by rollbacks, mixed by a generator of its own.
Every environment is made with `oracle=True, revive=True`, on the levels that need no data.
"""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym

import rollback_gym
from rollback_gym.oracles import for_env

FOLDER = Path(__file__).parent
SEEDS = (0, 1, 2)
TURNS = 24
DATA = ("ALFWORLD_DATA", "WEBSHOP_DATA")
"""Variables that would choose other levels."""
_NONSENSE = ("dance", "", "ROLLBACK (0, 'why not')", "rollback(99)", "rollback to the start")


def ids() -> list[str]:
    """Every registered environment."""
    assert rollback_gym.__version__
    return sorted(id for id in gym.registry if id.startswith("Rollback-"))


def path(id: str, seed: int) -> Path:
    """The file of an environment and a seed."""
    name = id.removeprefix("Rollback-").rpartition("-v")[0].lower()
    return FOLDER / f"{name}-{seed}.txt"


def playthrough(id: str, seed: int) -> str:
    """The text of an episode."""
    return "\n".join(_lines(id, seed)) + "\n"


def _lines(id: str, seed: int) -> Iterator[str]:
    env = gym.make(id, oracle=True, revive=True, disable_env_checker=True)
    rng = random.Random(f"{id} {seed}")
    observation, info = env.reset(seed=seed)
    yield f"{id}, reset(seed={seed}); see tests/playthroughs/regenerate.py"
    yield f"level: {info['level']}"
    yield f"task: {info['task']}"
    yield ""
    yield from _node(observation, info)
    for _ in range(TURNS):
        action = _action(env, info, rng)
        observation, reward, terminated, truncated, info = env.step(action)
        yield ""
        yield f"[{info['action_index']}] > {action!r}"
        yield f"reward {reward:g}" + terminated * ", terminated" + truncated * ", truncated" + _judged(info)
        for key in ("invalid_action", "rollback"):
            if key in info:
                yield f"{key}: {info[key]}"
        yield from _node(observation, info)
        if terminated or truncated:
            break
    yield ""
    yield f"state {env.unwrapped.state_digest()}"  # type: ignore[attr-defined]


def _node(observation: str, info: dict[str, Any]) -> Iterator[str]:
    yield from ("  | " + line for line in observation.split("\n"))
    known = info["oracle"]
    facts = [f"L {known['distance']:g}", f"with rollback {known['distance_with_rollback']:g}"]
    facts += [name for name in ("won", "failed") if info.get(name)]
    yield f"turn {info['turn']}, {', '.join(facts)}, rollback to {list(info['rollback_targets'])}"
    yield f"{len(info['admissible_actions'])} admissible: {'; '.join(info['admissible_actions'])}"


def _judged(info: dict[str, Any]) -> str:
    known = info["oracle"]
    grade = f", {known['grade']} (regret {known['regret']:g})" if "grade" in known else ""
    named = "".join(f", {name}" for name in ("pivotal", "justified", "budget_fatal") if known.get(name))
    return grade + named


def _action(env: gym.Env[Any, Any], info: dict[str, Any], rng: random.Random) -> str:
    targets, admissible, draw = info["rollback_targets"], info["admissible_actions"], rng.random()
    if targets and (info.get("failed") or draw < 0.12):
        return f'rollback({_one(targets, rng)}, "again from there")'
    if draw < 0.2 or not admissible:
        return str(_one(_NONSENSE, rng))
    base: Any = env.unwrapped
    best = for_env(env).optimal_actions(base.level, base.state)
    return str(_one(best if best and draw < 0.6 else admissible, rng))


def _one(choices: Any, rng: random.Random) -> Any:
    return choices[int(rng.random() * len(choices))]


def main() -> None:
    """Write the files."""
    for variable in DATA:
        os.environ.pop(variable, None)
    for id in ids():
        for seed in SEEDS:
            file = path(id, seed)
            if len(sys.argv) < 2 or file.name.rpartition("-")[0] in sys.argv[1:]:
                file.write_text(playthrough(id, seed), encoding="utf-8")
                print(file)


if __name__ == "__main__":
    main()
