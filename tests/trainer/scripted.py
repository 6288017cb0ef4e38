"""A corridor to play in, a tokenizer that writes bytes, and generators that answer as they are told."""

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import gymnasium as gym

from rollback_gym.play.prompts import Prompts
from rollback_gym.play.records import Made
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.generator import Ask, Sample
from rollback_gym.wrappers import Rollback
from tests.toy import ToyEnv

PLAIN = Prompts(think=False, brief=True)
WALK = "<action>{}</action>"


def make_corridor(**options: Any) -> gym.Env[Any, Any]:
    max_turns = options.pop("max_turns", 12)
    return Rollback(ToyEnv(max_turns=max_turns), **options)


def corridor(**options: Any) -> Made:
    """As an environment is named; registered again in whatever process asks."""
    if "Corridor-v0" not in gym.registry:
        gym.register("Corridor-v0", entry_point=f"{__name__}:make_corridor")
    return Made("Corridor-v0", options)


class Bytes:
    """A byte a token, and marks around messages."""

    chat_template = "ChatML"
    specials = ("<|im_start|>", "<|im_end|>")
    all_special_ids = (256, 257)
    eos_token_id = 257
    pad_token_id = 257

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids: list[int] = []
        for part in re.split(r"(<\|im_(?:start|end)\|>)", text):
            ids += [256 + self.specials.index(part)] if part in self.specials else part.encode()
        return {"input_ids": ids}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        parts = [bytes([i]) if i < 256 else self.specials[i - 256].encode() for i in ids]
        return b"".join(parts).decode(errors="replace")

    def apply_chat_template(self, messages: Any, tokenize: bool, add_generation_prompt: bool) -> str:
        assert not tokenize
        text = "".join(f"<|im_start|>{of['role']}\n{of['content']}<|im_end|>\n" for of in messages)
        return text + ("<|im_start|>assistant\n" if add_generation_prompt else "")


class Told:
    """Answers each slot's asks with the next of its answers; remembers what it was asked."""

    def __init__(self, chat: Chat, *answers: Sequence[str], stops: bool = True) -> None:
        self.chat, self.answers, self.stops = chat, [list(of) for of in answers], stops
        self.asked: list[list[Ask]] = []
        self.seeds: list[int] = []

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        self.asked.append(list(asks))
        self.seeds.append(seed)
        return [self._sample(ask, self.answers[ask.slot].pop(0)) for ask in asks]

    def _sample(self, ask: Ask, text: str) -> Sample:
        ids = self.chat.answer(text)
        kept = ids[: ask.most] if self.stops else ids[:-1][: ask.most]
        return Sample(kept, tuple(-1.0 / (n + 1) for n in range(len(kept))), kept[-1] in self.chat.stops)

    def goes_on(self, wanted: bool) -> bool:
        return wanted


class Drawn(Told):
    """Answers by a hash of the text, so that the same text gets the same answer wherever it is asked."""

    def __init__(self, chat: Chat, choose: Callable[[int, str], str]) -> None:
        super().__init__(chat)
        self.choose = choose

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        self.asked.append(list(asks))
        return [self._sample(ask, self.choose(number_of(ask.ids), self.chat.text(ask.ids))) for ask in asks]


def number_of(ids: Sequence[int]) -> int:
    return int.from_bytes(blake2b(repr(tuple(ids)).encode(), digest_size=6).digest(), "big")


def act(action: str) -> str:
    return WALK.format(action)


def any_act(number: int, text: str) -> str:
    """A step, a rollback that may be refused, or nonsense."""
    target = number // 7 % 5
    options = ("right", "left", "right", "take", f"rollback({target})", f'rollback({target}, "so")', "jump")
    return "no\naction" if number % 11 == 0 else act(options[number % 7])
