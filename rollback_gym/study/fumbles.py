"""Actions that ALFWorld refuses, put between right ones: who learns from them goes on after "Nothing happens".

They cost a turn, change nothing, and are nothing to go back from. They are not trained; what follows them is.
"""

import random
from typing import Any

from rollback_gym.study.inject import Game


def fumbled(game: Game, state: Any, actions: tuple[str, ...], chance: float, rng: random.Random) -> tuple[str, ...]:
    """`actions` from `state` on, before each of which there is a refused one with the given chance."""
    done = list[str]()
    for place, action in enumerate(actions):
        if rng.random() < chance and (refused := _refused(game, state, actions[place:], rng)):
            done.append(refused)
        done.append(action)
        state = game.step(state, action).state
    return tuple(done)


def _refused(game: Game, state: Any, plan: tuple[str, ...], rng: random.Random) -> str | None:
    """Half of the time what is needed, from where the agent stands, if that is refused; else any of the others."""
    level = game.level
    places = [place.name for place in level.receptacles]
    here = [place.name for place in level.receptacles if place.location == state.location]
    things = [thing.name for thing in level.things]
    needed = [thing.name for thing in level.things if thing.type == level.goal.object_type]
    thing, place, other = rng.choice(things), rng.choice(places), rng.choice(places)
    wished = [f"take {thing} from {place}" for thing in needed for place in here]
    tried = [
        *plan[1:2],
        f"take {thing} from {place}",
        f"move {thing} to {place}",
        f"open {place}",
        f"take {place} from {thing}",
        f"{rng.choice(['go', 'take', 'open', 'move'])} {rng.choice([thing, other])}",
        f"go to {thing}",
    ]
    for kind in rng.sample((wished, tried), 2):
        if refused := [action for action in kind if game.step(state, action).invalid is not None]:
            return rng.choice(refused)
    return None
