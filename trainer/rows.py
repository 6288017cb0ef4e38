"""What is trained on: rows of tokens, each with what was sampled, which of it is trained, and how much.

A row is one text as a model read and wrote it: a prompt, and all that followed, the environment's tokens among them.
Rows of several kinds stand in one update. Plain values; `packing.py` makes tensors of them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

Ids = tuple[int, ...]
"""Tokens."""


class Kind(StrEnum):
    """Where a row comes from."""

    RL = "rl"
    """Sampled while playing."""
    RECOVERY = "recovery"
    """Written by a hinted model in a state that the agent got itself into."""
    REFLECTION = "reflection"
    """Written about an episode that was over."""


class Span(NamedTuple):
    """Tokens of a completion, from `start` up to `end`, that the model sampled at once: what it said on a turn."""

    turn: int
    """The action index; 0 for what was said outside of an episode."""
    start: int
    end: int


class Row(NamedTuple):
    """One text, and what is trained of it."""

    prompt: Ids
    completion: Ids
    """All that follows the prompt: what the model said, and what it was told in between."""
    spans: tuple[Span, ...]
    """What is trained, in order: each token that was sampled is in a span of one row only, the first that holds it."""
    logprobs: tuple[float, ...]
    """What the sampler gave each token of the completion; 0 outside of the spans."""
    kind: Kind = Kind.RL
    episode: int = 0
    """The number of its episode in the batch."""
    advantages: tuple[float, ...] = ()
    """One for each token of the completion, 0 outside of the spans; empty where none were given yet."""

    @property
    def mask(self) -> tuple[int, ...]:
        """1 for each token of the completion that is trained."""
        trained = [0] * len(self.completion)
        for _, start, end in self.spans:
            trained[start:end] = [1] * (end - start)
        return tuple(trained)


def with_advantages(row: Row, of_turns: Mapping[int, float]) -> Row:
    """`row` with one advantage for all that was said on a turn.

    Args:
        row: A row.
        of_turns: An advantage for each action index among its spans.
    """
    advantages = [0.0] * len(row.completion)
    for turn, start, end in row.spans:
        advantages[start:end] = [of_turns[turn]] * (end - start)
    return row._replace(advantages=tuple(advantages))


def check_row(row: Row) -> None:
    """Raise ValueError unless the parts of `row` fit each other."""
    size = len(row.completion)
    if not row.prompt or not row.completion:
        raise ValueError("A row needs a prompt and a completion of at least one token each.")
    if len(row.logprobs) != size or len(row.advantages) not in (0, size):
        raise ValueError(
            f"A row with {size} tokens after its prompt needs as many log-probs and advantages; it has "
            f"{len(row.logprobs)} and {len(row.advantages)}."
        )
    place = 0
    for span in row.spans:
        if not place <= span.start < span.end <= size:
            raise ValueError(f"{span} is no part of {size} tokens after {place}: spans are in order and not empty.")
        place = span.end
