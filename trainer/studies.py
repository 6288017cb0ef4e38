"""What small studies on a CPU have in common: a folder of finished pieces, a base, arms, and a table.

Every finished piece is a file, so that the same call goes on where it was stopped.
"""

import json
import math
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from transformers import PrinterCallback, TrainerCallback, TrainingArguments
from trl import GRPOConfig

from rollback_gym.core.errors import RunMismatch, RunStopped
from rollback_gym.core.files import whole, write_whole
from rollback_gym.play.pool import Done, Failed, Work, work
from rollback_gym.play.prompts import Prompts
from rollback_gym.progress import progress
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


class Job(NamedTuple):
    """An arm with a seed."""

    name: str
    seed: int


def finish(
    out: Path, jobs: Iterable[Job], make: Callable[[Any], Work], given: Any, tell: Tell, workers: int | None
) -> None:
    """Run the arms that have no result yet, side by side.

    Args:
        out: The study's folder.
        jobs: All arms and seeds.
        make: See `play.pool.work`: makes what runs a job, and returns all that is counted.
        given: What it is made with.
        tell: Is told of every job that is done.
        workers: How many at a time; None for one a core. With 1 it is done in this process.

    Raises:
        RunStopped: if some could not be done. What was done remains.
    """
    left = [job for job in jobs if not _result(out, job).exists()]
    workers = min(len(os.sched_getaffinity(0)) if workers is None else workers, len(left))
    failed: list[Failed] = []
    with closing(_done(make, given, left) if workers <= 1 else work(make, given, left, workers)) as finished:
        for of in finished:
            if isinstance(of, Failed):
                failed.append(of)
                continue
            write_whole(_result(out, of.job), json.dumps(of.result))
            tell(f"{of.job.name}, seed {of.job.seed}: done")
    if failed:
        raise RunStopped(
            f"{len(failed)} of {len(left)} trainings ended early; the same command tries them again. "
            f"{failed[0].job.name}, seed {failed[0].job.seed}: {failed[0].message}"
        )


def _done(make: Callable[[Any], Work], given: Any, jobs: Sequence[Job]) -> Generator[Done | Failed, None, None]:
    """In this process, whose errors are its own."""
    for do in [make(given)] if jobs else []:
        for job in jobs:
            yield Done(job, do(job))


def results(out: Path, arms: Iterable[str], seeds: int) -> dict[str, Runs]:
    """What came of every arm."""
    return {
        name: [json.loads(_result(out, Job(name, seed)).read_text(encoding="utf-8")) for seed in range(seeds)]
        for name in arms
    }


def slug(name: str) -> str:
    """A name as a file may have it."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name).split()).lower()


def learn_base(
    chat: Chat, texts: sft.Texts, out: Path, *, epochs: float, batch: int, seed: int = 0
) -> list[dict[str, Any]]:
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
        **_common(seed),
    )
    model = tiny_model(chat.tokenizer, Size(positions=2048), seed)
    optimizer = MuonAdamW(model, arguments.learning_rate)
    with progress(math.ceil(-(-len(texts) // batch) * epochs), "base") as advance:
        showing = [_Advancing(advance)]
        trainer = sft.trainer(model, texts, chat.tokenizer.pad_token_id, arguments, showing, optimizer)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    with whole(out / "base") as draft:
        trainer.model.save_pretrained(draft)
        chat.tokenizer.save_pretrained(draft)
    log: list[dict[str, Any]] = trainer.state.log_history
    return log


class _Advancing(TrainerCallback):  # type: ignore[misc]
    """Tells how many updates are done."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """See TrainerCallback."""
        self._advance(state.global_step)


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


def _result(out: Path, job: Job) -> Path:
    return out / f"{slug(job.name)}-{job.seed}.json"


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
