"""The page as a file: what is in it, and what the command says. test_report_page.py looks at it in a browser."""

import base64
import gzip
import json
import math
import re
import webbrowser
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from rollback_gym.cli import app
from rollback_gym.core.errors import RecordError
from rollback_gym.play.records import line, parse, write
from rollback_gym.study import report as module
from rollback_gym.study.report import report
from tests.study import hostile
from tests.study.episodes import Back, Step, episode


def run(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)], env={"COLUMNS": "120"})


class Page(HTMLParser):
    """The tags of a page, its data blocks unpacked, its scripts and styles as written."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.blocks, self.within, self.text = [], {}, None, {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.within = (tag, dict(attrs).get("id"))

    def handle_endtag(self, tag):
        self.within = None

    def handle_data(self, data):
        if self.within is None:
            return
        tag, name = self.within
        if tag == "script" and name is not None:
            self.blocks[name] = json.loads(gzip.decompress(base64.b64decode(data, validate=True)))
        else:
            self.text[tag] = self.text.get(tag, "") + data

    @property
    def index(self):
        return self.blocks["index"]

    @property
    def records(self):
        return [record for name in sorted(self.blocks.keys() - {"index"}, key=_number) for record in self.blocks[name]]


def _number(name):
    return int(name.removeprefix("part-"))


EPISODES = [
    episode(3, 2, 1, 0, id="straight"),
    episode(3, 2, 4, Back(1), 1, 0, id="back", kind="heat"),
    episode(3, math.inf, math.inf, id="fatal", outcome="lost"),
    episode(3, 3, Step(3, "no such thing"), Back(7, refused=True), id="idle"),
    episode(3, 2, id="unjudged", oracle=False),
]


def test_the_records_are_in_the_page_as_in_the_file():
    page = Page(report(EPISODES, "run"))
    assert page.records == [json.loads(line(one)) for one in EPISODES]
    assert [parse(json.dumps(record)) for record in page.records] == EPISODES


def test_the_index_says_what_the_list_shows():
    columns = Page(report(EPISODES, "run")).index["columns"]
    assert columns["id"] == ["straight", "back", "fatal", "idle", "unjudged"]
    assert columns["kind"] == ["pick", "heat", "pick", "pick", "pick"]
    assert columns["outcome"] == ["won", "won", "lost", "truncated", "truncated"]
    assert columns["start"] == [3, 3, 3, 3, None]
    assert columns["course"] == [[2, 1, 0], [2, 4, 2, 1, 0], ["inf", "inf"], [3, 3, 3], [None]]
    assert columns["pivot"] == [None, 2, 1, None, None]
    assert columns["pivots"] == [[], [1], [0], [], []]
    assert columns["rollbacks"] == [0, 1, 0, 0, 0]
    assert columns["invalid"] == [0, 0, 0, 2, 0]


def test_the_index_holds_the_diagnosis():
    index = Page(report(EPISODES, "run")).index
    assert index["diagnosis"]["all"]["results"]["success"]["value"] == 2 / 5
    assert sorted(index["diagnosis"]["by_kind"]) == ["heat", "pick"]
    assert index["environments"] == ["Rollback-ALFWorld-v0"]
    assert index["policies"] == ["by hand"]


def test_parts_are_cut_between_episodes(monkeypatch):
    sizes = [len(line(one)) for one in EPISODES]
    monkeypatch.setattr(module, "_PART", sizes[0] + 1)
    page = Page(report(EPISODES, "run"))
    starts = page.index["starts"]
    assert len(starts) > 1
    assert len(page.blocks) == 1 + len(starts)
    for part, start in enumerate(starts):
        assert page.blocks[f"part-{part}"][0]["id"] == EPISODES[start].id
    assert [record["id"] for record in page.records] == [one.id for one in EPISODES]


def test_nothing_is_asked_of_a_network_and_only_the_pages_own_script_may_run():
    page = Page(report(hostile.episodes(), hostile.TEXTS[0]))
    assert not [tag for tag in page.tags if {"src", "href", "action", "srcset", "data"} & tag[1].keys()]
    assert not [name for tag in page.tags for name in tag[1] if name.startswith("on")]
    assert not re.search(r"url\(|@import|@font-face", page.text["style"])
    (policy,) = [tag[1]["content"] for tag in page.tags if tag[1].get("http-equiv") == "Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == f"'{module._hash(page.text['script'])}'"
    assert directives["style-src"] == f"'{module._hash(page.text['style'])}'"
    assert directives["require-trusted-types-for"] == "'script'"
    assert [tag[1].get("type") for tag in page.tags if tag[0] == "script" and "id" not in tag[1]] == ["module"]


def test_hostile_text_is_nowhere_in_the_markup():
    quiet, loud = report(EPISODES, "run"), report(hostile.episodes(), hostile.TEXTS[0])
    assert [tag for tag, _ in Page(loud).tags if tag != "script"] == [
        tag for tag, _ in Page(quiet).tags if tag != "script"
    ]
    assert "broken" not in loud.replace("&lt;/script&gt;&lt;script&gt;window.broken = 1&lt;/script&gt;", "")
    assert Page(loud).text["title"] == hostile.TEXTS[0]
    loud.encode("utf-8")


def test_the_same_run_gives_the_same_page():
    assert report(EPISODES, "run") == report(iter(EPISODES), "run")


def test_half_a_surrogate_pair_in_the_title_can_be_written():
    assert Page(report(EPISODES, "a\ud800b")).text["title"] == "a?b"


def test_many_policies_are_counted_not_listed():
    many = [one._replace(policy={"name": "noisy", "seed": n}) for n, one in enumerate(EPISODES)]
    index = Page(report(many, "run")).index
    assert index["policies"] == ["noisy(seed=0)", "noisy(seed=1)", "noisy(seed=2)"]
    assert index["more"] == {"environments": 1, "policies": 5}


def test_no_episode_no_page():
    with pytest.raises(RecordError, match="no episode"):
        report([], "run")


# The command.


def test_the_command_writes_the_page_beside_the_run(tmp_path):
    write(tmp_path / "run.jsonl", EPISODES)
    out = run(tmp_path / "run.jsonl")
    assert out.exit_code == 0
    page = Page((tmp_path / "run.html").read_text(encoding="utf-8"))
    assert page.text["title"] == "run.jsonl"
    assert len(page.records) == len(EPISODES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.html", "run.jsonl"]


def test_the_command_takes_a_title_and_opens_the_page(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    write(tmp_path / "run.jsonl", EPISODES)
    assert run(tmp_path / "run.jsonl", "-o", tmp_path / "page.html", "--title", "Mine", "--open").exit_code == 0
    assert opened == [(tmp_path / "page.html").as_uri()]
    assert Page((tmp_path / "page.html").read_text(encoding="utf-8")).text["title"] == "Mine"


def test_a_run_that_was_interrupted_is_shown_as_far_as_it_went(tmp_path):
    path = tmp_path / "run.jsonl"
    write(path, EPISODES)
    path.write_text(path.read_text() + line(EPISODES[0])[:100])
    out = run(path)
    assert out.exit_code == 0
    assert "Left out" in out.output
    assert "line 6" in out.output
    assert len(Page((tmp_path / "run.html").read_text(encoding="utf-8")).records) == len(EPISODES)


def test_the_run_is_not_overwritten(tmp_path):
    path = tmp_path / "run.jsonl"
    write(path, EPISODES)
    before = path.read_bytes()
    out = run(path, "-o", tmp_path / "." / "run.jsonl")
    assert out.exit_code == 2
    assert "overwrite" in out.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [None, "", "{}\n", "no record\n", '{"schema": "rollback-gym/episode/99"}\n'])
def test_what_is_no_run_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "run.jsonl"
    if content is not None:
        path.write_text(content)
    out = run(path)
    assert out.exit_code == 2
    assert out.stderr.startswith("error: ")
    assert out.stderr.count("\n") == 1
    assert not (tmp_path / "run.html").exists()
