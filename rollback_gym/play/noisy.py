"""A policy that plays optimally but for mistakes of known kinds, put in on purpose.

It is a model of how an agent fails, after PivotOPD's Figure 1: it misjudges some situations, again whenever it is asked
again, and one mistake leads to the next. Its settings:

- *Blind spots.* A state is a blind spot with the chance `rate`, once and for all: sampled again there, it errs again,
  but for one time in a while (`stubborn`). Only where it has been before in this episode does it know better. Elsewhere
  it makes no mistake of its own.
- *The thread.* After a mistake it has lost the thread: it goes on after something else that it takes for the task, and
  takes an action of a shortest solution only by chance (1 - `lost_rate`). It has the thread again once the last
  `regain` actions behind it were right, or where it went back. So what it does depends on where it is and on the last
  few actions of the branch, whoever took them, and on nothing that it keeps to itself: it can go on from any history.
- *Recovery.* `recovers="no"` is all of the above. With `"forward"` it never loses the thread, and repairs what it did.
  With `"rollback"` it goes back to before a mistake `delay` turns after it.
"""

import math
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

from gymnasium import spaces

from rollback_gym.core.errors import PolicyError
from rollback_gym.core.history import History, Node
from rollback_gym.play.policies import Choice, Truth, View, chance_of
from rollback_gym.study.inject import Game, Kind, Step, draw, errors, game

Recovers = Literal["no", "forward", "rollback"]


class NoisyOraclePolicy:
    """Plays optimally, but errs: see the module. Needs actions in text, and an oracle.

    `Choice.injected` names the kind of an action that raises L. A refused call, which raises nothing, is not marked;
    the action after it that takes it for granted is.

    Args:
        kinds: Of these kinds only, each as likely as the others; by default of all. Where the kind that was drawn is
            impossible, another of them is taken; where all are, it does not err.
        rate: The share of states that are blind spots.
        at: Err on exactly these turns (1 is the first), and nowhere else; `rate` then counts for nothing. On a turn on
            which none of `kinds` is possible it does not err. Of a failed call it is the turn of the refused call.
        recovers: Whether, and how, it recovers by itself.
        stubborn: The chance that it errs in a blind spot, each time.
        lost_rate: The chance of an action off the shortest way while it has lost the thread.
        regain: How many right actions in a row give it the thread again.
        delay: How many turns after the mistake it goes back, with `recovers="rollback"`; 1 is at once.
        spots: Seeds where the blind spots lie, and what it takes for the task when it is lost: another agent of the
            same sort. What else is left to chance is decided by the seed of the episode.
    """

    name = "noisy-oracle"

    def __init__(
        self,
        kinds: Iterable[str] | None = None,
        rate: float = 0.2,
        at: Sequence[int] = (),
        recovers: Recovers = "no",
        stubborn: float = 0.95,
        lost_rate: float = 0.92,
        regain: int = 2,
        delay: int = 2,
        spots: int = 0,
    ) -> None:
        self.kinds = _kinds(kinds)
        self.rate = chance_of("rate", rate)
        self.at = tuple(_count("at", turn, 1) for turn in at)
        if recovers not in get_args(Recovers):
            raise ValueError(f"recovers must be one of {', '.join(get_args(Recovers))}, got {recovers!r}.")
        self.recovers = recovers
        self.stubborn = chance_of("stubborn", stubborn)
        self.lost_rate = chance_of("lost_rate", lost_rate)
        self.regain = _count("regain", regain, 1)
        self.delay = _count("delay", delay, 1)
        self.spots = _count("spots", spots, 0)
        self._seed = 0

    def begin(self, seed: int) -> None:
        """See `Policy.begin`."""
        self._seed = seed

    def act_knowing(self, view: View, truth: Truth) -> Choice:
        """See `KnowingPolicy.act_knowing`. Raises PolicyError where there is no oracle, or actions are not texts."""
        if truth.oracle is None or not isinstance(view.action_space, spaces.Text):
            raise PolicyError(f"No oracle knows {view.env} with the actions {view.action_space}; try another policy.")
        playing, history = game(view.env, truth.level, truth.oracle), truth.history
        turn = history.index + 1
        chance = random.Random(f"{self._seed} {turn}")
        path = history.path

        back = self._way_back(playing, path, view)
        if back is not None:
            return back
        if view.info.get("failed"):
            return Choice("")  # only a rollback could save it, and it takes none
        state = truth.state
        since = _since_rollback(history)
        choice = self._taken_for_granted(playing, path) if len(since) > 1 else None
        if choice is None and self._errs(playing, history, turn, chance):
            choice = self._error(playing, path, chance)
        if choice is None and self.recovers != "forward" and not _all_right(playing, since[-1 - self.regain :]):
            choice = self._lost(playing, state, view, chance)
        if choice is None:
            best = playing.oracle.optimal_actions(playing.level, state)
            choice = Choice(chance.choice(best)) if best else self._lost(playing, state, view, chance)
        return choice or Choice("")

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return {
            "kinds": tuple(map(str, self.kinds)),
            "rate": self.rate,
            "at": self.at,
            "recovers": self.recovers,
            "stubborn": self.stubborn,
            "lost_rate": self.lost_rate,
            "regain": self.regain,
            "delay": self.delay,
            "spots": self.spots,
        }

    def _errs(self, playing: Game, history: History, turn: int, chance: random.Random) -> bool:
        """Whether it makes a mistake of its own now."""
        node = history.node
        if self.at:
            return turn in self.at
        been_here = [event.target is node for event in history.rollbacks]
        been_here += [other.point.state == node.point.state for other in history.nodes if other is not node]
        if any(been_here):
            return False
        slips = chance.random() < self.stubborn
        return slips and self._of(playing, "blind", _written(playing, node.point.state)) < self.rate

    def _error(self, playing: Game, path: Sequence[Node], chance: random.Random) -> Choice | None:
        kinds = list(self.kinds)
        chance.shuffle(kinds)
        error = draw(playing, path[-1].point.state, _steps(path), kinds, chance)
        if error is None:
            return None
        return Choice(error.actions[0], injected=None if error.pivot else str(error.kind))

    def _taken_for_granted(self, playing: Game, path: Sequence[Node]) -> Choice | None:
        """What follows a refused call of its own, which it believes to have been carried out."""
        if Kind.FAILED_CALL not in self.kinds or len(path) < 2:
            return None
        before, call = path[-2], path[-1]
        if call.point.state != before.point.state:
            return None
        for error in errors(playing, before.point.state, _steps(path[:-1]), Kind.FAILED_CALL):
            if error.actions[0] == call.action:
                return Choice(error.actions[1], injected=str(error.kind))
        return None

    def _lost(self, playing: Game, state: Any, view: View, chance: random.Random) -> Choice | None:
        """What it does without the thread: the same wrong aim turn after turn, else anything that does not help."""
        here = playing.distance(state)
        if not math.isinf(here) and chance.random() >= self.lost_rate:
            return None
        lapses = playing.lapses(state, (), (), Kind.INTENT)
        ranked = sorted(lapses, key=lambda lapse: (self._of(playing, "aim", lapse.aim), lapse.aim))
        offered = [action for action in view.turns[-1].admissible if "<your query>" not in action]
        chance.shuffle(offered)
        for action in (*[lapse.actions[0] for lapse in ranked], *offered):
            after = playing.step(state, action)
            distance = playing.distance(after.state)
            if after.invalid is None and not after.won and distance >= here:
                return Choice(action, injected=str(Kind.INTENT) if distance > here else None)
        return None

    def _way_back(self, playing: Game, path: Sequence[Node], view: View) -> Choice | None:
        """The rollback to before its mistake, when it is time and still possible."""
        if self.recovers != "rollback":
            return None
        distances = [playing.distance(node.point.state) for node in path]
        least = min(distances)
        at = max(number for number, distance in enumerate(distances) if distance == least)
        late = len(path) - 1 - at
        if distances[-1] <= least or (late < self.delay and not view.info.get("failed")):
            return None
        if path[at].index not in view.turns[-1].targets:
            return None
        return Choice(view.go_back(path[at].index, f"action {path[at + 1].index} was a mistake"))

    def _of(self, playing: Game, what: str, about: str) -> float:
        """A number from 0 to 1 that belongs to this agent and to nothing that happens."""
        return random.Random(f"{self.spots} {playing.name} {playing.level.id} {what} {about}").random()


def _since_rollback(history: History) -> tuple[Node, ...]:
    """The nodes of the branch from the last one on that it went back to: that far it has the thread."""
    targets = {event.target.index for event in history.rollbacks if event.target is not None}
    path = history.path
    last = max((number for number, node in enumerate(path) if node.index in targets), default=0)
    return path[last:]


def _all_right(playing: Game, path: Sequence[Node]) -> bool:
    """Whether every action was one of a shortest solution."""
    distances = [playing.distance(node.point.state) for node in path]
    return all(after < before for before, after in pairwise(distances))


def _steps(path: Sequence[Node]) -> tuple[Step, ...]:
    return tuple(Step(before.point.state, after.action) for before, after in pairwise(path))


def _written(playing: Game, state: Any) -> str:
    return repr(playing.simulator.encode(playing.level, state))


def _kinds(kinds: Iterable[str] | None) -> tuple[Kind, ...]:
    if kinds is None:
        return tuple(Kind)
    if isinstance(kinds, str):
        kinds = [kinds]
    given = tuple(dict.fromkeys(kinds))
    unknown = [kind for kind in given if kind not in tuple(Kind)]
    if unknown or not given:
        raise ValueError(f"kinds must be some of {', '.join(Kind)}, got {list(given)!r}.")
    return tuple(Kind(kind) for kind in given)


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return value
