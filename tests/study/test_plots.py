"""Pictures: which there are, that they are the same for the same numbers, and that nothing to show draws nothing."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from rollback_gym.core.errors import MissingExtra
from rollback_gym.study import plots
from rollback_gym.study.branches import Arm
from rollback_gym.study.counterfactual import Replay, results
from rollback_gym.study.course import course
from rollback_gym.study.diagnose import summarise
from tests.study.episodes import Back, Step, episode


def picture(label, run, replays=()):
    courses = [course(one) for one in run]
    return plots.Picture(label, courses, summarise(courses), results(replays))


RUN = [
    episode(3, 2, 1, 0),
    episode(3, 2, Step(4, injected="intent"), 5, Back(1), 1, 0, kind="heat"),
    episode(3, 2, 4, 4, 4),
    episode(3, 2, 2, Back(1), 1, 2, Back(0)),
    episode(3, float("inf"), float("inf"), kind="heat", outcome="lost"),
]
REPLAYS = [Replay(f"{n}", "pick", str(arm), s, 2, n == s, 4, 3.0) for n in range(3) for arm in Arm for s in range(2)]


def test_every_picture_is_drawn_in_both_formats_and_alike_again(tmp_path):
    pictures = [picture("before", RUN, REPLAYS), picture("after <b>", RUN[:4], REPLAYS)]
    files = plots.save(pictures, tmp_path / "plots")
    names = {f"{name}.{kind}" for name in ("figure-1", "rollbacks", "groups") for kind in ("png", "svg")}
    assert {file.name for file in files} == {file.name for file in (tmp_path / "plots").iterdir()} == names
    for file in files:
        if file.suffix == ".svg":
            ElementTree.parse(file)
    with plots._styled():
        again = plots._written(plots.figure_one(pictures), tmp_path / "figure-1")
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in files if file.stem == "figure-1"]


def test_each_panel_stands_where_there_is_something_to_show():
    with plots._styled():
        whole = plots.figure_one([picture("run", RUN, REPLAYS)])
        no_replays = plots.figure_one([picture("run", RUN)])
        wins = plots.figure_one([picture("run", RUN[:1])])
    titles = ["(a)  Where failures go wrong", "(b)  What could still be done", "(c)  Failures"]
    assert [axes.get_title(loc="left") for axes in whole.axes] == titles
    assert len(no_replays.axes) == 2
    assert [axes.get_title(loc="left") for axes in wins.axes] == ["Failures"]


SPARSE = {
    "nothing": [],
    "one win": RUN[:1],
    "one failure": RUN[2:3],
    "no oracle": [episode(3, 4, Back(0), 2, oracle=False)],
}


@pytest.mark.parametrize("run", SPARSE.values(), ids=SPARSE)
def test_little_to_show_is_no_crash(run, tmp_path):
    files = plots.save([picture("run", run), picture("nothing", [])], tmp_path)
    assert {file.stem for file in files} <= {"figure-1", "groups"}
    assert bool(files) == any(one.distance is not None for one in run)


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"rollback-gym\[plots\]"):
        plots.save([picture("run", RUN)], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_matplotlib_is_only_imported_to_draw():
    code = "import sys, rollback_gym.study.plots, rollback_gym.cli; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
