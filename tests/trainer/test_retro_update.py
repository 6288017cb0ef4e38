"""RetroAgent in the update: its gradients are REINFORCE's by hand, every ablation runs, and a checkpoint holds it."""

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("trl", reason="needs trl: pip install 'rollback-gym[trainer]'")

import torch

from rollback_gym.trainer.advantages import discounted_return, group_relative
from rollback_gym.trainer.capability import Capability
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Limits
from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.encoders import HashingEncoder
from rollback_gym.trainer.feedback import LESSONS, penalised
from rollback_gym.trainer.lessons import Ranking
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.reflection import Attempt, question
from rollback_gym.trainer.reflectors import ModelReflector, OracleReflector
from rollback_gym.trainer.retroagent import RetroAgent, Settings
from rollback_gym.trainer.rewards import environment_rewards
from rollback_gym.trainer.rows import Kind
from rollback_gym.trainer.scene import Seeds
from rollback_gym.trainer.tiny import tiny_tokenizer
from rollback_gym.trainer.update import last_checkpoint
from tests.trainer import models
from tests.trainer.retro import Pit, batch, said
from tests.trainer.scripted import any_act
from tests.trainer.training import (
    GROUP,
    Varied,
    assert_alike,
    chat_of,
    hand_loss,
    logprobs,
    policy,
    step_by_hand,
    trainer,
    weights,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports

LIMITS = Limits(answer=120, text=1900)
LESSON = "walk to the right"


def words():
    """What is said while playing, and when looking back."""
    yield from models.words()
    (trajectory,) = batch(starts=1, size=1, level=None)
    for told in (False, True):
        for other in (None, Attempt((), True)):
            for won in (False, True):
                yield question(trajectory.view, Attempt((), won), other, told=told)[0]["content"]
    yield from (said(lesson=LESSON), said(success=True), LESSONS)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    tokens = tiny_tokenizer(words())
    models.model(tokens).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


class Looking(Varied):
    """Plays at random, and says of an episode by chance that it was won or lost."""

    def __init__(self, chat: Chat) -> None:
        def answer(number, text):
            if "Look back at it" not in text:
                return any_act(number, text)
            return "nothing" if number % 3 == 0 else said(success=number % 2 == 0, lesson=LESSON)

        super().__init__(chat, answer)


def memory(**options):
    return Memory(HashingEncoder(64), **options)


def made(base, out, retro, *, scripted=True, **changed):
    """A trainer whose every batch goes through `retro`."""
    plan = {
        "source": Seeds(levels=[3, 4]),
        "rewarding": penalised(environment_rewards),
        "extending": retro,
        "parts": {"retroagent": retro},
        **changed.pop("plan", {}),
    }
    training = trainer(base, out, plan=plan, setup={"lesson": retro.lesson}, varied=scripted, **changed)
    if scripted:
        training.generator = Looking(training.plan.collector.chat)
    return training


def trained(base, weight=1.0):
    return ModelReflector(chat_of(base), LIMITS, weight=weight)


def test_reflection_rows_are_trained_by_reinforce(base, tmp_path):
    retro = RetroAgent(trained(base, 0.7), memory(), settings=Settings(coefficient=0.0))
    training = made(base, tmp_path, retro)
    training.train()
    (rows,), (scene,) = training.rows, training.scenes
    hand = policy(base)
    start = weights(hand)
    played = [row for row in rows if row.kind is Kind.RL]
    looked = [row for row in rows if row.kind is Kind.REFLECTION]
    assert len(looked) == len(scene.trajectories) == 2 * GROUP

    # Written out by hand, from what was said and how it went: nothing of the row's advantages is used.
    texts = [training.plan.collector.chat.text(row.completion) for row in looked]
    right = [said(success=of.won, lesson=LESSON) for of in scene.trajectories]
    rewards = [float(text == expected) for text, expected in zip(texts, right, strict=True)]
    assert 0 < sum(rewards) < len(rewards), "nothing to tell apart"
    tokens = sum(sum(row.mask) for row in played)
    loss = hand_loss(hand, played)
    for number, (row, reward) in enumerate(zip(looked, rewards, strict=True)):
        others = rewards[:number] + rewards[number + 1 :]
        loss = loss - 0.7 * (reward - sum(others) / len(others)) * logprobs(hand, row).sum() / tokens
    step_by_hand(hand, loss, 1.0)
    assert_alike(weights(training.model), weights(hand), start, 1e-5)
    assert training.state.log_history[0]["reflection/malformed"] > 0


def test_without_a_weight_nothing_of_it_is_trained(base, tmp_path):
    training = made(base, tmp_path, RetroAgent(trained(base, 0.0), memory()))
    training.train()
    assert {row.kind for row in training.rows[0]} == {Kind.RL}


def test_advantages_are_of_returns_with_new_progress_in_them(base, tmp_path):
    retro = RetroAgent(OracleReflector(Pit()), memory(), capability=Capability({"walk 3 steps": 0.4}))
    training = made(base, tmp_path, retro)
    training.train()
    (scene,), (rows,) = training.scenes, training.rows
    exact = OracleReflector(Pit())(scene.trajectories, [], None, 0).reflections
    returns = []
    for trajectory, rewards, one in zip(scene.trajectories, scene.scores.rewards, exact, strict=True):
        bar = 0.4 if trajectory.view.task == "walk 3 steps" else 0.0
        fresh = max(0.0, one.phi - bar)
        returns.append(discounted_return([*rewards[:-1], rewards[-1] + fresh], 0.95))
    better = group_relative(returns, [of.start.group for of in scene.trajectories])
    for row in rows:
        for span in row.spans:
            assert set(row.advantages[span.start : span.end]) == {float(better[row.episode])}
    assert any(row.advantages != old.advantages for row, old in zip(rows, scene.rows, strict=True))


ABLATIONS = {
    "whole, in context": lambda base: RetroAgent(trained(base, 0.0), memory()),
    "whole, trained": lambda base: RetroAgent(trained(base), memory()),
    "whole, by the oracle": lambda base: RetroAgent(OracleReflector(Pit()), memory(), oracle=Pit()),
    "no reward": lambda base: RetroAgent(trained(base), memory(), settings=Settings(coefficient=0.0)),
    "no memory": lambda base: RetroAgent(trained(base)),
    "similarity only": lambda base: RetroAgent(trained(base), memory(ranking=Ranking("similarity"))),
    "no UCB": lambda base: RetroAgent(trained(base), memory(ranking=Ranking("utility"))),
    "a moving baseline": lambda base: RetroAgent(trained(base), memory(), capability=Capability(decay=0.9)),
    "wins that lessons made": lambda base: RetroAgent(trained(base), memory(), settings=Settings(outperform=True)),
    "step-level groups": lambda base: RetroAgent(trained(base), memory(), method=Method("gigpo")),
}


@pytest.mark.parametrize("case", ABLATIONS)
def test_every_ablation_runs(base, tmp_path, case):
    retro = ABLATIONS[case](base)
    training = made(base, tmp_path, retro, max_steps=2)
    start = weights(training.model)
    training.train()
    assert any(not torch.equal(value, start[name]) for name, value in weights(training.model).items())
    second = training.scenes[1].trajectories
    lessons = [bool(of.lesson) for of in second]
    assert lessons == [False] * 8 if case == "no memory" else any(lessons)
    assert not any(lessons[::2]), "members 0 and 2 play without"
    logged = training.state.log_history[1]
    assert ("memory/lessons" in logged) == (case != "no memory")
    if case == "whole, by the oracle":
        assert logged["reflection/phi_error"] == 0
        assert logged["reflection/malformed"] == 0


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_model_that_looks_back_at_itself(base, tmp_path, weight):
    """Nothing is scripted: a random model plays, and what it says of it is malformed, counted, and earns nothing."""
    retro = RetroAgent(trained(base, weight), memory(), oracle=Pit())
    training = made(base, tmp_path, retro, scripted=False)
    training.train()
    logged = training.state.log_history[0]
    assert logged["reflection/malformed"] == 1.0
    assert logged["reflection/phi"] == 0.0
    assert len(retro.memory) == 0
    for row in training.rows[0]:
        if row.kind is Kind.REFLECTION:
            given = logprobs(policy(base), row)
            assert torch.allclose(given, torch.tensor(row.logprobs), atol=1e-4), "the sampler's numbers are the model's"


def test_a_resumed_training_is_the_one_that_was_not_interrupted(base, tmp_path):
    def training(folder):
        retro = RetroAgent(trained(base), memory(path=tmp_path / f"{folder}.sqlite"), steps=4)
        return made(base, tmp_path / folder, retro, max_steps=4, save_strategy="steps", save_steps=2), retro

    whole, one = training("whole")
    whole.train()
    (tmp_path / "whole" / "checkpoint-4" / "whole").unlink()
    resumed, other = training("resumed")
    other.memory.add("walk 3 steps", "This was learnt after the checkpoint, and is gone with the rest.", "", "won")
    resumed.train(resume_from_checkpoint=last_checkpoint(tmp_path / "whole"))
    assert resumed.rows == whole.rows[2:]
    assert other.state() == one.state()
    for name, value in weights(whole.model).items():
        assert torch.equal(value, weights(resumed.model)[name]), name
