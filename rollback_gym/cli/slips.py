"""Mistakes that an agent in ALFWorld might well make, for the demo: found by trying, and measured by the oracle.

An agent follows a shortest plan; at each of its turns there are slips that look right: taking the pan for the pot,
putting the egg into the microwave in place of heating it, carrying off the pillow that lay where it should. A slip
counts only if the oracle says that it really raised L, and that going back pays.
"""

import random
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.types import Level, State
from rollback_gym.oracles.lookup import Oracle

_MAX_ACTIONS = 4
_TAKE = re.compile(r"take (?P<thing>.+) from (?P<place>.+)")
_MOVE = re.compile(r"move (?P<thing>.+) to (?P<place>.+)")
_TREAT = re.compile(r"(?P<verb>clean|heat|cool) (?P<thing>.+) with (?P<place>.+)")
_GO = re.compile(r"go to (?P<place>.+)")
_PLACE = re.compile(r"(?:open| from| to| with) (?P<place>.+)")
_USE = re.compile(r"use (?P<lamp>.+)")


class Slip(NamedTuple):
    """A mistake, and the turns it drags along."""

    kind: str
    before: tuple[str, ...]
    """What leads to it: the first actions of the plan."""
    actions: tuple[str, ...]
    """What the agent then does."""
    pivot: int
    """The number in `actions` of the pivotal mistake: the first that raises L."""
    reason: str
    """What the agent says when it notices."""
    saved: float
    """How many turns less going back takes than going on."""


def choose(level: Level, state: State, oracle: Oracle, seed: int) -> Slip | None:
    """A slip on the way from `state`, drawn by `seed`; None where no slip raises L and is best undone."""
    found: dict[str, list[Slip]] = {}
    for slip in slips(level, state, oracle):
        found.setdefault(slip.kind, []).append(slip)
    if not found:
        return None
    rng = random.Random(f"{level.id} {seed}")
    # A kind first: of some there are dozens of slips, of others one.
    candidates = found[rng.choice(sorted(found))]
    most = max(len(slip.actions) + slip.saved for slip in candidates)
    return rng.choice([slip for slip in candidates if len(slip.actions) + slip.saved == most])


def slips(level: Level, state: State, oracle: Oracle) -> Iterator[Slip]:
    """Every slip on the way from `state` along the oracle's plan that raises L and is cheaper to undo than to mend."""
    plan = natural_plan(level, state, oracle)
    for turn, planned in enumerate(plan):
        for kind, actions, reason in _proposals(level, state, planned, plan[turn + 1 :]):
            slip = _measured(level, state, oracle, actions)
            if slip is not None:
                done, pivot, saved = slip
                yield Slip(kind, plan[:turn], done, pivot, reason, saved)
        state = rules.step(level, state, planned).state


def natural_plan(level: Level, state: State, oracle: Oracle) -> tuple[str, ...]:
    """A shortest plan that goes to the very receptacle it uses next, not to another one at the same location."""
    plan = list(oracle.plan(level, state))
    for turn, planned in enumerate(plan[:-1]):
        match = _PLACE.search(plan[turn + 1])
        better = f"go to {match['place']}" if match else planned
        if _GO.fullmatch(planned) and better in oracle.optimal_actions(level, state):
            plan[turn] = better
        state = rules.step(level, state, plan[turn]).state
    return tuple(plan)


def _measured(
    level: Level, state: State, oracle: Oracle, actions: Iterable[str]
) -> tuple[tuple[str, ...], int, float] | None:
    """As much of `actions` as can be done without getting nearer the goal, the pivot in it, and what going back saves.

    None where L does not rise, or going back does not pay.
    """
    done: list[str] = []
    lengths = [oracle.distance(level, state)]
    for action in actions:
        if len(done) == _MAX_ACTIONS or action not in rules.actions(level, state):
            break
        state = rules.step(level, state, action).state
        length = oracle.distance(level, state)
        if length < lengths[-1]:
            break
        done.append(action)
        lengths.append(length)
    saved = lengths[-1] - (1 + lengths[0])
    if saved <= 0:
        return None
    pivot = next(number for number in range(len(done)) if lengths[number + 1] > lengths[number])
    return tuple(done), pivot, saved


Proposal = tuple[str, list[str], str]
"""Kind, actions, reason."""


def _proposals(level: Level, state: State, planned: str, rest: tuple[str, ...]) -> Iterator[Proposal]:
    """What might be done in place of `planned`. It need not be possible, nor a mistake."""
    offered = rules.actions(level, state)
    if match := _TAKE.fullmatch(planned):
        yield from _wrong_thing(level, offered, match["thing"], rest)
    if match := _TREAT.fullmatch(planned):
        yield from _left_in_the_appliance(match["verb"], match["thing"], match["place"], rest)
    if match := _MOVE.fullmatch(planned):
        yield from _spoiled(level, match["thing"], match["place"])
        yield from _put_beside(level, state, match["thing"])
    if _GO.fullmatch(planned) and state.held >= 0:
        yield from _wrong_place(level, state, planned)
    if _USE.fullmatch(planned) and state.held >= 0:
        yield from _put_under_the_lamp(level, state)
    if _GO.fullmatch(planned) and state.held < 0:
        yield from _taken_away_again(level, offered, planned)


def _wrong_thing(level: Level, offered: tuple[str, ...], right: str, rest: tuple[str, ...]) -> Iterator[Proposal]:
    for action in offered:
        match = _TAKE.fullmatch(action)
        if match and _kind(match["thing"]) != level.goal.object_type:
            wrong = match["thing"]
            as_if = [then.replace(f" {right} ", f" {wrong} ") for then in rest]
            yield "wrong thing", [action, *as_if], f"that was the {_kind(wrong)}, not the {_kind(right)}"


def _left_in_the_appliance(verb: str, thing: str, place: str, rest: tuple[str, ...]) -> Iterator[Proposal]:
    reason = f"leaving it there does not {verb} it"
    put = f"move {thing} to {place}"
    yield "put, not treated", [put, f"close {place}", *_wander(rest)], reason
    yield "put, not treated", [f"open {place}", put, f"close {place}", *_wander(rest)], reason


def _wrong_place(level: Level, state: State, planned: str) -> Iterator[Proposal]:
    held = level.things[state.held]
    if held.type != level.goal.object_type or not level.goal.receptacle_type:
        return
    for number, place in enumerate(level.receptacles):
        if place.type == level.goal.receptacle_type or not level.accepts[state.held] >> number & 1:
            continue
        put, reason = f"move {held.name} to {place.name}", f"it was to go to the {level.goal.receptacle_type}"
        yield "wrong place", [f"go to {place.name}", put, planned], reason
        yield "wrong place", [f"go to {place.name}", f"open {place.name}", put, f"close {place.name}", planned], reason


def _spoiled(level: Level, thing: str, place: str) -> Iterator[Proposal]:
    if level.goal.task_type in _SPOILED_BY:
        verb, now = _SPOILED_BY[level.goal.task_type]
        put = f"move {thing} to {place}"
        yield "spoiled", [f"{verb} {thing} with {place}", put, f"close {place}"], f"now it is {now}"


def _put_beside(level: Level, state: State, thing: str) -> Iterator[Proposal]:
    for here in level.at[state.location]:
        place = level.receptacles[here]
        if place.type != level.goal.receptacle_type:
            for elsewhere in level.receptacles:
                actions = [f"move {thing} to {place.name}", f"go to {elsewhere.name}", "look"]
                yield "wrong place", actions, f"it was to go to the {level.goal.receptacle_type}"


def _put_under_the_lamp(level: Level, state: State) -> Iterator[Proposal]:
    held = level.things[state.held]
    for here in level.at[state.location]:
        for elsewhere in level.receptacles:
            actions = [f"move {held.name} to {level.receptacles[here].name}", f"go to {elsewhere.name}"]
            yield "put under the lamp", [*actions, "look"], "it must be in hand when the lamp is lit"


def _taken_away_again(level: Level, offered: tuple[str, ...], planned: str) -> Iterator[Proposal]:
    for action in offered:
        match = _TAKE.fullmatch(action)
        if match and _kind(match["thing"]) == level.goal.object_type:
            yield "taken away again", [action, planned, "look"], "that one was where it belongs already"


_SPOILED_BY = {
    "pick_heat_then_place_in_recep": ("cool", "cold"),
    "pick_cool_then_place_in_recep": ("heat", "hot"),
}


def _wander(rest: tuple[str, ...]) -> list[str]:
    """The next way that the plan goes: the agent believes that all is well."""
    return [action for action in rest if _GO.fullmatch(action)][:1]


def _kind(name: str) -> str:
    return name.rpartition(" ")[0]
