"""Messages as tokens.

A dialogue that a model is in grows by tokens, and what was sampled is never tokenised again: only what is new is,
framed as the tokenizer's chat template frames it. Where a template would later write an answer in another way (some
leave out earlier thoughts), the dialogue here keeps it as it was said.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rollback_gym.play.prompts import Messages
from rollback_gym.trainer.rows import Ids

_REMEMBERED = 10_000
"""Texts whose tokens are kept."""
_ANSWER, _TOLD = "ANSWERTHATISREPLACED", "MESSAGETHATISREPLACED"


class Chat:
    """Writes messages as the tokens that a model reads.

    Args:
        tokenizer: A tokenizer of transformers, with a chat template and a token that ends an answer.
        options: More for the template, such as `{"enable_thinking": False}`.

    Raises:
        ValueError: if it has none, or its template does not write messages as they are.
    """

    def __init__(self, tokenizer: Any, options: Mapping[str, Any] | None = None) -> None:
        if tokenizer.chat_template is None or tokenizer.eos_token_id is None:
            raise ValueError("The tokenizer needs a chat template and an eos token. Choose a model made for chat.")
        self.tokenizer = tokenizer
        self._options = dict(options or {})
        self._known: dict[str, Ids] = {}
        self._encoded, self._decoded = _coders(tokenizer)
        self._before, self._after = self._frame()
        first = self._ids(self._before)[:1]
        self.end: int = first[0] if first and first[0] in tokenizer.all_special_ids else tokenizer.eos_token_id
        """The token that ends an answer."""
        self.stops: frozenset[int] = frozenset({self.end, tokenizer.eos_token_id})
        """The tokens at which sampling stops."""

    def opening(self, messages: Messages) -> Ids:
        """The whole of `messages`, up to where the answer begins."""
        return self._ids(self._written([dict(message) for message in messages]))

    def answer(self, text: str) -> Ids:
        """`text` as if the model had said it, its end included."""
        return (*self._ids(text), self.end)

    def reply(self, message: str, last: int) -> Ids:
        """What the user says to an answer, up to where the next answer begins.

        Args:
            message: What the user says.
            last: The last token of the answer; if it ended the answer, the end is not said again.
        """
        ids = self._ids(f"{self._before}{message}{self._after}")
        return ids[1:] if ids[0] == last else ids

    def hinted(self, ids: Ids, hint: str) -> Ids:
        """A text that asks for an answer, with `hint` at the end of its last message."""
        tail = self._ids(self._after)
        if ids[-len(tail) :] != tail:
            raise ValueError("The text does not end with a user's message and the beginning of an answer.")
        return (*ids[: -len(tail)], *self._ids(f"\n{hint}"), *tail)

    def text(self, ids: Ids) -> str:
        """What an answer says, without its end."""
        said = ids[:-1] if ids and ids[-1] in self.stops else ids
        return self._decoded(said)

    def _ids(self, text: str) -> Ids:
        known = self._known.get(text)  # episodes of a group see the same
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[text] = tuple(self._encoded(text))
        return known

    def _written(self, messages: list[dict[str, str]]) -> str:
        return str(
            self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **self._options)
        )

    def _frame(self) -> tuple[str, str]:
        """What stands between an answer and the user's next message, and between that message and the next answer."""
        told: list[tuple[str, str]] = [("user", "Begin."), ("assistant", _ANSWER), ("user", _TOLD)]
        text = self._written([{"role": role, "content": content} for role, content in told])
        _, answer, rest = text.partition(_ANSWER)
        after, message, end = rest.partition(_TOLD)
        if not answer or not message:
            raise ValueError(
                "The tokenizer's chat template does not write an answer and a message as they are, so no dialogue can "
                "be told token by token. Choose another model."
            )
        return after, end


def _coders(tokenizer: Any) -> tuple[Callable[[str], Sequence[int]], Callable[[Ids], str]]:
    """What makes tokens of a text, and a text of tokens.

    Where there is a way past transformers' wrappers it is taken: they take longer than the work.
    """
    inner = getattr(tokenizer, "backend_tokenizer", None)
    if inner is None:
        return (
            lambda text: tokenizer(text, add_special_tokens=False)["input_ids"],
            lambda ids: str(tokenizer.decode(ids, skip_special_tokens=False)),
        )
    return (
        lambda text: inner.encode(text, add_special_tokens=False).ids,
        lambda ids: str(inner.decode(ids, skip_special_tokens=False)),
    )
