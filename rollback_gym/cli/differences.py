"""Two values side by side, with what differs in them marked."""

import re
from difflib import SequenceMatcher
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

_WORDS = re.compile(r"\s+|\S+")


def plain(value: Any) -> Any:
    """`value` as JSON has it; named tuples become objects, so that their fields keep their names."""
    if hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value


def side_by_side(ours: Any, theirs: Any) -> Table:
    """Two plain values: texts word by word, lists by what only one of them has, objects by the fields that differ."""
    table = Table(box=box.ROUNDED, expand=True, border_style="quiet")
    if isinstance(ours, dict) and isinstance(theirs, dict):
        table.add_column("field", style="bold")
    table.add_column("ours", ratio=1, overflow="fold")
    table.add_column("original", ratio=1, overflow="fold")
    if isinstance(ours, str) and isinstance(theirs, str):
        table.add_row(*_texts(ours, theirs))
    elif isinstance(ours, list) and isinstance(theirs, list):
        table.add_row(*_lists(ours, theirs))
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        for name in ours:
            if ours[name] != theirs.get(name):
                table.add_row(name, Text(f"{ours[name]}", "falling"), Text(f"{theirs.get(name)}", "rising"))
    else:
        table.add_row(Text(f"{ours}", "falling"), Text(f"{theirs}", "rising"))
    return table


def _texts(ours: str, theirs: str) -> tuple[Text, Text]:
    mine, others = _WORDS.findall(ours), _WORDS.findall(theirs)
    left, right = Text(), Text()
    for kind, i, j, k, m in SequenceMatcher(None, mine, others, autojunk=False).get_opcodes():
        left.append_text(_marked(mine[i:j], kind != "equal", "falling"))
        right.append_text(_marked(others[k:m], kind != "equal", "rising"))
    return left, right


def _marked(words: list[str], differ: bool, style: str) -> Text:
    """In brackets as well as coloured: a difference must be seen without colours, and in spaces."""
    text = "".join(words)
    return Text(f"[{text}]" if text and differ else text, style if differ else "")


def _lists(ours: list[Any], theirs: list[Any]) -> tuple[Text, Text]:
    mine = [f"{item}" for item in ours if item not in theirs]
    others = [f"{item}" for item in theirs if item not in ours]
    if not mine and not others:
        at = next(n for n in range(max(len(ours), len(theirs))) if ours[n : n + 1] != theirs[n : n + 1])
        return _ordered(ours, at), _ordered(theirs, at)
    return _only(mine, "falling"), _only(others, "rising")


def _only(items: list[str], style: str) -> Text:
    return Text("only here:\n" + "\n".join(items), style) if items else Text("nothing that the other lacks", "quiet")


def _ordered(items: list[Any], at: int) -> Text:
    return Text(f"the same {len(items)} in another order; number {at + 1} on:\n") + Text(
        "\n".join(f"{item}" for item in items[at : at + 5])
    )
