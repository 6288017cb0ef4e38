"""Episodes in batches: whatever happens in them, what was sampled is what is trained, once."""

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollback_gym
from rollback_gym.core.errors import PolicyError, SnapshotMismatch
from rollback_gym.core.history import Node
from rollback_gym.core.snapshot import Outcome
from rollback_gym.play.playing import Table
from rollback_gym.play.prompts import Prompts, prompt
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.rows import check_row
from rollback_gym.trainer.trajectory import Start, groups, start_after
from tests.trainer.scripted import PLAIN, Bytes, Drawn, Told, act, any_act, corridor

CHAT = Chat(Bytes())
FIVE = {"level": 5}
WINDOW = PLAIN._replace(window=2)


def collector(**setup):
    setup.setdefault("prompts", PLAIN)
    return Collector(Setup(setup.pop("made", corridor()), **setup), CHAT)


def played(*answers, starts=None, stops=True, **setup):
    """One episode for each list of answers."""
    told = Told(CHAT, *[[*of, *[act("left")] * 3] for of in answers], stops=stops)
    starts = starts or [Start(options=FIVE)] * len(answers)
    return collector(**setup).play(starts, told, 0), told


def written(view, end, settings):
    """What a model that has taken `end` turns would be sent by the chat template."""
    messages = prompt(view.env, view.task, view.turns[: end + 1], settings, view.going_back, view.max_turns)
    return CHAT.opening(messages)


def decoded(row, end=None):
    return Bytes().decode((*row.prompt, *row.completion[:end]))


# --- What a model reads -----------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(seeds=st.lists(st.integers(0, 999), min_size=1, max_size=4), window=st.none() | st.integers(0, 5))
def test_texts_are_those_of_the_prompts_and_every_sampled_token_is_trained_once(seeds, window):
    asking = PLAIN._replace(window=window, rollback=len(seeds) % 2 == 0)
    drawn = Drawn(CHAT, lambda number, text: any_act(number + seeds[0], text))
    style = "dialogue" if window is None else "turns"
    batch = collector(prompts=asking, context=style).play([Start(seed=seed) for seed in seeds], drawn, 0)
    assert len(batch.trajectories) == len(seeds)
    for slot, trajectory in enumerate(batch.trajectories):
        asked = [ask.ids for asks in drawn.asked for ask in asks if ask.slot == slot]
        assert asked == [written(trajectory.view, turn, asking) for turn in range(len(trajectory.steps))]
        trained = {span.turn: row.completion[span.start : span.end] for row in trajectory.rows for span in row.spans}
        assert trained == {step.turn.index: step.sample.ids for step in trajectory.steps}
        assert sum(sum(row.mask) for row in trajectory.rows) == sum(len(step.sample.ids) for step in trajectory.steps)
        for row in trajectory.rows:
            check_row(row)
            for turn, start, end in row.spans:
                step = trajectory.steps[turn - 1]
                assert (*row.prompt, *row.completion[:start]) == asked[turn - 1]
                assert row.logprobs[start:end] == step.sample.logprobs
            assert all(given == 0 for given, on in zip(row.logprobs, row.mask, strict=True) if not on)
            assert row.episode == slot


def test_one_dialogue_is_one_row():
    (trajectory,) = played([act("right")] * 5)[0].trajectories
    assert trajectory.won
    assert trajectory.outcome is Outcome.WON
    (row,) = trajectory.rows
    assert [span.turn for span in row.spans] == [1, 2, 3, 4, 5]
    assert row.completion[-1] == CHAT.end
    assert decoded(row).count("[0]") == 1


def test_a_rollback_ends_a_row_and_the_next_one_begins_with_what_is_left():
    answers = [act("right"), act("right"), act("left"), act('rollback(1, "wrong way")'), *[act("right")] * 4]
    (trajectory,) = played(answers)[0].trajectories
    first, second = trajectory.rows
    assert [span.turn for span in first.spans] == [1, 2, 3, 4]
    assert [span.turn for span in second.spans] == [5, 6, 7, 8]
    shared = first.spans[0].end
    assert first.prompt == second.prompt
    assert first.completion[:shared] == second.completion[:shared]
    assert not any(second.mask[: second.spans[0].start])
    note = '(You are back here since action 4, for your reason "wrong way"; actions 2, 3 are undone.)'
    assert note in decoded(second)
    assert note not in decoded(first)
    assert trajectory.won
    assert [type(step.entry).__name__ for step in trajectory.steps].count("Rollback") == 1


def test_a_rollback_to_the_start_begins_a_text_anew():
    first, second = played([act("left"), act("rollback(0)"), *[act("right")] * 5])[0].rows
    assert [span.turn for span in second.spans] == [3, 4, 5, 6, 7]
    assert "back here since action 2" in Bytes().decode(second.prompt)
    assert second.spans[0].start == 0
    assert "back here" not in decoded(first)


def test_a_rollback_after_a_rollback_and_twice_to_the_same_place():
    answers = [act("right"), act("right"), act("rollback(1)"), act("right"), act("rollback(1)"), act("rollback(0)")]
    batch, _ = played([*answers, *[act("right")] * 5])
    assert [[span.turn for span in row.spans] for row in batch.rows] == [[1, 2, 3], [4, 5], [6], [7, 8, 9, 10, 11]]
    assert decoded(batch.rows[2]).count("back here since action") == 2


def test_a_rollback_on_the_last_turn_leaves_no_empty_row():
    batch, _ = played([act("right"), act("right"), act("rollback(1)")], made=corridor(max_turns=3))
    assert [[span.turn for span in row.spans] for row in batch.rows] == [[1, 2, 3]]
    assert batch.trajectories[0].outcome is Outcome.TRUNCATED


def test_what_cannot_be_done_is_a_turn():
    answers = [act("jump"), "I do not\nknow", act("rollback(7)"), *[act("right")] * 5]
    (trajectory,) = played(answers)[0].trajectories
    assert [bool(step.turn.invalid) for step in trajectory.steps[:3]] == [True] * 3
    assert [bool(step.turn.problem) for step in trajectory.steps[:3]] == [False, True, False]
    (row,) = trajectory.rows
    assert [span.turn for span in row.spans] == list(range(1, 9))


def test_turns_are_rows_of_their_own():
    (trajectory,) = played([act("right")] * 5, prompts=WINDOW, context="turns")[0].trajectories
    assert [[span.turn for span in row.spans] for row in trajectory.rows] == [[1], [2], [3], [4], [5]]
    assert all(row.mask == (1,) * len(row.completion) for row in trajectory.rows)
    shown = [number for number in range(5) if f"[{number}]" in decoded(trajectory.rows[4], 0)]
    assert shown == [2, 3, 4]


# --- Bounds -----------------------------------------------------------------------------------------------------------


def test_an_answer_that_is_too_long_does_nothing():
    (trajectory,) = played([act("right")] * 12, limits=Limits(answer=10))[0].trajectories
    assert all(step.turn.problem == "it was cut off after 10 tokens" for step in trajectory.steps)
    assert len(trajectory.steps) == 12
    assert trajectory.outcome is Outcome.TRUNCATED
    row = trajectory.rows[0]
    cut = row.completion[row.spans[0].end]
    assert cut == CHAT.end, "an answer that did not end is ended for the model, and that is not trained"
    assert not row.mask[row.spans[0].end]


def test_a_text_that_is_too_long_ends_the_episode():
    batch, told = played(
        [act("right")] * 9, [act("take")] * 20, limits=Limits(text=500), starts=[Start(options=FIVE)] * 2
    )
    for trajectory in batch.trajectories:
        assert trajectory.cut == "tokens"
        assert trajectory.outcome is Outcome.RUNNING
        assert trajectory.steps
    assert all(len(ask.ids) + ask.most <= 500 for asks in told.asked for ask in asks)
    assert all(len(row.prompt) + len(row.completion) <= 500 for row in batch.rows)


def test_turns_are_bounded_and_the_model_is_told():
    batch, _ = played([act("take")] * 9, limits=Limits(turns=4), prompts=Prompts(think=False))
    (trajectory,) = batch.trajectories
    assert (len(trajectory.steps), trajectory.cut) == (4, "turns")
    assert "You have 4 turns" in decoded(batch.rows[0], 0)


@pytest.mark.parametrize("limits", [Limits(answer=0), Limits(text=0), Limits(turns=0)])
def test_limits_are_checked(limits):
    with pytest.raises(ValueError, match="at least 1"):
        collector(limits=limits)


@pytest.mark.parametrize(
    ("style", "asking", "match"),
    [
        ("dialogue", WINDOW, "needs the prompts"),
        ("dialogue", PLAIN._replace(style="single"), "needs the prompts"),
        ("dialogue", PLAIN._replace(thoughts=False), "needs the prompts"),
        ("turns", PLAIN, "0 to 5"),
        ("turns", PLAIN._replace(window=6), "0 to 5"),
        ("pages", PLAIN, "dialogue or turns"),
    ],
)
def test_prompts_that_do_not_go_with_the_context(style, asking, match):
    with pytest.raises(ValueError, match=match):
        collector(context=style, prompts=asking)


def test_episodes_take_turns_at_a_few_places():
    starts = [Start(seed=seed) for seed in range(7)]

    def rows(parallel):
        drawn = Drawn(CHAT, any_act)
        batch = collector(parallel=parallel).play(starts, drawn, 0)
        assert max(len(asks) for asks in drawn.asked) <= (parallel or 7)
        return [(of.start, of.view.turns, of.rows) for of in batch.trajectories]

    assert rows(None) == rows(2) == rows(1)


def test_a_generator_that_goes_on_is_asked_for_nothing():
    """With a collective backend another process may still be playing."""
    told = Told(CHAT, [act("right")] * 3)
    rounds = iter([*[True] * 6, False])
    told.goes_on = lambda wanted: next(rounds)
    collector().play([Start(options={"level": 3})], told, 0)
    assert [len(asks) for asks in told.asked] == [1, 1, 1, 0, 0, 0]


def test_every_round_has_a_seed_of_its_own_and_nothing_is_played_of_no_starts():
    _, told = played([act("right")] * 5)
    assert len(set(told.seeds)) == 5
    assert played()[0].trajectories == ()


def test_an_environment_without_text_is_refused():
    made = Made("Rollback-Sokoban-v0", {"actions": "discrete"})
    with pytest.raises(PolicyError, match="acts in text"):
        collector(made=made).play([Start()], Told(CHAT, []), 0)


# --- Beginnings -------------------------------------------------------------------------------------------------------


def test_groups_begin_alike():
    assert [(of.seed, of.group) for of in groups([Start(seed=4), Start(seed=7)], 2)] == [(4, 0), (4, 0), (7, 1), (7, 1)]


def test_an_injected_prefix_is_in_context_and_not_trained():
    env = make_env(corridor())
    start = start_after(
        env, ["right", "left", "left"], options=FIVE, texts=[None, None, act("left") + " oops"], note="x"
    )
    batch, told = played([act("rollback(1)"), *[act("right")] * 4], [*[act("right")] * 6], starts=groups([start], 2))
    first, second = batch.trajectories
    assert first.start.note == "x"
    assert first.prefix == 3
    assert [step.turn.index for step in first.steps] == [4, 5, 6, 7, 8]
    assert told.asked[0][0].ids == told.asked[0][1].ids == written(first.view, 3, PLAIN)
    assert b"oops" in bytes(byte for byte in told.asked[0][0].ids if byte < 256)
    assert first.won
    assert second.won
    assert [[span.turn for span in row.spans] for row in first.rows] == [[4], [5, 6, 7, 8]]
    assert sum(sum(row.mask) for row in first.rows) == sum(len(step.sample.ids) for step in first.steps)
    assert decoded(first.rows[0]).count("<action>") == 4
    assert decoded(first.rows[1]).count("<action>") == 5, "the prefix up to the target is left"


def test_an_injected_prefix_in_turns():
    start = start_after(make_env(corridor()), ["left", "right"], options=FIVE)
    batch, told = played([act("right")] * 5, starts=[start], prompts=WINDOW, context="turns")
    assert told.asked[0][0].ids == written(batch.trajectories[0].view, 2, WINDOW)
    assert [[span.turn for span in row.spans] for row in batch.rows] == [[3], [4], [5], [6], [7]]


def test_an_episode_is_gone_on_with_from_its_middle():
    """As recovery rows need it: the snapshot of a turn, with the turns that led to it."""
    answers = [act("right"), act("left"), act("rollback(1)"), act("right")]
    (before,) = played([*answers, *[act("take")] * 9])[0].trajectories
    env = make_env(corridor())
    env.reset(options=FIVE)
    for step in before.steps[:4]:
        env.step(step.turn.action)
    start = Start(options=FIVE, snapshot=rollback_gym.snapshot(env), turns=before.view.turns[:5])
    batch, told = played([act("right")] * 3, starts=[start])
    assert batch.trajectories[0].won
    assert told.asked[0][0].ids == written(before.view, 4, PLAIN)
    assert batch.trajectories[0].steps[0].turn.index == 5


def test_starts_that_fit_nothing():
    env = make_env(corridor())
    with pytest.raises(ValueError, match="is over"):
        start_after(env, ["left", "left", "right"])
    start = start_after(env, ["right"])
    with pytest.raises(ValueError, match="all that led to it"):
        played([], starts=[start._replace(turns=start.turns[:1])])
    with pytest.raises(SnapshotMismatch):
        played([], starts=[start], made=Made("Rollback-Sokoban-v0", {}))
    with pytest.raises(TypeError, match="history"):
        start_after(gym.make("Rollback-Sokoban-v0", rollback=False), ["up"])


# --- Hints and lessons ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", [True, False])
@pytest.mark.parametrize("style", ["dialogue", "turns"])
def test_lessons_and_hints_are_read_and_not_trained(style, system):
    asking = PLAIN._replace(system=system, window=1 if style == "turns" else None)
    batch, told = played(
        [act("right"), act("left"), act("rollback(0)"), *[act("right")] * 5],
        prompts=asking,
        context=style,
        lesson=lambda start, view: f"LESSON {len(view.turns)}",
        hint=lambda start, view: "HINT" if view.turns[-1].action == "left" else "",
    )
    texts = [Bytes().decode(asks[0].ids) for asks in told.asked]
    assert all(text.count("LESSON 1") == 1 for text in texts)
    assert ["HINT" in text for text in texts] == [False, False, True, *[False] * 5]
    assert texts[2].endswith("HINT<|im_end|>\n<|im_start|>assistant\n")
    for row in batch.rows:
        trained = [token for token, on in zip(row.completion, row.mask, strict=True) if on]
        assert "HINT" not in Bytes().decode(trained)


def test_a_hint_can_be_put_into_a_text_later():
    _, told = played([act("right")] * 5)
    ids = told.asked[2][0].ids
    hinted = Bytes().decode(CHAT.hinted(ids, "Go on."))
    plain = Bytes().decode(ids)
    end = "<|im_end|>\n<|im_start|>assistant\n"
    assert hinted == plain.removesuffix(end) + "\nGo on." + end
    with pytest.raises(ValueError, match="beginning of an answer"):
        CHAT.hinted(ids[:-1], "Go on.")


# --- What is recorded -------------------------------------------------------------------------------------------------


def test_steps_say_what_they_earned_and_where_they_were_taken():
    answers = [act("right"), act("take"), act("rollback(1)"), *[act("right")] * 4]
    (trajectory,) = played(answers)[0].trajectories
    env = make_env(corridor())
    env.reset(seed=0, options=FIVE)
    for step in trajectory.steps:
        here = Table(env).base.state
        assert step.state == here
        assert step.reward == env.step(step.turn.action)[1]
        assert isinstance(step.entry, Node) == (step.turn.index != 3)
    assert trajectory.history == Table(env).history
    assert trajectory.level.length == 5
