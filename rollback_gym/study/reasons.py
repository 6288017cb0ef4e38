"""What an agent says in the episodes of the curriculum, by templates: why it goes back, and what it thinks.

A reason speaks of what the game showed: the action, what came of it, and the task. A thought before a wrong action is
that of somebody who takes it for the right one. The same generator gives the same words.
"""

import random
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rollback_gym.study.inject import Kind

_TASK_LETTERS, _SAID_LETTERS = 90, 70


class Seen(NamedTuple):
    """What a reason can speak of."""

    env: str
    """The environment's name."""
    task: str
    number: int
    """The action index of the mistake."""
    action: str
    """The mistake."""
    before: Any
    """The observation before it."""
    after: Any
    """The observation after it."""
    refused: str | None
    """The refused call before it that it took for granted."""
    turns: int
    """From the mistake on."""
    ended: bool
    """The last action lost the game."""


def reason(kind: Kind, seen: Seen, rng: random.Random) -> str:
    """Why the agent goes back, in a few words: one line, without double quotes."""
    words = {
        "number": str(seen.number),
        "action": seen.action,
        # Others are long, or the same for every level.
        "task": seen.task.rstrip(". ") if seen.env == "alfworld" else "",
        "said": _shown(seen),
        "refused": seen.refused or "",
    }
    return _clean(_drawn(_REASONS[kind], words, rng))


def back_thought(seen: Seen, why: str, target: int, rng: random.Random) -> str:
    """What the agent thinks before it goes back to `target` for the reason `why`."""
    words = {"why": why, "target": str(target), "turns": str(seen.turns), "end": _END[seen.env]}
    since = _ENDED if seen.ended else _FOLLOWED if seen.turns > 1 else (" ",)
    return _clean(_drawn(_BACK, {**words, "since": _drawn(since, words, rng)}, rng))


def thought(env: str, task: str, action: str, rng: random.Random) -> str:
    """What the agent thinks before an action of the game that it takes for right."""
    for pattern, templates in _THOUGHTS[env]:
        match = re.fullmatch(pattern, action)
        if match:
            words = {**match.groupdict(), "task": _shortened(task.rstrip(". "), _TASK_LETTERS), "action": action}
            return _clean(_drawn(templates, words, rng))
    return f"I try {_clean(action)}."


def _drawn(templates: Sequence[str], words: dict[str, str], rng: random.Random) -> str:
    """A template that has all its words, filled in."""
    usable = [text for text in templates if all(words.get(name) for name in re.findall(r"{(\w+)}", text))]
    return rng.choice(usable).format(**words)


def _shown(seen: Seen) -> str:
    """What came of the mistake, in a few words; empty where that is not to be told."""
    before, after = seen.before, seen.after
    if not isinstance(before, str) or not isinstance(after, str):
        return ""
    match seen.env:
        case "alfworld":
            return _shortened(after.partition(". ")[0].rstrip("."), _SAID_LETTERS)
        case "webshop":
            return _shown_page([piece for piece in after.split(" [SEP] ") if piece])
        case "sokoban":
            if before == after:
                return "nothing moved"
            return "only I moved" if _boxes(before) == _boxes(after) else "a box moved"
        case "minesweeper":
            cell = seen.action.removeprefix("flag ")
            if "*" in after:
                return f"there was a mine at {cell}"
            return f"there is {'a flag' if after.count('F') > before.count('F') else 'no flag'} at {cell} now"
    return ""


def _shown_page(pieces: Sequence[str]) -> str:
    for place, piece in enumerate(pieces):
        if piece.startswith("Price: ") and place:
            return _shortened(f"{pieces[place - 1]}, {piece.lower()}", _SAID_LETTERS)
        if piece.startswith("Page ") and "results" in piece:
            return _shortened(piece, _SAID_LETTERS)
    return ""


def _boxes(room: str) -> str:
    """The room with nothing but its boxes."""
    return re.sub("[^X√]", "_", room)


def _shortened(text: str, letters: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= letters else f"{text[:letters].rsplit(' ', 1)[0]} ..."


def _clean(text: str) -> str:
    return " ".join(text.replace('"', "'").split())


_REASONS: dict[Kind, tuple[str, ...]] = {
    Kind.INTENT: (
        "action {number}, {action}, serves something else than to {task}",
        "since action {number} I have been after the wrong thing",
        "{action} is no part of what was asked for",
        "{said}: that does not help to {task}",
        "action {number} brought this: {said}; it is not what was asked for",
    ),
    Kind.WRONG_ARGUMENT: (
        "at action {number} I named the wrong one: {action}",
        "{action} is not what I meant to do at action {number}",
        "action {number} was right in kind, but not with that: {said}",
        "after action {number}: {said}; it should have been another one",
    ),
    Kind.FAILED_CALL: (
        "{refused} was not carried out, so action {number}, {action}, came too early",
        "action {number} took for granted what {refused} did not do",
        "nothing came of {refused}, and I went on with {action} as if it had",
    ),
    Kind.FORGOTTEN_CONTEXT: (
        "action {number}, {action}, goes against what was done and seen before it",
        "I had been further than this: {action} at action {number} set me back",
        "after action {number}: {said}; that had been settled before",
        "before action {number} I knew better than {action}",
    ),
}
_FOLLOWED = (
    "The {turns} actions since then build on it. ",
    "What I did after it did not help. ",
    "{turns} turns went that way, and the goal is no nearer. ",
)
_ENDED = ("Now {end}. ", "That is why {end}. ")
_END = {
    "alfworld": "the goal is out of reach",
    "webshop": "the wrong purchase is made",
    "sokoban": "a box is stuck where it cannot reach a target",
    "minesweeper": "a mine went off",
}
_BACK = (
    "That was a mistake: {why}. {since}What stood at [{target}] was still right, so I go back there.",
    "I went wrong: {why}. {since}The last good place is [{target}].",
    "Something is wrong: {why}. {since}I return to [{target}], where it began.",
)

_ALFWORLD = (
    (
        r"go to (?P<place>.+)",
        (
            "The task is: {task}. The next thing to do is at the {place}.",
            "I go to the {place} for what comes next.",
            "To {task}, I have to be at the {place} now.",
        ),
    ),
    (r"open (?P<place>.+)", ("The {place} is closed, so I open it.", "I have to open the {place} first.")),
    (r"close (?P<place>.+)", ("I am done with the {place} and close it.", "The {place} can be closed now.")),
    (
        r"take (?P<thing>.+) from (?P<place>.+)",
        ("Here is the {thing}, which I need.", "I take the {thing}: the task is: {task}."),
    ),
    (
        r"(?:move|put|place) (?P<thing>.+) (?:to|in|on) (?P<place>.+)",
        ("The {thing} goes to the {place}.", "Now I put the {thing} down at the {place}."),
    ),
    (
        r"(?P<verb>clean|heat|cool) (?P<thing>.+) with (?P<place>.+)",
        ("I {verb} the {thing} here, with the {place}.", "With the {place} I can {verb} the {thing}."),
    ),
    (r"use (?P<thing>.+)", ("I switch on the {thing}.", "Now the {thing} is needed.")),
    (r".+", ("{action} should do it.", "I try {action}.")),
)
_WEBSHOP = (
    (
        r"search\[(?P<words>.+)\]",
        ("I search for what should be bought.", "These words should find it: {words}."),
    ),
    (r"click\[buy now\]", ("This is what is wanted, so I buy it.", "All is chosen; I buy it.")),
    (r"click\[(?:< prev|back to search)\]", ("I go back a page.", "I want to see the page before again.")),
    (r"click\[(?:description|features|reviews|attributes)\]", ("I look at this more closely.", "More about it first.")),
    (
        r"click\[(?P<code>[a-z0-9]{10})\]",
        ("{code} looks like what is asked for.", "I open {code}, which may be the one."),
    ),
    (r"click\[(?P<value>.+)\]", ("I choose {value}.", "Of the options, it should be {value}.")),
    (r".+", ("{action} should do it.", "I try {action}.")),
)
_SOKOBAN = (
    (
        r"up|down|left|right",
        (
            "Going {action} is the next step.",
            "I move {action}, towards where I have to push.",
            "The way leads {action}.",
        ),
    ),
    (r".+", ("{action} should do it.", "I try {action}.")),
)
_MINESWEEPER = (
    (r"flag (?P<cell>.+)", ("There must be a mine at {cell}.", "I mark {cell} as a mine.")),
    (r".+", ("{action} looks safe.", "I open {action} next.")),
)
_THOUGHTS = {"alfworld": _ALFWORLD, "webshop": _WEBSHOP, "sokoban": _SOKOBAN, "minesweeper": _MINESWEEPER}
