"""Rows as the tensors that TRL's loss reads: prompts padded on the left, completions on the right.

Knows tensors, and no environments.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from rollback_gym.trainer.rows import Kind, Row, check_row

Batch = dict[str, Tensor]


def padded_count(counts: Sequence[int], multiple: int) -> int:
    """How many rows every process packs: as many as the one that has most, and a multiple of `multiple`.

    TRL drops the rows that do not divide among its steps, and processes that do not agree wait for ever.
    """
    return max(1, -(-max(counts) // multiple)) * multiple


def pack(rows: Sequence[Row], count: int, pad: int, device: torch.device | str = "cpu") -> Batch:
    """`rows` as tensors, with rows that train nothing up to `count`.

    Args:
        rows: With advantages.
        count: At least as many as there are rows.
        pad: A token to fill up with.
        device: Where the tensors go.

    Returns:
        prompt_ids, prompt_mask (B, P); completion_ids, completion_mask, tool_mask, advantages, sampling_per_token_logps
        (B, T), as TRL names them: completion_mask is 1 on text, tool_mask on what is trained of it; and `sampled` (B,),
        True where the trained tokens are the policy's own samples.

    Raises:
        ValueError: if a row's parts do not fit each other, or there are more rows than `count`.
    """
    if len(rows) > count:
        raise ValueError(f"{len(rows)} rows do not fit into {count}.")
    for row in rows:
        check_row(row)
        if len(row.advantages) != len(row.completion):
            raise ValueError("A row has no advantages yet: give it some, or zeros.")
    rows = [*rows, *[Row((pad,), (pad,), (), (0.0,), advantages=(0.0,))] * (count - len(rows))]
    before = max(len(row.prompt) for row in rows)
    after = max(len(row.completion) for row in rows)
    numbers = {
        "prompt_ids": [[pad] * (before - len(row.prompt)) + list(row.prompt) for row in rows],
        "prompt_mask": [[0] * (before - len(row.prompt)) + [1] * len(row.prompt) for row in rows],
        "completion_ids": [list(row.completion) + [pad] * (after - len(row.completion)) for row in rows],
        "completion_mask": [[1] * len(row.completion) + [0] * (after - len(row.completion)) for row in rows],
        "tool_mask": [list(row.mask) + [0] * (after - len(row.completion)) for row in rows],
    }
    measures = {
        "advantages": [list(row.advantages) + [0.0] * (after - len(row.completion)) for row in rows],
        "sampling_per_token_logps": [list(row.logprobs) + [0.0] * (after - len(row.completion)) for row in rows],
    }
    return {
        **{name: torch.tensor(values, dtype=torch.long, device=device) for name, values in numbers.items()},
        **{name: torch.tensor(values, dtype=torch.float32, device=device) for name, values in measures.items()},
        "sampled": torch.tensor([row.kind is not Kind.RECOVERY for row in rows], device=device),
    }


def trained_tokens(rows: Sequence[Row], kind: Kind = Kind.RL) -> int:
    """How many tokens of a kind are trained."""
    return sum(span.end - span.start for row in rows if row.kind is kind for span in row.spans)


def whole(batch: Batch) -> tuple[Tensor, Tensor, int]:
    """The tokens (B, P + T) of a batch, the mask of what is text, and T."""
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    return ids, mask, batch["completion_ids"].shape[1]
