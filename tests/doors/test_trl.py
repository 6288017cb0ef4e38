"""TRL's door: which tools there are, that nothing which is called raises, and that a stock GRPOTrainer trains."""

import inspect
import runpy
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from rollback_gym.doors.tools import tools
from rollback_gym.doors.trl import ActAndRollback, ActOnly, environment_factory, episode_return, rows, won

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "trl_grpo.py"
SOKOBAN = "Rollback-Sokoban-v0"


def made(**options: Any) -> Any:
    return environment_factory(SOKOBAN, boxes=1, **options)()


def published(environment: ActOnly) -> list[str]:
    """As TRL 1.16 lists them, and as earlier releases did, which asked the instance."""
    of_class = inspect.getmembers(type(environment), predicate=inspect.isroutine)
    of_instance = inspect.getmembers(environment, predicate=callable)
    return sorted({name for name, _ in [*of_class, *of_instance] if not name.startswith("_")} - {"reset"})


def test_nothing_is_published_but_acting_and_going_back() -> None:
    assert published(made(oracle=True)) == ["act", "rollback"]
    assert published(made(max_rollbacks=0)) == ["act"]
    assert isinstance(made(), ActAndRollback)


def test_the_schemas_are_those_of_the_tools() -> None:
    utils = pytest.importorskip("transformers.utils", reason="needs transformers: pip install 'rollback-gym[trainer]'")
    environment = made()
    for method, tool in zip((environment.act, environment.rollback), tools(), strict=True):
        schema, known = utils.get_json_schema(method)["function"], tool["function"]
        assert schema["name"] == known["name"]
        assert " ".join(schema["description"].split()) == known["description"]
        assert schema["parameters"]["required"] == known["parameters"]["required"]
        for name, takes in schema["parameters"]["properties"].items():
            assert takes["type"] == known["parameters"]["properties"][name]["type"]
            assert known["parameters"]["properties"][name]["description"].startswith(takes["description"])


def test_an_episode_is_played_and_gone_back_in() -> None:
    environment = made(max_turns=9)
    opening = environment.reset(prompt=[], seed=3, level=None, anything="else")
    assert "Your task:" in opening
    assert "go back" in opening
    start = environment._seat.turns[0].observation
    assert str(start) in opening
    assert environment.act("up").startswith("[1]")
    back = environment.rollback(0, reason="other way")
    assert str(start) in back
    assert 'for your reason "other way"; action 1 is undone' in back
    assert [turn.rollback for turn in environment._seat.turns] == [False, False, True]


@pytest.mark.parametrize(
    ("tool", "args", "arguments"),
    [
        ("act", (), {}),
        ("act", (5,), {}),
        ("act", ("up",), {"action": None, "more": 1}),
        ("act", (), {"action": "x" * 10**6}),
        ("act", (), {"action": ["up"]}),
        ("act", ("up", "down"), {}),
        ("rollback", (), {}),
        ("rollback", ("zero",), {}),
        ("rollback", (99,), {}),
        ("rollback", (10**5000,), {}),
        ("rollback", (0, {"a": 1}), {}),
        ("rollback", (), {"index": None, "reason": "r" * 10**6}),
    ],
)
def test_hostile_calls_are_answered(tool: str, args: tuple[Any, ...], arguments: dict[str, Any]) -> None:
    environment = made()
    environment.reset(seed=0)
    before = environment._seat.state_digest()
    answer = getattr(environment, tool)(*args, **arguments)
    assert "(No action could be read" in answer or "(You did not go back" in answer
    assert len(answer) < 1000
    assert environment._seat.state_digest() == before
    assert environment._seat.turns[-1].index == 1


def test_after_the_end_nothing_happens() -> None:
    environment = made(max_turns=1)
    environment.reset(seed=0)
    assert "over: truncated" in environment.act("up")
    assert "over: truncated" in environment.act("up")
    assert "over: truncated" in environment.rollback(0)
    assert environment._seat.turns[-1].index == 1


def test_a_group_must_begin_alike() -> None:
    with pytest.raises(ValueError, match="column seed or level"):
        made().reset(prompt=[])
    one, other = made(), made()
    assert one.reset(seed=5) == other.reset(seed=5)
    level = one._seat.level_id
    assert other.reset(level=level) == one.reset(level=level)


def test_rewards_are_those_of_the_outcomes() -> None:
    lost, solved = made(), made(oracle=True)
    level = solved.reset(seed=1) and solved._seat.env.unwrapped.level
    lost.reset(seed=1)
    lost.act("up")
    from rollback_gym.oracles import for_env

    for action in for_env(solved._seat.env).plan(level, solved._seat.env.unwrapped.state):
        solved.act(action)
    assert won([lost, solved], prompts=[], completions=[]) == [0.0, 1.0]
    returns = episode_return([lost, solved])
    assert returns[1] > 1 > returns[0]


def test_rows_are_seeds_and_levels() -> None:
    made = rows(seeds=[1], levels=["a"])
    assert [(row["seed"], row["level"]) for row in made] == [(1, None), (None, "a")]


def test_an_environment_that_cannot_be_played_in_texts_is_refused() -> None:
    with pytest.raises(TypeError, match="Wrap it"):
        environment_factory(lambda: gym.make("CartPole-v1"))()
    with pytest.raises(TypeError, match="text actions"):
        environment_factory(SOKOBAN, actions="discrete")()


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    for library in ("torch", "trl", "datasets"):
        pytest.importorskip(library, reason=f"needs {library}: pip install 'trl>=1.16,<1.17'")
    return runpy.run_path(str(EXAMPLE))


@pytest.mark.filterwarnings("default")  # those of other libraries are not ours to forbid
def test_the_example_trains(example: dict[str, Any], tmp_path: Path) -> None:
    trainer = example["train"](1, str(tmp_path))
    assert sorted(tool.__name__ for tool in trainer.tools) == ["act", "rollback"]
    log = trainer.state.log_history[0]
    assert log["tools/call_frequency"] > 0
    assert log["tools/failure_frequency"] == 0
    turns = [turn for environment in trainer.environments for turn in environment._seat.turns[1:]]
    assert any(turn.rollback for turn in turns)
    assert any(turn.target is not None for turn in turns)
    assert not any(turn.problem for turn in turns)
    assert log["rewards/episode_return/mean"] == pytest.approx(
        sum(environment._seat.earned for environment in trainer.environments) / 4, abs=1e-5
    )


@pytest.mark.filterwarnings("default")
def test_a_policy_that_calls_nonsense_is_trained_too(example: dict[str, Any], tmp_path: Path) -> None:
    nonsense = [
        ("act", {"action": 5}),
        ("act", {}),
        ("act", {"action": "\ud800"}),
        ("rollback", {"index": 10**40}),
        ("rollback", {"index": None, "why": {}}),
        ("close", {}),
        ("reset", {"seed": 1}),
        ("_called", {"tool": "act", "arguments": {"action": "up"}}),
        ("get_reward", {}),
    ]
    example["CALLS"][:] = nonsense
    trainer = example["train"](1, str(tmp_path))
    log = trainer.state.log_history[0]
    assert 0 < log["tools/failure_frequency"] < 1
    turns = [turn for environment in trainer.environments for turn in environment._seat.turns[1:]]
    assert turns
    assert all(turn.invalid is not None for turn in turns)
    assert log["reward"] <= 0
