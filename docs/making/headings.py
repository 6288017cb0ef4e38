"""Docstrings here head a paragraph by `Reward: what is paid`. Google's style knows no such headings; griffe is told."""

import re
from typing import Any

import griffe

_SECTIONS = "Args", "Raises", "Returns", "Yields", "Attributes", "Example", "Examples"
_HEADED = re.compile(rf"^(?!(?:{'|'.join(_SECTIONS)}):)([A-Z][\w', ]{{1,40}}): (?=\S)", re.MULTILINE)
_GOES_ON = re.compile(r"(\*\*[^*\n]+:\*\* [^\n]*)\n +(?=\S)")


class Headings(griffe.Extension):
    """Makes such a paragraph one, with its heading in bold."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Called for everything that has a docstring, once it is read."""
        if obj.docstring is not None:
            obj.docstring.value = spaced(obj.docstring.value)


def spaced(text: str) -> str:
    """`text` with a blank line and bold type before each heading, and none of its lines indented."""
    text = _HEADED.sub(lambda match: f"\n**{match[1]}:** ", text)
    while (joined := _GOES_ON.sub(r"\1 ", text)) != text:
        text = joined
    return text
