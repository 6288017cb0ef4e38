"""Configs: those that come along, and every kind of mistake in one sentence."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("yaml", reason="needs PyYAML: pip install 'rollback-gym[trainer]'")

import yaml

from rollback_gym.core.errors import ConfigError
from rollback_gym.trainer import config
from rollback_gym.trainer.checking import Within


@pytest.mark.parametrize("name", config.names())
def test_those_that_come_along(name: str) -> None:
    read = config.read(name)
    assert config.plain(read)["rewards"]["win"] == (1.0 if name.startswith("pivotopd/") else 5.0)
    # Written down and read again it is the same.
    assert config.build(config.Config, config.plain(read)) == read


def test_the_seeds_numbers() -> None:
    seed = config.read("seed-7b")
    assert (seed.sft.learning_rate, seed.sft.epochs) == (2e-5, 3)
    assert (seed.rl.learning_rate, seed.rl.kl, seed.rl.groups * seed.rl.group) == (1e-6, 0.05, 4096)
    assert (seed.rl.algorithm, seed.rl.discount, seed.rl.gae) == ("ppo", 0.99, 0.95)
    for name in ("qwen3-1.7b", "qwen3-8b"):
        paper = config.read(name).rl
        assert (paper.group, paper.clip, paper.kl, paper.discount, paper.steps) == (8, 0.2, 0.01, 0.95, 160)


@pytest.mark.parametrize("name", [name for name in config.names() if name.startswith("pivotopd/")])
def test_the_numbers_of_pivotopd(name: str) -> None:
    read = config.read(name)
    rl, added = read.rl, read.pivotopd
    assert (rl.learning_rate, rl.kl, rl.clip, rl.discount, rl.steps, rl.group) == (1e-6, 0.01, 0.2, 0.95, 160, 8)
    assert (added.on, added.prevention, added.lesson, added.clip, added.most) == (True, 0.001, 0.001, 5, 64)
    assert (added.teacher.source, added.teacher.most, added.teacher.samples) == ("llm", 5, 1)
    assert added.teacher.model == ("Qwen/Qwen3-30B-A3B" if "1.7b" in name else "Qwen/Qwen3.5-122B-A10B")
    assert added.teacher.extra == {"chat_template_kwargs": {"enable_thinking": False}}
    assert read.asking.window == 5
    assert added.settings(processes=8).most == 8


def test_there_are_four_of_pivotopd() -> None:
    sizes = [f"pivotopd/qwen3-{size}-{env}" for size in ("1.7b", "8b") for env in ("alfworld", "webshop")]
    assert [name for name in config.names() if "/" in name] == sizes


@pytest.mark.parametrize("name", config.names())
def test_every_setting_has_its_source(name: str) -> None:
    text = (Path(config.__file__).parent / "configs" / f"{name}.yaml").read_text("utf-8")
    assert text.startswith("# ")
    if name == "tiny":
        return  # its head says that all of it is ours
    for line in text.splitlines():
        if line.startswith(("rl:", "sft:", "pivotopd:")):
            section = True
        elif line and not line.startswith(" "):
            section = False
        elif line.strip() and section and line.strip() not in ("on: true", "teacher:"):
            assert "#" in line, line


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("rl.lr", 1, "rl.lr is no setting"),
        ("rewards.rolback", 1, "Did you mean rollback?"),
        ("modle.path", "x", "Did you mean model?"),
        ("rl.steps", "many", "rl.steps must be a whole number, got 'many'"),
        ("rl.steps", 1.5, "rl.steps must be a whole number, got 1.5"),
        ("rl.steps", True, "rl.steps must be a whole number, got True"),
        ("rl.steps", 0, "rl.steps must be at least 1, got 0"),
        ("rl.clip", -0.1, "rl.clip must be above 0, got -0.1"),
        ("rl.kl", float("nan"), "rl.kl must be at least 0, got nan"),
        ("rl.learning_rate", "fast", "rl.learning_rate must be a number, got 'fast'"),
        ("rl.algorithm", "dpo", "rl.algorithm must be grpo, gigpo or ppo, got 'dpo'"),
        ("rl.group", 1, "rl.group must be at least 2"),
        ("rl", {"algorithm": "ppo", "group": 1}, "TRL compares groups of at least two episodes"),
        ("report_to", ["wandb", "tensorbord"], "report_to must be some of azure_ml"),
        ("rl", 3, "rl must be settings with names, got 3"),
        ("levels.clean", 1.1, "levels.clean must be at least 0 and at most 1, got 1.1"),
        ("levels.kinds", ["typo"], "levels.kinds must be some of intent"),
        ("levels.kinds", "intent", "levels.kinds must be a list, got 'intent'"),
        ("levels.kinds", [], "must not be empty"),
        ("sft.levels", [1, 4], "sft.levels must be some of 1, 2 and 3, got 4"),
        ("model.hidden", 70, "model.hidden must be a multiple"),
        ("asking.window", 3, "asking: A whole dialogue"),
        ("asking.think", "yes", "asking.think must be true or false, got 'yes'"),
        ("limits.answer", 5000, "limits.text must be above limits.answer"),
        ("rewards.needless", 0.5, "rewards.needless must be at most 0, got 0.5"),
        ("curriculum.mode", "random", "curriculum.mode must be adaptive, mixed or fixed"),
        ("seed.x", 1, "seed must be a whole number"),
        ("generation.backend", "tgi", "generation.backend must be transformers, vllm_colocate or vllm_server"),
        ("generation.backend", "vllm_server", "generation.url must be an address such as http://localhost:8000"),
        ("generation.url", "http://localhost:8000", "generation.url is for backend vllm_server"),
        ("generation.memory", 1.5, "generation.memory must be above 0 and at most 1"),
        ("pivotopd.weight", "rows", "pivotopd.weight must be turns or tokens, got 'rows'"),
        ("pivotopd.weight", -1, "pivotopd.weight must be at least 0, got -1"),
        ("pivotopd.where", "here", "pivotopd.where must be pivots, random or every"),
        ("pivotopd", {"on": True, "hint": "do it"}, "pivotopd: hint must have a place for the action"),
        ("pivotopd", {"on": True, "teacher": {"source": "llm"}}, "pivotopd.teacher.url must be given where source"),
        ("pivotopd", {"on": True, "teacher": {"model": "x"}}, "pivotopd.teacher.model must be given where source"),
        ("pivotopd", {"on": True, "teacher": {"source": "self", "weigh": True}}, "only the oracle weighs"),
        (
            "pivotopd",
            {"on": True, "teacher": {"source": "llm", "model": "x", "url": "http://x", "extra": {"seed": 1}}},
            "pivotopd.teacher.extra must not hold seed",
        ),
        (
            "pivotopd",
            {"on": True, "teacher": {"source": "llm", "model": "x", "url": "http://me:secret@there/v1"}},
            "must hold no password",
        ),
    ],
)
def test_mistakes(path: str, value: Any, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        config.read("tiny", [(path, value)])
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_initial_model_is_there_with_kl_and_without_vllm() -> None:
    initial = ("pivotopd", {"on": True, "frozen": "initial"})
    assert config.read("tiny", [initial]).pivotopd.writes_as_before
    for other, said in ((("rl.kl", 0), "needs the reference model"), (("generation.backend", "vllm_colocate"), "vLLM")):
        with pytest.raises(ConfigError, match=f"pivotopd.frozen=initial .*{said}"):
            config.read("tiny", [initial, other])
    apart = ("pivotopd", {"on": True, "frozen": "initial", "turns": 0})
    assert config.read("tiny", [apart, ("generation.backend", "vllm_colocate")])


def test_yaml_takes_numbers_without_a_point_for_texts_and_we_do_not(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("rl:\n  learning_rate: 1e-6\n")
    assert yaml.safe_load(file.read_text())["rl"]["learning_rate"] == "1e-6"
    assert config.read(str(file)).rl.learning_rate == 1e-6


@pytest.mark.parametrize(
    ("text", "said"), [("a: [", "is no YAML"), ("- 1", "must hold settings"), ("", None), ("rl:\n", None)]
)
def test_files(tmp_path: Path, text: str, said: str | None) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    if said is None:
        assert config.read(str(file)) == config.Config()
        return
    with pytest.raises(ConfigError, match=said):
        config.read(str(file))


def test_a_config_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match=r"There is no config 'big'.*tiny"):
        config.read("big")


def test_overrides() -> None:
    other = config.read("tiny", [("rl.steps", 7), ("environment.options.difficulty", 0.5)])
    assert other.rl.steps == 7
    assert other.made.kwargs["difficulty"] == 0.5


@pytest.mark.parametrize(("given", "read"), [("tokens", "tokens"), (0.25, 0.25), ("1e-3", 0.001)])
def test_a_number_or_a_word(given: Any, read: Any) -> None:
    assert config.read("tiny", [("pivotopd.weight", given)]).pivotopd.weight == read


def test_yaml_takes_on_for_true_and_we_do_not(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("pivotopd:\n  on: true\n")
    assert yaml.safe_load(file.read_text()) == {"pivotopd": {True: True}}
    assert config.read(str(file)).pivotopd.on


def test_ranges() -> None:
    assert Within(0, 1).holds(0)
    assert Within(0, 1).holds(1)
    assert not Within(0, above=True).holds(0)
    assert not Within(0).holds(float("nan"))


def test_searches_are_for_alfworld() -> None:
    read = config.read("tiny", [("environment.id", "Rollback-Sokoban-v0"), ("environment.options", {})])
    with pytest.raises(ConfigError, match="searches is for ALFWorld"):
        config.check_playable(read)
