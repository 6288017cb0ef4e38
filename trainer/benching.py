"""How long a training step takes here, part by part, and whether its numbers are right: `rollback-gym bench train`.

A model of random weights is made: on CUDA of the shape of Qwen3-0.6B in bfloat16, on a CPU a tiny one. It plays
ALFWorld by reading its lines (`reading.py`), and is updated by every algorithm. All else is what training is made of.
"""

import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForCausalLM, PrinterCallback, Qwen3Config, Qwen3ForCausalLM, TrainerCallback
from transformers.trainer_utils import SaveStrategy

from rollback_gym.trainer import parts
from rollback_gym.trainer.backends import Generation
from rollback_gym.trainer.config import Asking, Config, Data, Environment, Levels, Limits, Model, Rl
from rollback_gym.trainer.distilling import Distilling
from rollback_gym.trainer.generator import Generator
from rollback_gym.trainer.hints import GOLD
from rollback_gym.trainer.packing import Batch
from rollback_gym.trainer.reading import Reading
from rollback_gym.trainer.rows import Row
from rollback_gym.trainer.scene import Extending, Extension, Scene
from rollback_gym.trainer.shaping import Shaping
from rollback_gym.trainer.tiny import texts_of, tiny_tokenizer
from rollback_gym.trainer.trajectory import Start
from rollback_gym.trainer.update import Plan, RollbackTrainer

PAPER = 64 / 128
"""Recovery rows an episode, at most: in PivotOPD 64 a step, of 128 episodes."""
_WORLDS = 30
_CUT = 256
"""Tokens after the prompts of the rows whose log-probs are compared."""


class Shape(NamedTuple):
    """What is measured with."""

    hidden: int
    layers: int
    heads: int
    groups_of_heads: int
    head: int
    feed_forward: int
    words: int
    """Of the vocabulary, at least."""
    dtype: str
    groups: int
    group: int
    turns: int
    difficulty: float | None
    """Of ALFWorld; None is the official size."""
    thoughts: int
    """Words that are thought on a turn."""
    batch: int
    tolerance: float
    """How far log-probs may be from the reference, in the mean."""


QWEN3 = Shape(1024, 28, 16, 8, 128, 3072, 151_936, "bfloat16", 4, 8, 8, None, 32, 2, 0.05)
"""Of Qwen3-0.6B (its config.json)."""
TINY = Shape(64, 3, 4, 4, 16, 192, 0, "float32", 2, 4, 8, 0.0, 0, 8, 1e-4)


def shape_here() -> Shape:
    """What this machine is measured with."""
    return QWEN3 if torch.cuda.is_available() else TINY


def config_of(shape: Shape) -> Config:
    """A training run of that size, but for its algorithm."""
    size = {} if shape.difficulty is None else {"difficulty": shape.difficulty}
    return Config(
        model=Model(dtype=shape.dtype),  # type: ignore[arg-type]
        environment=Environment(options={"max_turns": shape.turns, **size}),
        asking=Asking(think=shape.thoughts > 0, rollback=False, brief=shape.difficulty is not None),
        data=Data(),
        rl=Rl(groups=shape.groups, group=shape.group, batch=shape.batch),
        limits=Limits(answer=shape.thoughts + 24, text=8192),
        levels=Levels(clean=1.0, begun=0.0),
        save_every=1_000_000,
    )


def make_base(shape: Shape, config: Config, folder: Path) -> int:
    """Make the model, and return how many parameters it has."""
    filling = " ".join(_word(number) for number in range(shape.words // 2))  # a word is a token with and without blank
    tokenizer = tiny_tokenizer([*texts_of(config.made, _WORLDS, config.prompts), GOLD, filling])
    made = Qwen3Config(
        vocab_size=max(len(tokenizer), shape.words),
        hidden_size=shape.hidden,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.groups_of_heads,
        head_dim=shape.head,
        max_position_embeddings=config.limits.text,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Qwen3ForCausalLM(made).to(getattr(torch, shape.dtype))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return int(model.num_parameters())


def _word(number: int) -> str:
    """A word of letters that there is not."""
    letters = "qxzjvkw"
    digits = []
    for _ in range(7):
        number, digit = divmod(number, len(letters))
        digits.append(letters[digit])
    return "".join(digits)


class Step(NamedTuple):
    """Seconds of one step, and what it did."""

    total: float
    rollout_model: float
    rollout_rest: float
    added_model: float
    """PivotOPD's: self-teacher and scoring."""
    added_rest: float
    """PivotOPD's: oracle, pivots, restoring, acting in copies, laying out rows."""
    reference: float
    """Log-probs of the reference model."""
    packing: float
    """Rewards, advantages, tensors; PPO's critic, too."""
    update: float
    sampled: int
    """Tokens."""
    trained: int
    """Tokens, of recovery rows too."""
    recoveries: int
    loss: float
    gradient: float

    @property
    def model(self) -> float:
        """What models took."""
        return self.rollout_model + self.added_model + self.reference + self.update

    @property
    def rest(self) -> float:
        """What all else took."""
        return self.total - self.model


class _Same:
    """The same beginnings in every step, so that steps can be compared."""

    def __init__(self, starts: Sequence[Start]) -> None:
        self._starts = starts

    def starts(self, seeds: Sequence[int]) -> Sequence[Start]:
        """See `Source.starts`."""
        return [self._starts[place % len(self._starts)] for place in range(len(seeds))]


class _Timed(RollbackTrainer):
    """Reads its lines, and looks at the clock."""

    thoughts = 0

    @contextmanager
    def _generator(self) -> Iterator[Generator]:
        if self.use_vllm:
            with super()._generator() as generator:
                yield generator
        else:
            chat, autocast = self.plan.collector.chat, self.accelerator.autocast
            yield Reading(self.model, chat, self.thoughts, self.temperature, autocast)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> Batch:
        began = _now()
        self.reference_seconds = 0.0
        batch = super()._generate_and_score_completions(inputs)
        self.making_seconds = _now() - began
        self.trained_tokens = int((batch["tool_mask"] * batch["completion_mask"]).sum())
        return batch

    def _reference(self, batch: Batch) -> torch.Tensor:
        began = _now()
        scored = super()._reference(batch)
        self.reference_seconds += _now() - began
        return scored


class _Watching(TrainerCallback):  # type: ignore[misc]
    """Makes a `Step` of each step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.trainer: Any = None
        self.measures: Mapping[str, Sequence[float]] = {}
        self._began = self._ended = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """See TrainerCallback."""
        self._began = _now()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """See TrainerCallback."""
        self._ended = _now()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """See TrainerCallback."""
        if not logs or "loss" not in logs:
            return
        of, total, making = self.trainer, self._ended - self._began, self.trainer.making_seconds
        playing, generating = float(logs["seconds/playing"]), float(logs["seconds/generating"])
        seconds = {name.removeprefix("seconds/"): float(values) for name, values in logs.items() if "seconds/" in name}
        added_model = seconds.get("self_teacher", 0.0) + seconds.get("scoring", 0.0)
        added_rest = seconds.get("teacher", 0.0) + seconds.get("pivotopd", 0.0)
        known = generating + playing + added_model + added_rest + of.reference_seconds
        self.steps.append(
            Step(
                total,
                generating,
                playing,
                added_model,
                added_rest,
                of.reference_seconds,
                max(0.0, making - known),
                total - making,
                of.sampled_tokens,
                of.trained_tokens,
                int(logs.get("recovery/rows", 0.0)),
                float(logs["loss"]),
                float(logs["grad_norm"]),
            )
        )


class Bench(NamedTuple):
    """A model that is there, and what it plays."""

    base: Path
    shape: Shape
    config: Config
    parameters: int


def prepared(folder: Path, shape: Shape) -> Bench:
    """Make what is measured in an empty folder."""
    config = config_of(shape)
    return Bench(folder / "base", shape, config, make_base(shape, config, folder / "base"))


def taken(
    bench: Bench, changes: Mapping[str, Any], count: int, arms: Sequence[Distilling] = (), seen: list[Any] | None = None
) -> list[Step]:
    """Take so many steps.

    Args:
        bench: What is measured.
        changes: Over the config.
        count: Steps, the first of which warms up and is left out.
        arms: What is added, in turn; none for nothing.
        seen: Gets the first rows of the first step, cut, with what the trainer says of their log-probs.
    """
    config = replace(bench.config, **changes)
    model, chat = parts.loaded(config, str(bench.base))
    train, collector, rl = parts.beginnings(config, "train"), parts.collector_of(config, chat), config.rl
    starts = train.draw((1.0, 0.0, 0.0), rl.groups, "bench")
    began = str(bench.base)
    added = [parts.extending_of(replace(config, pivotopd=arm), collector, train.oracle, began) for arm in arms]
    watching = _Watching()

    def extending(scene: Scene) -> Extension:
        made.sampled_tokens = sum(len(step.sample.ids) for of in scene.trajectories for step in of.steps)
        if seen is not None and scene.step == 0:
            some = [_cut(row) for row in scene.rows[:2]]
            seen.append((some, scene.scorer.logprobs(some)))
        chosen: Extending = added[scene.step % len(added)] if added else lambda scene: Extension(scene.rows)
        return chosen(scene)

    plan = Plan(
        collector,
        _Same(starts),
        Shaping(config.rewards, train.oracle),
        parts.method_of(rl),
        extending=extending,
        critic=parts.critic(config, str(bench.base), chat) if rl.algorithm == "ppo" else None,
    )
    arguments = parts.arguments(replace(config, rl=replace(rl, steps=count)), bench.base.parent / "out")
    arguments.save_strategy = SaveStrategy.NO
    made = _Timed(model, plan, arguments, processing_class=chat.tokenizer, callbacks=[watching])
    made.thoughts, watching.trainer = bench.shape.thoughts, made
    made.remove_callback(PrinterCallback)
    made.train()
    if not all(bool(parameter.isfinite().all()) for parameter in made.model.parameters()):
        return [step._replace(gradient=float("nan")) for step in watching.steps]
    return watching.steps


def _cut(row: Row) -> Row:
    """The beginning of a row."""
    spans = tuple(span for span in row.spans if span.end <= _CUT)
    return row._replace(completion=row.completion[:_CUT], logprobs=row.logprobs[:_CUT], spans=spans, advantages=())


class Compared(NamedTuple):
    """Log-probs beside those of the same weights in float32 on a CPU: mean and largest difference."""

    tokens: int
    sampler: tuple[float, float]
    trainer: tuple[float, float]


def compared(bench: Bench, seen: Sequence[Any]) -> Compared:
    """What `taken` has seen, beside a reference that reads each text at once and alone."""
    model = AutoModelForCausalLM.from_pretrained(bench.base, dtype=torch.float32)
    differences: dict[str, list[float]] = {"sampler": [], "trainer": []}
    ((rows, scored),) = seen
    for row, trainer in zip(rows, scored, strict=True):
        ids = torch.tensor([[*row.prompt, *row.completion]])
        with torch.no_grad():
            logits = model(ids).logits[0, len(row.prompt) - 1 : -1]
        exact = torch.log_softmax(logits / bench.config.rl.temperature, -1)
        exact = exact.gather(1, torch.tensor(row.completion)[:, None])[:, 0].tolist()
        for place, trained in enumerate(row.mask):
            if trained:
                differences["sampler"].append(abs(row.logprobs[place] - exact[place]))
                differences["trainer"].append(abs(trainer[place] - exact[place]))
    sampler, trainer = ((statistics.fmean(of), max(of)) for of in differences.values())
    return Compared(len(differences["sampler"]), sampler, trainer)


def algorithms(shape: Shape, config: Config) -> dict[str, tuple[Mapping[str, Any], Sequence[Distilling]]]:
    """What there is to update by: changes of the config, and what is added."""
    known: dict[str, tuple[Mapping[str, Any], Sequence[Distilling]]] = {
        "grpo": ({}, ()),
        "gigpo": ({"rl": replace(config.rl, algorithm="gigpo")}, ()),
        "ppo": ({"rl": replace(config.rl, algorithm="ppo")}, ()),
        "grpo and pivotopd": ({}, (pivotopd(shape, 1),)),
    }
    if torch.cuda.is_available() and find_spec("vllm") is not None:
        known["grpo, vLLM"] = ({"generation": Generation("vllm_colocate")}, ())
    return known


def pivotopd(shape: Shape, turns: int) -> Distilling:
    """PivotOPD with K `turns`, and as many recovery rows an episode as in the paper at most; 0 is none of it."""
    return Distilling(on=turns > 0, turns=turns, most=max(1, int(PAPER * shape.groups * shape.group)))


def typical(steps: Sequence[Step]) -> Step:
    """The medians."""
    return Step(*(statistics.median(values) for values in zip(*steps, strict=True)))


def peak() -> float:
    """The most memory so far, in GB: of the GPU, or of this process."""
    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated()) / 1e9
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def _now() -> float:
    """Seconds, when all that was asked of the GPU is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()
