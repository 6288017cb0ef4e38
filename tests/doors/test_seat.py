"""An episode in texts: the same in all our games, in an environment of others, and after a restore."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import rollback_gym
from rollback_gym import SnapshotMismatch
from rollback_gym.core.snapshot import Snapshot
from rollback_gym.doors.seat import Seat
from rollback_gym.doors.tools import read_call, tools
from rollback_gym.play.policies import SEARCH
from rollback_gym.play.prompts import Prompts
from rollback_gym.wrappers import Rollback, Snapshots
from tests.toy import ToyEnv

IDS = ["ALFWorld", "WebShop", "Sokoban", "MineSweeper"]


def seat_of(name: str, **options: Any) -> Seat:
    return Seat(gym.make(f"Rollback-{name}-v0", **options))


def play(seat: Seat, random: np.random.Generator, turns: int) -> float:
    """Call what the schemas allow, and return what was paid."""
    paid = 0.0
    for _ in range(turns):
        if not seat.open:
            break
        now = seat.turns[-1]
        offered = tools(now.admissible, now.targets, seat.going_back)
        tool = offered[-1 if random.random() < 0.3 else 0]["function"]
        if tool["name"] == "rollback":
            index = tool["parameters"]["properties"]["index"]["enum"]
            arguments: dict[str, Any] = {"index": int(random.choice(index)), "reason": "no"}
        else:
            action = str(random.choice(now.admissible))
            arguments = {"action": "search[red shoe]" if action == SEARCH else action}
        read = read_call({"name": tool["name"], "arguments": arguments})
        came = seat.act(read.action or "", problem=read.problem)
        assert came.info.get("invalid_action") is None
        assert seat.told() == seat.messages(Prompts(window=1))[-1]["content"]
        paid += came.reward
    return paid


@pytest.mark.parametrize("name", IDS)
def test_every_game_is_played_by_its_schemas(name: str) -> None:
    seat = seat_of(name, max_turns=20)
    seat.begin(seed=3)
    assert not read_call({"name": "act", "arguments": {}}).action
    assert seat.task in seat.opening()
    assert "<action>" not in seat.opening()
    paid = play(seat, np.random.default_rng(0), 20)
    assert seat.earned == pytest.approx(paid)
    assert any(turn.rollback for turn in seat.turns)


@pytest.mark.parametrize("name", IDS)
def test_a_restored_episode_goes_on_as_it_would_have(name: str) -> None:
    seat = seat_of(name)
    seat.begin(seed=3)
    play(seat, np.random.default_rng(1), 8)
    data = rollback_gym.snapshot(seat.env).to_bytes()
    other = seat_of(name)
    other.restore(Snapshot.from_bytes(data))
    bare = Prompts(admissible=False, rollback=False)
    assert other.messages(bare) == seat.messages(bare)
    assert other.told() == seat.told()
    assert other.earned == pytest.approx(seat.earned)
    for each in (seat, other):
        play(each, np.random.default_rng(2), 5)
    assert other.messages(bare) == seat.messages(bare)


def test_what_belongs_elsewhere_changes_nothing() -> None:
    seat, other = seat_of("Sokoban"), seat_of("MineSweeper")
    seat.begin(seed=0)
    other.begin(seed=0)
    told = other.told()
    with pytest.raises(SnapshotMismatch):
        other.restore(rollback_gym.snapshot(seat.env))
    assert other.told() == told


class Diary(gym.Env[str, str]):
    """An environment of others, with texts."""

    observation_space = spaces.Text(1000)
    action_space = spaces.Text(100)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.written: list[str] = []
        return "an empty page", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.written.append(action)
        return ", ".join(self.written), 1.0, action == "the end", False, {}


def test_an_environment_of_others_has_a_seat_too() -> None:
    seat = Seat(Rollback(Snapshots(Diary())))
    seat.begin(seed=0)
    for action in ("monday", "tuesday", 'rollback(1, "it was wednesday")', "wednesday"):
        seat.act(action)
    assert seat.turns[-1].observation == "monday, wednesday"
    assert "wednesday" in seat.told()
    assert seat.earned == 2.0
    seat.act("the end")
    assert not seat.open
    assert not seat.won
    assert str(seat.outcome) == "ended"


def test_nothing_can_be_done_before_the_beginning() -> None:
    seat = Seat(Rollback(ToyEnv()))
    assert not seat.open
    with pytest.raises(gym.error.ResetNeeded):
        seat.act("left")


def test_only_texts_have_a_seat() -> None:
    with pytest.raises(TypeError, match="text actions"):
        Seat(Rollback(ToyEnv(actions="discrete")))
    with pytest.raises(TypeError, match="max_rollbacks=0"):
        Seat(gym.make("Rollback-Sokoban-v0", rollback=False))
