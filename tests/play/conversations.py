"""Writes what a model is sent in each environment: `prompts/<environment>-<style>.txt`.

`python -m tests.play.conversations` writes all of them; `test_prompts.py` compares.
"""

from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym

import rollback_gym
from rollback_gym.play.playing import Table, turn
from rollback_gym.play.policies import Turn, View
from rollback_gym.play.prompts import Prompts, prompt
from rollback_gym.play.records import Call

FOLDER = Path(__file__).parent / "prompts"
STYLES = {
    "dialogue": Prompts(),
    "single": Prompts(style="single", window=2, think=False),
}
ACTIONS = {
    "ALFWorld": ["go to cabinet 4", "dance", 'rollback(1, "cabinet 4 is closed")', "rollback(9)", "open cabinet 4"],
    "WebShop": ["search[lamp]", "click[next >]", "rollback(1)", "click[nothing]"],
    "Sokoban": ["right", "up", 'rollback(0, "the box is in a corner")', "sideways"],
    "MineSweeper": ["(5, 5)", "(3, 3)", 'rollback(1, "a mine")', "(9, 9)"],
}


def view(env: str) -> View:
    """What an agent sees after the actions; each was said by a model that thought first, the first nonsense apart."""
    made = gym.make(f"Rollback-{env}-v0", disable_env_checker=True, revive=True)
    observation, info = made.reset(seed=0)
    table = Table(made)
    turns = [Turn(0, None, observation, admissible=info["admissible_actions"])]
    for action in ACTIONS[env]:
        info = made.step(action)[4]
        call = Call((), f"<think>so</think><action>{action}</action>", 0.0)
        turns.append(turn(table.history.last, info, call))
    info = made.step("")[4]
    turns.append(turn(table.history.last, info, Call((), "Hm.", 0.0, "there is no <action> </action>")))
    return table.view(tuple(turns), info)


def conversation(env: str, style: str) -> str:
    """The messages, as a text to be read."""
    seen = view(env)
    messages = prompt(seen.env, seen.task, seen.turns, STYLES[style], seen.going_back, seen.max_turns)
    return "\n\n".join(f"=== {message['role']}\n{message['content']}" for message in messages) + "\n"


def files() -> Iterator[tuple[Path, str, str]]:
    """Every file, with the environment and the style in it."""
    for env in ACTIONS:
        for style in STYLES:
            yield FOLDER / f"{env.lower()}-{style}.txt", env, style


if __name__ == "__main__":
    assert rollback_gym.__version__
    FOLDER.mkdir(exist_ok=True)
    for path, env, style in files():
        path.write_text(conversation(env, style), encoding="utf-8")
