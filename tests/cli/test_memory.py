"""`rollback-gym memory`."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rollback_gym.cli import app
from rollback_gym.trainer import memory_bench
from rollback_gym.trainer.encoders import HashingEncoder
from rollback_gym.trainer.lessons import Ranking
from rollback_gym.trainer.memory import Memory


@pytest.fixture
def file(tmp_path: Path) -> Path:
    memory = Memory(HashingEncoder(), tmp_path / "m.db")
    memory.add("put a cup on the desk", "Look [b]into[/b] the cupboard.", "...", "lost")
    memory.add("buy shoes", "Read the price.", "...", "won")
    memory.learn([(2, 1.0)])
    memory.close()
    return tmp_path / "m.db"


def test_lessons_are_shown_searched_and_exported(file: Path, tmp_path: Path) -> None:
    run = CliRunner(env={"COLUMNS": "160"}).invoke
    shown = run(app, ["memory", "show", str(file)])
    assert shown.exit_code == 0
    assert "2 lessons, encoder hashing-256" in shown.output
    assert shown.output.index("Read the") < shown.output.index("[b]into[/b]")
    found = run(app, ["memory", "search", str(file), "put a mug on the desk"])
    assert "[b]into[/b]" in found.output
    assert "shoes" not in found.output
    assert "similar enough" in run(app, ["memory", "search", str(file), "fly"]).output
    assert run(app, ["memory", "export", str(file), "-o", str(tmp_path / "out.jsonl")]).exit_code == 0
    assert [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [1, 2]


def test_it_can_be_read_while_a_trainer_writes(file: Path) -> None:
    memory = Memory(HashingEncoder(), file)
    memory.add("dust the lamp", "Find it first.", "...", "lost")
    assert "3 lessons" in CliRunner().invoke(app, ["memory", "show", str(file), "--by", "age"]).output
    memory.close()


def test_a_search_ranks_as_the_run_did(tmp_path: Path) -> None:
    def found(*more: str) -> list[str]:
        shown = CliRunner(env={"COLUMNS": "160"}).invoke(
            app, ["memory", "search", str(tmp_path / "m.db"), "buy red shoes", *more]
        )
        assert shown.exit_code == 0, shown.output
        return [text for text in ("Often useful.", "Never tried.", "Close.") if text in shown.output]

    def opened(ranking: Ranking | None) -> Memory:
        return Memory(HashingEncoder(), tmp_path / "m.db", ranking=ranking)

    memory = opened(Ranking(alpha=0.1))
    often = memory.add("buy shoes that are red", "Often useful.", "...", "won")
    memory.add("buy red boots", "Never tried.", "...", "won")
    close = memory.add("buy red shoes", "Close.", "...", "won")
    memory.learn([(often, 1.0)] * 50 + [(close, 0.0)] * 50)
    memory.close()
    assert found("-n", "1") == ["Never tried."]
    assert found("-n", "1", "--greedy") == ["Often useful."]
    opened(Ranking("similarity")).close()
    assert found("-n", "1") == found("-n", "1", "--greedy") == ["Close."]
    opened(Ranking("similarity", floor=0.99)).close()
    assert found("-n", "3") == ["Close."]
    memory = opened(None)
    assert memory.ranking == Ranking("similarity", floor=0.99), "kept where no other is asked for"
    memory.close()


def test_the_bench_measures_all_that_a_training_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory_bench, "_LESSONS", 60)
    monkeypatch.setattr(memory_bench, "_CALLS", 3)
    told = CliRunner().invoke(app, ["bench", "memory", "--json", str(tmp_path / "bench.json")])
    assert told.exit_code == 0, told.output
    measured = {one["name"]: one for one in json.loads((tmp_path / "bench.json").read_text())["measures"]}
    assert {"add", "add what is known", "retrieve", "retrieve, by outcome", "learn", "open"} <= set(measured)
    assert all(one["value"] > 0 and "60 lessons" in one["note"] for one in measured.values())
    refused = CliRunner().invoke(app, ["bench", "memory", "--split", "x"])
    assert refused.exit_code == 2
    assert "leave --data" in refused.output


class Sentences(HashingEncoder):
    """Called like the encoder that only an extra brings."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "sentence-all-MiniLM-L6-v2"


def test_only_a_search_needs_the_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    memory = Memory(Sentences(), tmp_path / "m.db")
    memory.add("buy shoes", "Read the price.", "...", "won")
    memory.close()
    run = CliRunner(env={"COLUMNS": "160"}).invoke
    shown = run(app, ["memory", "show", str(tmp_path / "m.db")])
    assert shown.exit_code == 0, shown.output
    assert "1 lessons, encoder sentence-all-MiniLM-L6-v2" in shown.output
    assert run(app, ["memory", "export", str(tmp_path / "m.db"), "-o", str(tmp_path / "out")]).exit_code == 0
    assert json.loads((tmp_path / "out").read_text())["text"] == "Read the price."
    searched = run(app, ["memory", "search", str(tmp_path / "m.db"), "buy shoes"])
    assert searched.exit_code == 2
    assert "rollback-gym[memory]" in searched.output


def test_what_is_no_memory_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no")
    for arguments in (["show", str(tmp_path / "absent")], ["show", str(tmp_path / "x")]):
        result = CliRunner().invoke(app, ["memory", *arguments])
        assert result.exit_code == 2
        assert "memory" in result.output
