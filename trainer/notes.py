"""What a cook notes before it acts: what it holds, and where it saw what it needs, all of it from what it has read.

A pretrained model can say so much of what is before it; one of a few layers can, too, if it is shown how, and then acts
by its note. Only `pick_and_place_simple` of ALFWorld is read.
"""

import re

from rollback_gym.play.policies import View

_NEEDED = re.compile(r"\bput (?:a|an|some) (\w+)")
_PLACE = re.compile(r"\b(?:arrive at|open the) (\w+ \d+)")
_SEEN = re.compile(r"\ban? (\w+ \d+)")
_TAKEN = re.compile(r"\bpick up the (\w+ \d+) from")
_PUT = re.compile(r"\bmove the (\w+ \d+) to the (\w+ \d+)")


def noted(view: View) -> str:
    """The note of an agent that has read `view`.

    Raises ValueError where the task is of another kind.
    """
    needed = _NEEDED.search(view.task)
    if needed is None:
        raise ValueError(f"Notes are of tasks such as 'put a mug in countertop', got {view.task!r}.")
    held, where, here = "", dict[str, str](), ""
    for turn in view.turns:
        read = str(turn.observation)
        if place := _PLACE.search(read):
            here = place[1]
        if here:
            where |= {thing: here for thing in _SEEN.findall(read) if thing.split()[0] == needed[1]}
        if taken := _TAKEN.search(read):
            held = taken[1]
            where.pop(held, None)
        if put := _PUT.search(read):
            held = ""
            where |= {put[1]: put[2]} if put[1].split()[0] == needed[1] else {}
    if held.startswith(f"{needed[1]} "):
        return f"hold {held}"
    thing = next(iter(where), None)
    seen = f"no {needed[1]}" if thing is None else f"{thing} in {where[thing]}"
    return f"hold {held or 'nothing'}, {seen}"
