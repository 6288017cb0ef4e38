"""Many episodes in texts: groups that begin alike, episodes that are over, and nothing left to chance."""

import functools
import runpy
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import rollback_gym
from rollback_gym.doors.batch import Slots, TextBatch
from rollback_gym.oracles import for_env

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "text_batch.py"
ALFWORLD = "Rollback-ALFWorld-v0"


def said(action: str) -> str:
    return f"<think>Hm.</think><action>{action}</action>"


def batch(env_num: int = 2, group_n: int = 3, **options: Any) -> TextBatch:
    return TextBatch(ALFWORLD, env_num=env_num, group_n=group_n, **options)


def test_the_shapes_are_those_that_trainers_ask_for() -> None:
    made = batch()
    observations, infos = made.reset()
    assert observations.keys() == {"text", "image", "anchor"}
    assert observations["image"] is None
    assert [len(observations["text"]), len(observations["anchor"]), len(infos)] == [6, 6, 6]
    observations, rewards, dones, infos = made.step([said("look")] * 6)
    assert (rewards.shape, rewards.dtype, dones.shape, dones.dtype) == ((6,), np.float32, (6,), bool)
    for info in infos:
        assert info["is_action_valid"] is True
        assert info["env_action"] == "look"
        assert info["tool_calling"] == 0.0
        assert info["won"] is False
    assert made.success_evaluator(total_infos=[])["success_rate"].tolist() == [0.0] * 6
    made.close()


def test_a_group_begins_alike_and_groups_differ() -> None:
    made = batch(seed=5)
    text = made.reset()[0]["text"]
    assert text[0] == text[1] == text[2] != text[3] == text[4] == text[5]
    again = made.reset()[0]["text"]
    assert again[0] == again[1] not in text
    assert batch(seed=5).reset()[0]["text"] == text
    assert batch(seed=7).reset()[0]["text"] == again


def test_starts_may_be_given_for_each_group_or_each_episode() -> None:
    made, level = batch(), rollback_gym.levels(ALFWORLD)[7]
    _, infos = made.reset([{"level": level}, {"seed": 1}])
    assert [info["level"] == level for info in infos] == [True] * 3 + [False] * 3
    text = made.reset([{"seed": 3}] * 3 + [{"seed": 4}] * 3)[0]["text"]
    assert text == batch().reset([{"seed": 3}, {"seed": 4}])[0]["text"]
    with pytest.raises(ValueError, match="group 0"):
        made.reset([{"seed": n} for n in range(6)])
    with pytest.raises(ValueError, match="Expected 2 starts, or 6, got 3"):
        made.reset([{}] * 3)


def test_a_rollback_goes_back_in_its_own_episode_alone() -> None:
    made = batch(1, 2, anchor="state")
    start = made.reset()[0]["anchor"]
    plan = _plan(made)
    away = made.step([said(plan[0])] * 2)[0]["anchor"]
    observations, _, _, infos = made.step([said('rollback(0, "no")'), said(plan[1])])
    assert away[0] == away[1] != start[0]
    assert observations["anchor"][0] == start[0]
    assert observations["anchor"][1] not in (start[0], away[0])
    assert infos[0]["rollback"]["reason"] == "no"
    assert "rollback" not in infos[1]
    assert [info["tool_calling"] for info in infos] == [1.0, 0.0]
    assert "(You are back here since action 2" in observations["text"][0]


def test_the_anchor_is_the_bare_observation_by_default() -> None:
    made = batch(1, 1)
    assert made.reset()[0]["anchor"] == [made.seats[0].turns[0].observation]


def test_an_episode_that_is_over_stays_quiet() -> None:
    made = batch(1, 2)
    made.reset()
    plan = _plan(made)
    for action in plan:
        observations, rewards, dones, infos = made.step([said(action), said("look")])
    assert dones.tolist() == [True, False]
    assert infos[0]["won"] is True
    assert infos[0]["terminated"] is True
    assert rewards[0] > 0
    last, turns = observations["text"][0], len(made.seats[0].turns)
    observations, rewards, dones, infos = made.step([said("rollback(0)"), said("rollback(0)")])
    assert (rewards[0], dones[0], infos[0]["won"]) == (0.0, True, True)
    assert observations["text"][0] == last
    assert len(made.seats[0].turns) == turns
    assert made.success_evaluator()["success_rate"].tolist() == [1.0, 0.0]


def test_returns_add_up_to_what_was_paid() -> None:
    made = TextBatch("Rollback-Sokoban-v0", env_num=4, max_turns=12, boxes=1)
    made.reset()
    total = np.zeros(4)
    for turn in range(12):
        _, rewards, _, infos = made.step(
            [said(["up", "left", "rollback(1)", "down"][(turn + n) % 4]) for n in range(4)]
        )
        total += rewards
    assert total == pytest.approx([info["episode_return"] for info in infos], abs=1e-5)


@pytest.mark.parametrize(
    "answer", ["", "<think>", "no action\nat all", "<action></action>", "\ud800", "x" * 10**6, said("x" * 10**6), None]
)
def test_an_answer_without_an_action_spends_its_turn(answer: Any) -> None:
    made = batch(1, 1)
    made.reset()
    observations, rewards, _, infos = made.step([answer])
    assert infos[0]["is_action_valid"] is False
    assert infos[0]["turn"] == 1
    assert rewards[0] == 0
    assert len(observations["text"][0].encode("utf-8")) < 20_000


def test_what_is_refused_is_no_valid_action() -> None:
    made = batch(1, 2)
    made.reset()
    infos = made.step([said("rollback(9)"), said("fly to the moon")])[3]
    assert [info["is_action_valid"] for info in infos] == [False, False]


def test_only_the_last_turns_are_shown() -> None:
    made = batch(1, 1, history=2)
    made.reset()
    for action in ("look", "inventory", "look", "inventory"):
        text = made.step([said(action)])[0]["text"][0]
    assert "(2 earlier turns are left out.)" in text
    assert "[1]" not in text.split("left out")[1]
    assert all(f"[{number}]" in text for number in (3, 4))


def test_a_template_has_verl_agent_s_slots() -> None:
    fields = " | ".join(f"{name}={{{name}}}" for name in Slots._fields)
    made = batch(1, 1, template=fields, history=1)
    made.reset()
    made.step([said("look")])
    made.step([said("inventory")])
    made.step([said("rollback(1)")])
    text = made.step([said("look")])[0]["text"][0]
    assert f"task_description={made.seats[0].task} |" in text
    assert "step_count=4 | history_length=1" in text
    assert "[Observation 1: " in text
    assert "Action 4: 'look']" in text
    assert "inventory'" not in text.split("action_history=")[1].split("current_step")[0]
    assert "current_step=5 |" in text
    assert "current_observation=[4] " in text
    assert "'rollback(1)'" in text
    assert text.endswith("rollback_targets=0, 1")
    first = batch(1, 1, template=lambda slots: f"{slots.step_count}{slots.action_history}!").reset()[0]["text"]
    assert first == ["0!"]


def test_a_function_may_make_the_environments() -> None:
    make = functools.partial(gym.make, ALFWORLD, max_turns=1)
    made = TextBatch(make, env_num=1)
    made.reset()
    _, _, dones, infos = made.step([said("look")])
    assert dones[0]
    assert infos[0]["truncated"] is True
    with pytest.raises(TypeError, match="needs an id"):
        TextBatch(make, env_num=1, max_turns=2)


def test_what_is_called_wrongly_is_told() -> None:
    made = batch()
    with pytest.raises(ValueError, match="reset"):
        made.step(["look"] * 6)
    made.reset()
    with pytest.raises(ValueError, match="Expected 6 texts"):
        made.step(["look"])
    with pytest.raises(ValueError, match="Expected 6 texts"):
        made.step("looked")
    with pytest.raises(ValueError, match="env_num"):
        batch(0)
    with pytest.raises(ValueError, match="anchor"):
        batch(anchor="image")
    with pytest.raises(TypeError, match="text actions"):
        TextBatch("Rollback-Sokoban-v0", env_num=1, actions="discrete")


def test_the_example_runs() -> None:
    returns, won = runpy.run_path(str(EXAMPLE))["rollout"](2, 3)
    assert returns.shape == won.shape == (2, 3)


def _plan(made: TextBatch) -> tuple[str, ...]:
    env = made.seats[0].env
    base: Any = env.unwrapped
    return for_env(env).plan(base.level, base.state)
