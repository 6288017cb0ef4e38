"""The study of recovery, as small as it can be: files, tables, and going on where it was stopped."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

from transformers import AutoModelForCausalLM

from rollback_gym.core.errors import RunMismatch, RunStopped
from rollback_gym.oracles.alfworld import distance
from rollback_gym.oracles.lookup import for_env
from rollback_gym.play.policies import GoingBack, Turn, View
from rollback_gym.play.pool import Done, Failed
from rollback_gym.play.prompts import Prompts
from rollback_gym.play.run import make_env
from rollback_gym.study.notes import noted
from rollback_gym.trainer import pivot_study, studies
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.cooks import Cook, Habits
from rollback_gym.trainer.generation import TransformersGenerator
from rollback_gym.trainer.hints import gold_hint
from rollback_gym.trainer.moments import Moment
from rollback_gym.trainer.pivot_demos import HINT, needed, text, words
from rollback_gym.trainer.pivot_mistakes import TELLS, Mistake, balanced, first_mistake, judged, pivots
from rollback_gym.trainer.pivot_probes import probes
from rollback_gym.trainer.pivot_study import (
    ABLATIONS,
    ARMS,
    Study,
    markdown,
    paired,
    recovery,
    reproduce,
    settings,
)
from rollback_gym.trainer.pivot_teacher import Knowable, true_to_notes
from rollback_gym.trainer.scoring import scoring_by
from rollback_gym.trainer.teachers import OracleTeacher
from rollback_gym.trainer.tiny import tiny_tokenizer
from rollback_gym.trainer.trajectory import Start, start_after, watched
from tests.trainer import models

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports

LEAST = Study(
    seeds=1, turns=6, shown=6, epochs=1.0, rooms=4, held_out=4, steps=1, groups=1, group=2, mistakes=2, replays=1
)


def test_a_study_is_done_once(tmp_path):
    models.quiet()
    told = []
    table = reproduce(LEAST, tmp_path, told.append, ["base", "PivotOPD"])
    assert told == ["base: 6 episodes", "mistakes", "base, seed 0: done", "PivotOPD, seed 0: done"]
    assert table.count("\n") == 11
    assert "A judge that names" in table or "No episode" in table
    assert (tmp_path / "results.md").read_text() == table
    run = json.loads((tmp_path / "pivotopd-0.json").read_text())
    assert len(run["series"]) == 1
    assert "recovery/rows" in run["series"][0]
    assert len(run["won"]) == 4
    assert not list(tmp_path.glob(".*"))
    told.clear()
    assert reproduce(LEAST, tmp_path, told.append, ["base", "PivotOPD"]) == table
    assert told == []
    with pytest.raises(RunMismatch, match="another size"):
        reproduce(Study(), tmp_path)


def test_arms_side_by_side_are_as_one_after_the_other(tmp_path):
    models.quiet()
    told = []
    alone = reproduce(LEAST, tmp_path, told.append, ["base", "GRPO"])
    for name in ("base", "grpo"):
        (tmp_path / f"{name}-0.json").unlink()
    assert reproduce(LEAST, tmp_path, told.append, ["base", "GRPO"], 2) == alone
    assert sorted(told[-2:]) == ["GRPO, seed 0: done", "base, seed 0: done"]


def test_a_training_that_ends_early_is_said_and_the_others_are_kept(tmp_path, monkeypatch):
    def make(given):
        def run(job):
            if job.seed:
                raise ValueError("no luck")
            return {"won": [True]}

        return run

    told = []
    jobs = [studies.Job("GRPO", seed) for seed in range(3)]
    monkeypatch.setattr(studies, "work", lambda make, given, jobs, workers: in_turn(make(given), jobs))
    with pytest.raises(RunStopped, match=r"2 of 3 trainings ended early.*seed 1: no luck"):
        studies.finish(tmp_path, jobs, make, None, told.append, 2)
    assert told == ["GRPO, seed 0: done"]
    assert [path.name for path in tmp_path.iterdir()] == ["grpo-0.json"]


def in_turn(do, jobs):
    for job in jobs:
        try:
            yield Done(job, do(job))
        except ValueError as error:
            yield Failed(job, str(error))


def test_arms_add_what_they_say():
    added = {name: settings(Study(), arm) for name, arm in ARMS.items() if arm.trained}
    assert added["OPD"].where == "every"
    assert not {*ARMS} & {*ABLATIONS}
    others = {name: settings(Study(), arm) for name, arm in ABLATIONS.items()}
    assert others["random turns"].where == "random"
    assert not others["reverse-KL recovery"].recovering.forward
    assert others["no gold action"].hint is None
    assert (added["prevention only"].recovering.turns, added["recovery only"].prevention) == (0, 0.0)
    assert added["PivotOPD"].prevention
    assert added["PivotOPD"].recovering.turns == 2
    assert not ARMS["GRPO"].prevention
    assert not ARMS["GRPO"].recovery


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A study's first part, and episodes of its base in the kitchens that it trains in."""
    models.quiet()
    out = tmp_path_factory.mktemp("study")
    reproduce(LEAST, out, arms=[])
    collector = pivot_study._collector(LEAST, out / "base")
    model = AutoModelForCausalLM.from_pretrained(out / "base").eval()
    starts = [Start(options={"level": level}) for level in pivot_study._rooms(LEAST)]
    return collector, model, collector.play(starts, TransformersGenerator(model, collector.chat.stops), 0)


def test_a_model_scores_what_it_said_as_it_sampled_it(played):
    collector, model, of = played
    scores = scoring_by(model, collector.chat.tokenizer.pad_token_id)(of.rows)
    for row, given in zip(of.rows, scores, strict=True):
        assert len(given) == len(row.completion)
        for span in row.spans:
            assert given[span.start : span.end] == pytest.approx(row.logprobs[span.start : span.end], abs=1e-4)


def test_probes_are_of_the_mistake_itself(played):
    collector, model, _ = played
    env = make_env(collector.setup.made)
    level = pivot_study._rooms(LEAST)[0]
    env.reset(seed=0, options={"level": level})
    oracle = for_env(env)
    right = str(oracle.optimal_actions(env.unwrapped.level, env.unwrapped.state)[0])
    start = start_after(env, [right], options={"level": level})
    generator = TransformersGenerator(model, collector.chat.stops)
    once = collector.play([start], generator, 0).trajectories
    scoring = scoring_by(model, collector.chat.tokenizer.pad_token_id)
    found = probes(collector.setup, collector.chat, oracle, once, scoring, HINT)
    assert found["again"] == found["right"], "what was done was right"
    assert 0 < found["taken up"][0] < 1
    assert [len(found[f"kl {k}"]) for k in range(1, 6)] == [1] * 5


def test_pivots_are_where_l_grows_and_a_weak_judge_goes_by_what_it_reads():
    env = make_env(pivot_study.made(replace(LEAST, turns=14)))
    oracle, counted = for_env(env), 0
    for seed, level in enumerate(pivot_study._held_out(Study())[:12]):
        trajectory, _ = watched(env, level, Cook(Habits(errs=0.3, recovers=0.5)), seed)
        lengths = [distance(trajectory.level, node.point.state) for node in trajectory.history.path]
        found = [index for index, (before, after) in enumerate(pairwise(lengths), 1) if after > before]
        assert [of.entry.index for of in pivots(trajectory, oracle)] == found
        mistake = first_mistake(trajectory, oracle, 99)
        assert (mistake is None) == (not found)
        if mistake is not None:
            assert len(mistake.actions) == found[0]
            assert mistake.kind in (*TELLS, "other")
            needed = f" {trajectory.level.goal.object_type} "
            read = any(needed in str(turn.observation) for turn in trajectory.view.turns[1 : found[0]])
            assert mistake.knowable == (read or mistake.kind != "go"), "who takes the wrong thing reads what it is"
            assert first_mistake(trajectory, oracle, found[0]) is None, "no turns are left"
        named = judged(trajectory, oracle).named
        actions = [str(turn.action) for turn in trajectory.view.turns[1:]]
        assert len(set(actions[: named[0] - 1 if named else None])) == (named[0] - 1 if named else len(actions))
        counted += bool(found) and bool(named)
    assert counted > 2


def mistake(kind, knowable):
    return Mistake("a", ("go to b",), (None,), kind, knowable)


def test_only_tasks_that_name_a_thing_are_noted():
    assert needed("put a mug in shelf.") == "mug"
    with pytest.raises(ValueError, match="put a mug"):
        needed("look around.")
    with pytest.raises(ValueError, match="put a mug"):
        needed("put a clean mug in shelf.")


def test_the_teacher_names_what_could_be_known_and_notes_are_checked():
    env = make_env(pivot_study.made(replace(LEAST, turns=14)))
    teacher, named, silent = Knowable(OracleTeacher(for_env(env))), 0, 0
    for seed, level in enumerate(pivot_study._held_out(Study())[:8]):
        trajectory, views = watched(env, level, Cook(Habits(errs=0.3, recovers=0.5)), seed)
        for view, node in zip(views[:-1], trajectory.history.path, strict=False):
            here = Moment(view, trajectory.level, node.point.state, trajectory.history)
            (of,) = teacher.names([here], 0)
            note = noted(trajectory.level.goal.object_type, view.turns)
            if of.action is None:
                assert "no " in note
                silent += 1
            else:
                assert "no " not in note or not of.action.startswith("go to ")
                named += 1
            assert true_to_notes(here, f"<think>{note}</think><action>look</action>")
            assert not true_to_notes(here, "<think>hold egg 9</think><action>look</action>")
    assert named > 20
    assert silent > 5


def test_mistakes_are_of_all_kinds_alike():
    of = [mistake(kind, True) for kind in ("go", "go", "go", "take", "go", "move", "take")]
    assert [found.kind for found in balanced(of, 5)] == ["go", "take", "move", "go", "take"]
    assert len(balanced(of, 99)) == 7
    assert balanced([], 3) == []


def test_the_table_counts_mistakes_with_all_their_replays():
    mistakes = [mistake("go", True), mistake("take", False), mistake("go", False)]
    probes = {"again": [0.5, 0.25, 0.0], "kl 1": [2.0], "kl 5": []}
    runs = [{"recovered": [8, 0, 4], "replays": 8, "won": [True, False], "probes": probes} for _ in range(2)]
    assert recovery(runs, [True] * 3).value == 0.5
    assert recovery(runs, [True, False, True]).value == 0.75
    assert recovery(runs, [False] * 3).value is None
    lines = markdown({"GRPO": runs, "OPD": runs}, mistakes).splitlines()
    assert "recovery (1) | after go (1) | not to be known (2)" in lines[0]
    assert lines[3].split(" | ")[1].startswith("100%")
    assert " | 100 100 |  | 20.3 | 50%" in lines[3]
    worse = [{**run, "recovered": [6, 8, 8]} for run in runs]
    assert " | 75 75 | 0, 0, 1 |" in markdown({"base": runs, "OPD": worse}, mistakes).splitlines()[3]
    assert paired(runs, worse, [True] * 3) == "1, 0, 2"
    assert lines[5] == "| arm | again | kl 1 |"
    assert lines[7] == "| GRPO | 0.25 | 2.00 |"


def test_a_hinted_episode_names_every_action_before():
    def view(*actions):
        turns = [Turn(0, None, "A room.")]
        turns += [Turn(at, action, f"You {action}.", parent=at - 1) for at, action in enumerate(actions, 1)]
        return View("alfworld", "put a mug in shelf.", tuple(turns), {}, None, lambda index, reason: "", GoingBack(), 9)

    views = (view(), view("go left"), view("go left", "take it"))
    asking = Prompts(brief=True, admissible=False, rollback=False, think=False)
    chat = Chat(tiny_tokenizer(words(views, asking)))
    made = text(chat, views, asking, hinted=True)
    said = chat.tokenizer.decode([id for id, trained in zip(made.ids, made.trained, strict=True) if trained])
    note = "<think>hold nothing, no mug</think>"
    assert said == f"{note}<action>go left</action><|end|>{note}<action>take it</action><|end|>"
    whole = chat.tokenizer.decode(made.ids)
    for action in ("go left", "take it"):
        hint = gold_hint(action, HINT)
        assert whole.index(hint) < whole.index(f"<action>{action}")
    assert "(do:" not in chat.tokenizer.decode(text(chat, views, asking, hinted=False).ids)
