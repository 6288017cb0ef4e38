"""What the stages of a training run are made of: episodes, models, arguments, as a config has them."""

import json
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
    TrainerCallback,
    TrainingArguments,
)
from trl import GRPOConfig

from rollback_gym.core.errors import RunStopped
from rollback_gym.core.files import whole
from rollback_gym.oracles.lookup import Oracle
from rollback_gym.trainer import backends, reporting
from rollback_gym.trainer import config as configs
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.config import Config, Rl
from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.critic import Critic, Fitting
from rollback_gym.trainer.distilling import teacher_of
from rollback_gym.trainer.generation import TransformersGenerator
from rollback_gym.trainer.generator import Generator
from rollback_gym.trainer.levels import Beginnings
from rollback_gym.trainer.pivotopd import PivotOPD
from rollback_gym.trainer.retro_config import RetroConfig
from rollback_gym.trainer.scene import Extending, Scene, as_played

Tell = Callable[[dict[str, Any]], None]
"""Is told how far a run is: `stage`, and what there is to say."""

SETTINGS = "rollback_gym.json"
"""Beside a model's weights: the config that it was trained by, so that it can be asked in the same way."""


# --- Processes ------------------------------------------------------------------------------------------------------


def processes() -> PartialState:
    """Those of a run. They may have to wait for one another longer than the usual ten minutes."""
    return PartialState(cpu=_on_cpu(), timeout=timedelta(days=1))


def leads() -> bool:
    """Whether this process is the one of a run that shows and writes."""
    return bool(processes().is_main_process)


def _on_cpu() -> bool:
    return not torch.cuda.is_available() or os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")


# --- Episodes -------------------------------------------------------------------------------------------------------


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
        fumbles=config.data.fumbles,
        think=config.asking.think,
        notes=config.asking.notes,
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


def extending_of(config: Config, collector: Collector, oracle: Oracle, begin: str) -> Extending:
    """What is added to reward: PivotOPD, or nothing. `begin` is the folder or name of the initial model."""
    asked, chat = config.pivotopd, collector.chat
    if not asked.on:
        return as_played
    teacher = teacher_of(asked.teacher, chat, config.limits.text, oracle)
    settings = asked.settings(processes().num_processes)
    writer = _initial(config, chat, begin) if asked.writes_as_before else None
    judging = None if asked.teacher.source == "oracle" else oracle
    return PivotOPD(settings, collector.setup, chat, teacher, writer, _sum, judging)


def _initial(config: Config, chat: Chat, begin: str) -> Callable[[Scene], Generator]:
    """What samples from a copy of the initial model."""
    model, _ = loaded(config, begin, trained=False)
    generator = TransformersGenerator(model.requires_grad_(False), chat.stops, temperature=config.rl.temperature)
    return lambda scene: generator


def _sum(number: float) -> float:
    return float(sum(gather_object([number])))


# --- Models ---------------------------------------------------------------------------------------------------------


def check_there(config: Config | RetroConfig) -> None:
    """Make sure that there is what a run needs from its beginning, before anything is made.

    Raises:
        RunStopped: if there is no such model.
        MissingExtra: if what metrics go to is not installed.
    """
    reporting.check_there(config.report_to)
    if config.model.path is not None:
        try:
            AutoConfig.from_pretrained(config.model.path)
        except (OSError, ValueError) as error:
            raise _no_model(config.model.path, error) from error


def _no_model(folder: str, error: Exception) -> RunStopped:
    return RunStopped(f"There is no model at {folder!r} that can be loaded: {' '.join(str(error).split())}")


def loaded(config: Config | RetroConfig, folder: str, *, trained: bool = True) -> tuple[Any, Chat]:
    """A model, where this process computes, and what writes its texts.

    Args:
        config: Says in what numbers; see `Model.dtype`.
        folder: Where the model is.
        trained: Whether all its weights will be, which takes float32: in 16 bits most steps of 1e-6 are lost.

    Raises:
        RunStopped: if there is no such model.
    """
    full = trained and not config.model.lora_rank
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32" if full else config.model.dtype)
    except (OSError, ValueError) as error:
        raise _no_model(folder, error) from error
    try:
        chat = Chat(tokenizer, config.model.template)
    except ValueError as error:
        raise RunStopped(f"{folder}: {error}") from error
    return model.to(processes().device), chat


def critic(config: Config, folder: str, chat: Chat) -> Critic:
    """PPO's critic, which begins as the policy does; the same in all processes."""
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        valued = AutoModelForTokenClassification.from_pretrained(folder, num_labels=1, dtype="float32")
    device = processes().device
    return Critic(
        valued.to(device),
        pad(chat),
        Fitting(rows=config.rl.batch),
        total=_total,
        autocast=lambda: torch.autocast(device.type, torch.bfloat16, enabled=_halved(config)),
    )


def _halved(config: Config | RetroConfig) -> bool:
    """Whether what is trained computes in bfloat16, by weights in float32."""
    return config.model.dtype == "bfloat16" and not _on_cpu()


def _total(tensor: torch.Tensor) -> None:
    if processes().num_processes > 1:
        torch.distributed.all_reduce(tensor)


def lora(config: Config | RetroConfig) -> Any:
    """The adapter that is trained; None where all weights are."""
    if not config.model.lora_rank:
        return None
    from peft import LoraConfig

    rank, alpha = config.model.lora_rank, config.model.lora_alpha
    return LoraConfig(r=rank, lora_alpha=alpha, target_modules="all-linear", task_type="CAUSAL_LM")


def adapted(config: Config, model: Any) -> Any:
    """`model` with the adapter, if there is one."""
    adapter = lora(config)
    if adapter is None:
        return model
    from peft import get_peft_model

    return get_peft_model(model, adapter)


def merged(model: Any) -> Any:
    """`model` with its adapter in its weights, if it has one; in float32, or little of the adapter would be left."""
    return model.float().merge_and_unload() if hasattr(model, "merge_and_unload") else model


def pad(chat: Chat) -> int:
    """A token to fill up with."""
    tokenizer = chat.tokenizer
    return int(tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id)


def save(config: Config, model: Any, tokenizer: Any, folder: Path) -> None:
    """Save a model as it was trained, in float32, so that its folder is there only when it is whole."""
    model = merged(model)
    with whole(folder) as draft:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        (draft / SETTINGS).write_text(json.dumps(configs.plain(config), indent=1), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)


# --- Arguments ------------------------------------------------------------------------------------------------------


def arguments(config: Config, folder: Path) -> GRPOConfig:
    """TRL's, for learning from reward."""
    sampling = backends.arguments(config.generation, config.limits.answer, config.limits.text)
    return rewarded(
        config, folder, processes().num_processes, gradient_checkpointing=config.rl.checkpointing, **sampling
    )


def rewarded(config: Config | RetroConfig, folder: Path, world: int, **more: Any) -> GRPOConfig:
    """What all that learn from reward in `world` processes give TRL, and `more`."""
    rl = config.rl
    return GRPOConfig(
        str(folder),
        max_steps=rl.steps,
        num_generations=rl.group,
        learning_rate=rl.learning_rate,
        lr_scheduler_type="constant",
        beta=rl.kl,
        epsilon=rl.clip,
        temperature=rl.temperature,
        max_grad_norm=rl.max_grad_norm,
        loss_type="dapo",
        save_steps=config.save_every,
        **divided(rl, world),
        **common(config),
        **more,
    )


def method_of(rl: Rl) -> Method:
    """How turns are given credit."""
    return Method(rl.algorithm, rl.discount, rl.scale, lam=rl.gae, below=rl.below)


def divided(rl: Rl, world: int) -> dict[str, int]:
    """How a step's episodes are divided among `world` processes and micro-batches, so that there is one update a step.

    That one is by the policy that played, so that no ratio is clipped.

    Raises RunStopped where they cannot be.
    """
    episodes, left = divmod(rl.groups * rl.group, world)
    if left or episodes % rl.group:
        raise RunStopped(
            f"rl.groups={rl.groups} of rl.group={rl.group} cannot be divided among {world} processes: each plays whole "
            "groups."
        )
    parts = divisor(episodes, rl.batch)
    return {
        "per_device_train_batch_size": episodes // parts,
        "steps_per_generation": parts,
        "gradient_accumulation_steps": parts,
    }


def imitating(config: Config, folder: Path) -> TrainingArguments:
    """Those of transformers, for learning from demonstrations."""
    sft = config.sft
    each = max(1, sft.batch // processes().num_processes)
    parts = divisor(each, sft.rows or each)
    return TrainingArguments(
        str(folder),
        per_device_train_batch_size=each // parts,
        gradient_accumulation_steps=parts,
        num_train_epochs=sft.epochs,
        learning_rate=sft.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=sft.warmup,
        weight_decay=sft.weight_decay,
        max_grad_norm=sft.max_grad_norm,
        gradient_checkpointing=sft.checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        train_sampling_strategy="group_by_length",
        length_column_name="length",
        save_steps=config.save_every * 10,
        **common(config),
    )


def divisor(count: int, most: int) -> int:
    """Into how few like parts of at most `most` each `count` can be divided."""
    return next(parts for parts in range(-(-count // most), count + 1) if count % parts == 0)


def common(config: Config | RetroConfig) -> dict[str, Any]:
    """What all stages of a training give transformers' trainer."""
    return {
        "seed": config.seed,
        "data_seed": config.seed,
        "report_to": list(config.report_to) or "none",
        "logging_steps": 1,
        "save_total_limit": 2,
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_num_workers": 0,
        "use_cpu": _on_cpu(),
        "bf16": _halved(config),
    }


def newest(folder: Path) -> str | None:
    """The newest whole checkpoint of transformers' own trainer, whose last file is its own state."""
    steps = {
        int(path.name.rpartition("-")[2]): path
        for path in folder.glob("checkpoint-*")
        if (path / "trainer_state.json").exists()
    }
    return str(steps[max(steps)]) if steps else None


class Telling(TrainerCallback):  # type: ignore[misc]
    """Tells how far a training is."""

    def __init__(self, stage: str, tell: Tell) -> None:
        self._stage, self._tell = stage, tell

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """See TrainerCallback."""
        if logs and "loss" in logs:
            loss = float(logs["loss"])
            self._tell({"stage": self._stage, "step": state.global_step, "of": state.max_steps, "loss": loss})
