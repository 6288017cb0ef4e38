import pickle
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis.stateful import run_state_machine_as_test

import rollback_gym
from rollback_gym import Snapshot
from rollback_gym.core.errors import DataError, SnapshotMismatch
from rollback_gym.envs.webshop.env import WebShopEnv
from rollback_gym.envs.webshop.types import Catalogue
from rollback_gym.wrappers import Rollback
from tests.envs.webshop.shops import LongWords, goal_number, hostile, plain, plain_goals, product
from tests.laws import law_settings, laws_of

ID = "rollback_gym:Rollback-WebShop-v0"


def make(**options: Any) -> gym.Env[Any, Any]:
    return gym.make(ID, **{"data": plain(), "split": "all", **options})


def act(env: gym.Env[Any, Any], info: dict[str, Any], choice: int) -> str:
    admissible = info["admissible_actions"]
    if choice % 10 == 0:
        return "search[soft cotton dress]"
    if choice % 10 == 1 or not admissible:
        return "click[nothing of that name]"
    action: str = admissible[choice % len(admissible)]
    return "search[soft shirt]" if action.startswith("search[<") else action


CASES: dict[str, tuple[Catalogue, dict[str, Any], dict[str, Any]]] = {
    "text": (plain(), {}, {"revive": True}),
    "rich": (hostile(1), {"observation": "text_rich", "show_attributes": True, "sampling": "weighted"}, {}),
    "original": (hostile(5), {"compat": "original", "goals": "human"}, {"revive": True, "max_rollbacks": 3}),
    "verl-agent": (hostile(2), {"compat": "verl-agent", "preset": "verl-agent"}, {"revive": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_laws(case: str) -> None:
    catalogue, options, going_back = CASES[case]

    def made() -> gym.Env[Any, Any]:
        return Rollback(WebShopEnv(data=catalogue, split="all", **options), cost=0.25, **going_back)

    run_state_machine_as_test(laws_of(made, act, cost=0.25), settings=law_settings(15, 25))


def test_gymnasium_is_content() -> None:
    check_env(make(rollback=False).unwrapped, skip_render_check=True)


def test_info() -> None:
    env = make()
    _, info = env.reset(options={"level": goal_number(plain_goals(), "B000000001", "large", "red")})
    assert info["available_actions"] == {"has_search_bar": True, "clickables": ["search"]}
    assert info["admissible_actions"] == ("search[<your query>]",)
    assert (info["page"], info["turn"], info["won"]) == ("search", 0, False)
    env.step("search[soft shirt]")
    _, _, _, _, info = env.step("click[b000000001]")
    assert info["page"] == "item_page"
    assert info["admissible_actions"][:2] == ("click[back to search]", "click[< prev]")
    assert info["available_actions"]["clickables"][-1] == "standard"
    _, _, _, _, info = env.step("fly")
    assert "click[what is written" in info["invalid_action"]
    assert "reward_details" not in info
    _, reward, terminated, truncated, info = env.step("click[buy now]")
    assert (reward, terminated, truncated, info["won"]) == (0.5, True, False, False)
    assert info["reward_details"]["r_option"] == 0.0
    assert info["reward_details"]["reward"] == reward


def test_a_wrong_purchase_can_be_taken_back() -> None:
    env = make(revive=True)
    env.reset(options={"level": goal_number(plain_goals(), "B000000001", "large", "red")})
    for action in ("search[soft shirt]", "click[b000000001]", "click[large]"):
        env.step(action)
    _, reward, terminated, _, info = env.step("click[buy now]")
    assert (reward, terminated, info["failed"], info["admissible_actions"]) == (0.75, False, True, ())
    _, reward, terminated, _, info = env.step("rollback(3)")
    assert (reward, terminated, info["page"]) == (-0.75, False, "item_page")
    env.step("click[red]")
    _, reward, terminated, _, info = env.step("click[buy now]")
    assert (reward, terminated, info["won"]) == (1.0, True, True)


def test_without_revive_a_wrong_purchase_ends_the_episode() -> None:
    env = make()
    env.reset(options={"level": 0})
    env.step("search[shirt]")
    env.step("click[b000000002]")
    _, _, terminated, _, info = env.step("click[buy now]")
    assert terminated
    assert not info["won"]
    with pytest.raises(gym.error.ResetNeeded):
        env.step("search[x]")


def test_turns() -> None:
    env = make()
    env.reset(seed=0)
    ends = [env.step("search[shirt]")[2:4] for _ in range(15)]
    assert ends == [(False, False)] * 14 + [(False, True)]
    assert make(preset="retroagent").unwrapped.max_turns == 15  # type: ignore[attr-defined]
    assert make(max_turns=3).unwrapped.max_turns == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("level", [3, np.int64(3), "synthetic/3"])
def test_levels_by_number_and_id(level: Any) -> None:
    env = make()
    _, info = env.reset(options={"level": level})
    assert info["level"] == "synthetic/3"
    assert info["task"] == plain_goals()[3].text
    _, info = make(level=level).reset(seed=1)
    assert info["level"] == "synthetic/3"


@pytest.mark.parametrize(
    ("level", "error"),
    [
        *((level, DataError) for level in (12, -1, "human/0", "synthetic/x", "3", "synthetic/03", "synthetic/3\n")),
        *((level, DataError) for level in ("synthetic/\u0663", "synthetic/" + "9" * 5000, 10**30)),
        *((level, TypeError) for level in (True, 1.0)),
    ],
)
def test_no_such_level(level: Any, error: type[Exception]) -> None:
    env = make()
    with pytest.raises(error):
        env.reset(options={"level": level})
    with pytest.raises(error):
        make(level=level)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"split": "train"}, DataError),
        ({"split": "valid"}, DataError),
        ({"preset": "other"}, ValueError),
        ({"preset": ["webshop"]}, ValueError),
        ({"goals": ["human"]}, ValueError),
        ({"split": ["train"]}, DataError),
        ({"show_attributes": "no"}, ValueError),
        ({"goals": "other"}, ValueError),
        ({"observation": "html"}, ValueError),
        ({"compat": "verl"}, ValueError),
        ({"sampling": "other"}, ValueError),
        ({"goal_seed": "x"}, TypeError),
        ({"max_turns": 0}, ValueError),
        ({"colour": 1}, TypeError),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        make(**options)


def test_no_goals_at_all() -> None:
    catalogue = Catalogue((product("B1"),), LongWords())
    with pytest.raises(DataError, match="no synthetic goals here; they need products with an instruction"):
        make(data=catalogue)
    with pytest.raises(DataError, match="no human goals here; they need items_human_ins"):
        make(data=catalogue, goals="human")


def test_splits_are_disjoint() -> None:
    from rollback_gym.envs.webshop.env import PRESETS

    for preset in PRESETS.values():
        parts = [range(10_000)[first:end] for name, (first, end) in preset.splits.items() if name != "all"]
        assert sum(map(len, parts)) == len({number for part in parts for number in part}) == 10_000


def drawn(**options: Any) -> list[str]:
    env = make(**options).unwrapped
    _, info = env.reset(seed=5)
    return [info["level"], *(env.reset()[1]["level"] for _ in range(300))]


def test_every_goal_is_drawn_unless_the_original_is_asked_for() -> None:
    everything = {f"synthetic/{number}" for number in range(12)}
    assert set(drawn()) == set(drawn(sampling="weighted")) == everything
    assert set(drawn(compat="original")) == everything - {"synthetic/0"}
    assert drawn() == drawn()


def test_rare_attributes_are_drawn_more_often() -> None:
    lamp = f"synthetic/{goal_number(plain_goals(), 'B000000004')}"
    assert drawn(sampling="weighted").count(lamp) > 2 * drawn().count(lamp)


def test_a_snapshot_goes_to_another_environment() -> None:
    env, other = make(), make()
    env.reset(options={"level": 2})
    env.step("search[dress]")
    data = rollback_gym.snapshot(env).to_bytes()
    _, info = rollback_gym.restore(other, Snapshot.from_bytes(data))
    assert info["level"] == "synthetic/2"
    assert env.step("click[b000000002]")[0] == other.step("click[b000000002]")[0]
    for different in ({"goals": "human"}, {"goal_seed": 7}, {"data": hostile(1)}, {"observation": "text_rich"}):
        with pytest.raises(SnapshotMismatch):
            rollback_gym.restore(make(**different), Snapshot.from_bytes(data))


def test_a_pickled_environment_plays_on() -> None:
    env = make()
    env.reset(seed=3)
    env.step("search[dress]")
    twin = pickle.loads(pickle.dumps(env))
    assert rollback_gym.snapshot(twin) == rollback_gym.snapshot(env)
    assert twin.step("click[b000000002]")[:4] == env.step("click[b000000002]")[:4]


def test_levels_are_listed() -> None:
    from rollback_gym.envs.webshop.env import LevelIds, levels

    ids = LevelIds("human", range(500, 1500))
    assert (len(ids), ids[0], ids[-1], list(ids[:2])) == (1000, "human/500", "human/1499", ["human/500", "human/501"])
    assert list(levels(data=plain())) == [f"synthetic/{number}" for number in range(12)]


SAME = """
import sys
import rollback_gym
from tests.envs.webshop.test_env import act, make
env = make(data=__import__("tests.envs.webshop.shops", fromlist=["hostile"]).hostile(1))
said = []
for seed in range(3):
    observation, info = env.reset(seed=seed)
    said.append(observation)
    for choice in range(2, 14):
        observation, reward, terminated, truncated, info = env.step(act(env, info, choice * 37))
        said += [observation, repr(reward), repr(info["admissible_actions"]), env.unwrapped.state_digest()]
        if terminated or truncated:
            break
import hashlib
print(hashlib.sha256("".join(said).encode()).hexdigest())
"""


def test_the_same_in_every_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", SAME], env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(digests) == 1


def test_an_action_must_be_text() -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(TypeError):
        env.step(3)


def test_render() -> None:
    env = make(render_mode="ansi")
    observation, _ = env.reset(seed=0)
    assert env.render() == observation


class TestWithoutData:
    """The catalogue that comes with the environment."""

    @pytest.fixture(autouse=True)
    def _no_data(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("WEBSHOP_DATA", raising=False)

    def test_it_works_at_once(self) -> None:
        env = gym.make(ID)
        _, info = env.reset(seed=0)
        assert info["level"].startswith("synthetic/")
        goal = env.unwrapped.level.goal  # type: ignore[attr-defined]
        for action in (f"search[{goal.title}]", f"click[{goal.asin}]", *(f"click[{v}]" for _, v in goal.options)):
            _, _, _, _, info = env.step(action)
            assert "invalid_action" not in info
        _, reward, terminated, _, info = env.step("click[buy now]")
        assert terminated
        assert reward == info["reward_details"]["reward"] > 0.5

    @pytest.mark.parametrize("preset", ["webshop", "verl-agent", "retroagent"])
    @pytest.mark.parametrize("goals", ["synthetic", "human"])
    def test_every_split_has_goals(self, preset: str, goals: str) -> None:
        from rollback_gym.envs.webshop.env import PRESETS

        for split, (first, end) in PRESETS[preset].splits.items():
            ids = rollback_gym.levels(ID, split=split, goals=goals, preset=preset)
            assert ids[0] == f"{goals}/{first}"
            assert end is None or ids[-1] == f"{goals}/{end - 1}"
            _, info = gym.make(ID, split=split, goals=goals, preset=preset).reset(seed=1)
            assert info["level"] in ids

    def test_the_spec_can_be_written(self) -> None:
        env = gym.make(ID, split="test", observation="text_rich")
        assert env.spec is not None
        again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
        assert env.reset(seed=4)[0] == again.reset(seed=4)[0]

    def test_pickled_environments_are_small(self) -> None:
        env = gym.make(ID)
        env.reset(seed=0)
        assert len(pickle.dumps(env)) < 10_000

    def test_a_product_limit(self) -> None:
        assert len(rollback_gym.levels(ID, products=100)) < len(rollback_gym.levels(ID))
