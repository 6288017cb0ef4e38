"""What an agent notes before it acts in ALFWorld: what it holds, and where it saw what the task needs.

Notes say only what was read, always in the same words. A pretrained model can say so much of what is before it; a model
of a few layers learns to as well, and then acts by its note. Before it goes back, the note copies the mistake and the
action index before it.
"""

import re
from collections.abc import Sequence

from rollback_gym.envs.alfworld.types import Goal
from rollback_gym.play.policies import Turn
from rollback_gym.play.prompts import branch

_SHOWN = re.compile(r"\b(?:On the (\w+ \d+)|The (\w+ \d+) is open\. In it), you see ([^.]*)")
_SEEN = re.compile(r"\ban? (\w+ \d+)")
_TAKEN = re.compile(r"\bpick up the (\w+ \d+) from")
_TAKES = re.compile(r"take (\w+ \d+) from (\w+ \d+)")
_PUTS = re.compile(r"move (\w+ \d+) to \w+ \d+")
_PUT = re.compile(r"\bmove the (\w+ \d+) to the (\w+ \d+)")


def noted(needed: str, turns: Sequence[Turn], goal: str = "") -> str:
    """The note of an agent that has read `turns`, and whose task needs things of the type `needed`.

    With `goal`, the type of place that they are needed at, an agent that holds one notes that, too.
    What was undone by a rollback is not in it: neither is it in a dialogue that was cut back.
    """
    held, where = "", dict[str, str]()
    for remembered in branch(turns):
        read = str(remembered.turn.observation)
        for on, inside, things in _SHOWN.findall(read):
            where |= {thing: on or inside for thing in _SEEN.findall(things) if thing.split()[0] == needed}
        if taken := _TAKEN.search(read):
            held = taken[1]
            where.pop(held, None)
        if put := _PUT.search(read):
            held = ""
            where |= {put[1]: put[2]} if put[1].split()[0] == needed else {}
    known = [f"{thing} in {place}" for thing, place in where.items()]
    if not known and held.split(" ")[0] != needed:
        known = [f"no {needed}"]
    bound = f" for {goal}" if goal and held.split(" ")[0] == needed else ""
    return ", ".join((f"hold {held or 'nothing'}{bound}", *known))


def thought(goal: Goal, turns: Sequence[Turn], action: str = "") -> str:
    """What an agent thinks in notes: the action index that it is at, then its note.

    With `action`, what it does next, the note of one that takes what it needs from where that was not seen, or puts
    down what it does not hold, is as false as its action: it imagines what is not there, and thinks of nothing else.
    Who only ever read true notes goes on believing a false one of its own.
    """
    needed, place = goal.object_type, goal.receptacle_type or goal.lamp_type
    note = noted(needed, turns, place)
    held, *known = note.split(", ")
    taken, put = _TAKES.fullmatch(action), _PUTS.fullmatch(action)
    if taken and taken[1].split()[0] == needed and f"{taken[1]} in {taken[2]}" not in known:
        note = f"{held}, {taken[1]} in {taken[2]}"
    if put and put[1].split()[0] == needed and not f"{held} ".startswith(f"hold {put[1]} "):
        note = f"hold {put[1]} for {place}"
    return f"[{branch(turns)[-1].turn.index}] {note}"


def regretted(thinking: str, action: str, target: int) -> str:
    """What it thinks before it goes back to before `action`, to where it thought "[target] ..."."""
    return f"{thinking}, wrong: {action} after [{target}]"
