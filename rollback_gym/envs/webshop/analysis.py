"""From text to search terms, exactly as the original's search engine makes them.

The original searches with Lucene 8 and its analyzer for English: StandardTokenizer (word boundaries of UAX #29, with
emoji), possessives cut off, lower case, 33 words left out, Porter's stemmer. Nothing here is Lucene's code: the
tokenizer's rules are written down anew as regular expressions over classes of characters.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from rollback_gym.envs.webshop.characters import RANGES
from rollback_gym.envs.webshop.porter import stem

LEFT_OUT = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there "
    "these they this to was will with".split()
)
"""Words that are never searched for."""

LONGEST = 255
"""A word ends after so many UTF-16 units."""

_SEPARATOR = "."
_SIGMA = "\N{GREEK SMALL LETTER SIGMA}"


class _Classes(dict[int, str]):
    """The class of a code point, for `str.translate`; worked out when a character is met first."""

    def __init__(self) -> None:
        spans = sorted(
            (int(first, 16), int(last or first, 16), kind)
            for kind, ranges in RANGES.items()
            for first, _, last in (span.partition("-") for span in ranges.split())
        )
        self._starts = [first for first, _, _ in spans]
        self._spans = spans
        super().__init__((code, self._find(code)) for code in range(128))

    def __missing__(self, code: int) -> str:
        found = self[code] = self._find(code)
        return found

    def _find(self, code: int) -> str:
        at = bisect_right(self._starts, code) - 1
        return self._spans[at][2] if at >= 0 and code <= self._spans[at][1] else _SEPARATOR


_CLASSES = _Classes()


def _words() -> re.Pattern[str]:
    """Matches a word at its beginning, in a string of classes; see `characters` for the letters."""
    marks = "[efvzcT]*"
    letters = f'(?:H{marks}(?:q{marks}|"{marks}H{marks})|[LXH]{marks}(?:[mdq]{marks}[LXH]{marks})*)'
    digits = f"N{marks}(?:[,dq]{marks}N{marks})*"
    run = f"(?:(?:K{marks})+|(?:{letters}|{digits})+)"
    connectors = "_[_efvzcT]*+"
    word = f"(?:{connectors})?+{run}(?:{connectors}{run})*(?:{connectors})?"
    plain = "[LN]++(?![^.])"  # what nearly all words are, tried first since it is twice as fast
    return re.compile(f"{plain}|{word}|[ST][STefvzc]*|I{marks}")


def _emoji() -> re.Pattern[str]:
    """Matches a sequence of emoji that are shown as one, in a string of classes."""
    marks = "[ezcT]*"
    toned = f"(?:B{marks})?M{marks}"
    picture = f"(?:z+(?=[EXB]))?(?:{toned}|[EXB]{marks}v?)"
    flag = "R[efvzcT]*"
    return re.compile(f"(?:{picture}z)*{picture}|{flag}{flag}|k{marks}v?c{marks}")


_WORD, _EMOJI = _words(), _emoji()
_NO_PLAIN_WORDS = re.compile("[EXBMRc]|(?:_[efvzT]*+){16}")
"""Found where there may be emoji, or so many connectors on end that the pattern would start at each in vain."""


def words(text: str) -> list[str]:
    """The words of `text` in their order, cut as Lucene's StandardTokenizer cuts them.

    >>> words("3-Pack (1,000.5 ml) women's T_shirts©")
    ['3', 'Pack', '1,000.5', 'ml', "women's", 'T_shirts', '©']
    """
    classes = text.translate(_CLASSES)
    if _NO_PLAIN_WORDS.search(classes):
        return [text[first:last] for first, last in _longest_spans(text, classes)]
    found = [text[match.start() : match.end()] for match in _WORD.finditer(classes)]
    if max(map(len, found), default=0) > LONGEST // 2:
        return [text[first:last] for first, last in _longest_spans(text, classes)]
    return found


def _longest_spans(text: str, classes: str) -> Iterator[tuple[int, int]]:
    """Where words and emoji begin and end, the longer of the two counting, none longer than LONGEST."""
    at = 0
    while at < len(text):
        end = _end(classes, at, at + LONGEST)
        if end - at > LONGEST // 2:
            end = _end(classes, at, _limit(text, at))
        if end > at:
            yield at, end
        at = max(end, at + 1)


def _end(classes: str, at: int, limit: int) -> int:
    """Where the word or the emoji that begins at `at` ends; `at` itself where none begins."""
    if classes[at] == _SEPARATOR:
        return at
    word, emoji = _WORD.match(classes, at, limit), _EMOJI.match(classes, at, limit)
    return max(word.end() if word else at, emoji.end() if emoji else at)


def _limit(text: str, at: int) -> int:
    """Where LONGEST units of UTF-16 after `at` end, a character beyond the basic plane being two."""
    piece = text[at : at + LONGEST]
    if piece.isascii():
        return at + len(piece)
    units = 0
    for offset, character in enumerate(piece):
        units += 2 if ord(character) > 0xFFFF else 1
        if units > LONGEST:
            return at + offset
    return at + len(piece)


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """What is searched for in place of `word`; empty for nothing."""
    if len(word) > 1 and word[-1] in "sS" and word[-2] in "'\N{RIGHT SINGLE QUOTATION MARK}\N{FULLWIDTH APOSTROPHE}":
        word = word[:-2]
    # Java lowers code points one by one: a sigma stays a sigma at a word's end, and the dotted I is one letter.
    lower = word.replace("İ", "i").replace("Σ", _SIGMA).lower()
    if lower in LEFT_OUT:
        return ""
    return stem(lower) if lower.isascii() or max(lower) <= "\uffff" else _stem_in_utf_16(lower)


def _stem_in_utf_16(word: str) -> str:
    """The stem where characters beyond the basic plane count as two letters."""
    units = word.encode("utf-16-be", "surrogatepass")
    pairs = "".join(chr(units[i] << 8 | units[i + 1]) for i in range(0, len(units), 2))
    return stem(pairs).encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def terms(text: str) -> list[str]:
    """The search terms of `text`, repeated as often as they occur.

    >>> terms("The dog's running shoes, size 7.5")
    ['dog', 'run', 'shoe', 'size', '7.5']
    """
    return [term for term in map(_term, words(text)) if term]
