"""The sampler: its log-probs are the model's, and what it keeps between turns changes nothing."""

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'rollback-gym[trainer]'")

import torch
import transformers

from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Setup
from rollback_gym.trainer.generation import TransformersGenerator, _Anew, _Slots
from rollback_gym.trainer.generator import Ask
from rollback_gym.trainer.trajectory import Start
from tests.trainer import models
from tests.trainer.scripted import PLAIN, corridor

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports


@pytest.fixture(scope="module")
def tokens():
    return models.tokenizer()


@pytest.fixture(scope="module")
def chat(tokens):
    return Chat(tokens)


@pytest.fixture(scope="module")
def model(tokens):
    return models.model(tokens)


def scored(model, prompt, answer, temperature=1.0):
    """What the model gives each token of an answer, read at once."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *answer]])).logits[0, len(prompt) - 1 : -1] / temperature
    return torch.log_softmax(logits, -1)[range(len(answer)), list(answer)]


def asks(tokens, most=9):
    lines = ["[3] right", "left", "take take take\n[2] What?", "right left"]
    texts = [tokens(line, add_special_tokens=False)["input_ids"] for line in lines]
    return [Ask(tuple(ids), most + slot, slot) for slot, ids in enumerate(texts)]


@pytest.mark.parametrize("reader", [_Slots, _Anew])
@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.7, 1.0), (1.0, 0.8), (0.0, 1.0)])
def test_logprobs_are_those_of_the_model_over_turns_that_are_cut_back(model, tokens, chat, reader, temperature, top_p):
    generator = TransformersGenerator(model, chat.stops, temperature=temperature, top_p=top_p)
    generator._reader = reader(model)
    batch = asks(tokens)
    for turn in range(5):
        samples = generator.generate(batch, seed=turn)
        for ask, sample in zip(batch, samples, strict=True):
            assert 1 <= len(sample.ids) <= ask.most
            assert sample.stopped == (sample.ids[-1] in chat.stops)
            assert sample.stopped or len(sample.ids) == ask.most
            assert not chat.stops.intersection(sample.ids[:-1])
            given = scored(model, ask.ids, sample.ids, temperature or 1.0)
            assert torch.allclose(given, torch.tensor(sample.logprobs), atol=1e-4)
        told = tokens("[1] right", add_special_tokens=False)["input_ids"]
        batch = [
            # Some go on, one begins anew, one is cut back, one leaves and another comes.
            ask._replace(ids=(*ask.ids, *sample.ids, *told) if ask.slot != turn % 3 else (*ask.ids[:2], *told))
            for ask, sample in zip(batch, samples, strict=True)
            if ask.slot != 3 or turn != 1
        ]
        if turn == 3:
            batch.append(Ask(tuple(told), 5, slot=7))


def test_the_same_seed_samples_the_same_and_another_one_does_not(model, tokens, chat):
    def sampled(seed):
        return TransformersGenerator(model, chat.stops).generate(asks(tokens), seed)

    before = torch.random.get_rng_state()
    assert sampled(3) == sampled(3) != sampled(4)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_samples_are_drawn_with_the_probabilities_of_the_model(model, tokens, chat):
    ask = asks(tokens)[0]._replace(most=1)
    generator = TransformersGenerator(model, chat.stops, top_p=0.7)
    drawn = generator.generate([ask._replace(slot=slot) for slot in range(4000)], 0)
    with torch.no_grad():
        given = model(torch.tensor([ask.ids])).logits[0, -1].softmax(-1)
    ordered, order = given.sort(descending=True)
    size = int((ordered.cumsum(0) < 0.7).sum()) + 1
    likely = set(order[:size].tolist())
    counts = {token: sum(sample.ids[0] == token for sample in drawn) / 4000 for token in likely}
    assert {sample.ids[0] for sample in drawn} <= likely
    for token in likely:
        assert counts[token] == pytest.approx(float(given[token] / ordered[:size].sum()), abs=0.04)


def test_what_was_kept_is_forgotten_when_weights_change(tokens, chat):
    model = models.model(tokens)
    generator = TransformersGenerator(model, chat.stops)
    generator.generate(asks(tokens), 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.tensor([[5, 6, 7]])).logits.sum().backward()
    optimizer.step()
    batch = [ask._replace(ids=(*ask.ids, 5)) for ask in asks(tokens)]
    for ask, sample in zip(batch, generator.generate(batch, 0), strict=True):
        assert torch.allclose(scored(model, ask.ids, sample.ids), torch.tensor(sample.logprobs), atol=1e-4)


def test_a_model_is_left_in_the_mode_it_was_in_and_nothing_is_generated_of_nothing(model, tokens, chat):
    generator = TransformersGenerator(model, chat.stops)
    model.train()
    assert generator.generate([], 0) == []
    generator.generate(asks(tokens), 0)
    assert model.training
    assert generator.goes_on(True)
    assert not generator.goes_on(False)


def test_settings_are_checked(model, chat):
    with pytest.raises(ValueError, match="top_p"):
        TransformersGenerator(model, chat.stops, top_p=0)
    with pytest.raises(ValueError, match="temperature"):
        TransformersGenerator(model, chat.stops, temperature=-1)


FAMILIES = {
    "Llama": (transformers.LlamaConfig, {}, _Slots),
    "Qwen2": (transformers.Qwen2Config, {}, _Slots),
    "Gemma2": (transformers.Gemma2Config, {"sliding_window": 4, "head_dim": 8}, _Anew),
    "Mistral": (transformers.MistralConfig, {"sliding_window": 4}, _Anew),
    "GPT2": (transformers.GPT2Config, {}, _Slots),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_models_of_other_families(family, tokens, chat):
    kind, more, reader = FAMILIES[family]
    config = kind(
        vocab_size=len(tokens), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=256, pad_token_id=0, bos_token_id=None, eos_token_id=2, **more,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    generator = TransformersGenerator(model, chat.stops)
    assert isinstance(generator._reader, reader)
    batch = asks(tokens)
    for turn in range(2):
        samples = generator.generate(batch, turn)
        for ask, sample in zip(batch, samples, strict=True):
            assert torch.allclose(scored(model, ask.ids, sample.ids), torch.tensor(sample.logprobs), atol=1e-4)
        batch = [ask._replace(ids=(*ask.ids, *of.ids, 5, 6)) for ask, of in zip(batch, samples, strict=True)]


def test_a_batch_of_episodes_is_decided_by_its_seed(model, tokens, chat):
    def rows(seed):
        setup = Setup(corridor(max_turns=4), PLAIN, limits=models.LIMITS)
        generator = TransformersGenerator(model, chat.stops)
        return Collector(setup, chat).play([Start(seed=n) for n in range(3)], generator, seed).rows

    assert rows(1) == rows(1) != rows(2)


def test_a_long_text_goes_on_beside_one_that_is_all_new(model, chat):
    generator = TransformersGenerator(model, chat.stops)
    long = tuple(5 + at % 20 for at in range(240))
    generator.generate([Ask(long, 4, 0), Ask((7, 8, 9), 4, 1)], 0)
    batch = [Ask((*long, 11), 4, 0), Ask((9,) * 200, 4, 1)]
    for ask, sample in zip(batch, generator.generate(batch, 1), strict=True):
        assert sample.logprobs == pytest.approx(scored(model, ask.ids, sample.ids).tolist(), abs=1e-4)
