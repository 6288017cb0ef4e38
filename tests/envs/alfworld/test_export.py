"""Exported games: whole files, read back alike, and played by TextWorld word for word as by the native engine."""

import json
import random
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.export import export
from rollback_gym.envs.alfworld.generator import generate
from rollback_gym.envs.alfworld.made.pddl import game_json
from rollback_gym.envs.alfworld.made.world import names
from rollback_gym.envs.alfworld.problem import compile_level, read_game
from rollback_gym.envs.alfworld.types import TaskType

OFFICIAL = Path(__file__).parents[4] / "shared/alfworld/json_2.1.1.tar.xz"


# --- The file -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task_type", TaskType)
def test_read_back_alike(task_type: TaskType, tmp_path: Path) -> None:
    game = generate(1, "valid_seen", task_type)
    path = export(game, tmp_path / "game.tw-pddl")
    assert read_game(path.read_bytes(), game.where) == game
    assert [file.name for file in tmp_path.iterdir()] == ["game.tw-pddl"]


def test_overwrites_only_when_told(tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_text("precious")
    with pytest.raises(DataError, match=r"exists already.*overwrite=True"):
        export(generate(0), path)
    assert path.read_text() == "precious"
    export(generate(0), str(path), overwrite=True)
    assert read_game(path.read_bytes(), "").task == generate(0).task
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("game.json", "name ends in .tw-pddl"),
        ("missing/game.tw-pddl", "no folder"),
        ("file/game.tw-pddl", "no folder"),
        ("folder.tw-pddl", "is a folder"),
        ("x" * 300 + ".tw-pddl", "cannot be written"),
    ],
)
def test_refuses(name: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.tw-pddl").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DataError, match=complaint):
        export(generate(0), tmp_path / name, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_names_are_those_of_the_level() -> None:
    level = compile_level(generate(0), "", ())
    called = {id.lower(): name for id, name in names(["Sink_bar_1", "Sink_bar_1_bar_SinkBasin", "Sink_bar_2"]).items()}
    assert called == {"sink_bar_1": "sink 2", "sink_bar_1_bar_sinkbasin": "sinkbasin 1", "sink_bar_2": "sink 1"}
    expected = {receptacle.id: receptacle.name for receptacle in level.receptacles}
    expected |= {thing.id: thing.name for thing in level.things}
    assert names(expected) == expected


# --- TextWorld ----------------------------------------------------------------------------------------------------


def textworld_env(game: Any) -> Any:
    """ALFWorld's own stack on a file or on the content of one."""
    textworld = pytest.importorskip("textworld", reason='TextWorld is missing: pip install "rollback-gym[alfworld]"')
    pddl = pytest.importorskip("textworld.envs.pddl", reason="TextWorld's PDDL support is missing")
    alfworld = pytest.importorskip(
        "alfworld.agents.environment.alfred_tw_env",
        reason='ALFWorld is missing: pip install "rollback-gym[alfworld]"',
    )
    env = alfworld.AlfredDemangler(pddl.PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))
    env.load(game)
    return env


def seen(state: Any) -> tuple[str, list[str], bool]:
    return state.feedback, state.admissible_commands, bool(state.won)


def wander(rng: random.Random, commands: list[str]) -> str:
    """A command that mostly does something."""
    doing = [command for command in commands if not command.startswith(("go ", "examine ", "look", "inventory"))]
    return rng.choice(doing if rng.random() < 0.6 else commands)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task_type", [TaskType.PICK_AND_PLACE, TaskType.COOL, TaskType.LOOK_IN_LIGHT])
def test_textworld_plays_an_exported_game_alike(
    task_type: TaskType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["pytest"])  # the translator of TextWorld overwrites it
    game = generate(2, task_type=task_type, difficulty=0.25)
    env = textworld_env(str(export(game, tmp_path / "game.tw-pddl")))
    level = compile_level(game, "", ())
    rng = random.Random(3)
    for walk in (game.walkthrough, [None] * 15):
        theirs = env.reset()
        state, observation = rules.begin(level)
        assert seen(theirs) == (observation, list(rules.actions(level, state)), False)
        for scripted in walk:
            command = scripted or wander(rng, theirs.admissible_commands)
            theirs, _, _ = env.step(command)
            ours = rules.step(level, state, command)
            state = ours.state
            assert seen(theirs) == (ours.feedback, list(rules.actions(level, state)), ours.won), command
        assert scripted is None or theirs.won


def official_games() -> Iterator[dict[str, Any]]:
    if not OFFICIAL.exists():
        pytest.skip(f"ALFWorld's data is missing: {OFFICIAL}")
    with tarfile.open(OFFICIAL) as archive:
        for member in archive:
            if member.name.endswith("game.tw-pddl") and (file := archive.extractfile(member)):
                yield json.load(file)


@pytest.mark.filterwarnings("ignore")
def test_our_rules_play_an_official_problem_like_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["pytest"])
    official = next(official_games())
    task = read_game(json.dumps(official).encode(), "").task
    swapped = json.loads(game_json(official["pddl_problem"], task, official["walkthrough"]))
    assert swapped["pddl_domain"] != official["pddl_domain"]
    one, other = textworld_env(official), textworld_env(swapped)
    rng = random.Random(5)
    for walk in (official["walkthrough"], [None] * 15):
        theirs, ours = one.reset(), other.reset()
        assert seen(theirs) == seen(ours)
        for scripted in (*walk, "help", "inventory", "nonsense"):
            command = scripted or wander(rng, theirs.admissible_commands)
            (theirs, _, _), (ours, _, _) = one.step(command), other.step(command)
            assert seen(theirs) == seen(ours), command
