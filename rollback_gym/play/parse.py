"""The action in what a model wrote.

What is inside `<think> </think>` is never an action. `strict` wants exactly one `<action> </action>` in exactly this
spelling; `lenient` makes the best of what there is. Neither raises, whatever the text.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Parsing = Literal["strict", "lenient"]

_OPENING, _CLOSING = r"(?:[<＜〈⟨‹«]|&lt;)", r"(?:[>＞〉⟩›»]|&gt;)"  # noqa: RUF001
_THOUGHT = re.compile(rf"{_OPENING}\s?(/?)\s?think(?:ing)?\s?{_CLOSING}", re.IGNORECASE)
_TAG = re.compile(rf"{_OPENING}\s?(/?)\s?action\s?{_CLOSING}", re.IGNORECASE)
_LABELLED = re.compile(r"[\s*_#>-]*action[\s*_]*:[\s*_]*(.*)", re.IGNORECASE)
_FENCE = re.compile(r"```[a-zA-Z]*\n|```")
_QUOTES = ("``", '""', "''", "“”", "‘’")  # noqa: RUF001
_LONGEST_BARE = 200


class Parsed(NamedTuple):
    """What was read: an action, or why there is none."""

    action: str | None
    problem: str | None = None


def parse(text: str, how: Parsing = "lenient") -> Parsed:
    """The action in `text`.

    Lenient: tags in any case and with whatever brackets, a missing tag at either end, code fences and quotes around the
    action. Of several actions the last whole one counts, of nested ones the innermost. Without any tag: the last line
    that begins with `Action:`, or a text that is a single line.
    """
    answer, finished = _spoken(text)
    if not finished and not answer.strip():
        return Parsed(None, "the thinking did not come to an end")
    return _strictly(answer) if how == "strict" else _leniently(answer)


def without_thoughts(text: str) -> str:
    """`text` without what is inside `<think> </think>`."""
    return _spoken(text)[0].strip()


def _spoken(text: str) -> tuple[str, bool]:
    """What is outside of thoughts, and whether the last thought came to an end."""
    outside, depth, place = "", 0, 0
    for tag in _THOUGHT.finditer(text):
        if depth == 0:
            outside += text[place : tag.start()]
        if not tag[1]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            outside = ""  # many templates open the thought before the model begins
        place = tag.end()
    return (outside, False) if depth else (outside + text[place:], True)


def _strictly(answer: str) -> Parsed:
    opened, closed = answer.count("<action>"), answer.count("</action>")
    if opened != 1 or closed != 1:
        return Parsed(None, f"expected one <action> and one </action>, got {opened} and {closed}")
    action, close, _ = answer.partition("<action>")[2].partition("</action>")
    if not close:
        return Parsed(None, "</action> comes before <action>")
    return Parsed(action.strip()) if action.strip() else Parsed(None, "the action is empty")


def _leniently(answer: str) -> Parsed:
    tagged = list(_tagged(answer))
    for found in (
        [action for action, whole in tagged if whole and action],
        [action for action, _ in tagged if action],
    ):
        if found:
            return Parsed(found[-1])
    if tagged:
        return Parsed(None, "the action is empty")
    lines = [line.strip() for line in _FENCE.sub("", answer).splitlines() if line.strip()]
    for line in reversed(lines):
        if (labelled := _LABELLED.fullmatch(line)) and (action := _bare(labelled[1])):
            return Parsed(action)
    if len(lines) == 1 and len(lines[0]) <= _LONGEST_BARE:
        return Parsed(_bare(lines[0]))
    return Parsed(None, "there is no <action> </action>" if lines else "the answer is empty")


def _tagged(answer: str) -> Iterator[tuple[str, bool]]:
    """What is between tags, innermost, and whether there is one at both ends."""
    tags = list(_TAG.finditer(answer))
    opened: int | None = None
    for number, tag in enumerate(tags):
        if not tag[1]:
            opened = tag.end()
            if number + 1 == len(tags):
                yield _bare(_first_line(answer[opened:])), False
        elif opened is not None:
            yield _bare(answer[opened : tag.start()]), True
            opened = None
        elif number == 0:
            yield _bare(_last_line(answer[: tag.start()])), False


def _bare(action: str) -> str:
    """Without fences, quotes and line breaks."""
    action = " ".join(_FENCE.sub("", action).split())
    while len(action) > 1 and action[0] + action[-1] in _QUOTES and action[0] not in action[1:-1]:
        action = action[1:-1].strip()
    return action


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


def _last_line(text: str) -> str:
    return _first_line("\n".join(reversed(text.splitlines())))
