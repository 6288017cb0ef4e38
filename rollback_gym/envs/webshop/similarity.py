"""Whether two texts are as good as equal: the question that WebShop's reward asks of attributes and options.

The original asks for a token set ratio of more than 85, from a library that is not free enough to depend on. Here is
the measure itself, from its published description. Both texts are reduced to their sets of words; the words they share
and the words that only one has make three texts, each of sorted words: the shared ones, and these followed by either
rest. The measure is the largest similarity of any two of the three, in whole percent, where similarity is what
`difflib` calls the ratio. The library in the original reads its texts with difflib unless an accelerator is
installed, which the original does not ask for and which gives other numbers.
"""

import re
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache

THRESHOLD = 85
"""Percent; what is above it matches."""

_LATIN_1 = dict.fromkeys(range(128, 256))
_NO_WORD = re.compile(r"\W")


@lru_cache(maxsize=1 << 17)
def alike(first: str, second: str) -> bool:
    """Whether the token set ratio of the two texts is above the threshold.

    >>> alike("machine washable", "washable"), alike("large", "x-large"), alike("red", "blue")
    (True, True, False)
    """
    a, b = words(first), words(second)
    if not a or not b:
        return False
    shared = a & b
    if shared and shared in (a, b):
        return True
    common = " ".join(sorted(shared))
    whole_a, whole_b = (" ".join([*sorted(shared), *sorted(rest)]) for rest in (a - shared, b - shared))
    if shared and (_above(common, whole_a) or _above(common, whole_b)):
        return True
    return _above(whole_a, whole_b)


@lru_cache(maxsize=1 << 16)
def words(text: str) -> frozenset[str]:
    """The words of `text` in lower case; letters from U+0080 to U+00FF are left out of them, as in the original."""
    return frozenset(_NO_WORD.sub(" ", text.translate(_LATIN_1)).lower().split())


def _above(first: str, second: str) -> bool:
    """Whether the similarity of two texts, neither empty, is above the threshold when rounded to whole percent."""
    total = len(first) + len(second)
    if not _percent(min(len(first), len(second)), total) > THRESHOLD:
        return False
    if not _percent((Counter(first) & Counter(second)).total(), total) > THRESHOLD:
        return False
    return round(100 * SequenceMatcher(None, first, second).ratio()) > THRESHOLD


def _percent(matched: int, total: int) -> int:
    return round(100 * (2.0 * matched / total))
