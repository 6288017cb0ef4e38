"""A training run, stage by stage, in one folder: data, a model, demonstrations, reward.

    OUT/config.json         what was asked for; another config is refused
    OUT/data/level-N.jsonl  demonstrations
    OUT/base/               the model before training, where it is made here
    OUT/sft/                checkpoints, and `model/` when it is done
    OUT/rl/                 checkpoints, `log.jsonl`, and `model/` when it is done
    OUT/evaluation-NAME.json    an evaluation of a stage's model: every episode's counts

A stage is done once its last file is there, which gets its name when it is whole; a stage that was interrupted goes on
from its last checkpoint. So the same command goes on wherever it was stopped.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PrinterCallback,
    TrainerCallback,
    TrainingArguments,
)
from trl import GRPOConfig

from rollback_gym.core.errors import RunMismatch, RunStopped
from rollback_gym.core.files import whole, write_whole
from rollback_gym.study import dataset
from rollback_gym.study.samples import read
from rollback_gym.trainer import config as configs
from rollback_gym.trainer import evaluation, sft
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.config import Config
from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.critic import Critic, Fitting
from rollback_gym.trainer.guide import Guide, evaluate, final
from rollback_gym.trainer.levels import Beginnings
from rollback_gym.trainer.log import Log
from rollback_gym.trainer.sft import spread
from rollback_gym.trainer.shaping import Shaping
from rollback_gym.trainer.tiny import Size, texts_of, tiny_model, tiny_tokenizer
from rollback_gym.trainer.update import Plan, RollbackTrainer, last_checkpoint

Stage = Literal["sft", "rl", "curriculum"]
Tell = Callable[[dict[str, Any]], None]
"""Is told how far a run is: `stage`, and what there is to say."""

SETTINGS = "rollback_gym.json"
"""Beside a model's weights: the config that it was trained by, so that it can be asked in the same way."""
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
        DataError: if there are not so many demonstrations.
    """
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    out.mkdir(parents=True, exist_ok=True)
    _claim(config, out, stage)
    shown = stage != "rl" or config.model.path is None
    if shown:
        demonstrations(config, out, tell)
    base = base_model(config, out, tell)
    if shown:
        imitate(config, out, base, tell)
        measure(config, out, "sft", tell)
    if stage != "sft":
        reinforce(config, out, out / "sft" / "model" if shown else Path(base), stage, tell)
        measure(config, out, "rl", tell)


def _claim(config: Config, out: Path, stage: Stage) -> None:
    """Say in the folder what run it holds, or check that it is this one."""
    path, asked = out / "config.json", configs.plain(config)
    if not path.exists():
        write_whole(path, json.dumps({"stage": stage, "config": asked}, indent=1))
        return
    there = json.loads(path.read_text(encoding="utf-8"))
    differ = [name for name in asked if there["config"].get(name) != asked[name]]
    if differ:
        raise RunMismatch(
            f"{out} holds a run by another config ({', '.join(differ)} differ). Go on with the same one, or choose "
            "another folder."
        )
    if there["stage"] != stage and {there["stage"], stage} == {"rl", "curriculum"}:
        raise RunMismatch(f"{out} holds a run of train {there['stage']}. Choose another folder for train {stage}.")


# --- Stages ---------------------------------------------------------------------------------------------------------


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
        tokenizer = tiny_tokenizer(_texts(config, out), things=config.model.things)
        size = Size(
            config.model.hidden,
            config.model.layers,
            config.model.heads,
            config.model.feed_forward,
            config.limits.text + config.limits.answer,
        )
        _save(config, tiny_model(tokenizer, size, config.seed), tokenizer, folder)
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
    model, chat = _loaded(config, base)
    samples = [sample for level in config.sft.levels for sample in read(out / "data" / f"level-{level}.jsonl")]
    tell({"stage": "sft", "texts": len(samples)})
    conversations = [messages for sample in samples for messages in sample["conversations"]]
    texts = [
        sft.encoded(chat, messages, told=spread(number, config.sft.told))
        for number, messages in enumerate(conversations)
    ]
    arguments = TrainingArguments(
        str(folder),
        per_device_train_batch_size=config.sft.batch,
        num_train_epochs=config.sft.epochs,
        learning_rate=config.sft.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=config.sft.warmup,
        weight_decay=config.sft.weight_decay,
        max_grad_norm=config.sft.max_grad_norm,
        train_sampling_strategy="group_by_length",
        length_column_name="length",
        save_steps=config.save_every * 10,
        **_common(config),
    )
    made = sft.trainer(_adapted(config, model), texts, _pad(chat), arguments, [_telling("sft", tell)])
    made.remove_callback(PrinterCallback)
    made.train(resume_from_checkpoint=_newest(folder))
    _save(config, _merged(made.model), chat.tokenizer, folder / "model")


def reinforce(config: Config, out: Path, begin: Path, stage: Stage, tell: Tell) -> None:
    """Learn from reward."""
    folder = out / "rl"
    if (folder / "model").exists():
        return
    folder.mkdir(exist_ok=True)
    if stage == "rl":
        config = _mixed(config)
    model, chat = _loaded(config, str(begin))
    train, held = beginnings(config, "train"), beginnings(config, "eval")
    collector = collector_of(config, chat)
    rl = config.rl
    arguments = GRPOConfig(
        str(folder),
        max_steps=rl.steps,
        num_generations=rl.group if rl.group > 1 else 2,
        learning_rate=rl.learning_rate,
        lr_scheduler_type="constant",
        beta=rl.kl,
        epsilon=rl.clip,
        temperature=rl.temperature,
        max_grad_norm=rl.max_grad_norm,
        loss_type="dapo",
        save_steps=config.save_every,
        **_divided(config),
        **_common(config),
    )
    log = Log(
        folder / "log.jsonl", lambda line: tell({"stage": "rl", "of": rl.steps, **line}), arguments.process_index > 0
    )
    guide = Guide(config, train, held, collector, folder, log)
    critic = None
    if rl.algorithm == "ppo":
        valued = AutoModelForTokenClassification.from_pretrained(str(begin), num_labels=1)
        critic = Critic(valued, _pad(chat), Fitting(rows=rl.batch))
    plan = Plan(
        collector,
        guide,
        Shaping(config.rewards, train.oracle),
        Method(rl.algorithm, rl.discount, lam=rl.gae),
        critic=critic,
        parts={"guide": guide},
    )
    made = RollbackTrainer(
        model, plan, arguments, processing_class=chat.tokenizer, callbacks=[guide], peft_config=_lora(config)
    )
    made.remove_callback(PrinterCallback)
    made.train(resume_from_checkpoint=last_checkpoint(folder))
    _save(config, _merged(made.model), chat.tokenizer, folder / "model")


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
    model, chat = _loaded(config, folder)
    test = beginnings(config, "test")
    groups = final(test, config.evaluation.final)
    return evaluate(collector_of(config, chat), model.eval(), test, groups, config.evaluation.temperature)


# --- Parts ----------------------------------------------------------------------------------------------------------


def beginnings(config: Config, split: str) -> Beginnings:
    """What episodes of a split are drawn from. Those to evaluate on are the same whatever the seed of the run."""
    levels = config.levels
    return Beginnings(
        config.made,
        split,
        clean=levels.clean,
        begun=levels.begun,
        kinds=levels.kinds,
        searches=config.data.searches,
        think=config.asking.think,
        seed=config.seed if split == "train" else 0,
    )


def collector_of(config: Config, chat: Chat) -> Collector:
    """What plays episodes."""
    limits = config.limits
    return Collector(
        Setup(
            config.made,
            config.prompts,
            config.asking.context,
            limits=Limits(limits.answer, limits.text, limits.turns),
            parallel=limits.parallel,
        ),
        chat,
    )


def _divided(config: Config) -> dict[str, int]:
    """How a step's episodes are divided among micro-batches, so that there is one update a step."""
    each = config.rl.groups * max(config.rl.group, 1)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    parts = max(1, each // world // config.rl.batch)
    return {
        "per_device_train_batch_size": each // world // parts,
        "steps_per_generation": parts,
        "gradient_accumulation_steps": parts,
    }


def _common(config: Config) -> dict[str, Any]:
    return {
        "seed": config.seed,
        "data_seed": config.seed,
        "report_to": list(config.report_to) or "none",
        "logging_steps": 1,
        "save_total_limit": 2,
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_num_workers": 0,
        "bf16": config.model.dtype == "bfloat16" and torch.cuda.is_available(),
    }


def _loaded(config: Config, folder: str) -> tuple[Any, Chat]:
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=config.model.dtype)
    except (OSError, ValueError) as error:
        raise RunStopped(f"There is no model at {folder!r} that can be loaded: {error}") from error
    try:
        chat = Chat(tokenizer, config.model.template)
    except ValueError as error:
        raise RunStopped(f"{folder}: {error}") from error
    return model.to("cuda" if torch.cuda.is_available() else "cpu"), chat


def _lora(config: Config) -> Any:
    if not config.model.lora_rank:
        return None
    from peft import LoraConfig

    rank, alpha = config.model.lora_rank, config.model.lora_alpha
    return LoraConfig(r=rank, lora_alpha=alpha, target_modules="all-linear", task_type="CAUSAL_LM")


def _adapted(config: Config, model: Any) -> Any:
    lora = _lora(config)
    if lora is None:
        return model
    from peft import get_peft_model

    return get_peft_model(model, lora)


def _merged(model: Any) -> Any:
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model


def _mixed(config: Config) -> Config:
    return replace(config, curriculum=replace(config.curriculum, mode="mixed"))


def _pad(chat: Chat) -> int:
    tokenizer = chat.tokenizer
    return int(tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id)


def _newest(folder: Path) -> str | None:
    """The newest whole checkpoint of transformers' own trainer, whose last file is its own state."""
    steps = {
        int(path.name.rpartition("-")[2]): path
        for path in folder.glob("checkpoint-*")
        if (path / "trainer_state.json").exists()
    }
    return str(steps[max(steps)]) if steps else None


def _telling(stage: str, tell: Tell) -> Any:
    class Telling(TrainerCallback):  # type: ignore[misc]
        """Tells how far a training is."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            """See TrainerCallback."""
            if logs and "loss" in logs:
                tell({"stage": stage, "step": state.global_step, "of": state.max_steps, "loss": float(logs["loss"])})

    return Telling()


def _save(config: Config, model: Any, tokenizer: Any, folder: Path) -> None:
    """Save a model so that its folder is there only when it is whole."""
    with whole(folder) as draft:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        (draft / SETTINGS).write_text(json.dumps(configs.plain(config), indent=1), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
