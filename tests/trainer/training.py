"""Short trainings of a very small model, and the same updates written out by hand."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForTokenClassification, AutoTokenizer
from trl import GRPOConfig

from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Setup
from rollback_gym.trainer.generator import Ask, Sample
from rollback_gym.trainer.rows import Kind, Row
from rollback_gym.trainer.scene import Extension, Scene, Seeds
from rollback_gym.trainer.update import Plan, RollbackTrainer
from tests.trainer import models
from tests.trainer.scripted import PLAIN, Drawn, any_act, corridor, number_of

GROUP = 4


class Varied(Drawn):
    """Answers by a hash of the text and the place in the group; of the model it knows nothing."""

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        return [
            self._sample(ask, self.choose(number_of((*ask.ids, ask.slot % GROUP)), self.chat.text(ask.ids)))
            for ask in asks
        ]


class Trainer(RollbackTrainer):
    """With a generator of the test's choice, if any, and everything that a batch was made of remembered."""

    generator: Any = None

    def __init__(self, model: Any, plan: Plan, args: GRPOConfig, **more: Any) -> None:
        self.rows: list[tuple[Row, ...]] = []
        self.scenes: list[Scene] = []
        extending = plan.extending

        def remembered(scene: Scene) -> Extension:
            extension = extending(scene)
            self.scenes.append(scene)
            self.rows.append(tuple(extension.rows))
            return extension

        super().__init__(model, plan._replace(extending=remembered), args, **more)

    @contextmanager
    def _generator(self) -> Iterator[Any]:
        if self.generator is not None:
            yield self.generator
        else:
            with super()._generator() as generator:
                yield generator


def policy(base: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(base)


def critic_model(base: Path) -> Any:
    torch.manual_seed(1)
    return AutoModelForTokenClassification.from_pretrained(base, num_labels=1)


def chat_of(base: Path) -> Chat:
    return Chat(AutoTokenizer.from_pretrained(base))


def arguments(out: Path, **changed: Any) -> GRPOConfig:
    return GRPOConfig(
        str(out),
        **{
            "max_steps": 1,
            "per_device_train_batch_size": GROUP,
            "gradient_accumulation_steps": 2,
            "num_generations": GROUP,
            "learning_rate": 1.0,
            "beta": 0.0,
            "report_to": "none",
            "logging_steps": 1,
            "use_cpu": True,
            "bf16": False,
            "max_grad_norm": 0.0,
            "save_strategy": "no",
            "disable_tqdm": True,
            **changed,
        },
    )


def trainer(
    base: Path,
    out: Path,
    *,
    plan: dict[str, Any] | None = None,
    setup: dict[str, Any] | None = None,
    sgd: bool = True,
    varied: bool = True,
    kind: type[Trainer] = Trainer,
    more: dict[str, Any] | None = None,
    **changed: Any,
) -> Trainer:
    """One that is ready to train: with plain gradient steps if `sgd`, and scripted episodes if `varied`."""
    chat, model = chat_of(base), policy(base)
    playing = Setup(**{"made": corridor(max_turns=6), "prompts": PLAIN, "limits": models.LIMITS, **(setup or {})})
    args = arguments(out, **changed)
    more = dict(more or {})
    if sgd:
        optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate)
        more["optimizers"] = optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    plan = {"source": Seeds(), **(plan or {})}
    made = kind(model, Plan(Collector(playing, chat), **plan), args, processing_class=chat.tokenizer, **more)
    if varied:
        made.generator = Varied(chat, any_act)
    return made


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def logprobs(model: Any, row: Row) -> torch.Tensor:
    """(T,) of the completion, read at once and alone."""
    logits = model(torch.tensor([[*row.prompt, *row.completion]])).logits[0, len(row.prompt) - 1 : -1]
    return torch.log_softmax(logits, -1)[range(len(row.completion)), list(row.completion)]


def hand_loss(
    model: Any,
    rows: Sequence[Row],
    *,
    old: Sequence[torch.Tensor] | None = None,
    reference: Any = None,
    beta: float = 0.0,
    clip: float = 0.2,
) -> torch.Tensor:
    """PPO's clipped loss, a row and a token at a time, over the number of tokens of RL rows.

    Without `old` it is REINFORCE: minus each advantage times the log-prob of its token. The KL term is weighted by the
    ratio, as TRL does by default (DeepSeek-V3.2's unbiased estimate).
    """
    total = torch.zeros(())
    for number, row in enumerate(rows):
        now = logprobs(model, row)
        with torch.no_grad():
            kept = logprobs(reference, row) if reference is not None else now
        for place, trained in enumerate(row.mask):
            if not trained:
                continue
            advantage = row.advantages[place]
            ratio = torch.exp(now[place] - (now[place].detach() if old is None else old[number][place]))
            if old is None:
                total = total - advantage * now[place]
            else:
                total = total - torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
            if beta:
                away = kept[place] - now[place]
                total = total + beta * ratio * (torch.exp(away) - away - 1)
    return total / sum(sum(row.mask) for row in rows if row.kind is Kind.RL)


def step_by_hand(model: Any, loss: torch.Tensor, lr: float) -> None:
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= lr * parameter.grad


def assert_alike(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], start: dict[str, Any], tolerance: float):
    """That two models moved alike from where they began, and moved at all."""
    moved = max(float((one[name] - start[name]).abs().max()) for name in start)
    assert moved > 1e-4, "nothing was learned, so nothing was tested"
    for name in start:
        difference = float((one[name] - other[name]).abs().max())
        assert difference <= tolerance * moved, f"{name} differs by {difference:.2e}, having moved by {moved:.2e}"
