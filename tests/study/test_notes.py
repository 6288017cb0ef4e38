"""Notes say what is so, and nothing that was not read."""

import json
import random

import pytest

from rollback_gym.core.errors import RunMismatch
from rollback_gym.envs.alfworld.types import NOTHING, Goal, TaskType
from rollback_gym.play.playing import Table, first_turn, turn
from rollback_gym.play.policies import Turn
from rollback_gym.play.prompts import Prompts
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.registration import levels
from rollback_gym.study.dataset import Recipe, Unit, _plain, check_recipe, make, maker
from rollback_gym.study.draft import draft
from rollback_gym.study.notes import noted, thought

ID = "Rollback-ALFWorld-v0"


def test_notes_agree_with_the_state_and_with_what_was_read():
    env, chance = make_env(Made(ID, {})), random.Random(0)
    kinds, seen, gone_back = set(), 0, 0
    for level in levels(ID, split="train")[:30]:
        observation, info = env.reset(seed=0, options={"level": level})
        table, turns = Table(env), [first_turn(observation, info)]
        problem = table.base.level
        needed, kinds = problem.goal.object_type, kinds | {problem.goal.task_type}
        places = [place.name for place in problem.receptacles]
        things = [thing.name for thing in problem.things]
        while table.open and len(turns) < 40:
            targets = info["rollback_targets"]
            if targets and chance.random() < 0.1:
                action, gone_back = f"rollback({chance.choice(targets)})", gone_back + 1
            else:
                offered = [*info["admissible_actions"]]
                action = chance.choice([of for of in offered if not of.startswith("go to ")] * 3 + offered)
            _, _, _, _, info = env.step(action)
            turns.append(turn(table.history.last, info))
            note, state = noted(needed, turns), table.base.state
            held, *where = note.split(", ")
            assert held == f"hold {'nothing' if state.held == NOTHING else things[state.held]}", note
            for told in where:
                if told == f"no {needed}":
                    continue
                thing, place = told.split(" in ")
                assert thing.startswith(f"{needed} ")
                assert state.contents[places.index(place)] >> things.index(thing) & 1, f"{note}: {turns[-1]}"
                assert any(thing in str(of.observation) for of in turns)
                seen += 1
    assert len(kinds) == 6
    assert seen > 100
    assert gone_back > 20


def test_demonstrations_note_the_mistake_before_they_go_back():
    recipe = Recipe(2, 4, options={"difficulty": 0}, notes=True, clean=0.0, easier=0.0)
    backs = 0
    lines = maker(recipe)
    for level in levels(ID, split="train", difficulty=0)[:12]:
        for line in lines([Unit(level, 0, 2)]):
            sample = json.loads(line)
            said = [of["content"] for of in sample["conversations"][0] if of["role"] == "assistant"]
            wrong = sample["error_step"]
            mistake = sample["trace"][wrong - 1]["content"]
            assert all(of.startswith(f"<think>[{index}] hold ") for index, of in enumerate(said))
            assert f"wrong: {mistake} after [{wrong - 1}]</think>" in said[-1]
            assert f"rollback({wrong - 1}" in said[-1]
            assert not any("wrong" in of for of in said[:-1]), "who errs does not know it yet"
            backs += 1
    assert backs > 4


def test_fumbles_are_refused_and_never_trained():
    fumbles = 0
    for level, options in ((1, {"difficulty": 0}), (3, {})):
        lines = maker(Recipe(level, 4, options=options, fumbles=0.4, notes=True))
        for id in levels(ID, split="train", **options)[:10]:
            for line in lines([Unit(id, 0, 3)]):
                sample = json.loads(line)
                refused = [of for of in sample["trace"] if of["invalid"] is not None]
                lengths = sample["distances"]
                assert all(lengths[of["turn"]] == lengths[of["turn"] - 1] for of in refused)
                assert {of["turn"] for of in refused} <= set(sample["injected"])
                fumbles += sum(of["turn"] < (sample["error_step"] or 99) - 1 for of in refused)
                assert sample["distances"][-1] == 0
    assert fumbles > 20


def test_who_wishes_for_what_is_not_there_imagines_it_and_then_notes_that_it_is_not():
    imagined = 0
    lines = maker(Recipe(1, 4, options={"difficulty": 0}, fumbles=0.4, clean=1.0, searches=3, notes=True))
    for id in levels(ID, split="train", difficulty=0)[:40]:
        for line in lines([Unit(id, 0, 3)]):
            sample = json.loads(line)
            needed = sample["task"].split()[2]
            (messages,) = sample["conversations"]
            said = [of for of in messages if of["role"] == "assistant"]
            for done, of in zip(sample["trace"], said, strict=True):
                words = done["content"].split()
                if done["invalid"] is None or words[:2] != ["take", needed] or "from" not in words:
                    continue
                thing, _, place = done["content"].removeprefix("take ").partition(" from ")
                if f"{place}, you see" not in sample["trace"][done["turn"] - 2]["observation"]:
                    continue
                assert f"{thing} in {place}</think>" in of["content"]
                assert not of["train"]
                after = said[done["turn"]]
                assert f"{thing} in {place}" not in after["content"]
                imagined += after["train"]
    assert imagined > 5


def test_a_name_that_begins_like_another_is_another():
    goal = Goal(TaskType("pick_and_place_simple"), "cup", "shelf", "")
    told = ["On the cabinet 12, you see a cup 1.", "On the cabinet 3, you see a cup 12."]
    turns = [Turn(index, None, text, admissible=(), targets=()) for index, text in enumerate(told)]
    true = "[1] hold nothing, cup 1 in cabinet 12, cup 12 in cabinet 3"
    assert thought(goal, turns, "take cup 1 from cabinet 12") == true
    assert thought(goal, turns, "take cup 1 from cabinet 1") == "[1] hold nothing, cup 1 in cabinet 1"
    turns.append(Turn(2, None, "You pick up the cup 12 from the cabinet 3.", admissible=(), targets=()))
    assert thought(goal, turns, "move cup 1 to shelf 1") == "[2] hold cup 1 for shelf"


def test_what_was_begun_before_there_were_notes_goes_on_and_what_asks_for_them_does_not(tmp_path):
    recipe = Recipe(1, 12, options={"difficulty": 0})
    plain = _plain(recipe)
    assert not {"notes", "fumbles"} & plain.keys()
    out = tmp_path / "samples.jsonl"
    with draft(out, plain) as begun:
        begun.add(["{}"], 1)
    with pytest.raises(RunMismatch, match="notes"):
        make(recipe._replace(notes=True), out)
    out = tmp_path / "noted.jsonl"
    with draft(out, _plain(recipe._replace(notes=True))) as begun:
        begun.add(["{}"], 1)
    with pytest.raises(RunMismatch, match="notes=True"):
        make(recipe, out)


def test_notes_want_all_that_was_read():
    with pytest.raises(ValueError, match="leave out window"):
        check_recipe(Recipe(1, 1, notes=True, prompts=Prompts(window=2)))
