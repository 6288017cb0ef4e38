"""What writes an agent's answers: token ids in, token ids and log-probs out. The backends are in `generation.py`."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rollback_gym.trainer.rows import Ids


class Ask(NamedTuple):
    """A text to go on with."""

    ids: Ids
    """All of it, from the first token on."""
    most: int
    """How many tokens the answer may have, at least 1."""
    slot: int = 0
    """Whose text it is. A slot's texts mostly begin alike, so a backend may keep what it computed for the last one."""


class Sample(NamedTuple):
    """An answer."""

    ids: Ids
    """As sampled, the token that ended it included; never empty."""
    logprobs: tuple[float, ...]
    """Of each token, at the temperature of sampling, before any cut to the likeliest ones: as a trainer scores it."""
    stopped: bool
    """It came to its own end, and was not cut off."""


class Generator(Protocol):
    """Answers many texts at once."""

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        """An answer to each. The same asks and seed get the same answers from the same weights."""

    def goes_on(self, wanted: bool) -> bool:
        """Whether `generate` is to be called once more, with no asks if need be.

        Where generation is collective, every process must call it equally often: true while any process wants to.
        """
