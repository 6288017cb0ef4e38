"""What a model makes of fixed pivotal mistakes: whether it would make them again, and what it does after them.

Read off its probabilities, so that what a few replays won or lost by chance does not count (PivotOPD, Figure 7).
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rollback_gym.oracles.lookup import Oracle
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Setup
from rollback_gym.trainer.contexts import Told, context
from rollback_gym.trainer.hints import gold_hint
from rollback_gym.trainer.moments import moment
from rollback_gym.trainer.pivot_demos import answer
from rollback_gym.trainer.prevention import Scoring, Target, distilled, unscored
from rollback_gym.trainer.rows import Ids, Row
from rollback_gym.trainer.teachers import acting_first
from rollback_gym.trainer.trajectory import Trajectory

TURNS = 5
"""After a mistake, that are followed."""
Probes = Mapping[str, Sequence[float]]
"""By name, of each mistake: `again`, the probability of the mistake in its place, for one who has noted what it can
know there (with the end of its note, where one token holds both); `right`, of the right action there; `taken up`, of
the right action after it; and `kl 1` to `kl 5`, an estimate of KL(student, hinted student) on what the student says on
each turn after it, where the episode lasts so long."""


def probes(
    setup: Setup, chat: Chat, oracle: Oracle, replayed: Sequence[Trajectory], scoring: Scoring, hint: str
) -> Probes:
    """Probe mistakes, each by one episode that begins with it.

    Args:
        setup: How the episodes were played, as dialogues.
        chat: Writes texts.
        oracle: Knows what is right.
        replayed: Episodes whose prefix ends with a mistake.
        scoring: Scores as the student does.
        hint: h(a*), with `{action}` for the action.
    """
    asked: list[Row] = []
    for trajectory in replayed:
        prefix, here = trajectory.prefix, moment(trajectory, trajectory.prefix)
        mistake = here.history.node
        assert mistake.parent is not None
        turns = trajectory.view.turns
        for until, action in (
            (prefix, str(turns[prefix].action)),
            (prefix, _best(oracle, trajectory, mistake.parent.point.state)),
            (prefix + 1, _best(oracle, trajectory, here.state)),
        ):
            view = trajectory.view._replace(turns=turns[:until])
            text = answer(view, action)
            ids, said = context("dialogue", chat, setup.prompts, view, Told()).ids, chat.answer(text)
            asked.append(unscored(ids, said, _before(chat, said, text.index("<action>"))))
    likely = [math.exp(sum(of)) for of in scoring(asked)]
    found: dict[str, Sequence[float]] = {
        name: likely[place::3] for place, name in enumerate(("again", "right", "taken up"))
    }
    return {**found, **_apart(chat, oracle, replayed, scoring, hint)}


def _apart(chat: Chat, oracle: Oracle, replayed: Sequence[Trajectory], scoring: Scoring, hint: str) -> Probes:
    """How far the student is from the hinted student, on each turn after a mistake."""
    targets, ordinal = [], []
    for trajectory in replayed:
        for k, step in enumerate(trajectory.steps[:TURNS], 1):
            best = _best(oracle, trajectory, step.state)
            targets.append(Target(trajectory.rows[0].episode, step.turn.index, gold_hint(best, hint), 0.0))
            ordinal.append(k)
    rows = [row for trajectory in replayed for row in trajectory.rows]
    blank = [row._replace(advantages=(0.0,) * len(row.completion)) for row in rows]
    done = distilled(blank, targets, {}, chat, scoring)
    apart = [plain - told for plain, told in zip(done.logprob, done.hinted, strict=True)]
    return {
        f"kl {k}": [of for of, place in zip(apart, ordinal, strict=True) if place == k] for k in range(1, TURNS + 1)
    }


def _before(chat: Chat, ids: Ids, size: int) -> int:
    """How many tokens of a text end within its first letters; one may stand for the end of a note and an action."""
    return max(count for count in range(len(ids)) if len(chat.text(ids[:count])) <= size)


def _best(oracle: Oracle, trajectory: Trajectory, state: Any) -> str:
    return acting_first([str(action) for action in oracle.optimal_actions(trajectory.level, state)])


def summary(of: Sequence[Probes]) -> dict[str, float]:
    """The means over all seeds and mistakes; of what there is any of."""
    names = dict.fromkeys(name for each in of for name in each)
    values = {name: [value for each in of for value in each.get(name, ())] for name in names}
    return {name: fmean(given) for name, given in values.items() if given}
