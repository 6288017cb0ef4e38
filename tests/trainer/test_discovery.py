"""Adapting at test time: what is counted, and that lessons are what makes the difference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym.trainer.collector import Collector, Setup
from rollback_gym.trainer.discovery import Adaptation, adapt, discovery, success
from rollback_gym.trainer.encoders import HashingEncoder
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.reflectors import ModelReflector, OracleReflector
from rollback_gym.trainer.retroagent import RetroAgent
from rollback_gym.trainer.trajectory import Start
from tests.trainer.retro import CHAT, LIMITS, Pit, mirror, said
from tests.trainer.scripted import PLAIN, act, corridor

LESSON = "Walk to the right."
STARTS = [Start(options={"level": level}) for level in (3, 4, 5)]
TABLE = st.integers(1, 5).flatmap(
    lambda k: st.lists(st.lists(st.booleans(), min_size=k, max_size=k), min_size=1, max_size=9)
)


@given(TABLE)
def test_discovery_only_grows_and_begins_with_the_first_success(won):
    found, each = discovery(won), success(won)
    values = [of.value for of in found]
    assert values == sorted(values)
    assert values[0] == each[0].value
    assert all(one.value >= other.value for one, other in zip(found, each, strict=True))
    assert values[-1] == pytest.approx(sum(map(any, won)) / len(won))
    for of in (*found, *each):
        assert of.size == len(won)
        assert of.low is None or of.low <= of.value <= of.high


def test_what_is_counted():
    won = [(False, True, False), (False, False, False), (True, False, True), (False, False, True)]
    assert [of.value for of in discovery(won)] == [0.25, 0.5, 0.75]
    assert [of.value for of in success(won)] == [0.25, 0.25, 0.5]
    for bad in ([], [(True,), (True, False)], [()]):
        with pytest.raises(ValueError, match="attempts"):
            discovery(bad)


def obeying(number, text):
    """Walks to the right where a lesson says so, else falls."""
    return act("right" if LESSON in text else "left")


def adapted(agent, attempts=3, **options):
    setup = Setup(corridor(max_turns=6), PLAIN)
    lesson = options.pop("lesson", LESSON)
    model = mirror(reflect=lambda text: said(lesson=lesson), play=obeying)
    return adapt(Collector(setup, CHAT), agent, options.pop("starts", STARTS), model, attempts, 0)


def agent(memory=True):
    return RetroAgent(ModelReflector(CHAT, LIMITS), Memory(HashingEncoder(64)) if memory else None)


def test_lessons_make_the_difference():
    found = adapted(agent())
    assert found.won == ((False, True, True),) * 3
    assert found.phi == ((0.5, 1.0, 1.0),) * 3
    assert found.lessons[0] >= 1
    assert [of.value for of in discovery(found.won)] == [0.0, 1.0, 1.0]
    without = adapted(agent(memory=False))
    assert without.won == ((False,) * 3,) * 3
    assert without.lessons == (0, 0, 0)
    useless = adapted(agent(), lesson="Never look back.")
    assert useless.won == ((False,) * 3,) * 3


def test_lessons_are_judged_by_the_attempts_that_were_given_them():
    one = agent()
    adapted(one, attempts=4, starts=STARTS[:1])
    (lesson,) = one.memory.lessons()
    assert lesson.text == LESSON
    assert lesson.uses > 3
    assert lesson.utility > 0.5


def test_it_is_decided_by_its_seed_and_an_oracle_may_look_back():
    def run(seed):
        oracle = RetroAgent(OracleReflector(Pit()), Memory(HashingEncoder(64)))
        return adapt(Collector(Setup(corridor(max_turns=6), PLAIN), CHAT), oracle, STARTS, mirror(), 2, seed)

    assert isinstance(run(1), Adaptation)
    assert run(1) == run(1)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="At least one"):
        adapted(agent(), attempts=0)
    with pytest.raises(ValueError, match="At least one"):
        adapted(agent(), starts=[])


def test_weights_stay_as_they_are():
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
    pytest.importorskip("transformers", reason="needs transformers: pip install 'rollback-gym[trainer]'")
    from rollback_gym.trainer.chat import Chat
    from rollback_gym.trainer.collector import Limits
    from rollback_gym.trainer.generation import TransformersGenerator
    from tests.trainer import models

    tokens = models.tokenizer()
    chat, model = Chat(tokens), models.model(tokens)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    one = RetroAgent(ModelReflector(chat, Limits(20, 1900)), Memory(HashingEncoder(64)))
    collector = Collector(Setup(corridor(max_turns=3), PLAIN, limits=models.LIMITS), chat)
    found = adapt(collector, one, STARTS, TransformersGenerator(model, chat.stops), 2, 0)
    assert len(found.won) == 3
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
