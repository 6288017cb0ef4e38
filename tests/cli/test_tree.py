"""The history as a tree: what went on stands straight, what was abandoned stands beside."""

import io
import math

from rich.console import Console

from rollback_gym.cli.theme import THEME, glyphs
from rollback_gym.cli.tree import tree
from rollback_gym.core.history import History, Point

POINT = Point(None, None, "")


def act(history: History, action: str) -> History:
    return history.act(action, "", 0.0, POINT)


def back(history: History, index: int, reason: str = "") -> History:
    target = history.find(index)
    assert target is not None
    return history.go_back(target, f"rollback({index})", 0.0, reason)


def drawn(history: History, **how: object) -> list[str]:
    out = Console(file=io.StringIO(), theme=THEME, width=80)
    out.print(tree(history, glyphs(False), **how))  # type: ignore[arg-type]
    return [line.rstrip() for line in out.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_straight_history() -> None:
    history = act(act(History.begin("", POINT), "a"), "b")
    assert drawn(history) == ["[0] start", "[1] a", "[2] b"]


def test_branches_in_branches() -> None:
    history = History.begin("", POINT)
    for action in "abc":
        history = act(history, action)
    history = back(history, 2, "why")
    history = act(history, "d")
    history = back(history, 2)
    history = act(history, "e")
    history = back(history, 1)
    history = history.refuse("rollback(9)", "", "no such node")
    history = act(history, "f")
    assert drawn(history) == [
        "[0] start",
        "[1] a",
        "├── ✗ [2] b",
        "│   ├── ✗ [3] c",
        "│   ├── ↶ [4] back to [2]: why",
        "│   ├── ✗ [5] d",
        "│   └── ↶ [6] back to [2]",
        "├── ✗ [7] e",
        "└── ↶ [8] back to [1]",
        "↶ [9] rollback(9)  refused",
        "[10] f",
    ]


def test_lengths_losses_refusals_and_the_win() -> None:
    history = act(History.begin("", POINT), "a").act("b", "", 0.0, POINT, "not here", True)
    lengths = {0: 3.0, 1: 2.0, 2: math.inf}
    lines = drawn(history, length=lambda node: lengths[node.index])
    assert lines == ["[0] start  L 3", "[1] a  L 2", "[2] b  refused  lost  L ∞"]
    assert drawn(act(history, "c"), won=True)[-1] == "[3] c  ✓ won"


def test_a_long_history_needs_no_recursion() -> None:
    history = History.begin("", POINT)
    for index in range(2000):
        history = act(history, "a")
        if index % 3 == 0:
            history = back(history, history.index - 1)
    assert len(drawn(history)) == history.index + 1


def test_what_is_written_in_actions_is_no_markup() -> None:
    assert drawn(act(History.begin("", POINT), "search[red [bold]shoes[/bold]]"))[-1].endswith("[bold]shoes[/bold]]")
