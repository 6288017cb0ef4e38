"""A policy that asks a language model, whichever way the model is reached."""

import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, get_args

from gymnasium import spaces

from rollback_gym.core.errors import PolicyError
from rollback_gym.play.parse import Parsing, parse
from rollback_gym.play.policies import Choice, View
from rollback_gym.play.prompts import Messages, Prompts, checked, prompt
from rollback_gym.play.records import Call


class Answer(NamedTuple):
    """What a model answered."""

    text: str
    usage: dict[str, Any]
    """What is known of the answer: tokens, the reason it stopped."""


class Chat(Protocol):
    """A model that answers messages."""

    def answer(self, messages: Messages, seed: int) -> Answer:
        """The answer, sampled with `seed` where the model can. Raises PolicyError where there is none."""


class ModelPolicy:
    """Asks a model each turn, and takes the action that it reads from the answer.

    An answer without one spends its turn as an inadmissible action: the environment is given the empty text, which does
    nothing in any of them. The answer itself, and what was wrong with it, are in the record.

    Args:
        name: The policy's name.
        chat: The model.
        asking: How it is asked and read: the fields of `Prompts`, and `parsing`, `lenient` by default, or `strict`.

    Raises:
        ValueError: if `asking` holds something else.
    """

    def __init__(self, name: str, chat: Chat, asking: Mapping[str, Any]) -> None:
        self.name = name
        self.chat = chat
        self.prompts, self.parsing = _read(asking)
        self._seed = 0

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""
        self._seed = seed

    def act(self, view: View) -> Choice:
        """See `Policy.act`. Raises PolicyError where actions are no texts, or the model does not answer."""
        if not isinstance(view.action_space, spaces.Text):
            raise PolicyError(f"A model acts in text; the actions here are {view.action_space}. Use actions='text'.")
        messages = prompt(view.env, view.task, view.turns, self.prompts, view.going_back, view.max_turns)
        began = time.perf_counter()
        answer = self.chat.answer(messages, _seed_of(self._seed, view.turns[-1].index))
        seconds = time.perf_counter() - began
        read = parse(answer.text, self.parsing)
        return Choice(read.action or "", Call(messages, answer.text, seconds, read.problem, answer.usage))

    def settings(self) -> dict[str, Any]:
        """How the model is asked and read."""
        return {**self.prompts._asdict(), "parsing": self.parsing}


def _seed_of(episode: int, turn: int) -> int:
    """31 bits, which every server takes."""
    return int.from_bytes(blake2b(f"{episode}:{turn}".encode(), digest_size=4).digest(), "big") >> 1


def _read(asking: Mapping[str, Any]) -> tuple[Prompts, Parsing]:
    given = dict(asking)
    parsing = given.pop("parsing", "lenient")
    unknown = given.keys() - set(Prompts._fields)
    if unknown:
        raise ValueError(
            f"There is no setting {min(unknown)!r}; there are {', '.join(Prompts._fields)} and parsing, besides the "
            "model's own."
        )
    if parsing not in get_args(Parsing):
        raise ValueError(f"parsing must be lenient or strict, got {parsing!r}.")
    return checked(Prompts(**given)), parsing
