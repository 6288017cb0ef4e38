"""A model of a few hundred thousand parameters, made from a configuration, with the words of an environment.

It is trained from scratch on a CPU in minutes, and needs nothing but what pip installs. Its tokenizer knows the words
that the environment and the prompts are made of; one that it has never seen is an unknown token.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from rollback_gym.play.playing import play
from rollback_gym.play.policies import AnyPolicy, Choice, KnowingPolicy, OraclePolicy, RandomPolicy, Truth, View
from rollback_gym.play.prompts import Prompts, prompt
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env

END, PAD, UNKNOWN = "<|end|>", "<|pad|>", "<|unknown|>"
ROLES = {"system": "<|system|>", "user": "<|user|>", "assistant": "<|assistant|>"}
TAGS = ("<think>", "</think>", "<action>", "</action>")

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] }}<|end|>{% endgeneration %}"
    "{% else %}{{ message['content'] }}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


class Size(NamedTuple):
    """How large a model is."""

    hidden: int = 64
    layers: int = 3
    heads: int = 4
    feed_forward: int = 192
    positions: int = 4096
    """The longest text."""


def tiny_model(tokenizer: Any, size: Size = Size(), seed: int = 0) -> Qwen3ForCausalLM:  # noqa: B008
    """A model of random weights for a tokenizer's words; the same seed makes the same."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=size.feed_forward,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        head_dim=size.hidden // size.heads,
        max_position_embeddings=size.positions,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)


def tiny_tokenizer(texts: Iterable[str], *, things: bool = True) -> PreTrainedTokenizerFast:
    """A tokenizer with a token for every word of `texts`.

    With `things` a thing and its number, as in "mug 1", are one token where `texts` number that thing; that makes texts
    shorter, but "a mug" and "mug 1" have nothing in common then. Otherwise digits and marks are tokens of their own.
    What it decodes is what was encoded, blanks and line breaks too, but for words it has not seen.
    """
    words, numbered, most = _counted(texts)
    numbered = numbered if things else set()
    names = sorted(numbered, key=lambda name: (-len(name), name))
    numbers = [str(number) for number in range(most, -1, -1)] if names else []
    whole = [f"{name} {number}" for name in sorted(names) for number in reversed(numbers)]
    bare = sorted({word.strip(" ") for word in words if word.strip(" ").isalpha()})
    marks = sorted({letter for word in words for letter in word if not letter.isalnum()} | set(" \n"))
    special = (PAD, UNKNOWN, END, *ROLES.values())
    with_blank = [f"{blank}{word}" for word in (*bare, *whole) for blank in ("", " ")]
    digits = [f"{blank}{digit}" for digit in "0123456789" for blank in ("", " ")]
    vocabulary = list(dict.fromkeys([*special, *TAGS, *digits, *marks, *with_blank]))
    pattern = _WORD.pattern
    if names:
        pattern = rf" ?\b(?:{'|'.join(names)}) (?:{'|'.join(numbers)})(?!\d)|{pattern}"
    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(vocabulary)}, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    inner.decoder = decoders.Fuse()
    inner.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    inner.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in TAGS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token=END, pad_token=PAD, unk_token=UNKNOWN, padding_side="left"
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


_WORD = re.compile(r" ?[^\W\d_]+| ?\d|[\W_]")
"""A word or a digit with the blank before it; a mark, a blank or a line break."""
_THING = re.compile(r"([^\W\d_]+) (\d+)")


def _counted(texts: Iterable[str]) -> tuple[set[str], set[str], int]:
    """The words and marks of `texts`; what is numbered in them, with more than one number; and the highest number."""
    words: set[str] = set()
    numbers: dict[str, set[int]] = {}
    for text in texts:
        for tag in TAGS:
            text = text.replace(tag, "\n")
        words.update(_WORD.findall(text))
        for name, number in _THING.findall(text):
            numbers.setdefault(name, set()).add(int(number))
    numbered = {name: given for name, given in numbers.items() if len(given) > 1 and max(given) <= _MOST}
    return words, set(numbered), max((max(given) for given in numbered.values()), default=0)


_MOST = 30
"""Higher numbers are no part of a name."""


def texts_of(made: Made, episodes: int, settings: Prompts = Prompts(), seed: int = 0) -> Iterator[str]:  # noqa: B008
    """What a model reads and says in some episodes of an environment, played well and at random, each text once.

    Args:
        made: The environment.
        episodes: How many, with consecutive seeds; half of them are played by the oracle.
        settings: How a model is asked.
        seed: Of the first.
    """
    env = make_env(made)
    listening = _Listening(settings)
    for number in range(episodes):
        play(env, listening, id=str(number), made=made, seed=seed + number, oracle=False)
        yield from listening.heard.keys()
        listening.heard.clear()


class _Listening:
    """Plays, and remembers what a model would have read and said."""

    name = "listening"

    def __init__(self, settings: Prompts) -> None:
        self.heard: dict[str, None] = {}
        self._settings = settings
        self._players: list[KnowingPolicy | RandomPolicy] = [RandomPolicy(rollbacks=0.2), OraclePolicy()]

    def begin(self, seed: int) -> None:
        """See `Policy.begin`. The players take turns."""
        self._players.reverse()
        self._players[0].begin(seed)

    def act_knowing(self, view: View, truth: Truth) -> Choice:
        """See `KnowingPolicy.act_knowing`."""
        choice = _choice(self._players[0], view, truth)
        for message in prompt(view.env, view.task, view.turns, self._settings, view.going_back, view.max_turns):
            self.heard[message["content"]] = None
        self.heard[str(choice.action)] = None
        return choice

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return {}


def _choice(player: AnyPolicy, view: View, truth: Truth) -> Choice:
    """What a player of either type answers."""
    return player.act_knowing(view, truth) if isinstance(player, KnowingPolicy) else player.act(view)
