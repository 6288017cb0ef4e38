"""A batch in, a batch with prevention and recovery out."""

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from rollback_gym.oracles.search import BreadthFirst
from rollback_gym.trainer.collector import Collector
from rollback_gym.trainer.hints import gold_hint
from rollback_gym.trainer.pivot_measures import of_judging
from rollback_gym.trainer.pivot_settings import Recovering, Settings
from rollback_gym.trainer.pivotopd import FOLLOWED, Pivot, in_turn, pivots, shared
from rollback_gym.trainer.rows import Kind, check_row
from rollback_gym.trainer.teacher_reports import Candidate, Report
from rollback_gym.trainer.teachers import Named, OracleTeacher
from rollback_gym.trainer.trajectory import start_after
from tests.toy import ToySimulator
from tests.trainer.pivoting import CHAT, ORACLE, SETUP, TEACHER, Obeying, Scored, logprob, opd, played, said
from tests.trainer.scripted import PLAIN, Told

OFF = Settings(prevention=0.0, lesson=0.0, recovering=Recovering(0))


def parts(extension):
    rows = extension.rows
    return [of for of in rows if of.kind is Kind.RL], [of for of in rows if of.kind is Kind.RECOVERY]


# --- The base algorithm -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [OFF, OFF._replace(recovering=Recovering(2, weight=0.0))])
def test_with_all_weights_0_it_is_the_base_algorithm(settings):
    scene = played("lrrrr", "rlrrrr")
    extension = opd(settings, teacher=None)(scene)  # nobody is asked
    assert extension.rows is scene.rows
    assert not extension.measures
    assert not scene.scorer.asked
    assert not scene.generator.asked


def test_without_a_mistake_nothing_is_added():
    scene = played("rrrr", "rtrrr")
    extension = opd(Settings(recovering=Recovering(2)))(scene)
    assert tuple(extension.rows) == scene.rows
    assert extension.measures["pivot/count"] == [0.0]


# --- Pivots -----------------------------------------------------------------------------------------------------------


def test_a_pivot_is_a_candidate_on_whose_turn_the_student_did_something_else():
    (trajectory,) = played("lrrrrr").trajectories
    report = Report(candidates=(Candidate(1, " LEFT "), Candidate(2, "left"), Candidate(3, "right", 0.5, 2.0)))
    assert pivots([trajectory], [report]) == (Pivot(0, 2, "left"),)


def test_the_oracles_pivots_are_those_that_lose_a_turn():
    scene = played("lrlrrrrr", "rrrr", "rrlrl")
    found = pivots(scene.trajectories, TEACHER.reports(scene.trajectories, 0))
    # The third goes on to the left, and the pit is two steps away from the start.
    assert [(of.episode, of.turn) for of in found] == [(0, 1), (0, 3), (2, 3), (2, 5), (2, 6), (2, 7), (2, 8)]
    assert {of.gold for of in found} == {"right"}
    assert all(of.loss == 1 for of in found)


def test_a_teachers_pivots_are_measured_against_the_oracles():
    class Guessing(OracleTeacher):
        def reports(self, trajectories, seed):
            # Of the first: a mistake, the turn before one, and a good turn; a candidate that was done is no pivot.
            named = [(1, "right"), (2, "take"), (6, "take"), (7, "right")], [(3, "take")]
            return [Report(candidates=tuple(Candidate(*of) for of in each)) for each in named]

    scene = played("lrlrrrrr", "rrrr")
    measures = opd(OFF._replace(prevention=0.1), Guessing(ORACLE), oracle=ORACLE)(scene).measures
    assert measures["pivot/count"] == [4.0]
    assert measures["teacher/right"] == [2 / 4] * 4
    assert measures["teacher/false"] == [0.0, 1.0, 1.0, 1.0]
    assert measures["teacher/found"] == [1.0, 1.0]
    # Of its eight turns, 1 to 4 are within a turn of 1 or 3; of the other's four, none.
    assert measures["teacher/right_by_chance"] == pytest.approx([3 / 4 * 4 / 8] * 4)
    # Three of eight turns: none of them is 1 or 2 in 20 of 56 draws, none is 2, 3 or 4 in 10.
    assert measures["teacher/found_by_chance"] == pytest.approx([(36 / 56 + 46 / 56) / 2] * 2)
    assert measures["seconds/oracle"][0] > 0
    assert not any("right" in name for name in opd(OFF._replace(prevention=0.1))(scene).measures)


def test_only_the_agents_own_turns_are_judged():
    env = gym.make(SETUP.made.id)
    begun = start_after(env, ["left", "right", "right"], options={"level": 4})
    batch = Collector(SETUP, CHAT).play([begun], Told(CHAT, said("lrrrr")), 0)
    measures = of_judging(batch.trajectories, [(0, 4)], ORACLE)
    assert measures["teacher/found"] == measures["teacher/right"] == [1.0]
    assert measures["teacher/right_by_chance"] == [2 / 5]
    assert measures["teacher/false"] == [0.0]
    lost = of_judging(batch.trajectories, [(0, 4)], BreadthFirst(ToySimulator(), limit=2))
    assert not any(lost.values()), "an oracle that gives up judges nobody"


# --- Prevention and recovery ------------------------------------------------------------------------------------------


def expected(row, span, hint):
    """A of what was said on a turn, by hand."""
    answer = row.completion[span.start : span.end]
    before = len(row.prompt) + span.start
    longer = len(CHAT.hinted((*row.prompt, *row.completion[: span.start]), hint))
    return [logprob(longer + at, token) - logprob(before + at, token) for at, token in enumerate(answer)]


def test_prevention_adds_to_what_was_said_at_pivots_and_to_nothing_else():
    scene = played("lrrrrr", "rrrr")
    extension = opd(OFF._replace(prevention=0.01))(scene)
    (changed, same), none = parts(extension)
    assert not none
    assert same == scene.rows[1]
    row = scene.rows[0]
    span = row.spans[0]
    more = [new - old for new, old in zip(changed.advantages, row.advantages, strict=True)]
    assert more[span.start : span.end] == pytest.approx([0.01 * of for of in expected(row, span, gold_hint("right"))])
    assert not any(more[: span.start])
    assert not any(more[span.end :])
    assert changed._replace(advantages=row.advantages) == row
    assert extension.measures["prevention/turns"] == [1.0]


@pytest.mark.parametrize("thought", ["", "<think><action>left</action></think>"])
def test_the_gold_action_is_followed_at_pivots(thought):
    scene = played("rlrrrr", "rrrr", before=thought)
    row = scene.rows[0]
    before = len(row.prompt) + row.spans[1].start
    instead = CHAT.answer(f"{thought}<action>right</action>")  # as it thought, and otherwise than it did
    likely = sum(logprob(before + at, token) for at, token in enumerate(instead))
    for where in ("pivots", "every"):
        extension = opd(OFF._replace(prevention=0.1, where=where))(scene)
        assert extension.measures["prevention/gold"] == (pytest.approx(likely),)


def test_no_more_gold_actions_are_followed_than_tell():
    scene = played(*["rlrlrlrlrl"] * 8)
    measures = opd(OFF._replace(prevention=0.1))(scene).measures
    assert measures["prevention/turns"] == [40.0]
    assert len(measures["prevention/gold"]) == FOLLOWED
    assert measures["prevention/gold"] == opd(OFF._replace(prevention=0.1))(scene).measures["prevention/gold"]


def test_prevention_can_be_cut():
    scene = played("lrrrrr")
    cut, row = opd(OFF._replace(prevention=1.0, prevention_clip=0.25))(scene).rows[0], scene.rows[0]
    more = [new - old for new, old in zip(cut.advantages, row.advantages, strict=True)]
    assert max(more) == pytest.approx(0.25)
    assert min(more) == pytest.approx(-0.25)


def test_recovery_rows_are_trained_by_what_the_hint_gains_and_by_nothing_else():
    scene = played("lrrrrr", "rrrr")
    extension = opd(OFF._replace(recovering=Recovering(1, weight=0.5)))(scene)
    (row,) = parts(extension)[1]
    check_row(row)
    assert tuple(extension.rows[:2]) == scene.rows
    (span,) = row.spans
    assert (span.turn, row.episode, span.end) == (2, 0, len(row.completion))
    assert row.prompt == scene.rows[0].prompt
    # The student reads what it read after its mistake, and no hint; what is said is what the hint names.
    assert row.completion[: span.start] == scene.rows[0].completion[: scene.rows[0].spans[1].start]
    assert CHAT.text(row.completion[span.start :]) == "<action>right</action>"
    by_hand = [0.5 * max(-5, min(5, of)) for of in expected(row, span, gold_hint("right"))]
    assert row.advantages[span.start :] == pytest.approx(by_hand)
    assert any(abs(of) == 2.5 for of in by_hand), "nothing was cut, so nothing was tested"
    assert not any(row.advantages[: span.start])


def test_recovery_goes_on_in_a_restored_copy():
    scene = played("rlrrrr")
    rows = parts(opd(OFF._replace(recovering=Recovering(3)))(scene))[1]
    # After r, l: the oracle walks right three times in a copy, as the texts say.
    assert [row.spans[0].turn for row in rows] == [3, 4, 5]
    texts = [CHAT.tokenizer.decode((*row.prompt, *row.completion[: row.spans[0].start])) for row in rows]
    for early, late in pairwise(texts):
        assert late.startswith(early + "<action>right</action>")
    # The student itself walked the same way after its mistake, so it read the same.
    own = scene.rows[0]
    for row, span in zip(rows, own.spans[2:], strict=False):
        assert (*row.prompt, *row.completion[: row.spans[0].start]) == (*own.prompt, *own.completion[: span.start])


def test_an_episode_that_was_over_has_nothing_to_recover():
    extension = opd(OFF._replace(recovering=Recovering(2)))(played("ll"))
    assert extension.measures["recovery/dropped_over"] == [1.0]  # the second step fell into the pit
    assert extension.measures["recovery/rows"] == [2.0]  # after the first


ANSWERS = {
    "other_action": lambda action: "<action>left</action>",
    "leak": lambda action: f"The hint says so. <action>{action}</action>",
    "unread": lambda action: "<action></action>",
}


@pytest.mark.parametrize("why", ANSWERS)
def test_what_is_dropped_is_counted_by_why(why):
    scene = played("lrrrrr")._replace(generator=Obeying(CHAT, ANSWERS[why]))
    extension = opd(OFF._replace(recovering=Recovering(2)))(scene)
    assert parts(extension) == (list(scene.rows), [])
    counts = {name: of for name, of in extension.measures.items() if name.startswith("recovery/dropped")}
    assert counts.pop(f"recovery/dropped_{why}") == [1.0]
    assert set(map(tuple, counts.values())) == {(0.0,)}
    assert extension.measures["recovery/of_pivots"] == [0.0]


def test_an_answer_that_reasons_falsely_is_dropped_where_that_can_be_told():
    how, heard = OFF._replace(recovering=Recovering(2)), []

    def sound(moment, text):
        heard.append((moment.last, text))
        return len(heard) > 1

    scene = played("lrrrrr")
    extension = opd(how, sound=sound)(scene)
    assert parts(extension)[1] == []
    assert extension.measures["recovery/dropped_unsound"] == [1.0]
    assert heard == [(1, "<action>right</action>")]
    heard.clear()
    extension = opd(how._replace(tries=2), sound=sound)(scene)
    assert [row.spans[0].turn for row in parts(extension)[1]] == [2, 3], "it was asked again, and went on"
    assert extension.measures["recovery/dropped_unsound"] == [0.0]


def test_an_answer_is_asked_for_as_often_as_it_may_be():
    asked = []

    class Dithering(Obeying):
        def generate(self, asks, seed):
            asked.append((len(asks), seed))
            return super().generate(asks, seed)

    scene = played("lrrrrr", "rlrrrr")
    scene = scene._replace(generator=Dithering(CHAT, lambda action: "<action>left</action>"))
    extension = opd(OFF._replace(recovering=Recovering(1), tries=3))(scene)
    assert [count for count, _ in asked] == [2, 2, 2]
    assert len({seed for _, seed in asked}) == 3
    assert extension.measures["recovery/dropped_other_action"] == [2.0]
    with pytest.raises(ValueError, match="tries must be at least 1"):
        opd(OFF._replace(tries=0))


def test_what_is_cut_off_too_long_or_not_named_is_dropped():
    how = OFF._replace(recovering=Recovering(1))
    cut = opd(how)(played("lrrrrr")._replace(generator=Obeying(CHAT, lambda action: f"<action>{action}</action>" * 9)))
    assert cut.measures["recovery/dropped_cut_off"] == [1.0]
    scene = played("lrrrrr")
    room = len(scene.rows[0].prompt) + scene.rows[0].spans[1].start + 5  # the hint does not fit in
    small = SETUP._replace(limits=SETUP.limits._replace(text=room))
    assert opd(how, setup=small)(scene).measures["recovery/dropped_no_room"] == [1.0]

    class Silent(OracleTeacher):
        def names(self, moments, seed):
            return [Named(None)] * len(moments)

    assert opd(how, Silent(ORACLE))(scene).measures["recovery/dropped_unnamed"] == [1.0]


def test_no_more_rows_than_allowed_and_first_mistakes_first():
    scene = played("lrlrlr", "rlrlr", "lrr")
    rows = parts(opd(OFF._replace(recovering=Recovering(1), most=4))(scene))[1]
    assert [(row.episode, row.spans[0].turn - 1) for row in rows] == [(0, 1), (1, 2), (2, 1), (0, 3)]
    assert len(parts(opd(OFF._replace(recovering=Recovering(2), most=5))(scene))[1]) <= 5


def test_scorer_generator_and_teacher_are_asked_equally_often_by_every_process():
    # Where they are collective, a process that has nothing to ask must ask all the same.
    class Counting(Obeying):
        wanted = 0

        def goes_on(self, wanted):
            self.wanted += 1
            return True

    counts = []
    for moves in ("rrrr", "lrrrrr", "rlrlrlrl"):
        scene = played(moves)._replace(generator=Counting(CHAT), scorer=Scored())
        opd(Settings(recovering=Recovering(2)))(scene)
        counts.append((scene.generator.wanted, len(scene.generator.asked), len(scene.scorer.asked)))
    assert counts == [(2, 2, 2)] * 3


class Together:
    """Sums over processes that are threads here; breaks where one calls it more often than another."""

    def __init__(self, processes):
        self.given, self.barrier = [0.0] * processes, Barrier(processes, timeout=20)

    def total(self, rank):
        def summed(number):
            self.given[rank] = number
            self.barrier.wait()
            everywhere = sum(self.given)
            self.barrier.wait()
            return everywhere

        return summed


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("weight", ["turns", "tokens", 0.3])
def test_processes_share_one_weight_as_one_would(weight, forward):
    # The last has nothing to recover, and the second more than the first.
    halves = ["rlrrrr"], ["rlrlrr", "rrlrrr"], ["rrrr"]
    how = OFF._replace(recovering=Recovering(2, weight, forward=forward))
    together = Together(len(halves))

    def added(moves, total=float):
        """What the update gets on top of rewards: by row of what was played, and the recovery rows."""
        scene = played(*moves)
        old, new = parts(opd(how, total=total)(scene))
        more = [
            [late - early for late, early in zip(row.advantages, was.advantages, strict=True)]
            for row, was in zip(old, scene.rows, strict=True)
        ]
        return [*more, *(list(row.advantages) for row in new)]

    with ThreadPoolExecutor(len(halves)) as pool:
        apart = list(pool.map(lambda rank: added(halves[rank], together.total(rank)), range(len(halves))))
    whole = added([moves for half in halves for moves in half])
    # Recovery is written first mistakes first, so in another order.
    flat = sorted((row for half in apart for row in half if any(row)), key=len)
    expected = sorted((row for row in whole if any(row)), key=len)
    assert len(flat) >= 3
    assert len(flat) == len(expected)
    for one, other in zip(flat, expected, strict=True):
        assert one == pytest.approx(other)


# --- Options ----------------------------------------------------------------------------------------------------------


def test_weights_follow_k():
    scene = played("rlrrrr", "rrlrrr")
    for how, weight in ((Recovering(2), 1 / 4), (Recovering(2, "tokens"), 1 / 92), (Recovering(2, 0.3), 0.3)):
        rows = parts(opd(OFF._replace(recovering=how, clip=9e9))(scene))[1]
        assert len(rows) == 4
        for row in rows:
            (span,) = row.spans
            by_hand = [weight * of for of in expected(row, span, gold_hint("right"))]
            assert row.advantages[span.start :] == pytest.approx(by_hand)


def test_each_environment_has_its_own_k():
    scene = played("rlrrrr")
    own = OFF._replace(recovering=Recovering(1), by_env={"toy": Recovering(3), "webshop": Recovering(0)})
    assert len(parts(opd(own)(scene))[1]) == 3


def test_k_follows_what_was_lost():
    class Knowing(OracleTeacher):
        def reports(self, trajectories, seed):
            return [Report(candidates=(Candidate(2, "right", 1.0, loss),)) for loss in (1.0, 2.0, math.inf)]

    scene = played("rlrrrr", "rlrrrr", "rlrrrr")
    rows = parts(opd(OFF._replace(recovering=Recovering(3, adaptive=True)), Knowing(ORACLE))(scene))[1]
    assert [sum(row.episode == number for row in rows) for number in range(3)] == [1, 2, 3]


def test_a_doubted_action_weighs_less():
    class Doubting(OracleTeacher):
        def reports(self, trajectories, seed):
            return [Report(candidates=(Candidate(1, "right", 0.25),))]

        def names(self, moments, seed):
            return [Named("right", 0.5)] * len(moments)

    scene = played("lrrrrr")
    sure, unsure = (
        opd(OFF._replace(prevention=0.1, recovering=Recovering(1)), teacher)(scene)
        for teacher in (TEACHER, Doubting(ORACLE))
    )
    at = scene.rows[0].spans[0].start
    base = scene.rows[0].advantages[at]
    assert unsure.rows[0].advantages[at] - base == pytest.approx((sure.rows[0].advantages[at] - base) / 4)
    assert unsure.rows[1].advantages == pytest.approx([of / 8 for of in sure.rows[1].advantages])


def test_every_turn_is_distilled_by_plain_opd_and_as_many_random_ones_by_the_ablation():
    scene = played("lrrrrr", "rrlrrr")
    every = opd(OFF._replace(prevention=0.1, where="every"))(scene)
    assert every.measures["prevention/turns"] == [12.0]
    for row, old in zip(every.rows, scene.rows, strict=True):
        assert all(
            (new != was) == bool(on)
            for new, was, on in zip(row.advantages, old.advantages, row.mask, strict=True)
            if new != was or on == 0
        )
    drawn = opd(OFF._replace(prevention=0.1, where="random"))(scene)
    assert drawn.measures["prevention/turns"] == [2.0]
    assert drawn.rows == opd(OFF._replace(prevention=0.1, where="random"))(scene).rows


def test_reverse_recovery_distils_the_students_own_turns_after_a_mistake():
    scene = played("lrlrrrrr")
    reverse = opd(OFF._replace(recovering=Recovering(1, weight=0.5, forward=False), clip=2.0))(scene)
    assert len(reverse.rows) == 1
    row = scene.rows[0]
    changed = {
        span.turn
        for span in row.spans
        if reverse.rows[0].advantages[span.start : span.end] != row.advantages[span.start : span.end]
    }
    assert changed == {2, 4}


def test_without_the_action_in_the_hint_whatever_is_done_is_kept():
    scene = played("rlrrrr")
    scene = scene._replace(generator=Obeying(CHAT, lambda action: "<action>take</action>"))
    rows = parts(opd(OFF._replace(recovering=Recovering(2), hint=None))(scene))[1]
    assert [CHAT.text(row.completion[row.spans[0].start :]) for row in rows] == ["<action>take</action>"] * 2
    asked = CHAT.text(scene.generator.asked[0][0].ids)
    assert "this turn decides" in asked
    assert "right is" not in asked


def test_the_self_teacher_can_be_the_initial_student():
    scene, initial = played("lrrrrr"), Obeying(CHAT)
    how = Settings(frozen="initial", recovering=Recovering(1))
    opd(how, writer=lambda scene: initial)(scene)
    assert [reference for _, reference in scene.scorer.asked] == [True, True]
    assert initial.asked
    assert not scene.generator.asked
    with pytest.raises(ValueError, match="give a writer"):
        opd(how)


def test_a_lesson_is_told_at_every_turn():
    class Telling(OracleTeacher):
        def reports(self, trajectories, seed):
            return [Report(lesson="walk right"), Report()]

    scene = played("lrrrrr", "rrrr")
    changed = opd(OFF._replace(lesson=0.1), Telling(ORACLE))(scene).rows
    assert changed[1] == scene.rows[1]
    differs = [new != old for new, old in zip(changed[0].advantages, scene.rows[0].advantages, strict=True)]
    assert all(on for on, differ in zip(scene.rows[0].mask, differs, strict=True) if differ)
    for span in scene.rows[0].spans:
        assert any(differs[span.start : span.end])
    ((asked, _), _) = scene.scorer.asked
    assert "(Between us: walk right. Use it" in CHAT.tokenizer.decode(asked[-1].prompt)


def test_a_text_a_turn_is_distilled_as_a_dialogue_is():
    window = SETUP._replace(prompts=PLAIN._replace(window=2), context="turns")
    scene = played("lrrrrr", setup=window)
    extension = opd(Settings(recovering=Recovering(2)), setup=window)(scene)
    _, rows = parts(extension)
    assert len(rows) == 2
    (span,) = rows[0].spans
    assert (*rows[0].prompt, *rows[0].completion[: span.start]) == scene.rows[1].prompt  # what it read then
    for row in extension.rows:
        check_row(row)


def test_a_mistake_on_a_branch_that_was_abandoned_counts_too():
    scene = played("rl1rrr")
    extension = opd(Settings(recovering=Recovering(1)))(scene)
    (row,) = parts(extension)[1]
    assert row.spans[0].turn == 3
    first = scene.rows[0]
    assert (*row.prompt, *row.completion[: row.spans[0].start]) == (
        *first.prompt,
        *first.completion[: first.spans[2].start],
    )


def test_going_back_is_a_recovery_action_where_the_teacher_says_so():
    scene = played("rrlrrr")
    rows = parts(opd(OFF._replace(recovering=Recovering(2)), OracleTeacher(ORACLE, going_back="always"))(scene))[1]
    said = [CHAT.text(row.completion[row.spans[0].start :]) for row in rows]
    assert said == ["<action>rollback(2)</action>", "<action>right</action>"]
    text = CHAT.tokenizer.decode((*rows[1].prompt, *rows[1].completion[: rows[1].spans[0].start]))
    assert "You are back here since action 4" in text
    assert "left</action>" not in text


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        (Settings(prevention=-1.0), "prevention must be at least 0"),
        (Settings(recovering=Recovering(-1)), "at least 0"),
        (Settings(recovering=Recovering(1, weight="rows")), "a number, turns or tokens"),
        (Settings(by_env={"toy": Recovering(1, weight=-0.1)}), "at least 0"),
        (Settings(hint="do it"), "a place for the action"),
        (Settings(where="nowhere"), "where must be one of"),
        (Settings(frozen="never"), "frozen must be one of"),
    ],
)
def test_settings_out_of_range_are_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        opd(settings)


@given(st.lists(st.integers(0, 4), max_size=20))
def test_in_turn_is_a_round_robin(episodes):
    found = [Pivot(episode, turn, "") for turn, episode in enumerate(episodes)]
    ordered = in_turn(found)
    assert sorted(ordered) == sorted(found)
    seen = {}
    for pivot in ordered:
        seen[pivot.episode] = seen.get(pivot.episode, 0) + 1
        longer = {of for of in episodes if episodes.count(of) >= seen[pivot.episode]}
        assert all(seen.get(of, 0) >= seen[pivot.episode] - 1 for of in longer)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=64))
def test_shares_add_up_to_1(tokens):
    assert sum(shared(["turns"] * len(tokens), tokens)) == pytest.approx(1)
    by_token = shared(["tokens"] * len(tokens), tokens)
    assert sum(of * size for of, size in zip(by_token, tokens, strict=True)) == pytest.approx(1)
    assert shared([0.25] * len(tokens), tokens) == [0.25] * len(tokens)


@examples(max_examples=25, deadline=None)
@given(moves=st.lists(st.text("lrt01", max_size=8), min_size=1, max_size=3), k=st.integers(0, 3))
def test_whatever_was_played_rows_fit_and_what_was_played_stays(moves, k):
    scene = played(*moves)
    extension = opd(Settings(recovering=Recovering(k)))(scene)
    old, new = parts(extension)
    for row, was in zip(old, scene.rows, strict=True):
        assert row._replace(advantages=was.advantages) == was
        check_row(row)
    written = extension.measures["recovery/rows"][0]
    assert len(new) == written <= 64
    for row in new:
        check_row(row)
        assert len(row.advantages) == len(row.completion)
        assert max(map(abs, row.advantages)) <= 5 / written + 1e-9
        # The text is the student's own, and none of the hint is in it.
        assert "Between us" not in CHAT.tokenizer.decode((*row.prompt, *row.completion))
