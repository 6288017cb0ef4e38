"""`rollback-gym bench train`, in small: what it times adds up, and what is wrong is seen."""

import json
import math

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")
pytest.importorskip("yaml", reason="needs PyYAML: pip install 'rollback-gym[trainer]'")

import typer

from rollback_gym.cli import bench_train
from rollback_gym.trainer import benching
from rollback_gym.trainer.hints import gold_hint
from rollback_gym.trainer.reading import line
from tests.trainer import models

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
models.quiet()

SMALL = benching.TINY._replace(
    hidden=16, layers=1, heads=2, groups_of_heads=2, head=8, feed_forward=32, groups=1, group=4, turns=4, batch=4
)
OFFERED = "[1] You are here.\nYou can do:\n- look\n- go to desk 1\n- take mug 1 from desk 1"


def test_lines():
    said = {line(OFFERED, str(salt), 0) for salt in range(40)}
    assert said == {f"<action>{action}</action>" for action in ("look", "go to desk 1", "take mug 1 from desk 1")}
    assert line(OFFERED, "1", 0) == line(OFFERED, "1", 0)
    assert line(f"{OFFERED}\n{gold_hint('open fridge 1')}", "1", 0) == "<action>open fridge 1</action>"
    assert line("Nothing is offered.", "1", 2) == "<think>Nothing is</think><action>look</action>"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What the command writes down."""
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    bench_train.bench_train(False, path, SMALL)
    return json.loads(path.read_text())


def test_every_algorithm_is_measured(measured):
    assert set(measured["steps"]) == {"grpo", "gigpo", "ppo", "grpo and pivotopd"}
    assert measured["wrong"] == []
    for step in measured["steps"].values():
        parts = [step[name] for name in bench_train._PARTS]
        assert all(seconds >= 0 for seconds in parts)
        assert sum(parts) == pytest.approx(step["total"], rel=0.02)
        assert math.isfinite(step["loss"])
        assert step["sampled"] <= step["trained"]
        assert step["update"] > 0 < step["rollout_model"]
    assert measured["steps"]["grpo and pivotopd"]["recoveries"] > 0
    assert measured["steps"]["grpo"]["recoveries"] == measured["steps"]["grpo"]["added_model"] == 0


def test_numbers_that_are_wrong_are_seen(measured, tmp_path, monkeypatch):
    wrong = benching.Compared(5, (0.0, 0.0), (0.2, 0.3))
    assert bench_train._differences(wrong, 0.05) == ["log-probs of the trainer are 2.0e-01 off, and 0.05 may be"]
    assert len(bench_train._differences(benching.Compared(5, (math.nan, 0.0), (0.0, 0.0)), 0.05)) == 1
    bad = benching.Step(**measured["steps"]["grpo"])._replace(gradient=math.nan)
    monkeypatch.setattr(bench_train, "_overhead", lambda bench: {"grpo": bad})
    with pytest.raises(typer.Exit) as stopped:
        bench_train.bench_train(True, tmp_path / "bench.json", SMALL)
    assert stopped.value.exit_code == 1
    assert "is no number" in json.loads((tmp_path / "bench.json").read_text())["wrong"][0]


def test_the_reference_is_no_copy_of_what_it_checks(tmp_path):
    """Other weights are other log-probs."""
    bench = benching.prepared(tmp_path, SMALL)
    seen = []
    benching.taken(bench, {}, 1, (), seen)
    found = benching.compared(bench, seen)
    assert found.tokens > 0
    assert max(found.sampler[1], found.trainer[1]) < 1e-4
    (tmp_path / "other").mkdir()
    other = benching.prepared(tmp_path / "other", SMALL._replace(feed_forward=48))
    assert min(of[0] for of in benching.compared(other, seen)[1:]) > 1e-3


def test_shares_tell_the_models_tokens_apart():
    zero = dict.fromkeys(benching.Step._fields, 0)
    base = benching.Step(**{**zero, "total": 10.0, "rollout_model": 6.0, "update": 3.0})
    more = base._replace(total=12.5, added_model=1.0, added_rest=0.5, update=4.0)
    assert bench_train.shares({"grpo": base, "K = 1": more}) == {"K = 1": pytest.approx((0.2, 0.05))}
