"""The values ALFWorld is made of: what a level is, and what changes in it.

Receptacles and objects are numbered by their sorted ids; every set of them is a bitmask over those numbers
(bit i stands for number i), so a state is a handful of integers.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

NOTHING = -1
"""`State.held` with empty hands."""


class TaskType(StrEnum):
    """The six forms of a goal, by the names of ALFWorld's folders."""

    PICK_AND_PLACE = "pick_and_place_simple"
    LOOK_IN_LIGHT = "look_at_obj_in_light"
    CLEAN = "pick_clean_then_place_in_recep"
    HEAT = "pick_heat_then_place_in_recep"
    COOL = "pick_cool_then_place_in_recep"
    PICK_TWO = "pick_two_obj_and_place"


class Goal(NamedTuple):
    """What must hold for a win; types are lower case without the suffix, as in `apple`."""

    task_type: TaskType
    object_type: str
    receptacle_type: str
    """Where it must be put; empty for LOOK_IN_LIGHT."""
    lamp_type: str
    """What must be toggled where the agent stands; empty but for LOOK_IN_LIGHT."""


class Receptacle(NamedTuple):
    """Something that things can be in or on. Never moves."""

    id: str
    """The PDDL name, lower case, such as `drawer_bar__minus_00_dot_33...`."""
    name: str
    """What the player reads, such as `drawer 3`."""
    type: str
    """`drawer`, `sinkbasin`, `fridge` ..."""
    location: int
    """Numbers the sorted ids of the places that have a receptacle, and the one where the agent starts."""
    openable: bool


class Thing(NamedTuple):
    """A PDDL `object`: what can be carried, and fixtures such as lamps and windows, which cannot."""

    id: str
    name: str
    type: str
    """`apple`, `desklamp` ...; empty for the few objects of the data that have none, which fit nowhere."""
    pickupable: bool
    cleanable: bool
    heatable: bool
    coolable: bool
    sliceable: bool
    toggleable: bool
    inside: tuple[int, ...] | None
    """For a thing that can hold others (a bowl): the numbers of what it holds, which never changes; else None."""


class State(NamedTuple):
    """Everything that changes in a game. R receptacles, L locations, O objects."""

    location: int
    """Where the agent is; `Level.start.location` is usually a spot without receptacles."""
    held: int
    """The number of the object in hand, or NOTHING."""
    opened: int
    """Bits over R: the receptacles that are open."""
    clean: int
    """Bits over O; likewise the next four."""
    hot: int
    cool: int
    sliced: int
    toggled: int
    contents: tuple[int, ...]
    """(R,) bits over O: what is in each receptacle. The data holds objects that are in several at once, and
    that stay in the others when taken out of one."""
    located: tuple[int, ...]
    """(L,) bits over O: the original's `objectAtLocation`, which decides what can be sliced. In the data it does
    not always agree with `contents`. Only the bits that can ever be seen are kept: every object where receptacles
    share the location, sliceable ones at other receptacles, none where there is no receptacle."""
    stale: tuple[int, ...]
    """(R,) bits over O: objects taken out of the receptacle and not put back: the original's negative fact, which
    decides what "Next to it, you see" lists. Zero for receptacles that share their location with no other, where
    it can never be seen."""


@dataclass(frozen=True, eq=False)
class Level:
    """One game. Immutable but for what `rules` remembers in `memo`, which never changes an answer."""

    id: str
    """The game's path inside its split's parent, such as `valid_seen/pick.../trial_.../game.tw-pddl`."""
    locator: tuple[Any, ...]
    """How to find the level again (nested tuples of plain values); not part of its content."""
    task: str
    """The instruction, such as `put a hot apple in fridge.`"""
    goal: Goal
    receptacles: tuple[Receptacle, ...]
    things: tuple[Thing, ...]
    accepts: tuple[int, ...]
    """(O,) bits over R: the receptacles that an object of this type may be put in."""
    at: tuple[tuple[int, ...], ...]
    """(L,) the receptacles at each location, ascending."""
    start: State
    walkthrough: tuple[str, ...]
    """The solution that came with the file; not part of the level's content."""
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: equal for levels that play identically, in every process and on every machine.

        Ids, locator, walkthrough and memo are not content.
        """
        content = [
            "alfworld 1",
            self.task,
            self.goal,
            [receptacle[1:] for receptacle in self.receptacles],
            [thing[1:] for thing in self.things],
            self.accepts,
            self.at,
            self.start,
        ]
        return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return Level, tuple(getattr(self, f.name) for f in fields(self) if f.name != "memo")

    def __copy__(self) -> "Level":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Level":
        return self


def bits(flags: Iterable[bool]) -> int:
    """The mask with bit i for every true flag i."""
    return int("".join(map("01".__getitem__, flags))[::-1] or "0", 2)


def visible(things: Sequence[Thing], at: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """(L,) the bits that `State.located` keeps."""
    everything, sliceable = (1 << len(things)) - 1, bits([thing.sliceable for thing in things])
    return tuple([everything if len(here) > 1 else sliceable if here else 0 for here in at])
