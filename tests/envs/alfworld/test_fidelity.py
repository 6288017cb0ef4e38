"""The native engine plays ALFWorld word for word as the genuine one does."""

import json
import sys
import tarfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rollback_gym.core.errors import MissingExtra
from rollback_gym.envs.alfworld import fidelity, rules, text
from rollback_gym.envs.alfworld.problem import compile_level, read_content, read_game
from rollback_gym.envs.alfworld.textworld import TextWorldGame, state_of
from rollback_gym.envs.alfworld.types import Level
from rollback_gym.fidelity import Difference
from tests.envs.alfworld import kitchen
from tests.envs.alfworld.test_rules import SCENES, WINS

OFFICIAL = Path(__file__).parents[4] / "shared/alfworld/json_2.1.1.tar.xz"

# TextWorld and its parser generator use what newer Pythons deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("textworld.envs.pddl", reason="needs the extra alfworld")
    pytest.importorskip("alfworld", reason="needs the extra alfworld")


@pytest.fixture(scope="module")
def official() -> list[tuple[str, bytes]]:
    """One of ALFWorld's own games for each task type, from different rooms."""
    if not OFFICIAL.exists():
        pytest.skip(f"ALFWorld's games are not at {OFFICIAL}")
    return list(one_per_task_type(OFFICIAL))


def one_per_task_type(archive: Path) -> Iterator[tuple[str, bytes]]:
    found: set[str] = set()
    with tarfile.open(archive) as members:
        for number, member in enumerate(members):
            task_type = member.name.split("/")[-3].partition("-")[0] if member.name.count("/") > 2 else ""
            if member.name.endswith(".tw-pddl") and task_type not in found and number % 7 == 0:
                file = members.extractfile(member)
                assert file is not None
                found.add(task_type)
                yield member.name, file.read()
            if len(found) == 6:
                return


def agree(level: Level, content: dict[str, Any], commands: list[str]) -> bool:
    """Whether both engines say the same throughout; returns whether the goal was reached."""
    state, observation = rules.begin(level)
    won = False
    with closing(TextWorldGame(content)) as genuine:
        assert genuine.reset() == (observation, rules.actions(level, state))
        for command in commands:
            state, _, _, feedback, won, _ = rules.step(level, state, command)
            assert genuine.step(command) == (feedback, rules.actions(level, state), won), command
            assert state_of(level, genuine.facts()) == state, command
    return won


def test_official_games(official: list[tuple[str, bytes]]) -> None:
    counts: Counter[str] = Counter()
    for comparison in fidelity.compare(official, steps=15, seed=0):
        assert comparison.difference is None, comparison.id
        assert comparison.steps == 15
        counts += comparison.counts
    assert len(official) == 6
    assert counts["go"] > 10
    assert counts["take"] > 4


@pytest.mark.parametrize("rule_book", ["ours", "ALFWorld's"])
def test_the_kitchen(rule_book: str, request: pytest.FixtureRequest) -> None:
    """Every scene of `test_rules`, one after the other, and every goal."""
    changes = {}
    if rule_book == "ALFWorld's":
        id, data = request.getfixturevalue("official")[0]
        changes = {"pddl_domain": read_content(data, id)["pddl_domain"]}
    commands = [command for scene in SCENES.values() for command, _ in scene]
    assert not agree(kitchen.level("two"), kitchen.content("two", **changes), commands)
    for goal, winning in WINS.items():
        assert agree(kitchen.level(goal), kitchen.content(goal, **changes), winning)


def test_what_holds_at_the_start_may_be_anything() -> None:
    facts = """(isClean Apple_bar_1) (isSliced Apple_bar_2) (isToggled DeskLamp_bar_1) (opened Fridge_bar_1)
      (isHot Cup_bar_1) (toggleable Cup_bar_1) (isToggled Cup_bar_1)"""
    commands = [
        *("go to countertop 1", "take apple 1 from countertop 1", "examine apple 1", "go to sinkbasin 1"),
        *("clean apple 1 with sinkbasin 1", "move apple 1 to sinkbasin 1", "go to sidetable 1", "use cup 1"),
        *("use desklamp 1", "take cup 1 from sidetable 1", "examine cup 1", "go to microwave 1"),
        *("heat cup 1 with microwave 1", "examine cup 1", "go to fridge 1", "cool cup 1 with fridge 1"),
        *("examine cup 1", "close fridge 1"),
    ]
    agree(kitchen.level("heat", facts), kitchen.content("heat", facts), commands)


def test_a_comparison_is_repeatable_and_shows_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    games = [("kitchen", kitchen.game_file("two"))]
    first, again = (list(fidelity.compare(games, steps=15, seed=3)) for _ in range(2))
    assert first == again
    assert first[0].difference is None
    monkeypatch.setattr(text, "EMPTY_HANDS", "Your hands are empty.")
    monkeypatch.setattr(fidelity, "_command", lambda *_: "inventory")
    (spoilt,) = fidelity.compare(games, steps=15, seed=3)
    assert spoilt.steps == 1
    assert spoilt.difference == Difference(
        1, "inventory", "observation", "Your hands are empty.", "You are not carrying anything."
    )


def test_names_can_be_given() -> None:
    level = kitchen.level()
    names = {receptacle.id: receptacle.name.replace("cabinet", "cupboard") for receptacle in level.receptacles}
    with closing(TextWorldGame(kitchen.content(), names)) as genuine:
        observation, admissible = genuine.reset()
    assert "a cupboard 2, a cupboard 1, a countertop 1" in observation
    assert "go to cupboard 1" in admissible


def test_the_engine_leaves_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    argv, stdout = list(sys.argv), sys.stdout
    content = kitchen.content()
    before = json.dumps(content)
    with closing(TextWorldGame(content)) as genuine:
        genuine.reset()
        genuine.step("look")
    assert (sys.argv, sys.stdout) == (argv, stdout)
    assert json.dumps(content) == before
    assert capsys.readouterr() == ("", "")


def test_engines_in_threads_do_not_disturb_each_other() -> None:
    answers: dict[str, list[Any]] = {}

    def run(goal: str) -> None:
        with closing(TextWorldGame(kitchen.content(goal))) as genuine:
            answers[goal] = [genuine.reset(), *(genuine.step(command) for command in WINS[goal])]

    threads = [threading.Thread(target=run, args=(goal,)) for goal in ("put", "look")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for goal, answered in answers.items():
        assert [answer[2] for answer in answered[1:]] == [False] * (len(WINS[goal]) - 1) + [True]


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollback_gym.envs.alfworld.textworld._idle", [])
    monkeypatch.setitem(sys.modules, "alfworld.agents.environment.alfred_tw_env", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rollback-gym\[alfworld\]'"):
        TextWorldGame(kitchen.content())


def test_a_state_of_another_level_is_refused() -> None:
    with closing(TextWorldGame(kitchen.content())) as genuine:
        genuine.reset()
        facts = genuine.facts()
    level = kitchen.level()
    assert state_of(level, facts) == level.start
    other = compile_level(read_game(kitchen.game_file(), "x"), "x", ())
    assert state_of(other, facts) == other.start
    with pytest.raises(KeyError):
        state_of(level, frozenset({*facts, ("inreceptacle", "vase_bar_1", "fridge_bar_1")}))
