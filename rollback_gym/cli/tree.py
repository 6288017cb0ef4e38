"""The history as a tree: the active branch straight down, what was abandoned beside it."""

from collections.abc import Callable

from rich.text import Text
from rich.tree import Tree

from rollback_gym.cli.theme import Glyphs, number
from rollback_gym.core.history import Entry, History, Node, Rollback

Length = Callable[[Node], float]
"""L of a node."""


def tree(history: History, signs: Glyphs, length: Length | None = None, won: bool = False) -> Tree:
    """The history for the screen.

    A branch that a rollback left is drawn below the node that it went back to, and ends with the rollback; the branch
    that went on stands straight below. So how deep a line stands is how often the agent changed its mind about it.
    """
    left = {back.abandoned[0]: back.target for back in history.rollbacks if back.abandoned}
    following: dict[int, list[Entry]] = {}
    for entry in history.entries[1:]:
        at = entry.source if isinstance(entry, Rollback) else entry.parent
        assert at is not None
        following.setdefault(at.index, []).append(entry)
    active = frozenset(node.index for node in history.path)
    ends = history.node if won else None

    root = Tree("history", hide_root=True, guide_style="quiet")
    # (the drawing's line that an entry belongs to, the drawn parent, the entry). A stack: histories may be long.
    pending: list[tuple[Tree, Tree, Entry]] = [(root, root, history.entries[0])]
    while pending:
        line, parent, entry = pending.pop()
        if isinstance(entry, Rollback):
            line.add(_went_back(entry, signs))
            continue
        beside = entry.index in left and left[entry.index] is entry.parent
        line = parent if beside else line
        drawn = line.add(_label(entry, entry.index in active, entry is ends, signs, length))
        pending.extend((line, drawn, after) for after in reversed(following.get(entry.index, [])))
    return root


def _label(node: Node, active: bool, won: bool, signs: Glyphs, length: Length | None) -> Text:
    action = "start" if node.parent is None else str(node.action)
    if active:
        label = Text.assemble((f"[{node.index}] ", "index"), (action, "bold"))
    else:
        label = Text.assemble((f"{signs.wrong} ", "rising"), (f"[{node.index}] ", "quiet"), (action, "abandoned"))
    if node.invalid is not None:
        label.append("  refused", "flat")
    if node.failed:
        label.append("  lost", "rising")
    if won:
        label.append(f"  {signs.won} won", "won")
    elif length is not None:
        label.append(f"  L {number(length(node), signs)}", "index" if active else "quiet")
    return label


def _went_back(back: Rollback, signs: Glyphs) -> Text:
    if back.target is None:
        return Text.assemble((f"{signs.back} [{back.index}] {back.action}", "quiet"), ("  refused", "flat"))
    why = f": {back.reason}" if back.reason else ""
    return Text.assemble((f"{signs.back} [{back.index}] back to [{back.target.index}]", "rollback"), (why, "italic"))
