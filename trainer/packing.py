"""Rows as the tensors that TRL's loss reads: prompts padded on the left, completions on the right.

Knows tensors, and no environments.
"""

from collections.abc import Sequence

import numpy as np
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
    prompt_ids, completion_ids = np.full((count, before), pad), np.full((count, after), pad)
    prompt_mask, completion_mask, tool_mask = (np.zeros((count, width), np.int64) for width in (before, after, after))
    advantages, logprobs = np.zeros((count, after), np.float32), np.zeros((count, after), np.float32)
    for number, row in enumerate(rows):
        asked, size = before - len(row.prompt), len(row.completion)
        prompt_ids[number, asked:], prompt_mask[number, asked:] = row.prompt, 1
        completion_ids[number, :size], completion_mask[number, :size] = row.completion, 1
        advantages[number, :size], logprobs[number, :size] = row.advantages, row.logprobs
        for span in row.spans:
            tool_mask[number, span.start : span.end] = 1
    arrays = {
        "prompt_ids": prompt_ids,
        "prompt_mask": prompt_mask,
        "completion_ids": completion_ids,
        "completion_mask": completion_mask,
        "tool_mask": tool_mask,
        "advantages": advantages,
        "sampling_per_token_logps": logprobs,
        "sampled": np.array([row.kind is not Kind.RECOVERY for row in rows]),
    }
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def trimmed(batch: Batch) -> Batch:
    """`batch` without the columns in which no row has text: a part of a batch is mostly shorter than the whole."""
    before = int(batch["prompt_mask"].sum(1).max())
    after = int(batch["completion_mask"].sum(1).max())
    width = batch["completion_mask"].shape[1]
    return {
        name: values[:, -before:]
        if name.startswith("prompt_")
        else values[:, :after]
        if values.dim() == 2 and values.shape[1] == width
        else values
        for name, values in batch.items()
    }


def by_length(batches: Sequence[Batch]) -> list[Batch]:
    """As many batches of the same rows, each of rows of like length, which saves padding; for one update by all."""
    sizes = [len(batch["prompt_mask"]) for batch in batches]
    whole = {
        name: torch.cat([batch[name] for batch in batches]) if values.dim() else values
        for name, values in batches[0].items()
    }
    return [_rows(whole, places) for places in _order(whole).split(sizes)]


def in_parts(batch: Batch, most: int) -> list[Batch]:
    """`batch` in parts of at most `most` rows of like length; a batch of as many rows has as many parts."""
    order = _order(batch)
    return [_rows(batch, places) for places in order.tensor_split(-(-len(order) // most))]


def _order(batch: Batch) -> Tensor:
    return (batch["prompt_mask"].sum(1) + batch["completion_mask"].sum(1)).argsort(stable=True)


def _rows(batch: Batch, places: Tensor) -> Batch:
    return {name: values[places] if values.dim() else values for name, values in batch.items()}


def trained_tokens(rows: Sequence[Row], kind: Kind = Kind.RL) -> int:
    """How many tokens of a kind are trained."""
    return sum(span.end - span.start for row in rows if row.kind is kind for span in row.spans)


def whole(batch: Batch) -> tuple[Tensor, Tensor, int]:
    """The tokens (B, P + T) of a batch, the mask of what is text, and T."""
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    return ids, mask, batch["completion_ids"].shape[1]
