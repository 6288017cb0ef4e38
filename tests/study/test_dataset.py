"""Data sets of the rollback curriculum: what is in them, and that it is the same however they are made."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rollback_gym.core.errors import DataError, RecordError, RunMismatch
from rollback_gym.play.prompts import Prompts
from rollback_gym.play.run import make_env
from rollback_gym.registration import ALFWORLD, MINESWEEPER, SOKOBAN, WEBSHOP
from rollback_gym.study import dataset, fields
from rollback_gym.study.check import check, problems
from rollback_gym.study.dataset import Recipe, make, split_of
from rollback_gym.study.draft import draft
from rollback_gym.study.inject import Kind
from rollback_gym.study.samples import Sample, answer_rows, read, sft_rows

ENVS = (ALFWORLD, WEBSHOP, SOKOBAN, MINESWEEPER)


@cache
def lines(recipe: Recipe) -> tuple[str, ...]:
    """What a worker makes of the first levels, as many lines as the recipe asks for at least."""
    do, made = dataset.maker(recipe), []
    for units in dataset._jobs(recipe, 0):
        made += do(units)
        if len(made) >= recipe.records:
            return tuple(made)
    raise AssertionError("too few levels")


def samples(**settings: Any) -> list[Sample]:
    recipe = Recipe(**{"level": 1, "records": 40, **settings})
    hashable = recipe._replace(options=_Options(recipe.options))
    return [{**json.loads(line), "id": str(number)} for number, line in enumerate(lines(hashable))]


class _Options(dict[str, Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_sample_replays_and_its_labels_are_right(env: str, level: int) -> None:
    made = samples(env=env, level=level)
    checked = check(made)
    assert checked.problems == ()
    assert checked.samples == len(made)
    assert len({json.dumps([sample["task_id"], sample["trace"]]) for sample in made}) == len(made)
    wrong = [sample for sample in made if sample["form"]]
    for sample in wrong:
        assert sample["rollback_target"] == sample["error_step"] - 1
        back = sample["trace"][sample["rollback_step"] - 1]
        assert back["content"] == f'rollback({sample["rollback_target"]}, "{back["reason"]}")'
        assert '"' not in back["reason"]
        assert len(back["reason"]) < 250
        assert sample["restored_success"] is True
    forms = {sample["form"] for sample in wrong}
    assert forms == ({1, 2, 3} if level == 1 else {level})
    if level < 3 and env != MINESWEEPER:
        kinds = {sample["rollback_type"] for sample in wrong}
        assert kinds >= {"intent", "wrong_argument", "forgotten_context"}
    if level == 3:
        assert {sample["rollback_type"] for sample in wrong} == {"intent"}


@pytest.mark.parametrize("options", [{}, {"difficulty": 0, "max_turns": 20}])
def test_a_search_before_costs_turns_and_no_more(options: dict[str, Any]) -> None:
    made = samples(searches=4, options=options, clean=0.5, records=60)
    assert check(made).problems == ()
    looked = Counter[int]()
    for sample in made:
        if sample["form"] == 0:
            lengths, shortest = sample["distances"], sample["distances"][0]
            assert all(after <= before for before, after in pairwise(lengths))
            looked[sum(after == before for before, after in pairwise(lengths))] += 1
            assert len(lengths) - 1 <= shortest + 2 * 4
    assert looked[0]
    assert len(looked) > 2


def test_how_many_wrong_turns_each_level_has() -> None:
    for level, turns in ((1, {1}), (2, {2, 3}), (3, {3, 4, 5, 6})):
        made = [sample for sample in samples(level=level, records=80) if sample["form"] == level]
        assert {sample["rollback_step"] - sample["error_step"] for sample in made} <= turns
        assert len({sample["rollback_step"] - sample["error_step"] for sample in made}) >= min(2, len(turns))


def test_dead_ends_are_part_of_level_three_where_there_are_such() -> None:
    for env in (WEBSHOP, SOKOBAN, MINESWEEPER):
        lost = [sample for sample in samples(env=env, level=3) if None in sample["distances"]]
        assert lost
        for sample in lost:
            assert sample["distances"][sample["rollback_step"] - 1] is None


def test_shares() -> None:
    assert {sample["form"] for sample in samples(clean=0.0, easier=0.0)} == {1}
    assert {sample["form"] for sample in samples(clean=1.0, records=10)} == {0}
    forms = Counter(sample["form"] for sample in samples(records=300, clean=0.5, easier=0.4))
    assert 0.4 < forms[0] / forms.total() < 0.6
    assert 0.2 < (forms[2] + forms[3]) / (forms.total() - forms[0]) < 0.6
    surprised = [sample for sample in samples(split="eval", surprises=0.5) if sample["form"] > 1]
    assert surprised
    assert {sample["rollback_step"] - sample["error_step"] for sample in surprised} == {2}
    assert {sample["form"] for sample in samples(split="eval", surprises=0.0)} == {0, 1}


def test_kinds_can_be_chosen() -> None:
    for kind in Kind:
        made = samples(clean=0.0, easier=0.0, kinds=(kind,), records=8)
        assert {sample["rollback_type"] for sample in made} == {kind}


@pytest.mark.parametrize("env", ENVS)
def test_splits_share_no_level_and_no_goal(env: str) -> None:
    levels: dict[str, set[str]] = {}
    goals: dict[str, set[str]] = {}
    for split in dataset.SPLITS:
        for level in (1, 3):
            for sample in samples(env=env, level=level, split=split, records=20, seed=level):
                assert sample["split"] == split
                levels.setdefault(split, set()).add(sample["task_id"])
                played = make_env(Recipe(1, 1, env).setting.env)
                played.reset(seed=0, options={"level": sample["task_id"]})
                base: Any = played.unwrapped
                goals.setdefault(split, set()).add(json.dumps(dataset._goal(base.name, base.level)))
                assert split_of(base.name, base.level) == split
    for found in (levels, goals):
        assert not found["train"] & found["eval"]
        assert not found["train"] & found["test"]
        assert not found["eval"] & found["test"]


# --- What a model is to learn from ----------------------------------------------------------------------------------


def test_the_dialogue_is_cut_back_and_every_right_answer_is_trained_once() -> None:
    for sample in samples(level=2):
        answers = [[m for m in messages if m["role"] == "assistant"] for messages in sample["conversations"]]
        assert len(answers) == (2 if sample["form"] else 1)
        if not sample["form"]:
            assert all(answer["train"] for answer in answers[0])
            continue
        back, target = sample["rollback_step"], sample["rollback_target"]
        first, second = answers
        assert [answer["train"] for answer in first] == [turn not in sample["injected"] for turn in range(1, back + 1)]
        assert [answer["train"] for answer in second] == [False] * target + [True] * (len(sample["trace"]) - back)
        assert "<action>rollback(" in first[-1]["content"]
        assert not any("rollback(" in answer["content"] for answer in second)
        assert any("You are back here" in message["content"] for message in sample["conversations"][1])


def test_where_a_model_is_asked_anew_every_answer_is_a_conversation() -> None:
    for prompts in (Prompts(style="single"), Prompts(window=2)):
        for sample in samples(level=1, records=8, prompts=prompts):
            assert check([sample]).problems == ()
            assert len(sample["conversations"]) == len(sample["trace"]) - len(sample["injected"])
            for messages in sample["conversations"]:
                assert [message["train"] for message in messages] == [False] * (len(messages) - 1) + [True]


def test_without_thoughts_there_is_nothing_but_the_action() -> None:
    for sample in samples(records=8, prompts=Prompts(think=False)):
        for messages in sample["conversations"]:
            for message in messages:
                if message["role"] == "assistant":
                    assert message["content"].startswith("<action>")


def test_rows_for_sft() -> None:
    for sample in samples(records=8):
        rows = list(sft_rows(sample))
        assert [row["messages"] for row in rows] == sample["conversations"]
        assert {row["id"] for row in rows} == {sample["id"]}


# --- The check ------------------------------------------------------------------------------------------------------


def wrong_one() -> Sample:
    sample: Sample = json.loads(json.dumps(next(s for s in samples(level=2) if s["form"])))
    return sample


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update(schema="x"), "this release reads"),
        (lambda s: s.pop("trace"), "trace: is missing"),
        (lambda s: s.update(extra=1), "extra: there is no such field"),
        (lambda s: s["trace"][0].update(content=["look"]), "trace[0].content: expected a text"),
        (lambda s: s["conversations"][0][0].pop("role"), "conversations[0][0].role: is missing"),
        (lambda s: s.update(rollback_target=None), "do not go together"),
        (lambda s: s.update(error_step=99), "do not go together"),
        (lambda s: s["env"]["kwargs"].update(rollback=False), "rollback=False"),
        (lambda s: s.update(observation="elsewhere"), "the start is another one"),
        (lambda s: s["trace"][1].update(observation="elsewhere"), "turn 2 was"),
        (lambda s: s["trace"][0].update(content="look"), "turn 1 was"),
        (lambda s: s["trace"].pop(), "not won"),
        (lambda s: s["trace"].append(dict(s["trace"][-1])), "the episode is over before"),
        (lambda s: s["distances"].__setitem__(0, 99), "L was"),
        (lambda s: s.update(error_step=s["error_step"] + 1), "the mistake is at turn"),
        (lambda s: s.update(rollback_target=s["rollback_target"] + 1), "is not the one that there is"),
        (lambda s: s.update(rollback_type="bad luck"), "there is no kind"),
        (lambda s: s.update(restored_success=False), "restored_success"),
        (lambda s: s.update(injected=[]), "what was done wrong on purpose"),
        (lambda s: s.update(form=1), "wrong turns are none of form 1"),
        (lambda s: s.update(form=0), "it is clean, and something is wrong in it"),
        (lambda s: s["conversations"][0][1].update(train=True), "a message of the user is trained"),
        (lambda s: s["conversations"][1].pop(), "does not end with an answer"),
        (lambda s: _answer(s, s["error_step"]).update(train=True), "what is trained is not what is right"),
        (lambda s: s["conversations"].pop(), "what is trained is not what is right"),
    ],
)
def test_what_is_not_right_is_found(change: Callable[[Sample], Any], message: str) -> None:
    sample = wrong_one()
    assert problems(sample) == ()
    change(sample)
    assert any(message in problem for problem in problems(sample)), problems(sample)


def _answer(sample: Sample, turn: int) -> dict[str, Any]:
    answers = [message for message in sample["conversations"][0] if message["role"] == "assistant"]
    found: dict[str, Any] = answers[turn - 1]
    return found


def test_an_id_must_be_the_only_one_of_its_kind() -> None:
    sample = wrong_one()
    assert check([sample, sample]).problems == ((sample["id"], "its id is not the only one of its kind"),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update(task_id="nowhere"), "nowhere"),
        (lambda s: s["env"].update(id="Nothing-v0"), "There is no environment"),
        (lambda s: s["env"].update(id="not_ours:Nothing-v0"), "whose code would run here"),
        (lambda s: s["env"]["kwargs"].update(no_such=1), "There is no environment"),
        (lambda s: s["env"].update(id=SOKOBAN, kwargs={"actions": "discrete"}), "not told in text"),
    ],
)
def test_a_sample_that_cannot_be_played_is_told_as_one(change: Callable[[Sample], Any], message: str) -> None:
    sample, right = wrong_one(), {**wrong_one(), "id": "right"}
    change(sample)
    (found,) = check([sample, right]).problems
    assert found[0] == sample["id"]
    assert message in found[1]


@pytest.mark.parametrize("line", [[1, 2], 3, None, "text", {}])
def test_a_line_that_is_no_sample(line: Any) -> None:
    ((name, _),) = check([line]).problems
    assert name in ("number 1", "None")


def test_the_schema_is_that_of_the_lines() -> None:
    sample = wrong_one()
    properties = fields.schema()["$defs"]["Fields"]["properties"]
    assert set(properties) == set(sample)
    assert fields.schema()["$id"] == sample["schema"]


def test_answer_rows_are_what_is_right_with_all_that_came_before() -> None:
    sample = wrong_one()
    rows = list(answer_rows(sample))
    said = [row["completion"][0]["content"] for row in rows]
    trained = [message["content"] for of in sample["conversations"] for message in of if message["train"]]
    assert said == trained
    wrong = {sample["trace"][turn - 1]["content"] for turn in sample["injected"]}
    assert len(said) == len(sample["trace"]) - len(sample["injected"])
    assert all(row["prompt"][-1]["role"] == "user" and len(row["completion"]) == 1 for row in rows)
    back = next(row for row in rows if "<action>rollback(" in row["completion"][0]["content"])
    assert any(f"<action>{action}</action>" in message["content"] for action in wrong for message in back["prompt"])


# --- Making a file --------------------------------------------------------------------------------------------------

RECIPE = Recipe(1, 60, ALFWORLD, seed=3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("whole") / "data.jsonl"
    assert make(RECIPE, out) == 0
    assert [path.name for path in out.parent.iterdir()] == ["data.jsonl"]
    return out.read_bytes()


def test_a_file_holds_as_many_samples_as_were_asked_for(whole: bytes) -> None:
    made = [json.loads(line) for line in whole.splitlines()]
    assert [sample["id"] for sample in made] == [f"{number:06d}" for number in range(60)]
    assert check(made).problems == ()


def test_it_does_not_depend_on_the_number_of_workers(whole: bytes, tmp_path: Path) -> None:
    make(RECIPE, tmp_path / "data.jsonl", workers=2)
    assert (tmp_path / "data.jsonl").read_bytes() == whole


def test_it_does_not_depend_on_hashes(whole: bytes, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom rollback_gym.study.dataset import *\nmake(Recipe(1, 60, ALFWORLD, seed=3), sys.argv[1])\n"
    )
    out = tmp_path / "data.jsonl"
    subprocess.run([sys.executable, "-c", script, str(out)], env={**os.environ, "PYTHONHASHSEED": "7"}, check=True)
    assert out.read_bytes() == whole


def test_another_seed_is_another_file(whole: bytes, tmp_path: Path) -> None:
    make(RECIPE._replace(seed=4), tmp_path / "data.jsonl")
    assert (tmp_path / "data.jsonl").read_bytes() != whole


class Stop(Exception):
    pass


@pytest.mark.parametrize("torn", [False, True])
def test_it_goes_on_where_it_was_stopped(whole: bytes, tmp_path: Path, torn: bool) -> None:
    out, told = tmp_path / "data.jsonl", []

    def stop(done: int) -> None:
        if done > 20:
            raise Stop

    with pytest.raises(Stop):
        make(RECIPE, out, report=stop)
    assert not out.exists()
    part = tmp_path / ".data.jsonl.part"
    if torn:
        part.write_bytes(part.read_bytes() + b'{"id":"0000')
    there = make(RECIPE, out, report=told.append)
    assert there == told[0] > 20
    assert told[-1] == 60
    assert out.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]


def test_another_recipe_does_not_go_on_with_it(tmp_path: Path) -> None:
    def stop(done: int) -> None:
        if done:
            raise Stop

    out = tmp_path / "data.jsonl"
    with pytest.raises(Stop):
        make(RECIPE, out, report=stop)
    with pytest.raises(RunMismatch, match=r"begun with other settings \(seed=3\).*delete .*\.part to begin anew"):
        make(RECIPE._replace(seed=4), out)
    (tmp_path / ".data.jsonl.part").unlink()
    make(RECIPE._replace(seed=4, records=5), out)


def test_later_rounds_go_on_with_new_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(dataset._pool(RECIPE)[:12])
    monkeypatch.setattr(dataset, "_pool", lambda recipe: few)
    monkeypatch.setattr(dataset, "_MOST", 4)
    out = tmp_path / "data.jsonl"
    make(RECIPE._replace(records=90), out)
    made = list(read(out))
    assert len({json.dumps([sample["task_id"], sample["trace"]]) for sample in made}) == 90
    assert check(made).problems == ()


def test_more_than_there_is_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(dataset._pool(RECIPE)[:3])
    monkeypatch.setattr(dataset, "_pool", lambda recipe: few)
    with pytest.raises(DataError, match=r"There are only \d+ different samples here, not 5000"):
        make(RECIPE._replace(records=5000, clean=1.0), tmp_path / "data.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 4}, "level must be 1, 2 or 3, got 4"),
        ({"records": 0}, "records must be at least 1"),
        ({"split": "dev"}, "split must be one of train, eval, test, got 'dev'"),
        ({"clean": 1.5}, r"clean must be a share from 0 to 1, got 1\.5"),
        ({"easier": 0.6, "surprises": 0.6}, "easier and surprises must be 1 at most together"),
        ({"kinds": ()}, "kinds must be some of"),
        ({"level": 3, "kinds": (Kind.FAILED_CALL,)}, "level 3 needs the kind intent"),
        ({"options": {"level": "x"}}, "leave the option level out"),
        ({"env": SOKOBAN, "options": {"actions": "discrete"}}, "told in text"),
        ({"env": SOKOBAN, "options": {"observation": "array"}}, "told in text"),
    ],
)
def test_recipes_that_there_are_not(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        make(RECIPE._replace(**settings), tmp_path / "data.jsonl")


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"id": 1}\n{"id"')
    with pytest.raises(RecordError, match="line 2: no JSON"):
        list(read(tmp_path / "data.jsonl"))


@pytest.mark.parametrize(
    "note", ["{", "[]", '{"recipe": 1, "standing": {}}', '{"recipe": {}, "standing": {"bytes": -1}}']
)
def test_a_note_that_is_damaged_is_told(note: str, tmp_path: Path) -> None:
    (tmp_path / ".data.jsonl.part").write_text("x\n")
    (tmp_path / ".data.jsonl.part.json").write_text(note)
    with pytest.raises(RunMismatch, match="to begin anew"):
        make(RECIPE, tmp_path / "data.jsonl")


def test_a_draft_that_is_shorter_than_its_note_says(tmp_path: Path) -> None:
    recipe = {"seed": 1}
    with draft(tmp_path / "data.jsonl", recipe) as begun:
        begun.add(['{"a":1}', '{"a":2}'], 1)
    with open(tmp_path / ".data.jsonl.part", "r+b") as file:
        file.truncate(3)
    with pytest.raises(RunMismatch, match="holds less than its note says"), draft(tmp_path / "data.jsonl", recipe):
        pass


def test_two_processes_do_not_make_one_file(tmp_path: Path) -> None:
    with draft(tmp_path / "data.jsonl", {}) as mine:
        mine.add(['{"a":1}'], 1)
        with pytest.raises(RunMismatch, match="is being written by another run"), draft(tmp_path / "data.jsonl", {}):
            pass
        mine.finish()
    assert (tmp_path / "data.jsonl").read_text() == '{"id":"000000","a":1}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]


@pytest.mark.parametrize("prompts", [Prompts(style="loud"), Prompts(think="maybe"), Prompts(window="x")])  # type: ignore[arg-type]
def test_prompts_that_there_are_not(prompts: Prompts, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be"):
        make(RECIPE._replace(prompts=prompts), tmp_path / "data.jsonl")
    assert list(tmp_path.iterdir()) == []
