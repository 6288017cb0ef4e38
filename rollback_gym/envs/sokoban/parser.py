"""What an agent's words mean as an action."""

from typing import Literal

from rollback_gym.envs.sokoban.types import WORDS

Parser = Literal["strict", "original"]

_KNOWN = dict(zip(WORDS, WORDS, strict=True))
_OPEN, _CLOSE = "<action>", "</action>"


def strict(text: str) -> str:
    """`text` as an action if it is one, whatever the case and the spaces around it; else as it is."""
    return _KNOWN.get(text) or _KNOWN.get(text.strip().lower(), text)


def original(text: str) -> str:
    """The action that verl-agent and RetroAgent read out of an agent's sentence, or `still`, which is none.

    They look between the first `<action>` and the first `</action>` for a part of a word, up before down before left
    before right: "setup: down" means up. An action alone, without tags, is taken at its word here, as `strict` does.
    """
    alone = strict(text)
    if alone in _KNOWN:
        return alone
    text = text.lower()
    start, end = text.find(_OPEN), text.find(_CLOSE)
    if start < 0 or end < 0:
        return "still"
    inside = text[start + len(_OPEN) : end]
    return next((word for word in WORDS if word in inside), "still")


PARSERS = {"strict": strict, "original": original}
