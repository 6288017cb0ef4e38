"""The progress bar: only for somebody who looks, and only for what is slow."""

import io
import types

import pytest

from rollback_gym import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_shows_at_a_terminal_after_half_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    clock = iter([0.0, 0.4, 9.0, 9.1])
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    with progress.progress(100, "Indexing games") as advance:
        advance(10)
        assert shown.getvalue() == ""
        advance(50)
    assert "Indexing games" in shown.getvalue()


def test_nobody_looks_at_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    with progress.progress(100, "Indexing games") as advance:
        advance(50)
    assert shown.getvalue() == ""
