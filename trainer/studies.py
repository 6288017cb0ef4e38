"""What small studies on a CPU have in common: a folder of finished pieces, a base, arms, and a table.

Every finished piece is a file, so that the same call goes on where it was stopped.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformers import PrinterCallback, TrainingArguments
from trl import GRPOConfig

from rollback_gym.core.errors import RunMismatch
from rollback_gym.core.files import whole, write_whole
from rollback_gym.play.prompts import Prompts
from rollback_gym.study.statistics import Estimate, shares
from rollback_gym.trainer import sft
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.muon import MuonAdamW
from rollback_gym.trainer.tiny import Size, tiny_model
from rollback_gym.trainer.update import Plan, RollbackTrainer

ID = "Rollback-ALFWorld-v0"
WORLD: Mapping[str, Any] = {"difficulty": 0, "task_types": ["pick_and_place_simple"]}
"""Where they play: in the smallest kitchens."""
PROMPTS = Prompts(brief=True, admissible=False, rollback=False, think=False)
Tell = Callable[[str], None]
Runs = Sequence[Mapping[str, Any]]
"""What came of an arm, seed by seed."""


def claim(study: Any, out: Path) -> None:
    """Make `out` the folder of a study, a dataclass. Raises RunMismatch if it holds one of another size."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "study.json"
    if not path.exists():
        write_whole(path, json.dumps(asdict(study), indent=1))
    elif json.loads(path.read_text(encoding="utf-8")) != asdict(study):
        raise RunMismatch(f"{out} holds a study of another size. Go on with the same, or choose another folder.")


def finish(out: Path, name: str, seed: int, run: Callable[[], Mapping[str, Any]], tell: Tell) -> None:
    """Run an arm with a seed, unless its result is there."""
    path = _result(out, name, seed)
    if not path.exists():
        tell(f"{name}, seed {seed}")
        write_whole(path, json.dumps(run()))


def results(out: Path, arms: Iterable[str], seeds: int) -> dict[str, Runs]:
    """What came of every arm."""
    return {
        name: [json.loads(_result(out, name, seed).read_text(encoding="utf-8")) for seed in range(seeds)]
        for name in arms
    }


def slug(name: str) -> str:
    """A name as a file may have it."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name).split()).lower()


def learn_base(chat: Chat, texts: sft.Texts, out: Path, *, epochs: float, batch: int) -> list[dict[str, Any]]:
    """Train a tiny model on demonstrations, save it as `out/base`, and return the log."""
    arguments = TrainingArguments(
        str(out / "sft"),
        per_device_train_batch_size=batch,
        num_train_epochs=epochs,
        learning_rate=5e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        train_sampling_strategy="group_by_length",
        length_column_name="length",
        save_strategy="no",
        **_common(0),
    )
    model = tiny_model(chat.tokenizer, Size(positions=2048))
    optimizer = MuonAdamW(model, arguments.learning_rate)
    trainer = sft.trainer(model, texts, chat.tokenizer.pad_token_id, arguments, (), optimizer)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    with whole(out / "base") as draft:
        trainer.model.save_pretrained(draft)
        chat.tokenizer.save_pretrained(draft)
    log: list[dict[str, Any]] = trainer.state.log_history
    return log


def train_arm(study: Any, model: Any, plan: Plan, folder: Path, seed: int, *, kl: float) -> None:
    """Train a model by reward, in place; `folder` is gone afterwards."""
    episodes = study.groups * study.group
    parts = next((part for part in range(episodes // 8, 0, -1) if episodes % part == 0), 1)
    arguments = GRPOConfig(
        str(folder),
        max_steps=study.steps,
        num_generations=study.group,
        per_device_train_batch_size=episodes // parts,
        steps_per_generation=parts,
        gradient_accumulation_steps=parts,
        learning_rate=study.learning_rate,
        lr_scheduler_type="constant",
        beta=kl,
        loss_type="dapo",
        gradient_checkpointing=False,
        save_strategy="no",
        **_common(seed),
    )
    trainer = RollbackTrainer(model, plan, arguments, processing_class=plan.collector.chat.tokenizer)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    shutil.rmtree(folder, ignore_errors=True)


def means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The mean of each measure that there is any of."""
    return {name: sum(of) / len(of) for name, of in values.items() if len(of)}


def share(won: Sequence[bool]) -> Estimate:
    """The share of episodes that were won."""
    return shares({"won": (list(map(float, won)), [1.0] * len(won))})["won"]


def percent(of: Estimate) -> str:
    """An estimate with its interval; empty where nothing was counted."""
    if of.value is None:
        return ""
    interval = f" ({100 * of.low:.0f} to {100 * of.high:.0f})" if of.low is not None and of.high is not None else ""
    return f"{100 * of.value:.0f}%{interval}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _result(out: Path, name: str, seed: int) -> Path:
    return out / f"{slug(name)}-{seed}.json"


def _common(seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "data_seed": seed,
        "report_to": "none",
        "logging_steps": 1,
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "bf16": False,
        "use_cpu": True,
    }
