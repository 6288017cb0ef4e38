"""A model of a few hundred thousand parameters, made from a configuration, with the words of an environment.

It is trained from scratch on a CPU in minutes, and needs nothing but what pip installs. Its tokenizer knows the words
that the environment and the prompts are made of; one that it has never seen is an unknown token.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def tiny_tokenizer(texts: Iterable[str], *, things: bool = True, phrases: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer with a token for every word of `texts`.

    With `things` a thing and its number, as in "mug 1", are one token where `texts` number that thing; that makes texts
    shorter, but "a mug" and "mug 1" have nothing in common then. With `phrases` what often stands between the names of
    things and numbers is one token, as ". You arrive at": an environment says all in a few dozens of these, and a text
    has half as many tokens. What it decodes is what was encoded, blanks and line breaks too, but for words it has not
    seen.
    """
    known = list(texts)
    words = {word for text in known for word in _WORD.findall(text)}
    numbered = _numbered(known)
    whole = numbered if things else {}
    standing = _standing(known, sorted(numbered)) if phrases else []
    pairs = [f"{name} {number}" for name in sorted(whole) for number in range(whole[name] + 1)]
    bare = sorted({word.strip(" ") for word in words if word.strip(" ").isalpha()})
    marks = sorted({letter for word in words if word not in TAGS for letter in word if not letter.isalnum()} | {*" \n"})
    special = (PAD, UNKNOWN, END, *ROLES.values())
    digits = [*map(str, range(100)), *(f"0{digit}" for digit in range(10))]
    with_blank = [f"{blank}{word}" for word in (*digits, *bare, *pairs) for blank in ("", " ")]
    vocabulary = [*special, *TAGS, *marks, *with_blank, *standing]
    splitting = pre_tokenizers.Split(Regex(_pattern(standing, whole)), "isolated")
    foreign = [text for text in known if not text.isascii()]  # of which its expressions make other words than Python's
    vocabulary += [part for text in foreign for part, _ in splitting.pre_tokenize_str(text)]
    vocabulary = list(dict.fromkeys(vocabulary))
    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(vocabulary)}, unk_token=UNKNOWN))
    inner.pre_tokenizer = splitting
    inner.decoder = decoders.Fuse()
    inner.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token=END, pad_token=PAD, unk_token=UNKNOWN, padding_side="left"
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


_LETTER = r"[^\W\d_]"
_WORD = re.compile(rf"{'|'.join(TAGS)}| ?{_LETTER}+| ?\d{{1,2}}|[\W_]")
"""A tag; a word or a number with the blank before it; a mark, a blank or a line break."""
_THING = re.compile(rf"({_LETTER}+) (\d{{1,4}})(?!\d)")
_MOST = 30
"""Higher numbers are no part of a name."""
_OURS = {"action", "actions"}
"""Words that prompts number, and that are no things."""
_OFTEN = 20
"""How many times a phrase is said that is one token."""


def _numbered(texts: Sequence[str]) -> dict[str, int]:
    """What is numbered in `texts`, from 0 or 1 on, and its highest number."""
    numbers: dict[str, set[int]] = {}
    for text in texts:
        for name, number in _THING.findall(text):
            numbers.setdefault(name, set()).add(int(number))
    things = {name: given for name, given in numbers.items() if name not in _OURS and given & {0, 1}}
    return {name: max(given) for name, given in things.items() if max(given) <= _MOST}


def _standing(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """What stands in `texts` between names and numbers often enough, the longest first; pictures have no such."""
    between = re.compile(rf" ?(?:\b(?:{'|'.join(names)})\b|\d+)" if names else r" ?\d+")
    said = Counter(phrase for text in texts for phrase in between.split(text))
    often = [phrase for phrase, times in said.items() if times >= _OFTEN and len(_WORD.findall(phrase)) > 1]
    return sorted(filter(_is_said, often), key=lambda phrase: (-len(phrase), phrase))


def _is_said(phrase: str) -> bool:
    return 2 * sum(letter.isalpha() or letter == " " for letter in phrase) >= len(phrase)


def _pattern(standing: Sequence[str], whole: Mapping[str, int]) -> str:
    """Matches the token that a text begins with: a phrase, a thing and its number, or a word."""
    parts = [_bounded(phrase) for phrase in standing]
    for name in sorted(whole, key=lambda name: (-len(name), name)):
        parts.append(rf" ?\b{name} (?:{'|'.join(map(str, range(whole[name], -1, -1)))})(?!\d)")
    return "|".join((*parts, _WORD.pattern))


def _bounded(phrase: str) -> str:
    """Matches a phrase that neither begins nor ends within a word."""
    before = f"(?<!{_LETTER})" if phrase[0].isalpha() else ""
    after = f"(?!{_LETTER})" if phrase[-1].isalpha() else ""
    # As numbers: what Python's re would escape a blank by, the tokenizer's own expressions do not know.
    inner = "".join(letter if letter.isalnum() else f"\\x{{{ord(letter):x}}}" for letter in phrase)
    return f"{before}{inner}{after}"


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
