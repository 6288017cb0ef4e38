"""A very small model that speaks the corridor's words, random and yet talkative."""

import os
from collections.abc import Iterator
from pathlib import Path

import torch

from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.tiny import Size, tiny_model, tiny_tokenizer
from rollback_gym.trainer.trajectory import Start
from tests.trainer.scripted import PLAIN, Bytes, Drawn, any_act, corridor

SIZE = Size(hidden=32, layers=2, heads=2, feed_forward=64, positions=2048)


def words() -> Iterator[str]:
    """All that is said in some episodes."""
    chat = Chat(Bytes())
    drawn = Drawn(chat, any_act)
    Collector(Setup(corridor(), PLAIN), chat).play([Start(seed=seed) for seed in range(20)], drawn, 0)
    for asks in drawn.asked:
        for ask in asks:
            yield chat.tokenizer.decode(ask.ids)


def tokenizer():
    return tiny_tokenizer(words())


def model(tokens, seed=0, size=SIZE):
    made = tiny_model(tokens, size, seed)
    with torch.no_grad():  # random weights alone give every token nearly the same probability
        for parameter in made.parameters():
            parameter *= 4 if parameter.ndim > 1 else 1
    return made


def saved(folder: Path, seed=0, size=SIZE):
    """Where a model and its tokenizer lie, as a user's would."""
    tokens = tokenizer()
    model(tokens, seed, size).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def quiet() -> None:
    """No look-ups, one thread, no progress bars."""
    os.environ.update(HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", CUDA_VISIBLE_DEVICES="", TQDM_DISABLE="1")
    torch.set_num_threads(1)
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


quiet()
LIMITS = Limits(answer=12, text=1024)
