"""What the self-teacher is told beside what the student sees, and whether its answer gives that away.

The self-teacher is the student itself, frozen, with a hint at the end of what it reads. What it then writes trains the
student, which never sees a hint: an answer that speaks of the hint would teach it to speak of what is not there.
"""

import re
import unicodedata

GOLD = (
    "(Between us: {action} is a sound choice now. Find out for yourself, from the task and from what you have seen, "
    "what speaks for it, as if nobody had told you, and do it. Do not say that you were told.)"
)
"""h(a*): says that the action is sound, asks to reason from scratch, and never to speak of the hint (PivotOPD, D.4;
the words are ours)."""

BARE = (
    "(Between us: this turn decides. Find out for yourself, from the task and from what you have seen, what to do now, "
    "and do it. Do not say that you were told.)"
)
"""Names no action: the ablation without gold actions."""

LESSON = "(Between us: {lesson} Use it as if you had found it out yourself, and do not say that you were told.)"
"""A lesson about the whole trajectory, told at every turn."""


def gold_hint(action: str, words: str = GOLD) -> str:
    """h(a*): `words` with the action in the place of `{action}`."""
    return words.replace("{action}", action)


def lesson_hint(lesson: str) -> str:
    """A trajectory's lesson."""
    said = " ".join(lesson.split())
    return LESSON.replace("{lesson}", said if said.endswith((".", "!", "?")) else f"{said}.")


def leaks(answer: str, hint: str, action: str = "", seen: str = "") -> bool:
    """Whether `answer` gives away that there was a hint.

    It does where it speaks of hints, advice or being told, or says five words in a row as the hint says them. What
    stands in `seen` may be said, and the action itself of course. Letters that only look different, invisible ones,
    and letters set apart hide nothing.

    Args:
        answer: What the self-teacher wrote.
        hint: What it was told.
        action: What the hint names.
        seen: All that the student reads too.
    """
    said, known = _words(answer), _words(seen)
    if any(_says(said, phrase) and not _says(known, phrase) for phrase in _TALK):
        return True
    parts = _words(hint.replace(action, "\n") if action else hint, breaks=True).split(_BREAK)
    runs = {run for part in parts for run in _runs(part.split(), _RUN)}
    return bool((runs & _runs(said.split(), _RUN)) - _runs(known.split(), _RUN))


_RUN = 5
"""Words in a row."""
_BREAK = "\n"
_TALK = tuple(
    re.compile(rf" {phrase} ")
    for phrase in (
        r"hint(s|ed|ing)?",
        r"between us",
        r"(i|we) (was|were|am|are|have been|ve been|had been) (just )?(told|advised|given|instructed|informed|tipped)",
        r"(told|advised|instructed|informed|tipped) (me|us)",
        r"(as|since|because) (i was |was |they |someone |you )?(told|advised|suggested|instructed|recommended|stated)",
        r"you (said|say|told|suggested|suggest|recommended|recommend|advised|mentioned|mention|want me)",
        r"(the|this|that|your|a) (tip|advice|suggestion|recommendation|guidance)( \w+)?",
        r"(suggested|recommended|given|provided|named|correct|gold) (action|choice|move|answer)",
        r"is (said|supposed|known|stated) to be (a )?(sound|good|right|correct)",
        r"sound (choice|action|move)",
        r"(secret|private|privileged) (note|message|information|knowledge)",
        r"nobody (has |had )?told me",
        r"pretend(ing)?( that)? (i|nobody|no one)",
    )
)


def _says(words: str, phrase: re.Pattern[str]) -> bool:
    return phrase.search(f" {words} ") is not None


def _words(text: str, breaks: bool = False) -> str:
    """Words in small letters with a blank between, so that no spelling hides one."""
    text = unicodedata.normalize("NFKD", text)
    text = "".join(letter for letter in text if unicodedata.category(letter) not in ("Cf", "Mn")).casefold()
    text = text.translate(_LOOKALIKES)
    if breaks:
        return _BREAK.join(" ".join(_WORD.findall(part)) for part in text.split(_BREAK))
    words = " ".join(_WORD.findall(text.replace("_", " ")))
    return _SPELLED.sub(lambda found: " " + found[0].replace(" ", "") + " ", f" {words} ").strip()


def _runs(words: list[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


_WORD = re.compile(r"[^\W_]+")
_SPELLED = re.compile(r" (?:[a-z] ){3,}")
"""A word set as single letters: h i n t."""
_LOOKALIKES = str.maketrans("аеіорсухһոı0", "aeiopcyxhnio")  # noqa: RUF001
