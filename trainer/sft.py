"""Learning from demonstrations: the loss is on the model's own answers, and never on an error that was put in.

A model that begins from nothing learns sooner if it also foresees what it is told: names are copied there, too.

A conversation of a data set (`study.samples`) becomes tokens in the same way in which `contexts.py` writes a dialogue
while it is played, so what was learned here is found again there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset
from transformers import PreTrainedModel, Trainer, TrainingArguments

from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.rows import Ids

IGNORED = -100
"""The label of a token that is not trained."""


class Text(NamedTuple):
    """A conversation as tokens."""

    ids: Ids
    trained: tuple[bool, ...]
    """Of each token, whether it is the model's own and to be imitated."""

    @property
    def labels(self) -> tuple[int, ...]:
        """What transformers calls so."""
        return tuple(id if trained else IGNORED for id, trained in zip(self.ids, self.trained, strict=True))


def encoded(chat: Chat, messages: Sequence[Mapping[str, Any]], *, told: bool = False) -> Text:
    """A conversation as tokens; its answers marked `train` are trained, with the token that ends them.

    Args:
        chat: Writes messages as tokens.
        messages: `{role, content, train}`, beginning with what the model is told, and ending with an answer.
        told: Whether what the model is told is trained, too.

    Raises:
        ValueError: if the messages do not take turns.
    """
    roles = [message["role"] for message in messages]
    begin = roles.index("assistant") if "assistant" in roles else len(roles)
    rest = messages[begin:]
    if not rest or [message["role"] for message in rest] != ["assistant", *["user", "assistant"] * (len(rest) // 2)]:
        raise ValueError(f"Answers and messages must take turns, from an answer to an answer; got {roles}.")
    opening = tuple({"role": message["role"], "content": message["content"]} for message in messages[:begin])
    ids: list[int] = list(chat.opening(opening))
    trained = [told] * len(ids)
    for message in rest:
        own = message["role"] == "assistant"
        part = chat.answer(message["content"]) if own else chat.reply(message["content"], ids[-1])
        ids += part
        trained += [bool(message["train"]) if own else told] * len(part)
    return Text(tuple(ids), tuple(trained))


def spread(number: int, share: float) -> bool:
    """Whether the text of this number, from 0 on, is one of a share that is spread evenly over all."""
    return int((number + 1) * share) > int(number * share)


class Texts(Dataset[dict[str, Any]]):  # type: ignore[misc]
    """Texts as transformers takes them."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: int) -> dict[str, Any]:
        text = self._texts[place]
        return {"input_ids": text.ids, "labels": text.labels, "length": len(text.ids)}


class Padded:
    """Texts of a batch, padded on the right."""

    def __init__(self, pad: int) -> None:
        self._pad = pad

    def __call__(self, batch: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """input_ids, attention_mask and labels, (B, T)."""
        longest = max(len(text["input_ids"]) for text in batch)
        filled = {
            "input_ids": [[*text["input_ids"], *[self._pad] * (longest - len(text["input_ids"]))] for text in batch],
            "attention_mask": [[1] * len(text["labels"]) + [0] * (longest - len(text["labels"])) for text in batch],
            "labels": [[*text["labels"], *[IGNORED] * (longest - len(text["labels"]))] for text in batch],
        }
        return {name: torch.tensor(rows) for name, rows in filled.items()}


def trainer(
    model: PreTrainedModel, texts: Sequence[Text], pad: int, arguments: TrainingArguments, callbacks: Sequence[Any] = ()
) -> Trainer:
    """A trainer of transformers that imitates `texts`."""
    return Trainer(
        model=model,
        args=arguments,
        data_collator=Padded(pad),
        train_dataset=Texts(texts),
        callbacks=list(callbacks),
    )
