"""Runs: the same file whoever plays, whatever stops them, and however often."""

import os
import random

import pytest

from rollback_gym.core.errors import RecordError, RunMismatch
from rollback_gym.play.records import Made, line, read, timeless
from rollback_gym.play.run import MOST_FAILURES, Plan, Standing, made_by, run

SOKOBAN = Made("Rollback-Sokoban-v0", {"max_turns": 8, "revive": True})
PLAN = Plan(SOKOBAN, "random", {"rollbacks": 0.2}, episodes=6, repeat=2)
BREAKING = "tests.play.broken:Breaking"


def breaking(how, **settings):
    return PLAN._replace(policy=BREAKING, settings={"how": how, **settings})


def content(path):
    return [line(timeless(episode)) for episode in read(path)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbed."""
    path = tmp_path_factory.mktemp("whole") / "run.jsonl"
    assert run(PLAN, path) == Standing(6, 6, won=sum(episode.outcome == "won" for episode in read(path)))
    return path


def test_the_order_and_what_differs(whole):
    episodes = list(read(whole))
    assert [episode.id for episode in episodes] == ["0-0", "0-1", "1-0", "1-1", "2-0", "2-1"]
    assert [episode.seed for episode in episodes] == [0, 0, 1, 1, 2, 2]
    for first, second in zip(episodes[::2], episodes[1::2], strict=True):
        assert first.level == second.level
        assert [act.action for act in first.acts] != [act.action for act in second.acts]
    assert episodes[0].policy == {"name": "random", "seed": 0, "rollbacks": 0.2}
    assert any(act.kind == "rollback" for episode in episodes for act in episode.acts)


def test_many_workers_write_the_same(whole, tmp_path):
    path = tmp_path / "run.jsonl"
    run(PLAN, path, workers=3)
    assert content(path) == content(whole)
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_run_goes_on_from_any_byte(whole, tmp_path):
    """Killed at any moment: whatever is in the file, the end is the same."""
    written, path = whole.read_bytes(), tmp_path / "run.jsonl"
    ends = [index + 1 for index, byte in enumerate(written) if byte == 10]
    inside = random.Random(0).sample(range(len(written)), 3)
    for length in (0, ends[0] - 1, ends[0] + 1, ends[4], *inside, len(written) - 1):
        path.write_bytes(written[:length])
        reports = []
        standing = run(PLAN, path, report=reports.append)
        assert (standing.done, standing.total) == (6, 6)
        # A line that only lacks its break is there.
        assert standing.resumed == sum(end - 1 <= length for end in ends)
        assert [report.done for report in reports] == list(range(standing.resumed, 7))
        assert content(path) == content(whole)


def test_in_whatever_order_lines_are(whole, tmp_path):
    lines = whole.read_bytes().splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join([lines[5], lines[1], lines[3]]))
    assert run(PLAN, path).resumed == 3
    assert content(path) == content(whole)


def test_a_finished_run_is_left_alone(whole, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole.read_bytes())
    before = os.stat(path)
    assert run(PLAN, path).resumed == 6
    assert (os.stat(path).st_mtime_ns, os.stat(path).st_ino) == (before.st_mtime_ns, before.st_ino)


def test_more_episodes_are_added(whole, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole.read_bytes())
    standing = run(PLAN._replace(episodes=8), path)
    assert (standing.resumed, standing.done) == (6, 8)
    assert content(path)[:6] == content(whole)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"made": SOKOBAN._replace(kwargs={"max_turns": 9, "revive": True})}, "option max_turns is 8 there and 9 here"),
        ({"made": SOKOBAN._replace(kwargs={"max_turns": 8})}, "option revive is True there and not given here"),
        ({"made": SOKOBAN._replace(id="rollback_gym:Rollback-Sokoban-v0")}, "env id"),
        ({"settings": {"rollbacks": 0.1}}, "policy rollbacks is 0.2 there and 0.1 here"),
        ({"policy_seed": 1}, "policy seed is 0 there and 1 here"),
        ({"policy": "oracle", "settings": {}}, "policy name is 'random' there and 'oracle' here"),
        ({"seed": 1}, "'0-0', which is none of this run's"),
        ({"episodes": 5}, "'2-1', which is none of this run's"),
        ({"levels": ("train/3",)}, "none of this run's"),
    ],
)
def test_another_run_is_refused(changed, told, whole, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole.read_bytes())
    with pytest.raises(RunMismatch, match=told):
        run(PLAN._replace(**changed), path)
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("foreign", [b"precious", b'{"schema": "mine"}', b"a\nb\n"])
def test_a_foreign_file_is_left_alone(foreign, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes(foreign)
    with pytest.raises(RecordError):
        run(PLAN, path)
    assert path.read_bytes() == foreign


def test_an_episode_twice_is_refused(whole, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(whole.read_bytes().splitlines(keepends=True)[0] * 2)
    with pytest.raises(RunMismatch, match="twice"):
        run(PLAN, path)


def test_two_runs_do_not_share_a_file(tmp_path):
    path = tmp_path / "run.jsonl"

    def another(standing):
        with pytest.raises(RunMismatch, match="another run"):
            run(PLAN, path)

    run(PLAN._replace(episodes=1), path, report=another)


@pytest.mark.parametrize(
    ("how", "told"), [("die", "exit code 3"), ("kill", "SIGKILL"), ("raise", "I am lost"), ("bug", "ZeroDivisionError")]
)
def test_what_breaks_is_told_and_the_others_go_on(how, told, tmp_path):
    path, marker = tmp_path / "run.jsonl", tmp_path / "marker"
    plan = breaking(how, marker=str(marker))
    standing = run(plan, path)
    ((id, message),) = standing.failures
    assert told in message
    assert not standing.stopped
    assert standing.done == 5
    assert id not in [episode.id for episode in read(path)]
    again = run(plan, path)
    assert (again.resumed, again.done, again.failures) == (5, 6, ())
    assert [episode.id for episode in read(path)] == ["0-0", "0-1", "1-0", "1-1", "2-0", "2-1"]


def test_what_would_break_all_stops_the_run(tmp_path):
    standing = run(breaking("stop"), tmp_path / "run.jsonl")
    assert standing.stopped
    assert [message for _, message in standing.failures] == ["No such key."]


def test_too_many_failures_stop_the_run(tmp_path):
    standing = run(breaking("raise")._replace(episodes=40), tmp_path / "run.jsonl")
    assert standing.stopped
    assert len(standing.failures) == MOST_FAILURES


def test_levels_in_turn(tmp_path):
    path = tmp_path / "run.jsonl"
    run(PLAN._replace(levels=("train/5", "train/3"), episodes=3, repeat=1, oracle=False), path)
    episodes = list(read(path))
    assert [episode.level for episode in episodes] == ["train/5", "train/3", "train/5"]
    assert [episode.id for episode in episodes] == ["train/5-0-0", "train/3-1-0", "train/5-2-0"]
    assert all(episode.distance is None and episode.pivots == () for episode in episodes)


def test_a_variable_that_chooses_games_is_recorded(monkeypatch, tmp_path):
    monkeypatch.setenv("ALFWORLD_DATA", "/games")
    assert made_by("Rollback-ALFWorld-v0", {}) == Made("Rollback-ALFWorld-v0", {"data": "/games"})
    assert made_by("Rollback-ALFWorld-v0", {"difficulty": 1.0}).kwargs == {"difficulty": 1.0}
    assert made_by("rollback_gym:Rollback-ALFWorld-v0", {"data": tmp_path}).kwargs == {"data": str(tmp_path)}
    assert made_by("Rollback-Sokoban-v0", {}).kwargs == {}
