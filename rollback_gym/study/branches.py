"""The branches of a recorded episode: back at any of its moments, and on from there in another way."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from rollback_gym.core.errors import ReplayDiverged
from rollback_gym.core.snapshot import Outcome, Snapshot
from rollback_gym.core.stack import find, restore, snapshot
from rollback_gym.play.playing import Table, choose, turn
from rollback_gym.play.policies import AnyPolicy, Turn, pick
from rollback_gym.play.records import Act, Call, Episode
from rollback_gym.play.replay import began, taken
from rollback_gym.play.shapes import plain


class Arm(StrEnum):
    """A way to play on. The policy acts, but where it is said that something is forced; it draws anew in every sample.

    To correct or to force a turn is to take an optimal action of the oracle's, drawn where there are several. Where
    the goal is out of reach there is none, and the policy acts itself.
    """

    GO_ON = "go on"
    """From just after the mistake, with nothing changed."""
    RESAMPLE = "resample the pivot"
    """From just before it: the policy has another try at that turn."""
    CORRECT_LATER = "correct a later turn"
    """The record is followed past the mistake up to a random later turn of it, which is corrected."""
    CORRECT = "correct the pivot"
    """From just before the mistake, which is corrected."""
    FORCE_TWO = "keep it, force two turns"
    """From just after the mistake: the next two turns are forced."""
    OFFER = "offer a rollback"
    """From just after the mistake, in an environment that lets the agent go back as often as it likes, wherever it
    likes, out of a lost game too. Only of episodes whose environment did not."""
    ROLLBACK = "force the rollback"
    """From just after the mistake: one turn is spent to go back to the last index before it."""


class _Moment(NamedTuple):
    """How an episode stands, and all that was seen of it."""

    snapshot: Snapshot
    turns: tuple[Turn, ...]
    info: Mapping[str, Any]


class Past:
    """The record played again, with a moment kept after every action; and the branches from these."""

    def __init__(self, episode: Episode, env: gym.Env[Any, Any]) -> None:
        from rollback_gym.wrappers import Rollback

        observation, info = began(env, episode)
        wrapper = find(env, Rollback)
        assert wrapper is not None
        self._episode, self._env, self._wrapper, self._table = episode, env, wrapper, Table(env)
        _compare(episode, 0, observation, episode.observation)
        offered, targets = tuple(info.get("admissible_actions", ())), tuple(info.get("rollback_targets", ()))
        start = Turn(0, None, observation, admissible=offered, targets=targets)
        self._moments = [_Moment(snapshot(env), (start,), info)]
        for act in episode.acts:
            self._moments.append(self._again(self._moments[-1], act))

    def play(self, arm: Arm, policy: AnyPolicy, seed: int) -> tuple[int, bool, int] | None:
        """After which action the record is left, whether the branch is won, and its turns; None where there is none."""
        random = np.random.default_rng(seed)
        pivot, last = self._episode.acts[self._episode.pivots[0] - 1], len(self._episode.acts)
        before, after = pivot.index - 1, pivot.index
        policy.begin(seed)
        match arm:
            case Arm.GO_ON:
                return self._branch(after, policy)
            case Arm.RESAMPLE:
                return self._branch(before, policy)
            case Arm.CORRECT_LATER:
                return None if after == last else self._branch(int(random.integers(after, last)), policy, random, 1)
            case Arm.CORRECT:
                return self._branch(before, policy, random, 1)
            case Arm.FORCE_TWO:
                return self._branch(after, policy, random, 2)
            case Arm.OFFER:
                if not self._confined(pivot):
                    return None
                with _freed(self._wrapper):
                    return self._ended(after, self._on(self._erred(pivot), policy))
            case Arm.ROLLBACK:
                return self._ended(after, self._on(self._undone(pivot), policy))

    def _branch(
        self, start: int, policy: AnyPolicy, random: np.random.Generator | None = None, corrected: int = 0
    ) -> tuple[int, bool, int]:
        """From a moment on, with the first turns corrected."""
        moment = self._moments[start]
        restore(self._env, moment.snapshot)
        for _ in range(corrected):
            best = self._best() if self._table.open else ()
            if best and random is not None:
                moment = self._step(moment, pick(random, best))
        return self._ended(start, self._on(moment, policy))

    def _ended(self, start: int, end: _Moment) -> tuple[int, bool, int]:
        return start, end.snapshot.outcome is Outcome.WON, len(end.turns) - 1 - start

    def _on(self, moment: _Moment, policy: AnyPolicy) -> _Moment:
        """The policy plays to the end."""
        while self._table.open:
            choice = choose(policy, self._table, moment.turns, moment.info)
            moment = self._step(moment, choice.action, choice.call)
        return moment

    def _step(self, moment: _Moment, action: Any, call: Call | None = None) -> _Moment:
        _, _, _, _, info = self._env.step(action)
        return self._after(moment, info, call)

    def _after(self, moment: _Moment, info: Mapping[str, Any], call: Call | None) -> _Moment:
        return _Moment(snapshot(self._env), (*moment.turns, turn(self._table.history.last, info, call)), info)

    def _again(self, moment: _Moment, act: Act) -> _Moment:
        """A recorded action once more, at the moment where it was taken."""
        _, info = taken(self._env, act, self._episode.id)
        moment = self._after(moment, info, act.call)
        _compare(self._episode, act.index, moment.turns[-1].observation, act.observation)
        return moment

    def _erred(self, pivot: Act) -> _Moment:
        """Just after the mistake, as the wrapper is now."""
        moment = self._moments[pivot.index - 1]
        restore(self._env, moment.snapshot)
        return self._again(moment, pivot)

    def _undone(self, pivot: Act) -> _Moment:
        """Just after the mistake and the rollback of it, under the run's own rules again."""
        with _freed(self._wrapper):
            erred = self._erred(pivot)
            if not self._table.open:
                return erred
            action = self._table.view(erred.turns, erred.info).go_back(pivot.parent, "")
            moment = self._step(erred, action)
        _, ruled = restore(self._env, moment.snapshot)
        info = {**moment.info, **ruled}
        return moment._replace(turns=(*erred.turns, turn(self._table.history.last, info)), info=info)

    def _best(self) -> tuple[Any, ...]:
        best: tuple[Any, ...] = self._table.oracle.optimal_actions(self._table.base.level, self._table.base.state)
        return best

    def _confined(self, pivot: Act) -> bool:
        """Whether the run forbade a rollback that could follow the mistake."""
        wrapper, lost = self._wrapper, self._moments[pivot.index].snapshot.outcome is Outcome.LOST
        return wrapper.max_rollbacks is not None or wrapper.targets != "any" or lost


@contextmanager
def _freed(wrapper: Any) -> Iterator[None]:
    """Within, the agent may go back as it likes. The environment stays the same, and so do its snapshots."""
    kept = wrapper.max_rollbacks, wrapper.targets, wrapper.revive
    wrapper.max_rollbacks, wrapper.targets, wrapper.revive = None, "any", True
    try:
        yield
    finally:
        wrapper.max_rollbacks, wrapper.targets, wrapper.revive = kept


def _compare(episode: Episode, index: int, observation: Any, recorded: Any) -> None:
    if plain(observation) != recorded:
        raise ReplayDiverged(
            f"Episode {episode.id}: played again, action {index} shows {str(observation)[:80]!r}, the record says "
            f"{str(recorded)[:80]!r}. Is it the same data, and the same release?"
        )
