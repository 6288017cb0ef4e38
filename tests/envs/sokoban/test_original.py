"""Beside the originals: their recorded games, and live.

gym-sokoban's is played live where it is installed, RetroAgent's where `ROLLBACK_GYM_RETROAGENT` is a checkout of it.
"""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import gymnasium as gym
import pytest

from rollback_gym import DataError, MissingExtra
from rollback_gym.envs.sokoban import parser, unplay
from rollback_gym.envs.sokoban.fidelity import SENTENCES, begin, compare, differing_rooms
from rollback_gym.envs.sokoban.generator import Recipe, make_board
from rollback_gym.envs.sokoban.hashing import string_hash
from rollback_gym.envs.sokoban.originals import Answer, GymSokoban, RetroAgent
from rollback_gym.registration import SOKOBAN
from tests.fidelity.sokoban import PATH, ROOMS, Game, Rooms, Settings, answered, digest, read, room_digest, short

LINES = list(read(PATH.read_text(encoding="utf-8")))
GAMES = [line for line in LINES if isinstance(line, Game)]
MADE = [line for line in LINES if isinstance(line, Rooms)]
CHECKOUT = os.environ.get("ROLLBACK_GYM_RETROAGENT")


@pytest.fixture(scope="module")
def checkout() -> str:
    if CHECKOUT is None:
        pytest.skip("set ROLLBACK_GYM_RETROAGENT to a checkout of RetroAgent to play its Sokoban as well")
    try:
        RetroAgent(CHECKOUT)
    except MissingExtra as error:
        pytest.skip(str(error))
    return CHECKOUT


@cache
def ours(settings: Settings) -> gym.Env[Any, Any]:
    return gym.make(SOKOBAN, **settings.options())


def name(line: Game | Rooms) -> str:
    return "-".join(map(str, line.settings))


@pytest.mark.parametrize("settings", sorted({game.settings for game in GAMES}), ids=lambda it: "-".join(map(str, it)))
def test_recorded_games(settings: Settings) -> None:
    env = ours(settings)
    for game in GAMES:
        if game.settings != settings:
            continue
        assert short(begin(env, game.seed)) == game.room, game.seed
        answers, end = [], "cut"
        for action in game.actions:
            text, reward, terminated, truncated, info = env.step(action)
            answers.append(answered(Answer(text, float(reward), terminated or truncated, info["won"])))
            end = "won" if info["won"] else "lost" if terminated else "cut"
        assert end == game.end, game.seed
        assert digest(answers) == game.digest, game.seed


@pytest.mark.parametrize("rooms", MADE, ids=lambda rooms: f"{name(rooms)}-{rooms.first}")
def test_recorded_rooms(rooms: Rooms) -> None:
    env = ours(rooms.settings)
    seeds = range(rooms.first, rooms.first + ROOMS)
    assert room_digest(begin(env, seed) for seed in seeds) == rooms.digest


def test_the_records_hold_what_is_rare() -> None:
    assert len(GAMES) >= 600
    assert sum(ROOMS for rooms in MADE if rooms.settings.preset == "retroagent") >= 3000
    assert {game.end for game in GAMES} == {"won", "lost", "cut"}
    assert sum(game.end == "lost" for game in GAMES) > 50
    assert any("S" in game.room for game in GAMES)


def test_without_a_declared_hash_seed_rooms_are_those_of_hash_seed_0() -> None:
    default = gym.make(SOKOBAN, rollback=False, disable_env_checker=True)
    games = [game for game in GAMES if game.settings.preset == "retroagent" and game.settings.hash_seed == 0]
    for game in games[:200]:
        assert short(begin(default, game.seed)) == game.room


def test_hashes_are_those_of_a_process_with_that_seed() -> None:
    texts = ["", "0", "17", "1234567", "12345678", "123456789", "4294967295", "x" * 40]
    for seed in (0, 1, 42, 2**32 - 1):
        code = f"print([hash(text) for text in {texts!r}])"
        environment = {"PYTHONHASHSEED": str(seed)}
        said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert said.stdout.strip() == str([string_hash(text, seed) for text in texts])


def test_the_compiled_search_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="needs numba: pip install 'rollback-gym[fast]'")
    recipes = [
        Recipe("ragen", 6, 6, 2, 20, 100),
        Recipe("ragen", 8, 7, 3, 25, 60),
        Recipe("gym-sokoban", 7, 7, 2, 23, 300),
        Recipe("gym-sokoban", 14, 12, 3, 40, 60),
    ]
    slow: Callable[[], Any] = lambda: None  # noqa: E731
    fast = unplay._compiled
    monkeypatch.setattr(unplay, "_SLOWLY", 0)
    for recipe in recipes:
        for seed in range(15):
            monkeypatch.setattr(unplay, "_compiled", slow)
            expected = make_board(recipe, seed, 100)
            monkeypatch.setattr(unplay, "_compiled", fast)
            assert make_board(recipe, seed, 100) == expected


# --- Live -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gym_sokoban() -> GymSokoban:
    try:
        return GymSokoban(size=7, boxes=2, max_turns=40)
    except MissingExtra as error:
        pytest.skip(str(error))


def test_gym_sokoban_live(gym_sokoban: GymSokoban) -> None:
    settings = {"preset": "gym-sokoban", "size": 7, "boxes": 2}
    compared = list(compare(gym_sokoban, range(500, 530), max_turns=40, **settings))
    assert [one for one in compared if one.difference] == []
    assert sum(one.won for one in compared) > 5
    assert differing_rooms(gym_sokoban, range(2**16, 2**16 + 40), **settings) == []


def test_retroagent_live(checkout: str) -> None:
    drawn = random.Random(0).sample(range(2**16 - 1), 40)
    compared = list(compare(RetroAgent(checkout), drawn))
    assert len(compared) == 40
    assert [one for one in compared if one.difference] == []
    assert differing_rooms(RetroAgent(checkout, hash_seed=3), range(50), compat="original", hash_seed=3) == []


def test_sentences_mean_the_same(checkout: str) -> None:
    assert [parser.original(sentence) for sentence in SENTENCES] == RetroAgent(checkout).project(SENTENCES)


def test_what_is_no_checkout(tmp_path: Any) -> None:
    with pytest.raises(DataError, match="expected a checkout"):
        RetroAgent(tmp_path)


def test_more_boxes_than_the_compiled_search_can_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    floor = sum(((1 << 12) - 1) << row * 14 + 1 for row in range(1, 13))
    targets = sum(((1 << 12) - 1) << row * 14 + 1 for row in range(1, 4))
    way = unplay.Way(20, walks=True, every_pull=True)
    found = unplay.unplay(floor, targets, 14 * 4 + 5, 14, way)
    monkeypatch.setattr(unplay, "_compiled", lambda: None)
    assert found == unplay.unplay(floor, targets, 14 * 4 + 5, 14, way)
