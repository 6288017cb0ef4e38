"""Learning from demonstrations: the loss is on the model's own answers, and never on an error that was put in.

A model that begins from nothing learns sooner if it foresees at first what it is told: names are copied there, too.

A conversation of a data set (`study.samples`) becomes tokens in the same way in which `contexts.py` writes a dialogue
while it is played, so what was learned here is found again there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainingArguments

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


class Texts(Dataset[dict[str, Any]], TrainerCallback):  # type: ignore[misc]
    """Texts as transformers takes them; as a callback it knows the epoch.

    Args:
        texts: What is learned.
        first: What is instead in the first epochs: the same texts with other tokens trained.
        epochs: How many epochs these are.
    """

    def __init__(self, texts: Sequence[Text], first: Sequence[Text] = (), epochs: int = 0) -> None:
        self._texts, self._first, self._epochs = texts, first, epochs
        self._now = first if epochs else texts

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """See TrainerCallback."""
        self._now = self._first if int(state.epoch or 0) < self._epochs else self._texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: int) -> dict[str, Any]:
        text = self._now[place]
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
    model: PreTrainedModel,
    texts: Texts,
    pad: int,
    arguments: TrainingArguments,
    callbacks: Sequence[Any] = (),
    optimizer: torch.optim.Optimizer | None = None,
) -> Trainer:
    """A trainer of transformers that imitates `texts`; without an optimizer, by AdamW."""
    return Trainer(
        model=model,
        args=arguments,
        data_collator=Padded(pad),
        train_dataset=texts,
        callbacks=[texts, *callbacks],
        optimizers=(optimizer, None),
    )
