"""The update: TRL's GRPOTrainer, with rows that a collector played in place of its completions.

What makes a batch is overridden, and the loss is TRL's own: clipped ratios, KL, and per-token advantages. This file and
`served.py` are the only ones that call what TRL does not promise to keep, which is why trl is pinned to 1.16.

Traps, each found by running into it: TRL's loss reduces over processes, so all compute it equally often, and every
process needs as many rows as the others. `loss_type="grpo"` averages over rows, so rows that train nothing would dilute
those that do. The reference model is loaded from where the policy's config says that it came from.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate.utils import DistributedType, gather_object
from datasets import Dataset
from torch import Tensor
from transformers import PreTrainedModel
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOConfig, GRPOTrainer
from trl.models.utils import disable_gradient_checkpointing
from trl.trainer.utils import use_adapter

from rollback_gym.core.errors import RunMismatch
from rollback_gym.trainer.collector import Collector
from rollback_gym.trainer.credit import Method, Turns, credit, credit_by_values, credited
from rollback_gym.trainer.critic import Critic
from rollback_gym.trainer.generation import TransformersGenerator
from rollback_gym.trainer.generator import Generator
from rollback_gym.trainer.packing import Batch, by_length, in_parts, pack, padded_count, trained_tokens, trimmed, whole
from rollback_gym.trainer.rewards import Rewarding, environment_rewards
from rollback_gym.trainer.rows import Row
from rollback_gym.trainer.scene import Extending, Part, Scene, Source, as_played
from rollback_gym.trainer.trajectory import Trajectory, groups

WHOLE = "whole"
"""A file in a checkpoint that is written last: without it the checkpoint was interrupted."""


TEXTS = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")


class Plan(NamedTuple):
    """What an update is made of, besides the model and TRL's arguments."""

    collector: Collector
    source: Source
    rewarding: Rewarding = environment_rewards
    method: Method = Method()
    extending: Extending = as_played
    critic: Critic | None = None
    """PPO's."""
    parts: Mapping[str, Part] = {}
    """What checkpoints hold besides, by a name that can be part of a file's."""


class RollbackTrainer(GRPOTrainer):  # type: ignore[misc]
    """Trains a policy on episodes that it plays itself.

    Args:
        model: The policy, loaded from a folder or hub (`beta` above 0 loads it once more, as the reference).
        plan: What it plays and is trained by.
        args: TRL's. `num_generations` episodes begin alike; `per_device_train_batch_size * steps_per_generation`
            episodes are played by each process for each batch, and their rows divided among `steps_per_generation`
            micro-batches. An episode may have many rows, so a micro-batch's loss is computed in parts of at most
            `per_device_train_batch_size` rows; at once where it is no sum over tokens: with `loss_type="bnpo"`, a bonus
            for entropy, `top_entropy_quantile` below 1, or a router's loss.
        more: What else GRPOTrainer takes: `processing_class`, `peft_config`, `callbacks`, `optimizers`.

    Raises:
        ValueError: if the arguments do not go together.
    """

    _buffered_inputs: list[Batch] | None

    def __init__(self, model: PreTrainedModel, plan: Plan, args: GRPOConfig, **more: Any) -> None:
        check(plan.method, args, critic=plan.critic is not None)
        self.plan = plan
        each = args.generation_batch_size // args.num_generations
        batches = -(
            -args.max_steps * args.gradient_accumulation_steps // (args.steps_per_generation * args.num_iterations)
        )
        args.shuffle_dataset = False  # so that a seed is all that a batch depends on
        seeds = Dataset.from_dict({"seed": list(range(batches * each))})
        super().__init__(model=model, reward_funcs=_unused, args=args, train_dataset=seeds, **more)
        longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        if longest is not None and plan.collector.setup.limits.text > longest:
            raise ValueError(
                f"The model reads {longest} tokens, and limits.text is {plan.collector.setup.limits.text}."
            )
        deepspeed = self.accelerator.state.deepspeed_plugin
        if self.is_fsdp_enabled or (deepspeed is not None and deepspeed.zero_stage == 3):
            raise ValueError(
                "A model that is sharded (FSDP, DeepSpeed ZeRO 3) is not supported: one process alone evaluates it and "
                "keeps its weights, and would wait for the others for ever. Train an adapter, or a smaller model."
            )

        self._summed = (
            args.loss_type in ("dapo", "cispo")
            and not (self._entropy_bonus_enabled or self.aux_loss_enabled)
            and self.top_entropy_quantile == 1.0
        )

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> Batch:
        """Play, and return what the loss reads; TRL divides it into micro-batches."""
        plan, step = self.plan, int(self.state.global_step)
        seed = _seed_of(self.args.seed, step, self.accelerator.process_index)
        seeds = [int(of["seed"]) for of in inputs[:: self.num_generations]]
        with self._generator() as generator:
            starts = groups(plan.source.starts(seeds), self.num_generations)
            played = plan.collector.play(starts, generator, seed)
            scores = plan.rewarding(played.trajectories)
            rows, measures = self._credited(played.trajectories, scores, played.rows)
            extension = plan.extending(Scene(played.trajectories, scores, rows, generator, self, step, seed))
        seconds = {"seconds/playing": [played.seconds - played.generating], "seconds/generating": [played.generating]}
        self._measure({**scores.measures, **measures, **extension.measures, **seconds})
        return self._batch(extension.rows)

    # What a Scene needs.

    def logprobs(self, rows: Sequence[Row], *, reference: bool = False) -> tuple[tuple[float, ...], ...]:
        """See `Scorer.logprobs`. To be called equally often in all processes.

        Raises:
            ValueError: where there is no reference (`beta` is 0).
        """
        counts = gather_object([len(rows)])
        if not any(counts):
            return ()
        blank = [row._replace(advantages=(0.0,) * len(row.completion)) for row in rows]
        batch = pack(blank, padded_count(counts, 1), self._pad, self.accelerator.device)
        given = (self._reference(batch) if reference else self._scored(self.model, batch)).tolist()
        return tuple(tuple(of[: len(row.completion)]) for of, row in zip(given, rows, strict=False))

    @contextmanager
    def _generator(self) -> Iterator[Generator]:
        if self.use_vllm:
            from rollback_gym.trainer.served import VLLMGenerator

            with VLLMGenerator(self) as served:
                yield served
        else:
            yield TransformersGenerator(
                self.model,
                self.plan.collector.chat.stops,
                temperature=self.temperature,
                top_p=self.top_p,
                autocast=self.accelerator.autocast,
            )

    # Advantages.

    def _credited(
        self, trajectories: Sequence[Trajectory], scores: Any, rows: Sequence[Row]
    ) -> tuple[tuple[Row, ...], dict[str, Sequence[float]]]:
        method, critic = self.plan.method, self.plan.critic
        if critic is None:
            return credited(rows, credit(trajectories, scores, method)), {}
        values = _by_turn(rows, critic.values(rows), len(trajectories))
        advantages, targets = credit_by_values(trajectories, scores, values, method)
        error = critic.fit(rows, [[targets[row.episode][span.turn] for span in row.spans] for row in rows])
        if method.scale:
            advantages = self._whitened(advantages)
        expected = [value for of in values for value in of.values()]
        return credited(rows, advantages), {"critic/error": [error], "critic/value": expected}

    def _whitened(self, advantages: Turns) -> Turns:
        """Less the mean over all turns of all processes, and by their standard deviation."""
        every = np.array([value for of in gather_object([list(each.values()) for each in advantages]) for value in of])
        spread = every.std(ddof=1) + 1e-4 if len(every) > 1 else 1.0
        return tuple({turn: float((value - every.mean()) / spread) for turn, value in of.items()} for of in advantages)

    # Tensors.

    @property
    def _pad(self) -> int:
        return int(self._tokenizer.pad_token_id)

    def _batch(self, rows: Sequence[Row]) -> Batch:
        counts = gather_object([len(rows)])
        batch = pack(rows, padded_count(counts, self.args.steps_per_generation), self._pad, self.accelerator.device)
        tokens = torch.tensor(float(trained_tokens(rows)), device=self.accelerator.device)
        batch["num_items_in_batch"] = self.accelerator.reduce(tokens, reduction="sum")
        corrected = self.use_vllm and self.vllm_importance_sampling_correction
        # On policy, the policy that is updated is the one that sampled, and TRL takes its log-probs for the old ones.
        if self.args.gradient_accumulation_steps % (self.args.steps_per_generation * self.num_iterations) or corrected:
            batch["old_per_token_logps"] = self._scored(self.model, batch)
        if corrected:
            batch["importance_sampling_ratio"] = self._sampling_ratio(batch)
        else:
            del batch["sampling_per_token_logps"]
        if self.beta != 0.0:
            batch["ref_per_token_logps"] = self._reference(batch)
        self._measure({"rows": [float(len(rows))], "tokens": [float(tokens)]})
        return batch

    def _scored(self, model: Any, batch: Batch) -> Tensor:
        """The log-probs (B, T) of the completions."""
        logprobs = torch.zeros_like(batch["advantages"])
        lengths = batch["prompt_mask"].sum(1) + batch["completion_mask"].sum(1)
        texts = {name: batch[name] for name in TEXTS}
        with torch.no_grad(), disable_gradient_checkpointing(self.model, self.args.gradient_checkpointing_kwargs):
            for some in lengths.argsort().split(self.args.per_device_train_batch_size):
                ids, mask, size = whole(trimmed({name: values[some] for name, values in texts.items()}))
                logprobs[some, :size] = self._get_per_token_logps_and_entropies(model, ids, mask, size)[0]
        return logprobs

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        steps = self.args.steps_per_generation
        if (
            self._buffered_inputs is None
            or self._buffered_inputs is before
            or self.args.gradient_accumulation_steps % steps
        ):
            return inputs  # nothing new; or several updates, none of which may be of short rows alone
        self._buffered_inputs = by_length(self._buffered_inputs)
        return self._buffered_inputs[self._step % steps]

    def compute_loss(
        self, model: Any, inputs: Batch, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Tensor:
        """The loss of a micro-batch, of which all but the last part went backward already.

        Theirs is what `Trainer.training_step` does with the last: TRL's loss is divided by all that is trained of a
        batch, and needs no more scaling.
        """
        parts = in_parts(inputs, self.args.per_device_train_batch_size) if self._summed else [inputs]
        before = torch.zeros((), device=self.accelerator.device)
        for part in parts[:-1]:
            with self._more_to_come(model):
                loss = super().compute_loss(model, part)
                self.accelerator.backward(loss, **self._scaled)
            before += loss.detach()
        return before + super().compute_loss(model, parts[-1], return_outputs, num_items_in_batch)

    @contextmanager
    def _more_to_come(self, model: Any) -> Iterator[None]:
        """Gradients are added up; processes wait with sharing them, and DeepSpeed with its step."""
        now = self.accelerator.sync_gradients
        self.accelerator.sync_gradients = False
        try:
            with self.accelerator.no_sync(model):
                yield
        finally:
            self.accelerator.sync_gradients = now

    @property
    def _scaled(self) -> dict[str, bool]:
        deepspeed = self.accelerator.distributed_type == DistributedType.DEEPSPEED
        return {"scale_wrt_gas": False} if deepspeed else {}

    def _compute_loss(self, model: Any, inputs: Batch) -> Tensor:
        return super()._compute_loss(model, trimmed(inputs))

    def _reference(self, batch: Batch) -> Tensor:
        if self.beta == 0.0:
            raise ValueError("There is no reference model where beta is 0. Give beta a small value.")
        if self.ref_model is not None:
            return self._scored(self.ref_model, batch)
        model = self.accelerator.unwrap_model(self.model)
        with use_adapter(model, adapter_name="ref" if "ref" in model.peft_config else None):
            return self._scored(self.model, batch)

    def _sampling_ratio(self, batch: Batch) -> Tensor:
        """What corrects for vLLM's numbers, which are not quite the trainer's; TRL's four ways."""
        trained = batch["tool_mask"] * batch["completion_mask"] * batch["sampled"][:, None]
        difference = (batch["old_per_token_logps"] - batch["sampling_per_token_logps"]) * trained
        self._measure({"sampling/difference": [float(difference.abs().sum() / trained.sum().clamp(min=1))]})
        mode = self.vllm_importance_sampling_mode
        ratio = torch.exp(difference.sum(-1, keepdim=True) if mode.startswith("sequence") else difference)
        low, high = self.vllm_importance_sampling_clip_min, self.vllm_importance_sampling_clip_max
        if mode.endswith("truncate"):
            return ratio.clamp(min=low, max=high)
        outside = (ratio < (-torch.inf if low is None else low)) | (ratio > (torch.inf if high is None else high))
        return ratio.masked_fill(outside, 0.0)

    def _measure(self, measures: Mapping[str, Sequence[float]]) -> None:
        """Log the means over all processes."""
        local = {name: (float(sum(values)), len(values)) for name, values in measures.items()}
        every = gather_object([local])
        for name in sorted({name for each in every for name in each}):
            given = [each[name] for each in every if name in each]
            count = sum(size for _, size in given)
            if count:
                self._metrics["train"][name].append(sum(total for total, _ in given) / count)

    # Checkpoints.

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        folder = Path(self._get_output_dir(trial=trial)) / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        rank = self.accelerator.process_index
        self.accelerator.wait_for_everyone()
        for name, part in self.plan.parts.items():
            (folder / f"part-{name}-{rank}.json").write_text(json.dumps(part.state()), encoding="utf-8")
        if self.plan.critic is not None and self.args.should_save:
            torch.save(self.plan.critic.state_dict(), folder / "critic.pt")
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            (folder / WHOLE).touch()

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if checkpoint is not None:
            self._check_processes(Path(checkpoint))
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        rank = self.accelerator.process_index
        for name, part in self.plan.parts.items():
            part.resume(json.loads((Path(checkpoint) / f"part-{name}-{rank}.json").read_text(encoding="utf-8")))
        if self.plan.critic is not None:
            self.plan.critic.load_state_dict(
                torch.load(Path(checkpoint) / "critic.pt", map_location=self.accelerator.device, weights_only=True)
            )

    def _check_processes(self, checkpoint: Path) -> None:
        """Each process goes on from a state of its own, and draws by its own number."""
        now = self.accelerator.num_processes
        for name in self.plan.parts:
            then = len(list(checkpoint.glob(f"part-{name}-*.json")))
            if then != now:
                raise RunMismatch(
                    f"{checkpoint} was written by {then} processes, and here are {now}: go on with {then} "
                    "(accelerate launch --num_processes), or begin again in another folder."
                )


def last_checkpoint(folder: str | os.PathLike[str]) -> str | None:
    """The newest checkpoint in `folder` that was written to its end; None where there is none."""
    steps = {
        int(path.name.rpartition("-")[2]): path
        for path in Path(folder).glob(f"{PREFIX_CHECKPOINT_DIR}-*")
        if (path / WHOLE).exists()
    }
    return str(steps[max(steps)]) if steps else None


def _unused(**_: Any) -> list[float]:
    """TRL wants a reward function, which only what is overridden would call."""
    raise AssertionError("rewards are the plan's")


def check(method: Method, args: GRPOConfig, *, critic: bool = False) -> None:
    """Raise ValueError where TRL's arguments do not go together with what a `RollbackTrainer` does."""
    each = args.per_device_train_batch_size * args.steps_per_generation
    cycle = args.steps_per_generation * args.num_iterations
    problems = {
        "max_steps must be above 0: seeds never come to an end.": args.max_steps <= 0,
        f"Each process plays {each} episodes a batch (per_device_train_batch_size * steps_per_generation), and that "
        f"must be a multiple of num_generations={args.num_generations}, for whole groups.": each % args.num_generations,
        f"loss_type={args.loss_type!r} would dilute the trained rows with those that train nothing; use 'dapo'.": (
            args.loss_type not in ("dapo", "bnpo", "cispo")
        ),
        "PPO needs a critic, and only PPO does.": (method.name == "ppo") != critic,
        f"A checkpoint between the updates of one batch could not be resumed: save_steps must be a multiple of "
        f"{cycle} / gradient_accumulation_steps.": (
            args.save_strategy == "steps" and args.save_steps * args.gradient_accumulation_steps % cycle
        ),
    }
    for problem, is_so in problems.items():
        if is_so:
            raise ValueError(problem)


def _by_turn(rows: Sequence[Row], values: Sequence[Sequence[float]], episodes: int) -> Turns:
    given: list[dict[int, float]] = [{} for _ in range(episodes)]
    for row, of in zip(rows, values, strict=True):
        given[row.episode].update({span.turn: value for span, value in zip(row.spans, of, strict=True)})
    return tuple(given)


def _seed_of(seed: int, step: int, rank: int) -> int:
    return int.from_bytes(blake2b(f"{seed}:{step}:{rank}".encode(), digest_size=7).digest(), "big")
