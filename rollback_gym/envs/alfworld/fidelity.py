"""Plays games in the native engine and in the genuine one, side by side, and reports where they part.

After every command both must agree on the observation, the admissible commands, the win, the reward and the whole
state of the game. Commands come from a player that seeks out what is rare: it runs errands to sinks, stoves and
knives, moves things between receptacles that share a location, says things that are not admissible, and is often one
step from the goal.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from rollback_gym.core.bits import numbers
from rollback_gym.core.simulator import Transition
from rollback_gym.envs.alfworld import rules
from rollback_gym.envs.alfworld.problem import compile_level, read_content, read_game
from rollback_gym.envs.alfworld.textworld import TextWorldGame, state_of
from rollback_gym.envs.alfworld.types import Level, State
from rollback_gym.fidelity import Comparison, first_difference

KINDS = (
    *("clean", "close", "cool", "examine object", "examine receptacle", "go", "heat", "help", "inventory", "look"),
    *("move", "open", "slice", "take", "use"),
)
"""The kinds of admissible commands that `Comparison.counts` counts."""


def compare(games: Iterable[tuple[str, bytes]], steps: int, seed: int) -> Iterator[Comparison]:
    """Play each of `games`, given as id and bytes of the game file, for `steps` commands.

    What is played depends on nothing but the arguments; each game on its own file, id, `steps` and `seed`. A step of
    the genuine engine takes about 60 ms and a start 2 s. Raises DataError for a damaged game, MissingExtra where the
    genuine engine is not installed.
    """
    for id, data in games:
        yield _compare(id, data, steps, random.Random(f"{seed} {id}"))


def _compare(id: str, data: bytes, steps: int, rng: random.Random) -> Comparison:
    level = compile_level(read_game(data, id), id, ())
    zeal = rng.choice((0.1, 0.4, 0.6))
    counts: Counter[str] = Counter()
    won = False
    with closing(TextWorldGame(read_content(data, id))) as genuine:
        state, observation = rules.begin(level)
        observed, offered = genuine.reset()
        ours: dict[str, Any] = {"observation": observation, "admissible": rules.actions(level, state), "state": state}
        theirs: dict[str, Any] = {
            "observation": observed,
            "admissible": offered,
            "state": state_of(level, genuine.facts()),
        }
        difference = first_difference(0, "", ours, theirs)
        turn = 0
        while turn < steps and difference is None:
            turn += 1
            command = _command(level, state, zeal, rng)
            refused = command.strip() not in offered
            transition = rules.step(level, state, command)
            observed, offered, over = genuine.step(command)
            counts.update(_situations(level, state, command, transition))
            state, won = transition.state, won or transition.won
            ours = {
                "observation": transition.feedback,
                "admissible": rules.actions(level, state),
                "won": transition.won,
                "reward": transition.reward,
                "refused": transition.invalid is not None,
                "state": state,
            }
            theirs = {
                "observation": observed,
                "admissible": offered,
                "won": over,
                "reward": float(over),
                "refused": refused,
                "state": state_of(level, genuine.facts()),
            }
            difference = first_difference(turn, command, ours, theirs)
    return Comparison(id, turn, won, counts, difference)


def _situations(level: Level, state: State, command: str, transition: Transition) -> Iterator[str]:
    """What a step from `state` was an example of."""
    if transition.invalid is not None:
        yield "(refused)"
        if transition.invalid.startswith("Nothing happened: your hands are full"):
            yield "(refused: hands are full)"
        return
    verb, _, rest = command.strip().partition(" ")
    if verb == "examine":
        verb += " receptacle" if any(receptacle.name == rest for receptacle in level.receptacles) else " object"
    yield verb
    if verb == "look" and "Next to it, you see a " in transition.feedback:
        yield "(look: something lies beside)"
    shares = len(level.at[state.location]) > 1
    if verb in ("take", "move") and shares:
        yield f"({verb}: receptacles share the location)"
    if verb == "take" and sum(mask >> transition.state.held & 1 for mask in state.contents) > 1:
        yield "(take: from one of several receptacles that hold it)"
    if verb == "move" and any(state.stale[r] >> state.held & 1 for r in level.at[state.location]):
        yield "(move: back to the location it was taken from)"
    if verb in ("slice", "use") and transition.state == state:
        yield f"({verb}: again)"
    if transition.won:
        yield "(won)"


# --- The player ---------------------------------------------------------------------------------------------------


def _command(level: Level, state: State, zeal: float, rng: random.Random) -> str:
    """A command that is likely to tell the engines apart; `zeal` is how likely it is to work towards the goal."""
    admissible = rules.actions(level, state)
    by_verb: dict[str, list[str]] = {}
    for command in admissible:
        by_verb.setdefault(command.partition(" ")[0], []).append(command)
    if rng.random() < zeal:
        solving = [command for command in level.walkthrough if command in admissible]
        doing = [command for command in solving if not command.startswith("go ")]
        if solving:
            return doing[-1] if doing and rng.random() < 0.7 else rng.choice(solving)
    beside = any(state.stale[r] & state.located[state.location] for r in level.at[state.location])
    if beside and rng.random() < 0.3:
        return "look"
    treating = [verb for verb in by_verb if verb in ("clean", "cool", "heat", "slice")]
    handling = [verb for verb in by_verb if verb in ("close", "move", "open", "take", "use")]
    errands = [command for command in _errands(level, state, rng) if command in admissible]
    chance = rng.random()
    if chance < 0.5 and treating:
        return rng.choice(by_verb[rng.choice(treating)])
    if chance < 0.4 and handling:
        return rng.choice(by_verb[rng.choice(handling)])
    if chance < 0.8 and errands:
        return rng.choice(errands)
    if chance < 0.9:
        return rng.choice(by_verb[rng.choice([*by_verb])])
    if chance < 0.95:
        return rng.choice(admissible)
    return _inadmissible(level, admissible, rng)


def _errands(level: Level, state: State, rng: random.Random) -> list[str]:
    """Ways to receptacles where something can be done: with what is held, or by taking what is there."""
    if state.held < 0:
        wanted = rng.choice(
            [
                [n for n, thing in enumerate(level.things) if thing.type in ("knife", "butterknife")],
                [n for n, thing in enumerate(level.things) if thing.heatable],
                [n for n, thing in enumerate(level.things) if thing.cleanable or thing.inside],
                [n for n in range(len(level.things)) if sum(mask >> n & 1 for mask in state.contents) > 1],
            ]
        )
        there = [r for r, mask in enumerate(state.contents) if any(mask >> n & 1 for n in wanted)]
        there = there or [r for here in level.at if len(here) > 1 for r in here]
    else:
        thing = level.things[state.held]
        works = {"sinkbasin": thing.cleanable, "microwave": thing.heatable, "fridge": thing.coolable}
        cuts = thing.type in ("knife", "butterknife")
        there = [
            r
            for r, receptacle in enumerate(level.receptacles)
            if works.get(receptacle.type)
            or (cuts and any(level.things[o].sliceable for o in numbers(state.located[receptacle.location])))
        ]
        if not there or rng.random() < 0.4:
            there = numbers(level.accepts[state.held])
    return [f"go to {level.receptacles[r].name}" for r in there]


def _inadmissible(level: Level, admissible: tuple[str, ...], rng: random.Random) -> str:
    """Something that is not offered, or is but for the spaces around it."""
    thing, other = rng.choice(level.things), rng.choice(level.things)
    receptacle = rng.choice(level.receptacles)
    return rng.choice(
        [
            "",
            "  " + rng.choice(admissible) + "\n",
            rng.choice(admissible).replace(" ", "  ", 1),
            rng.choice(admissible).upper(),
            "xyzzy",
            f"put {thing.name} in/on {receptacle.name}",
            f"take {thing.name} from {receptacle.name}",
            f"move {thing.name} to {receptacle.name}",
            f"clean {thing.name} with {receptacle.name}",
            f"heat {thing.name} with {receptacle.name}",
            f"cool {thing.name} with {receptacle.name}",
            f"slice {thing.name} with {other.name}",
            f"examine {thing.name}",
            f"examine {receptacle.name}",
            f"use {thing.name}",
            f"open {receptacle.name}",
            f"close {receptacle.name}",
            f"go to {receptacle.name}",
        ]
    )
