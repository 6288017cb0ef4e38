"""The rollback action: what is legal, what it costs, and how it ends, in hand-made episodes."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.wrappers.encodings import DiscreteEncoding, TextEncoding
from rollback_gym.wrappers.rollback import Rollback
from tests.toy import ToyEnv


def begun(*actions: Any, level: int = 5, max_turns: int = 12, **options: Any) -> Rollback:
    env = Rollback(ToyEnv(max_turns=max_turns), **options)
    env.reset(seed=0, options={"level": level})
    for action in actions:
        env.step(action)
    return env


def test_indices_count_every_action_and_paths_skip_them() -> None:
    env = begun("right", "dance", "rollback(1)", "rollback(99)", "right")
    assert [node.index for node in env.history.path] == [0, 1, 5]
    assert [node.index for node in env.history.nodes] == [0, 1, 2, 5]
    assert [event.index for event in env.history.rollbacks] == [3, 4]
    assert env.history.path[-1].parent is env.history.path[1]
    assert env.legal_targets() == (0, 1)


def test_abandoned_nodes_cannot_be_gone_back_to() -> None:
    env = begun("right", "take", "rollback(1)")
    info = env.step("rollback(2)")[4]
    assert "no node 2" in info["invalid_action"]
    assert "allowed targets: 0" in info["invalid_action"]


def test_the_current_node_is_no_target() -> None:
    assert "1 is the current node" in begun("right").step("rollback(1)")[4]["invalid_action"]


@pytest.mark.parametrize(
    ("targets", "legal", "message"),
    [
        ("any", (0, 1, 2), ""),
        ("previous", (2,), "only the previous node may be gone back to, not 1"),
        ("start", (0,), "only the start node may be gone back to, not 1"),
    ],
)
def test_targets(targets: Any, legal: tuple[int, ...], message: str) -> None:
    env = begun("right", "take", "right", targets=targets)
    assert env.legal_targets() == legal
    info = env.step("rollback(1)")[4]
    assert message in info.get("invalid_action", "")


def test_the_budget_is_not_given_back() -> None:
    env = begun("right", "take", max_rollbacks=2)
    env.step("rollback(1)")
    env.step("rollback(5)")
    assert env.rollbacks == 1
    env.step("rollback(0)")
    env.step("right")
    assert env.legal_targets() == ()
    info = env.step("rollback(0)")[4]
    assert info["invalid_action"] == "all 2 rollbacks are spent; no rollback is allowed now."
    assert begun("right", max_rollbacks=0).legal_targets() == ()


def test_refund_and_cost() -> None:
    env = begun("right", "take", cost=0.5)
    assert env.step("rollback(0)")[1] == pytest.approx(-0.1 - 0.3 - 0.5)
    env = begun("right", "take", refund=False)
    assert env.step("rollback(0)")[1] == 0.0


def test_costs_are_never_refunded() -> None:
    env = begun("right", "take", "rollback(1)", "take", cost=0.5)
    assert env.step("rollback(0)")[1] == pytest.approx(-0.1 - 0.3 - 0.5)


def test_a_rollback_on_the_last_turn_is_carried_out_then_truncates() -> None:
    env = begun("right", "take", max_turns=3)
    observation, _, terminated, truncated, info = env.step("rollback(0)")
    assert (observation, terminated, truncated) == ("", False, True)
    assert info["rollback"]["target"] == 0
    assert info["rollback_targets"] == ()
    with pytest.raises(gym.error.ResetNeeded):
        env.step("rollback(0)")


def test_rollbacks_give_no_turns_back() -> None:
    env = begun("right", "rollback(0)", "right", max_turns=4)
    assert env.step("rollback(0)")[3]


def test_a_win_is_final() -> None:
    env = begun(*["right"] * 4, revive=True)
    *_, terminated, _, info = env.step("right")
    assert terminated
    assert info["rollback_targets"] == ()
    with pytest.raises(gym.error.ResetNeeded):
        env.step("rollback(0)")


def test_without_revive_a_loss_is_final() -> None:
    env = begun("left")
    *_, terminated, _, info = env.step("left")
    assert terminated
    assert "failed" not in info
    with pytest.raises(gym.error.ResetNeeded):
        env.step("rollback(0)")


def test_revive_holds_a_lost_game_open_for_a_rollback() -> None:
    env = begun("left", revive=True)
    _, reward, terminated, truncated, info = env.step("left")
    assert (reward, terminated, truncated, info["failed"], info["won"]) == (-5.0, False, False, True, False)
    assert info["admissible_actions"] == ()
    assert info["rollback_targets"] == (0, 1)
    assert env.history.node.failed
    _, reward, terminated, _, info = env.step("rollback(1)")
    assert (reward, terminated) == (5.0, False)
    assert "failed" not in info
    assert env.step("right")[0] == ""


@pytest.mark.parametrize("action", ["right", "rollback(7)", "rollback()", ""])
def test_a_lost_game_that_is_not_taken_back_ends(action: str) -> None:
    env = begun("left", "left", revive=True)
    observation, reward, terminated, truncated, info = env.step(action)
    assert (observation, reward, terminated, truncated) == ("you fell", 0.0, True, False)
    assert info["invalid_action"]
    assert info["action_index"] == 3
    with pytest.raises(gym.error.ResetNeeded):
        env.step("rollback(0)")


@pytest.mark.parametrize("options", [{"max_rollbacks": 0}, {"max_turns": 2}])
def test_a_loss_that_nothing_can_take_back_is_final(options: dict[str, int]) -> None:
    env = begun("left", revive=True, **options)
    *_, terminated, truncated, info = env.step("left")
    assert (terminated, truncated) == (True, False)
    assert "failed" not in info


@pytest.mark.parametrize(
    ("text", "target", "reason"),
    [
        ("rollback(3)", 3, ""),
        ("  RollBack ( 3 )\n", 3, ""),
        ('rollback(3, "wrong drawer")', 3, "wrong drawer"),
        ("rollback(03,'it said \"no\"')", 3, 'it said "no"'),
        ("rollback(3, no quotes)", 3, "no quotes"),
        ('rollback(3, "two\nlines (and more)")', 3, "two\nlines (and more)"),
        ("rollback(3, )", 3, ""),
    ],
)
def test_ways_to_write_a_rollback(text: str, target: int, reason: str) -> None:
    request = TextEncoding().read(text, begun().history)
    assert request is not None
    assert (request.target, request.reason, request.problem) == (target, reason, None)


@pytest.mark.parametrize(
    "text",
    ["rollback", "rollback 3", "rollback()", "rollback(-1)", "rollback(1.5)", "rollback(٣)", "rollback(" + "9" * 99],
)
def test_ways_not_to_write_a_rollback_are_explained(text: str) -> None:
    env = begun("right")
    info = env.step(text)[4]
    assert "is not of the form rollback(index); allowed targets: 0." in info["invalid_action"]
    assert env.history.rollbacks[0].invalid == info["invalid_action"]


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for action in (text, "rollback" + text, f"rollback({text})"):
        begun("right").step(action)


def test_the_verb_is_an_option() -> None:
    env = begun("right", verb="undo")
    assert env.step("UNDO(0)")[4]["rollback"]["target"] == 0
    assert "rollback" not in env.step("rollback(0)")[4]
    for verb in ("", "go back", "3", None):
        with pytest.raises(ValueError, match="verb"):
            Rollback(ToyEnv(), verb=verb)  # type: ignore[arg-type]


def test_discrete_actions_and_their_mask() -> None:
    env = Rollback(ToyEnv(actions="discrete"), max_depth=2)
    _, info = env.reset(options={"level": 5})
    assert env.action_space == gym.spaces.Discrete(5)
    assert info["action_mask"].tolist() == [1, 1, 1, 0, 0]
    for _ in range(3):
        info = env.step(np.int64(1))[4]
    assert info["action_mask"].tolist() == [1, 1, 1, 1, 1]
    assert env.step(4)[4]["rollback"]["target"] == 1
    assert env.action_masks().tolist() == [1, 1, 1, 1, 0]
    assert "invalid_action" in env.step(4)[4]


def test_the_mask_of_a_lost_game_leaves_only_rollbacks() -> None:
    env = Rollback(ToyEnv(actions="discrete"), revive=True, max_depth=3)
    env.reset(options={"level": 5})
    env.step(0)
    info = env.step(0)[4]
    assert info["action_mask"].tolist() == [0, 0, 0, 1, 1, 0]


def test_discrete_spaces_that_do_not_start_at_zero() -> None:
    env = begun("right", "right")
    encoding = DiscreteEncoding(gym.spaces.Discrete(3, start=5), max_depth=4)
    assert encoding.space.contains(np.int64(11))
    assert not encoding.space.contains(np.int64(12))
    assert encoding.write(0, env.history) == 9
    request = encoding.read(9, env.history)
    assert request is not None
    assert request.target == 0


def test_masks_are_for_discrete_actions() -> None:
    with pytest.raises(TypeError, match="Only Discrete"):
        begun().action_masks()


def test_other_actions_choose_between_acting_and_going_back() -> None:
    env = Rollback(ToyEnv(actions="multi"))
    env.reset(options={"level": 5})
    assert isinstance(env.action_space, gym.spaces.OneOf)
    env.step((0, np.array([1, 0], np.int8)))
    assert env.step((1, 0))[4]["rollback"]["target"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": "all"}, "targets must be"),
        ({"max_rollbacks": -1}, "max_rollbacks must be a whole number"),
        ({"max_rollbacks": True}, "max_rollbacks must be a whole number"),
        ({"cost": float("nan")}, "cost must be a finite number"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rollback(ToyEnv(), **options)


def test_actions_that_are_none_are_the_games_to_refuse_or_told() -> None:
    env = Rollback(ToyEnv(actions="discrete"))
    env.reset(seed=0)
    for action in (None, [1], "left", float("nan")):
        with pytest.raises((TypeError, ValueError)):
            env.step(action)
    assert env.unwrapped.turn == 0
    several = Rollback(ToyEnv(actions="multi"))
    several.reset(seed=0)
    for action in (3, (2, 1), (0,), None, "ab"):
        with pytest.raises(TypeError, match="the game's action"):
            several.step(action)
    assert several.unwrapped.turn == 0


def test_a_mask_is_asked_for_in_an_episode_and_has_a_bound() -> None:
    with pytest.raises(ResetNeeded):
        Rollback(ToyEnv(actions="discrete")).action_masks()
    with pytest.raises(ValueError, match="smaller max_depth"):
        Rollback(ToyEnv(actions="discrete", max_turns=10**12))
    assert Rollback(ToyEnv(actions="discrete", max_turns=10**12), max_depth=5).action_space == spaces.Discrete(8)
