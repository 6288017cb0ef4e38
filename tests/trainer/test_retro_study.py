"""The small study: what its base is shown is what it will be asked, and its table counts what happened."""

import json
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

from rollback_gym.core.errors import RunMismatch
from rollback_gym.oracles import for_env
from rollback_gym.play.run import make_env
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.cooks import Habits
from rollback_gym.trainer.reflection import read
from rollback_gym.trainer.reflectors import ModelReflector, exact_phi
from rollback_gym.trainer.retro_demos import demos, play_texts, reflected, reflection_texts, words
from rollback_gym.trainer.retro_study import ARMS, REFLECTION, Study, made, markdown, reproduce, rooms
from rollback_gym.trainer.studies import PROMPTS
from rollback_gym.trainer.tiny import tiny_tokenizer
from rollback_gym.trainer.trajectory import Start
from tests.trainer import models  # noqa: F401  # quiet, on one thread
from tests.trainer.scripted import Told

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports

SMALL = Study(seeds=1, shown=6, epochs=1, rooms=2, turns=5, steps=1, groups=2, group=2, repeats=1)


@pytest.fixture(scope="module")
def given():
    env = make_env(made(SMALL))
    _, _, shown = rooms(SMALL)
    env.reset(seed=0, options={"level": shown[0]})
    oracle = for_env(env)
    return demos(env, shown, oracle, habits=Habits(errs=0.3), helped=0.0), oracle


@pytest.fixture(scope="module")
def chat(given):
    return Chat(tiny_tokenizer(text for demo in given[0] for text in words(demo, PROMPTS)))


def test_no_room_is_in_two_places():
    seen, unseen, shown = rooms(Study())
    assert len(seen) == len(unseen) == 8
    assert len({*seen, *unseen, *shown}) == 16 + len(shown)


def test_every_other_episode_was_told_a_lesson_and_followed_it(given):
    episodes, oracle = given
    assert [bool(demo.lesson) for demo in episodes] == [False, True] * SMALL.shown
    assert all(demo.trajectory.won for demo in episodes[1::2])
    for demo in episodes:
        assert demo.phi == exact_phi(demo.trajectory, oracle)
        assert demo.reference is None or demo.reference.won != demo.trajectory.won


def test_what_is_shown_of_an_episode_is_what_a_model_will_read_while_playing(given, chat):
    for demo in given[0][:6]:
        (text,) = play_texts(chat, demo, PROMPTS)
        acts = [f"<action>{turn.action}</action>" for turn in demo.trajectory.view.turns[1:]]
        setup = Setup(made(SMALL), PROMPTS, limits=Limits(30, 4000), lesson=lambda start, view, told=demo.lesson: told)
        start = Start(demo.trajectory.start.seed, demo.trajectory.start.options)
        (row,) = Collector(setup, chat).play([start], Told(chat, acts), 0).rows
        assert text.ids == (*row.prompt, *row.completion)
        assert text.trained[len(row.prompt) :] == tuple(map(bool, row.mask))
        assert not any(text.trained[: len(row.prompt)])
        assert all(play_texts(chat, demo, PROMPTS, told=True)[0].trained)


def test_a_shown_reflection_is_of_the_form_and_right_and_its_question_is_the_one_asked(given, chat):
    for demo in given[0]:
        reflection = read(reflected(demo))
        assert not reflection.problem
        assert reflection.predicted == demo.trajectory.won
        assert reflection.phi <= demo.phi + 1e-9
        for weight, text in zip((1.0, 0.0), reflection_texts(chat, demo), strict=True):
            asked = Told(chat, [reflected(demo)])
            reflector = ModelReflector(chat, Limits(200, 4000), weight=weight, brief=True)
            found = reflector([demo.trajectory], [demo.reference], asked, 0)
            assert text.ids == (*asked.asked[0][0].ids, *chat.answer(reflected(demo)))
            assert found.reflections == (reflection,)


def test_a_shown_reflection_has_room(given, chat):
    assert max(len(chat.answer(reflected(demo))) for demo in given[0]) < REFLECTION


def run(won, evaluated=(True, False, False, False)):
    series = [{"won": of, "memory/spread": 0.5, "reflection/right": of} for of in won]
    attempts = [[False, False, True], [False] * 3]
    return {"series": series, "evaluated": list(evaluated), "seen": attempts, "unseen": [[False] * 3] * 2}


def test_the_tables_count_by_room():
    two = replace(SMALL, rooms=2)
    results = {"GRPO": [run([0.0] * 5 + [1.0] * 5)], "other": [run([1.0] * 10), run([0.0] * 10, [True] * 4)]}
    won, looked = (part.splitlines() for part in markdown(two, results).split("\n\n"))
    assert len({line.count("|") for line in won}) == len({line.count("|") for line in looked}) == 1
    grpo, other = ([cell.strip() for cell in line.split("|")[1:-1]] for line in won[2:4])
    assert grpo[:4] == ["GRPO", grpo[1], "25", "10"]
    assert grpo[1].startswith("25% (")
    assert other[2:4] == ["25 100", "5, never"]
    assert other[1].startswith("62% (")
    assert [of.partition(" ")[0] for of in grpo[4:8]] == ["0%", "50%", "0%", "0%"]
    assert grpo[8] == "0% 0% 0%"
    cells = dict(zip(*([cell.strip() for cell in looked[row].split("|")[1:-1]] for row in (0, 3)), strict=True))
    assert (cells["c right, first"], cells["c right, last"], cells["malformed, last"]) == ("1.00 0.00", "1.00 0.00", "")
    assert "never" not in markdown(two, {"GRPO": [run([0.0] * 5)]}), "there is no peak to reach"


def test_a_study_of_the_smallest_size_goes_on_where_it_was(tmp_path):
    told = []
    arms = ("GRPO", "+ both, reflection trained")
    table = reproduce(SMALL, tmp_path, told.append, arms)
    assert table == (tmp_path / "results.md").read_text(encoding="utf-8")
    assert [line for line in told if "seed" in line] == [f"{name}, seed 0: done" for name in arms]
    result = json.loads((tmp_path / "both-reflection-trained-0.json").read_text(encoding="utf-8"))
    assert len(result["series"]) == SMALL.steps
    assert "reflection/phi" in result["series"][0]
    assert [len(result[name]) for name in ("evaluated", "seen", "unseen")] == [8, 2, 2]
    again = []
    assert reproduce(SMALL, tmp_path, again.append, arms) == table
    assert again == [], "all of it is there"
    with pytest.raises(RunMismatch, match="another size"):
        reproduce(Study(), tmp_path)
    assert set(arms) <= set(ARMS)
