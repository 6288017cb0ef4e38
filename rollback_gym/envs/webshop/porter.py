"""Porter's stemmer, in the variant of Martin Porter's own programs.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two departures that its author made
later and that search engines took over: `-bli` becomes `-ble` (instead of `-abli`, `-able`), and `-logi` becomes
`-log`. Words of one or two letters stay as they are.
"""

import re
from functools import lru_cache

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = tuple("al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split())


def _ending(suffixes: "dict[str, str] | tuple[str, ...]") -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(sorted(suffixes, key=len, reverse=True))})$")


_ENDING_2, _ENDING_3, _ENDING_4 = _ending(_STEP_2), _ending(_STEP_3), _ending(_STEP_4)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case word, as Porter's program leaves it.

    >>> stem("relational"), stem("possibly"), stem("as")
    ('relat', 'possibl', 'as')
    """
    if len(word) <= 2:
        return word
    word = _plural(word)
    word = _past_or_gerund(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _ENDING_2, _STEP_2)
    word = _replaced(word, _ENDING_3, _STEP_3)
    word = _without_suffix(word)
    return _tidied(word)


def _shape(word: str) -> str:
    """`c` for a consonant and `v` for a vowel, letter by letter. A `y` is a vowel after a consonant only."""
    shape: list[str] = []
    last = "v"
    for letter in word:
        last = "v" if letter in "aeiou" or (letter == "y" and shape and last == "c") else "c"
        shape.append(last)
    return "".join(shape)


def _measure(word: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _ends_cvc(word: str) -> bool:
    """Consonant, vowel, consonant other than w, x and y: where a short word may have lost an e."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_or_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    base = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if "v" not in _shape(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _ends_double(base):
        return base if base[-1] in "lsz" else base[:-1]
    return base + "e" if _measure(base) == 1 and _ends_cvc(base) else base


def _replaced(word: str, ending: re.Pattern[str], replacements: dict[str, str]) -> str:
    found = ending.search(word)
    if found is None or _measure(word[: found.start()]) == 0:
        return word
    return word[: found.start()] + replacements[found.group()]


def _without_suffix(word: str) -> str:
    found = _ENDING_4.search(word)
    if found is None:
        return word
    base = word[: found.start()]
    if found.group() == "ion" and not base.endswith(("s", "t")):
        return word
    return base if _measure(base) > 1 else word


def _tidied(word: str) -> str:
    measure = _measure(word)
    if word.endswith("e"):
        own = _measure(word[:-1])
        if own > 1 or (own == 1 and not _ends_cvc(word[:-1])):
            word = word[:-1]
    return word[:-1] if measure > 1 and word.endswith("ll") else word
