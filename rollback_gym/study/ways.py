"""Ways as an agent would go them: first a search, then of all the best actions those that need no second sight."""

import random
import re
from typing import Any

from rollback_gym.study.inject import Game, Step

_WORD = re.compile(r"\w+")
_GO = "go to "


def way(game: Game, state: Any, rng: random.Random, searches: int = 0) -> tuple[Step, ...]:
    """A way from `state` to the goal, drawn by `rng`; empty where there is none.

    In ALFWorld it begins with up to `searches` places that do not hold what is needed. They cost turns, and no more: L
    stays as it is. Then it is one of the shortest ways, each turn drawn among the likely ones.
    """
    steps = _searched(game, state, rng, rng.randint(0, searches)) if searches and game.name == "alfworld" else []
    if steps:
        state = game.step(*steps[-1]).state
    while best := game.oracle.optimal_actions(game.level, state):
        action = rng.choice(likely(game, state, best))
        steps.append(Step(state, action))
        state = game.step(state, action).state
    return tuple(steps)


def likely(game: Game, state: Any, best: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the best actions in `state` that an agent would take; never none."""
    choose = {"alfworld": _by_use, "webshop": _by_words, "minesweeper": _by_proof}.get(game.name)
    return (choose(game, state, best) if choose else ()) or best


def _searched(game: Game, state: Any, rng: random.Random, places: int) -> list[Step]:
    """So many places looked at in vain, if there are as many."""
    level, here, steps = game.level, game.distance(state), list[Step]()
    needed = sum(1 << number for number, thing in enumerate(level.things) if thing.type == level.goal.object_type)
    for number in rng.sample(range(len(level.receptacles)), len(level.receptacles)):
        if not places:
            break
        if state.contents[number] & needed:
            continue
        place = level.receptacles[number]
        looks = [f"go to {place.name}", *([f"open {place.name}"] if place.openable else [])]
        tried, then = list[Step](), state
        for action in looks:
            tried.append(Step(then, action))
            then = game.step(then, action).state
        if game.distance(then) == here:
            steps, state, places = [*steps, *tried], then, places - 1
    return steps


def _by_use(game: Game, state: Any, best: tuple[str, ...]) -> tuple[str, ...]:
    """In ALFWorld several receptacles may share a place: go to the one that is used there."""
    return tuple([action for action in best if not action.startswith(_GO) or _is_used(game, state, action)])


def _is_used(game: Game, state: Any, action: str) -> bool:
    level, name = game.level, action.removeprefix(_GO)
    there = game.step(state, action).state
    here = [level.receptacles[number].name for number in level.at[there.location]]
    if len(here) == 1:
        return True
    then = game.oracle.optimal_actions(level, there)
    used = [other for other in here if any(f"{action} ".find(f" {other} ") >= 0 for action in then)]
    return not used or name in used


def _by_words(game: Game, state: Any, best: tuple[str, ...]) -> tuple[str, ...]:
    """In WebShop: search for words of the instruction, and not for a title that one has yet to see."""
    asked = set(_WORD.findall(game.level.task.lower()))
    searches = [action for action in best if action.startswith("search[")]
    told = [action for action in searches if asked.issuperset(_WORD.findall(action[7:-1]))]
    clicks = [action for action in best if not action.startswith("search[")]
    return tuple(clicks or told)


def _by_proof(game: Game, state: Any, best: tuple[str, ...]) -> tuple[str, ...]:
    """In MineSweeper: open what the numbers show to be safe, or flag what they show to be a mine, as long as there is
    such a cell."""
    from rollback_gym.study.inject.minesweeper import shown

    safe, mines = shown(game.level, state)
    codes, cells = game.level.grid.codes, game.level.grid.cells
    return tuple(
        [
            action
            for action in best
            if (safe >> codes[action] & 1 if codes[action] < cells else mines >> codes[action] - cells & 1)
        ]
    )
