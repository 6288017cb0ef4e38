"""The local model policy, with a tiny model of random weights."""

import gymnasium as gym
import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'rollback-gym[trainer]'")

import tokenizers
import torch
import transformers

from rollback_gym.core.errors import PolicyError, RunStopped
from rollback_gym.play.playing import play
from rollback_gym.play.policies import make_policy, remake_policy
from rollback_gym.play.records import Made, line, parse, timeless

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
MADE = Made("Rollback-Sokoban-v0", {"max_turns": 3})
TEMPLATE = "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }}\n{% endfor %}assistant:"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that speaks bytes."""
    where = str(tmp_path_factory.mktemp("tiny"))
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    inner = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<eos>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(where)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=8192, eos_token_id=tokenizer.eos_token_id, bos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(where)
    return where


def played(policy, id="0-0"):
    env = gym.make(MADE.id, disable_env_checker=True, **MADE.kwargs)
    return play(env, policy, id=id, made=MADE, seed=0)


def test_an_episode_by_chance(folder):
    policy = make_policy("local", model=folder, max_tokens=8, device="cpu")
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    episode = played(policy)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert parse(line(episode)) == episode
    assert timeless(played(remake_policy(episode.policy))) == timeless(episode)
    assert len({act.call.text for act in episode.acts}) == 3
    assert episode.acts[0].call.text != played(policy, "0-1").acts[0].call.text
    usage = episode.acts[0].call.usage
    assert usage["finish_reason"] in ("length", "stop")
    assert 1 <= usage["completion_tokens"] <= 8 < usage["prompt_tokens"]


def test_the_likeliest_answer(folder):
    policy = make_policy("local", model=folder, max_tokens=4, temperature=0, device="cpu")
    assert [act.call.text for act in played(policy).acts] == [act.call.text for act in played(policy, "0-1").acts]


def test_a_dialogue_that_is_too_long(folder):
    with pytest.raises(PolicyError, match="Set window"):
        played(make_policy("local", model=folder, max_tokens=8192, device="cpu"))


def test_mistakes_are_told(tmp_path):
    with pytest.raises(RunStopped, match="no model at"):
        played(make_policy("local", model=str(tmp_path)))
    with pytest.raises(ValueError, match="top_p"):
        make_policy("local", model=str(tmp_path), top_p=0)
