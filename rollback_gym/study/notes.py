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


def thought(goal: Goal, turns: Sequence[Turn]) -> str:
    """What an agent thinks in notes: the action index that it is at, then its note."""
    return f"[{branch(turns)[-1].turn.index}] {noted(goal.object_type, turns, goal.receptacle_type or goal.lamp_type)}"


def regretted(thinking: str, action: str, target: int) -> str:
    """What it thinks before it goes back to before `action`, to where it thought "[target] ..."."""
    return f"{thinking}, wrong: {action} after [{target}]"
