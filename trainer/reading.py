"""A model that reads its lines: it computes all that it would, and says what is written for it.

For benches. A model of random weights says nothing that an environment understands, so that episodes, mistakes and
recoveries would cost less than they do in training. Here the words are those of a random player that follows hints, and
the log-probs and the time are the model's own.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any

import torch
from torch import Tensor

from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.generation import TransformersGenerator
from rollback_gym.trainer.generator import Ask, Sample
from rollback_gym.trainer.hints import GOLD
from rollback_gym.trainer.tiny import ROLES

_OFFERED = re.compile(r"^- (.+)$", re.MULTILINE)
_HINTED = re.compile(re.escape(GOLD).replace(re.escape("{action}"), r"([^\n]+?)"))


def line(message: str, salt: str, thoughts: int) -> str:
    """What is said to a message: the action that a hint names, else one of those that are offered.

    Args:
        message: The last one, with the actions that can be done.
        salt: Decides which, with the message.
        thoughts: Words that are thought before: the first ones of the message.
    """
    hinted = _HINTED.search(message)
    offered = _OFFERED.findall(message)
    if hinted is not None:
        action = hinted[1]
    elif offered:
        drawn = int.from_bytes(blake2b(f"{salt}\n{message}".encode(), digest_size=6).digest(), "big")
        action = offered[drawn % len(offered)]
    else:
        action = "look"
    words = " ".join(re.findall(r"[^\W\d_]+", message)[:thoughts])
    return f"<think>{words}</think><action>{action}</action>" if thoughts else f"<action>{action}</action>"


class Reading(TransformersGenerator):
    """See above.

    Args:
        model: The model.
        chat: Its texts, in the template of tiny models.
        thoughts: See `line`.
        temperature: Of its log-probs.
        autocast: See TransformersGenerator.
    """

    def __init__(
        self,
        model: Any,
        chat: Chat,
        thoughts: int,
        temperature: float,
        autocast: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        super().__init__(model, chat.stops, temperature=temperature, autocast=autocast)
        self._chat, self._thoughts = chat, thoughts
        self._script = torch.zeros(0)
        self._said = 0

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        """See `Generator.generate`. The seed is not heeded: the same text is always answered in the same way."""
        if asks:
            lines = [self._chat.answer(self._line(ask)) for ask in asks]
            width = max(map(len, lines))
            padded = [[*of, *[self._chat.end] * (width - len(of))] for of in lines]
            self._script, self._said = torch.tensor(padded, device=self.model.device), 0
        return super().generate(asks, seed)

    def _line(self, ask: Ask) -> str:
        message = self._chat.text(ask.ids).rpartition(ROLES["user"])[2]
        return line(message, str(ask.slot), self._thoughts)

    def _sampled(self, logits: Tensor, chance: torch.Generator) -> tuple[Tensor, Tensor]:
        given = torch.log_softmax(logits.float() / self._temperature, -1)
        token = self._script[:, self._said]
        self._said += 1
        return token, given.gather(1, token[:, None]).squeeze(1)
