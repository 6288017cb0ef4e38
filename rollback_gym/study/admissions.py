"""Turns in which a model admits a mistake in words, and what it then does.

Saying "I was wrong" costs a model nothing; the seed's authors saw theirs say so and go on as before. The words are
looked for in the raw answer, its action left out. They are a list, so the count is a lower bound.
"""

import re

from rollback_gym.play.records import Act

_WORDS = (
    r"(?:i|we)(?:'ve| have| had)?(?: just)? (?:made|make) (?:a|an|the|some|another)(?: \w+)? (?:mistake|error)s?",
    r"\bmy (?:mistake|error|bad)\b",
    r"\bi(?: was|'m| am|'ve been| have been) (?:wrong|mistaken)\b",
    r"\b(?:that|this|it) was(?: clearly| probably)? (?:wrong|a mistake|an error|incorrect)\b",
    r"\bi(?:'ve| have| had)?(?: (?:just|also|clearly|probably|apparently|accidentally))? "
    r"(?:went|gone|took|taken|picked|put|placed|opened|moved|chose|chosen|clicked|"
    r"bought|searched|pushed|revealed|used|did)(?: \w+){0,4} (?:the )?(?:wrong|mistakenly|by mistake)\b",
    r"\bi (?:should not|shouldn't) have\b",
    r"\bi should have\b",
    r"\b(?:oops|whoops)\b",
    r"我错了|我弄错|我搞错|我做错|我的错",
)
_ADMITS = re.compile("|".join(_WORDS), re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:if|unless|whether|in case|not sure|did not|didn't|haven't|never|no)\b[^.!?\n]{0,40}$", re.IGNORECASE
)
_ACTION = re.compile(r"<action>.*?(?:</action>|$)", re.IGNORECASE | re.DOTALL)


def admits(text: str) -> bool:
    """Whether a model's answer says that an earlier action of its own was a mistake.

    >>> admits("<think>Oops, I took the wrong mug.</think><action>look</action>")
    True
    >>> admits("<think>I must see whether I made a mistake.</think><action>look</action>")
    False
    """
    said = _ACTION.sub(" ", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return any(not _DENIES.search(said, max(0, (at := match.start()) - 60), at) for match in _ADMITS.finditer(said))


def acts_the_same(act: Act, before: Act | None) -> bool:
    """Whether the admitting turn goes on all the same.

    That is: it takes back nothing and, where an oracle judged it, brings the goal no nearer (L after it is not below L
    before it); where none did, it repeats the action of the turn before word for word.
    """
    if act.kind == "rollback" and act.target is not None:
        return False
    if act.previous is not None and act.distance is not None:
        return act.distance >= act.previous
    return before is not None and act.action == before.action
