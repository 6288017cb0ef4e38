"""Search terms are Lucene's: what it answered was recorded by `record_search`."""

# ruff: noqa: RUF001

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from rollback_gym.envs.webshop import analysis
from rollback_gym.envs.webshop.analysis import terms, words
from rollback_gym.envs.webshop.porter import stem

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text(encoding="ascii"))


def test_lucenes_words_and_terms() -> None:
    recorded = golden("analysis.json")
    assert len(recorded) > 2000
    wrong = [text for text, its_words, its_terms in recorded if (words(text), terms(text)) != (its_words, its_terms)]
    assert wrong == []


def test_lucenes_stems() -> None:
    recorded = golden("stems.json")
    assert len(recorded) > 3000
    assert {word: stem(word) for word in recorded} == recorded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t-.,!'", []),
        ("The to was with", []),
        ("women's WOMEN’S women＇S", ["women", "women", "women"]),
        ("running runs ran", ["run", "run", "ran"]),
        ("x-large 3'6\" 1,000.5 a.b T_shirt", ["x", "larg", "3'6", "1,000.5", "a.b", "t_shirt"]),
        ("Soap® ★ 👍🏽 🇩🇪🇫🇷 3️⃣", ["soap", "®", "★", "👍🏽", "🇩🇪", "🇫🇷", "3️⃣"]),
        ("日本 あい カタカナ ไทย", ["日", "本", "あ", "い", "カタカナ", "ไทย"]),
        ("İZMİR ΣΑΣ", ["izmir", "σασ"]),
        ("a" * 255 + "b", ["a" * 255, "b"]),
        ("𝐀" * 128, ["𝐀" * 127, "𝐀"]),
        ("\ud800 lone", ["lone"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_left_out() -> None:
    assert len(analysis.LEFT_OUT) == 33
    assert all(terms(word.upper()) == [] for word in analysis.LEFT_OUT)


_PIECES = ("a", "_", "_\u0301", "__ ", "a.", "1,", "ﬠ'", 'ﬠ"', "😀\u200d", "\u200d", "#\ufe0f", "🇩", "é\u0301")


@pytest.mark.parametrize("piece", _PIECES)
def test_no_text_takes_long(piece: str) -> None:
    # Patterns that look back could need exponential time, and words without end quadratic time: hours instead of these
    # tenths of a second.
    started = process_time()
    terms(piece * (30_000 // len(piece)))
    assert process_time() - started < 5


def test_connectors_before_a_word() -> None:
    for count in (3, 20, 254):
        assert words("_" * count + "a") == ["_" * count + "a"]
    assert words("_" * 300 + "a") == ["_" * 254 + "a"]
    assert words("_" * 300 + " a") == ["a"]
