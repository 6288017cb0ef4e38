"""The numbers of a diagnosis, on records whose numbers are known."""

import json
import math

import pytest

from rollback_gym.core.errors import RecordError
from rollback_gym.study.course import Effect, course
from rollback_gym.study.diagnose import diagnose, plain
from tests.study.episodes import Back, Step, episode

INF = math.inf

# What each course of L says of the first pivotal mistake: turn, L before, L after, turns until recovered, by rollback.
MISTAKES = {
    "none": (episode(3, 2, 1, 0), None),
    "waste is none": (episode(3, 3, 2, 1, 0), None),
    "never recovered": (episode(3, 2, 4, 4, 3, 2), (2, 2, 4, None, False)),
    "as near as before is not yet recovered": (episode(3, 4, 3), (1, 3, 4, None, False)),
    "repaired": (episode(3, 4, 3, 2, 1, 0), (1, 3, 4, 2, False)),
    "taken back": (episode(3, 2, 4, 5, Back(1), 1, 0), (2, 2, 4, 3, True)),
    "going back is not yet recovering": (episode(3, 2, 4, Back(1)), (2, 2, 4, None, False)),
    "going back to elsewhere is repair": (episode(3, 4, 3, 4, Back(2), 2), (1, 3, 4, 4, False)),
    "fatal, taken back": (episode(3, INF, Back(0), 2, 1, 0), (1, 3, INF, 2, True)),
    "on a branch that was left": (episode(3, 2, 4, Back(1), 3, Back(1), 1), (2, 2, 4, 4, True)),
}


@pytest.mark.parametrize(("record", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_the_first_pivotal_mistake_and_what_became_of_it(record, expected):
    found = course(record).mistake
    assert (found and (found.turn, found.before, found.after, found.recovered, found.by_rollback)) == expected


# A rollback's effect, delay, how far off its target was, and whether the next action was optimal.
ROLLBACKS = {
    "right": (episode(3, 2, 4, Back(1), 1), (Effect.USEFUL, 1, 0, True)),
    "late": (episode(3, 2, 4, 5, 6, Back(1), 2), (Effect.USEFUL, 3, 0, False)),
    "to the mistake itself": (episode(3, 2, 4, 4, Back(2)), (Effect.VAIN, None, 1, False)),
    "to the mistake, past a second one": (episode(3, 2, 4, 5, Back(2)), (Effect.USEFUL, 1, 1, False)),
    "one too far": (episode(3, 2, 4, 4, Back(0)), (Effect.USEFUL, 2, -1, False)),
    "to the last index, not an equal one": (episode(3, 2, 2, 4, Back(1)), (Effect.USEFUL, 1, -1, False)),
    "out of a dead end": (episode(3, 2, INF, Back(1), 1), (Effect.USEFUL, 1, 0, True)),
    "within a dead end": (episode(3, INF, INF, Back(1)), (Effect.VAIN, None, 1, False)),
    "a change of mind": (episode(3, 2, 2, Back(1), 1), (Effect.PREDICTIVE, None, None, True)),
    "progress given up": (episode(3, 2, 1, Back(0)), (Effect.COSTLY, None, None, False)),
    "too far to pay": (episode(4, 3, 2, 3, Back(0)), (Effect.COSTLY, 1, -2, False)),
    "repaired already": (episode(3, 4, 3, Back(0)), (Effect.VAIN, 2, None, False)),
}  # fmt: skip


@pytest.mark.parametrize(("record", "expected"), ROLLBACKS.values(), ids=ROLLBACKS)
def test_a_rollback_is_judged_by_l_at_both_its_ends(record, expected):
    (found,) = course(record).undoings
    assert (found.effect, found.delay, found.miss, found.followed) == expected


def test_a_refused_rollback_is_no_rollback():
    found = diagnose([episode(3, 2, Back(7, refused=True), 1, 0)]).all
    assert found.rollbacks.refused.value == 1
    assert found.rollbacks.episodes_with_rollback.value == 0
    assert found.actions.invalid.value == 0.25


def test_the_shares_of_a_run():
    run = [
        episode(3, 2, 1, 0),
        episode(3, 2, 4, 5, Back(1), 1, 0),
        episode(3, 2, 4, 4, 4),
        episode(3, 3, 3),
        episode(3, INF, INF, INF, kind="heat", outcome="lost"),
    ]
    found = diagnose(run)
    mistakes, recovery, actions = found.all.mistakes, found.all.recovery, found.all.actions
    assert found.all.outcomes == {"lost": 1, "truncated": 2, "won": 2}
    assert found.all.results.success[::3] == (0.4, 5)
    assert found.all.results.excess_of_wins.mean == 1.5
    assert mistakes.failures_with_pivot[::3] == (2 / 3, 3)
    assert (mistakes.failed_after_pivot.value, mistakes.failed_without_pivot.value) == (0.4, 0.2)
    assert (mistakes.first_pivot.median, mistakes.length_before.median, mistakes.wasted.mean) == (1.5, 2.5, 2)
    assert mistakes.fatal.value == 0.5
    assert mistakes.rise.size == 1
    assert recovery.recovered[::3] == (1 / 3, 3)
    assert recovery.recovered_by_rollback.value == 1
    assert (recovery.recovery_turns.mean, recovery.recovery_shortest.mean) == (3, 3)
    assert [actions.optimal.value, actions.fatal_actions.value, actions.hopeless.value] == [7 / 17, 1 / 17, 2 / 17]
    assert found.all.rollbacks.success_after_pivot_with_rollback.value == 1
    assert found.all.rollbacks.success_after_pivot_without_rollback.value == 0
    assert set(found.by_kind) == {"heat", "pick"}
    assert found.by_kind["heat"].results.success.value == 0


def test_success_by_the_kind_of_error_that_was_put_in():
    run = [
        episode(2, Step(4, injected="wrong argument"), Back(0), 1, 0),
        episode(2, Step(4, injected="wrong argument"), 3, 2, 1, 0),
        episode(2, 3, Step(4, injected="failed call"), 4),
        episode(2, 1, 0),
    ]
    found = diagnose(run)
    assert {kind: group.results.success[::3] for kind, group in found.by_error.items()} == {
        "failed call": (0, 1),
        "wrong argument": (1, 2),
    }
    injected = found.all.injected
    assert injected.injected_found[::3] == (1, 3)
    assert injected.pivots_injected[::3] == (3 / 4, 4)
    assert injected.first_agrees[::3] == (2 / 3, 3)


def test_words_that_admit_a_mistake_and_acts_that_do_not():
    sorry = "<think>I made a mistake.</think><action>look</action>"
    run = [episode(3, 4, Step(4, text=sorry), Step(3, text=sorry), Step(3, text="fine", problem="no action"))]
    found = diagnose(run).all.actions
    assert found.admitted[::3] == (2 / 3, 3)
    assert found.admitted_unmoved[::3] == (1 / 2, 2)
    assert found.unreadable[::3] == (1 / 3, 3)
    unjudged = diagnose([episode(3, 4, Step(4, text=sorry), Step(3, text=sorry, action="go"), oracle=False)])
    assert unjudged.all.actions.admitted_unmoved[::3] == (1 / 2, 2)


SPARSE = {
    "nothing": [],
    "one win": [episode(1, 0)],
    "one failure": [episode(3, INF, INF)],
    "only wins": [episode(2, 1, 0)] * 5,
    "no oracle": [episode(3, 4, Back(0), 2, oracle=False), episode(1, 0, oracle=False)],
    "no action": [episode(3)],
    "a hopeless start": [episode(INF, INF, Back(0))],
}


@pytest.mark.parametrize("run", SPARSE.values(), ids=SPARSE)
def test_where_there_is_little_to_say_it_is_said_without_nan(run):
    text = json.dumps(plain(diagnose(run)), allow_nan=False)
    assert json.loads(text)["all"]["episodes"] == len(run)


def test_without_an_oracle_nothing_is_made_of_l():
    found = diagnose(SPARSE["no oracle"]).all
    assert found.results.success.value == 0.5
    assert found.judged == 0
    assert found.rollbacks.episodes_with_rollback.value == 0.5
    assert found.mistakes.failures_with_pivot.value is None
    assert found.rollbacks.useful.value is None


def test_only_wins_leave_no_failures_to_speak_of():
    found = diagnose(SPARSE["only wins"]).all
    assert found.results.success.value == 1
    assert found.results.success.high == 1
    assert found.results.success.low < 0.7
    assert found.mistakes.failures_with_pivot == (None, None, None, 0)


def test_a_record_that_contradicts_itself_is_refused():
    record = episode(3, 2, 4, Back(1), 1, 0)
    acts = list(record.acts)
    acts[1] = acts[1]._replace(parent=9)
    with pytest.raises(RecordError, match=r"action 2.*parent 9"):
        diagnose([record._replace(acts=tuple(acts))])
    with pytest.raises(RecordError, match="pivot"):
        diagnose([record._replace(pivots=(12,))])
