"""PPO's critic: a model of its own that says what is still to come right before a turn.

It is no part of the policy, so that a policy is streamed and saved as it is; it has an optimizer of its own, and is
fitted once a batch, before the policy is.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from rollback_gym.trainer.packing import pack, whole
from rollback_gym.trainer.rows import Row


class Fitting(NamedTuple):
    """How a critic is fitted."""

    lr: float = 1e-5
    """verl's."""
    rows: int = 8
    """At once."""
    epochs: int = 1
    """Times that it sees each batch."""
    max_norm: float = 1.0
    """Gradients are cut to this norm."""


class Critic:
    """Values of the moments right before turns.

    Args:
        model: A token classifier of transformers with one label; it reads what the policy reads.
        pad: A token to fill up with.
        fitting: How it is fitted.
        total: Sums a tensor over all processes, in place.
        autocast: What it is run in.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        pad: int,
        fitting: Fitting = Fitting(),  # noqa: B008  # immutable
        *,
        total: Callable[[Tensor], None] = lambda tensor: None,
        autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        if model.config.num_labels != 1:
            raise ValueError(f"A critic has one label, the value; this model has {model.config.num_labels}.")
        self.model, self._pad, self._fitting = model.eval(), pad, fitting
        self._total, self._autocast = total, autocast
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=fitting.lr, weight_decay=0.0)

    def values(self, rows: Sequence[Row]) -> tuple[tuple[float, ...], ...]:
        """For each row, what is expected right before each of its spans."""
        with torch.no_grad():
            given = [value for part in self._parts(rows) for value in self._expected(part)]
        return tuple(tuple(of.tolist()) for of in given)

    def fit(self, rows: Sequence[Row], targets: Sequence[Sequence[float]]) -> float:
        """Bring the values of the rows' spans nearer to `targets`, and return the mean square error before.

        Every process calls it once, with whatever rows it has.
        """
        device = self.model.device
        count = torch.tensor(float(sum(len(of) for of in targets)), device=device)
        self._total(count)
        first = torch.zeros((), device=device)
        for epoch in range(self._fitting.epochs):
            self.optimizer.zero_grad()
            error = torch.zeros((), device=device)
            for start in range(0, len(rows), self._fitting.rows):
                part = slice(start, start + self._fitting.rows)
                expected = torch.cat(self._expected(rows[part]))
                wanted = torch.tensor([value for of in targets[part] for value in of], device=device)
                loss = (expected - wanted).square().sum() / count.clamp(min=1)
                loss.backward()
                error += loss.detach()
            for parameter in self.model.parameters():
                if parameter.requires_grad:
                    if parameter.grad is None:
                        parameter.grad = torch.zeros_like(parameter)
                    self._total(parameter.grad)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._fitting.max_norm)
            self.optimizer.step()
            self._total(error)
            first = error if epoch == 0 else first
        return float(first)

    def state_dict(self) -> dict[str, Any]:
        """All that decides how it goes on."""
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def _parts(self, rows: Sequence[Row]) -> list[Sequence[Row]]:
        return [rows[start : start + self._fitting.rows] for start in range(0, len(rows), self._fitting.rows)]

    def _expected(self, rows: Sequence[Row]) -> list[Tensor]:
        """For each row the values right before its spans: at the last token before each."""
        blank = [row._replace(advantages=(0.0,) * len(row.completion)) for row in rows]
        batch = pack(blank, len(rows), self._pad, self.model.device)
        ids, mask, _ = whole(batch)
        before = batch["prompt_ids"].shape[1]
        places = (mask.cumsum(1) - 1).clamp(min=0)
        with self._autocast():
            logits = self.model(input_ids=ids, attention_mask=mask, position_ids=places).logits[..., 0].float()
        return [logits[number, [before + span.start - 1 for span in row.spans]] for number, row in enumerate(rows)]
