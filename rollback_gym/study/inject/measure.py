"""Mistakes that are errors: the oracle says that they raised L."""

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rollback_gym.study.inject.games import Game
from rollback_gym.study.inject.types import Kind, Lapse, Step


class Error(NamedTuple):
    """A mistake, and the turns it drags along. L is never below where it began, and higher at the end."""

    kind: Kind
    aim: str
    """See `Lapse`."""
    actions: tuple[str, ...]
    distances: tuple[float, ...]
    """(1 + actions,) L before the first action, and after each."""
    pivot: int
    """The number in `actions` of the first one that raises L: 0, or 1 after a refused call."""
    ended: bool
    """The last action lost the game, or the goal is out of reach after it."""

    @property
    def turns(self) -> int:
        """From the pivotal mistake on."""
        return len(self.actions) - self.pivot


def measured(game: Game, state: Any, lapse: Lapse, most: int = 1, *, strict: bool = True) -> Error | None:
    """As much of `lapse` as is an error, up to `most` turns from the pivotal mistake on; None where it is none.

    The first action, or the one after a refused call, must raise L, by 1 or more or to infinity. After it a lapse is
    followed as long as the environment carries it out and, with `strict`, every action is wrong: L falls with none.
    Otherwise L may fall, but not below where it began.
    """
    began = game.distance(state)
    if began in (0, math.inf):
        return None
    distances, pivot = [began], 0
    if lapse.kind is Kind.FAILED_CALL:
        if game.step(state, lapse.actions[0]).state != state:
            return None
        distances, pivot = [began, began], 1
    done = pivot
    for action in lapse.actions[pivot : pivot + most]:
        after = game.step(state, action)
        if after.invalid is not None or after.won:
            break
        state = after.state
        distance = game.distance(state)
        floor = began + 1 if done == pivot else distances[-1] if strict else began
        if distance < floor:
            break
        distances.append(distance)
        done += 1
        if after.terminated or distance == math.inf:
            return Error(lapse.kind, lapse.aim, lapse.actions[:done], tuple(distances), pivot, True)
    # What ends where L is no higher than at the beginning needs no way back.
    while done > pivot and distances[-1] <= began:
        del distances[-1]
        done -= 1
    if done == pivot:
        return None
    return Error(lapse.kind, lapse.aim, lapse.actions[:done], tuple(distances), pivot, False)


def errors(
    game: Game,
    state: Any,
    path: tuple[Step, ...],
    kind: Kind,
    plan: tuple[str, ...] | None = None,
    most: int = 1,
    *,
    strict: bool = True,
) -> Iterator[Error]:
    """Every error of a kind that can be made in `state`, in a fixed order; none where the kind is impossible there.

    Args:
        game: What is played.
        state: Where.
        path: How the agent came there from the start.
        kind: Of this kind only.
        plan: A shortest solution that the agent was about to follow; by default the oracle's.
        most: See `measured`.
        strict: See `measured`.
    """
    for lapse in game.lapses(state, path, game.plan(state) if plan is None else plan, kind):
        error = measured(game, state, lapse, most, strict=strict)
        if error is not None:
            yield error


def draw(
    game: Game,
    state: Any,
    path: tuple[Step, ...],
    kinds: Sequence[Kind],
    rng: random.Random,
    plan: tuple[str, ...] | None = None,
    least: int = 1,
    most: int = 1,
    *,
    strict: bool = True,
) -> Error | None:
    """One error of the first of `kinds` that there is one of, with `least` to `most` turns; None where there is none.

    Every lapse of a kind is equally likely, whatever its place in the order.
    """
    plan = game.plan(state) if plan is None else plan
    for kind in kinds:
        lapses = list(game.lapses(state, path, plan, kind))
        rng.shuffle(lapses)
        for lapse in lapses:
            error = measured(game, state, lapse, most, strict=strict)
            if error is not None and error.turns >= least:
                return error
    return None
