"""A training run, stage by stage, in one folder: data, a model, demonstrations, reward.

    OUT/config.json         what was asked for; another config is refused
    OUT/data/level-N.jsonl  demonstrations
    OUT/base/               the model before training, where it is made here
    OUT/sft/                checkpoints, and `model/` when it is done
    OUT/rl/                 checkpoints, `log.jsonl`, and `model/` when it is done
    OUT/evaluation-NAME.json    an evaluation of a stage's model: every episode's counts

A stage is done once its last file is there, which gets its name when it is whole; a stage that was interrupted goes on
from its last checkpoint. So the same command goes on wherever it was stopped.

Where several processes run it (`accelerate launch`), one makes the data and the model, evaluates, and saves; the others
wait for it. What stages are made of is in `parts.py`.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import PrinterCallback

from rollback_gym.core.errors import ConfigError, MissingExtra, RunMismatch
from rollback_gym.core.files import write_whole
from rollback_gym.study import dataset
from rollback_gym.study.samples import read
from rollback_gym.trainer import config as configs
from rollback_gym.trainer import evaluation, parts, sft
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.checking import build
from rollback_gym.trainer.config import Config
from rollback_gym.trainer.guide import Guide, evaluate, final
from rollback_gym.trainer.log import Log
from rollback_gym.trainer.muon import MuonAdamW
from rollback_gym.trainer.parts import Tell
from rollback_gym.trainer.shaping import Shaping
from rollback_gym.trainer.tiny import Size, texts_of, tiny_model, tiny_tokenizer
from rollback_gym.trainer.update import Plan, RollbackTrainer, last_checkpoint

Stage = Literal["sft", "rl", "curriculum"]

_WORLDS = 60
"""Episodes whose words a tiny model knows, besides those of the demonstrations."""


def run(config: Config, out: Path, stage: Stage, tell: Tell = lambda told: None) -> None:
    """Do what is left of a run.

    Args:
        config: What to do.
        out: Where.
        stage: `sft`: demonstrations alone. `curriculum`: then reward, level by level. `rl`: reward alone, on all levels
            at once; a model that is made here learns from demonstrations first.
        tell: Is told how far it is.

    Raises:
        RunMismatch: if the folder holds a run by another config.
        RunStopped: if there is no such model.
        MissingExtra: if what metrics go to is not installed.
        DataError: if there are not so many demonstrations.
    """
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    parts.check_there(config)
    processes = parts.processes()
    if not processes.is_main_process:
        tell = _silent
    shown = stage != "rl" or config.model.path is None
    with processes.main_process_first():
        out.mkdir(parents=True, exist_ok=True)
        _claim(config, out, stage)
        if shown:
            demonstrations(config, out, tell)
        base = base_model(config, out, tell)
    if shown:
        imitate(config, out, base, tell)
        with processes.main_process_first():
            measure(config, out, "sft", tell)
    if stage != "sft":
        reinforce(config, out, out / "sft" / "model" if shown else Path(base), stage, tell)
        with processes.main_process_first():
            measure(config, out, "rl", tell)
    processes.destroy_process_group()


def _silent(told: dict[str, Any]) -> None:
    """Tells nobody."""


def _claim(config: Config, out: Path, stage: Stage) -> None:
    """Say in the folder what run it holds, or check that it is this one."""
    path, asked = out / "config.json", configs.plain(config)
    if not path.exists():
        write_whole(path, json.dumps({"stage": stage, "config": asked}, indent=1))
        return
    there = json.loads(path.read_text(encoding="utf-8"))
    before = configs.plain(build(Config, there["config"]))  # with what has been added since, as it is by default
    differ = [name for name in asked if before[name] != asked[name]]
    if differ:
        raise RunMismatch(
            f"{out} holds a run by another config ({', '.join(differ)} differ). Go on with the same one, or choose "
            "another folder."
        )
    if there["stage"] != stage and {there["stage"], stage} == {"rl", "curriculum"}:
        raise RunMismatch(f"{out} holds a run of train {there['stage']}. Choose another folder for train {stage}.")


def demonstrations(config: Config, out: Path, tell: Tell) -> None:
    """Make the data of every level that is learned from."""
    folder = out / "data"
    folder.mkdir(exist_ok=True)
    for level in config.sft.levels:
        path = folder / f"level-{level}.jsonl"
        if path.exists():
            continue
        tell({"stage": "data", "level": level, "done": 0, "of": config.data.records})
        dataset.make(
            config.recipe(level),
            path,
            workers=config.data.workers,
            report=lambda done, level=level: tell(  # type: ignore[misc]
                {"stage": "data", "level": level, "done": done, "of": config.data.records}
            ),
        )


def base_model(config: Config, out: Path, tell: Tell) -> str:
    """Where the model before training is; a tiny one is made, once."""
    if config.model.path is not None:
        return config.model.path
    folder = out / "base"
    if not folder.exists():
        tell({"stage": "model"})
        asked = config.model
        tokenizer = tiny_tokenizer(_texts(config, out), things=asked.things, phrases=asked.phrases)
        positions = config.limits.text + config.limits.answer
        size = Size(asked.hidden, asked.layers, asked.heads, asked.feed_forward, positions)
        parts.save(config, tiny_model(tokenizer, size, config.seed), tokenizer, folder)
    return str(folder)


def _texts(config: Config, out: Path) -> Iterator[str]:
    for level in config.sft.levels:
        for sample in read(out / "data" / f"level-{level}.jsonl"):
            for messages in sample["conversations"]:
                yield from (message["content"] for message in messages)
    yield from texts_of(config.made, _WORLDS, config.prompts)


def imitate(config: Config, out: Path, base: str, tell: Tell) -> None:
    """Learn from the demonstrations."""
    folder = out / "sft"
    if (folder / "model").exists():
        return
    model, chat = parts.loaded(config, base)
    samples = [sample for level in config.sft.levels for sample in read(out / "data" / f"level-{level}.jsonl")]
    tell({"stage": "sft", "texts": len(samples)})
    conversations = [messages for sample in samples for messages in sample["conversations"]]
    first = [sft.encoded(chat, messages, told=True) for messages in conversations] if config.sft.told else []
    texts = sft.Texts([sft.encoded(chat, messages) for messages in conversations], first, config.sft.told)
    telling = [parts.Telling("sft", tell)]
    learning = parts.adapted(config, model)
    optimizer = MuonAdamW(learning, config.sft.learning_rate) if config.sft.optimizer == "muon" else None
    made = sft.trainer(learning, texts, parts.pad(chat), parts.imitating(config, folder), telling, optimizer)
    made.remove_callback(PrinterCallback)
    made.train(resume_from_checkpoint=parts.newest(folder))
    _keep(config, made.model, chat, folder / "model")


def reinforce(config: Config, out: Path, begin: Path, stage: Stage, tell: Tell) -> None:
    """Learn from reward."""
    folder = out / "rl"
    if (folder / "model").exists():
        return
    folder.mkdir(exist_ok=True)
    if stage == "rl":
        config = replace(config, curriculum=replace(config.curriculum, mode="mixed"))
    model, chat = parts.loaded(config, str(begin))
    train, held = parts.beginnings(config, "train"), parts.beginnings(config, "eval")
    collector, arguments, rl = parts.collector_of(config, chat), parts.arguments(config, folder), config.rl
    log = Log(folder / "log.jsonl", lambda line: tell({"stage": "rl", "of": rl.steps, **line}), not parts.leads())
    critic = parts.critic(config, str(begin), chat) if rl.algorithm == "ppo" else None
    guide = Guide(config, train, held, collector, folder, log, critic)
    plan = Plan(
        collector,
        guide,
        Shaping(config.rewards, train.oracle),
        parts.method_of(rl),
        extending=parts.extending_of(config, collector, train.oracle, str(begin)),
        critic=critic,
        parts={"guide": guide},
    )
    made = RollbackTrainer(
        model, plan, arguments, processing_class=chat.tokenizer, callbacks=[guide], peft_config=parts.lora(config)
    )
    made.remove_callback(PrinterCallback)
    made.train(resume_from_checkpoint=last_checkpoint(folder))
    _keep(config, made.model, chat, folder / "model")


def _keep(config: Config, model: Any, chat: Chat, folder: Path) -> None:
    """Save a stage's model; no process goes on before it is whole."""
    if parts.leads():
        parts.save(config, model, chat.tokenizer, folder)
    parts.processes().wait_for_everyone()


def dry_run(config: Config, stage: Stage) -> dict[str, Any]:
    """Check all that can be checked without the model, and return what a step would be made of.

    Raises what `run` would. What is not installed, or does not answer, is only said.
    """
    rl, judge = config.rl, config.pivotopd.teacher
    found: dict[str, Any] = {"model": config.model.path or "made here", "environment": config.environment.id}
    if stage == "sft":
        return {**found, "levels": list(config.sft.levels), "epochs": config.sft.epochs, "texts": config.sft.batch}
    train = parts.beginnings(config, "train")
    start = train.draw((1.0, 0.0, 0.0), 1, "dry run")[0]
    arguments = parts.divided(rl, parts.processes().num_processes)
    try:
        configs.check_there(config)
        there = ""
    except (MissingExtra, ConfigError) as error:
        there = f" (not here: {error})"
    if config.pivotopd.on:
        teacher = judge.model if judge.source == "llm" else judge.source
        found |= {"teacher": teacher, "K": config.pivotopd.turns, "w_rec": config.pivotopd.weight}
    return {
        **found,
        "first level": start.options["level"],
        "algorithm": rl.algorithm,
        "episodes a step": rl.groups * rl.group,
        "episodes a process and micro-batch": arguments["per_device_train_batch_size"],
        "steps": rl.steps,
        "generation": f"{config.generation.backend}{there}",
    }


def measure(config: Config, out: Path, name: Literal["sft", "rl"], tell: Tell) -> None:
    """Evaluate a stage's model on goals that it has not seen."""
    path = out / f"evaluation-{name}.json"
    if path.exists():
        return
    tell({"stage": "evaluation", "of": name})
    tally = measured(config, str(out / name / "model"))
    write_whole(path, json.dumps(evaluation.plain(tally)))


def measured(config: Config, folder: str) -> dict[str, tuple[evaluation.Counts, ...]]:
    """A model's episodes on the test split: clean ones, and of each level."""
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    model, chat = parts.loaded(config, folder, trained=False)
    test = parts.beginnings(config, "test")
    groups = final(test, config.evaluation.final)
    return evaluate(parts.collector_of(config, chat), model.eval(), test, groups, config.evaluation.temperature)
