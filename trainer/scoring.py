"""How likely a model finds what is written in rows, outside of any training."""

from collections.abc import Sequence
from typing import Any

import torch

from rollback_gym.trainer.packing import pack, trimmed, whole
from rollback_gym.trainer.prevention import Scoring
from rollback_gym.trainer.rows import Row

AT_ONCE = 32
"""Rows in one pass."""


def scoring_by(model: Any, pad: int) -> Scoring:
    """For each token of each row's completion, its log-prob under `model`, at temperature 1."""

    def scoring(rows: Sequence[Row]) -> list[tuple[float, ...]]:
        given: list[tuple[float, ...]] = [()] * len(rows)
        order = sorted(range(len(rows)), key=lambda number: len(rows[number].prompt) + len(rows[number].completion))
        for first in range(0, len(order), AT_ONCE):
            numbers = order[first : first + AT_ONCE]
            blank = [rows[of]._replace(advantages=(0.0,) * len(rows[of].completion)) for of in numbers]
            ids, mask, size = whole(trimmed(pack(blank, len(blank), pad, model.device)))
            with torch.no_grad():
                logits = model(input_ids=ids, attention_mask=mask).logits[:, -size - 1 : -1]
            scores = torch.log_softmax(logits.float(), -1).gather(2, ids[:, -size:, None]).squeeze(2).tolist()
            for number, of in zip(numbers, scores, strict=True):
                given[number] = tuple(of[: len(rows[number].completion)])
        return given

    return scoring
