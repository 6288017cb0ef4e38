"""The tiny model's tokenizer: what it writes it reads, and answers alone are trained."""

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'rollback-gym[trainer]'")

import torch
from transformers import AutoTokenizer

from rollback_gym.play.prompts import Prompts
from rollback_gym.play.records import Made
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.tiny import END, UNKNOWN, Size, texts_of, tiny_model, tiny_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
WORLDS = {
    "Rollback-ALFWorld-v0": {"difficulty": 0.25, "max_turns": 8},
    "Rollback-Sokoban-v0": {"max_turns": 8},
    "Rollback-MineSweeper-v0": {"max_turns": 8},
    "Rollback-WebShop-v0": {"max_turns": 8},
}
PROMPTS = Prompts(think=False)


@pytest.fixture(scope="module", params=[(id, phrases) for id in WORLDS for phrases in (False, True)], ids=str)
def world(request):
    id, phrases = request.param
    texts = list(texts_of(Made(id, WORLDS[id]), 6, PROMPTS))
    return texts, tiny_tokenizer(texts, phrases=phrases)


def test_what_was_seen_is_read_and_written_word_for_word(world):
    texts, tokens = world
    chat = Chat(tokens)
    assert len(set(texts)) > 10
    for text in texts:
        ids = chat.answer(text)
        assert tokens.unk_token_id not in ids
        assert chat.text(ids) == text
        assert list(ids[:-1]) == tokens(text, add_special_tokens=False)["input_ids"]


def test_texts_are_much_shorter_than_their_letters(world):
    texts, tokens = world
    letters = sum(map(len, texts))
    assert sum(len(tokens(text)["input_ids"]) for text in texts) < letters / 2


def test_things_have_one_token_with_their_number():
    tokens = tiny_tokenizer(["go to drawer 1", "take mug 12 from drawer 2", "mug 1", "there are 30 turns"])
    assert tokens.tokenize("mug 2 drawer 1") == ["mug 2", " drawer 1"]
    assert tokens.tokenize("drawer 11") == ["drawer", " 11"], "of drawers there are two"
    assert tokens.tokenize("are 30") == ["are", " 30"], "what is not numbered from 1 on is no thing"
    assert UNKNOWN in tokens.decode(tokens("a zebra")["input_ids"])


def test_what_stands_between_names_and_numbers_is_one_token():
    often = [f"[{at}] You arrive at drawer {at}.\n####\n#.#\n" for at in range(30)]
    tokens = tiny_tokenizer([*often, "You arrive at dawn", "a mug 1"], things=False, phrases=True)
    assert tokens.tokenize("[7] You arrive at drawer 2.") == ["[", "7", "] You arrive at", " drawer", " 2", "."]
    assert tokens.tokenize("You arrive at dawn") == ["You", " arrive", " at", " dawn"], "once is not often"
    assert tokens.tokenize("] You arrive attic")[:2] == ["]", " You"], "a phrase ends where a word does"
    assert tokens.tokenize(".\n####")[:3] == [".", "\n", "#"], "a picture is no phrase"


@pytest.mark.parametrize("phrases", [False, True])
@pytest.mark.parametrize("things", [False, True])
def test_no_alphabet_is_foreign(things, phrases):
    texts = ["cafe\u0301 1 au lait 2\u00bd", "\u0938\u094d\u0935 \u0664\u0665", "mug " + "9" * 5000, "\u216b\u203f"] * 2
    tokens = tiny_tokenizer(texts, things=things, phrases=phrases)
    for text in texts:
        ids = tokens(text, add_special_tokens=False)["input_ids"]
        assert tokens.unk_token_id not in ids
        assert tokens.decode(ids) == text


def test_phrases_make_texts_shorter():
    texts = list(texts_of(Made("Rollback-ALFWorld-v0", WORLDS["Rollback-ALFWorld-v0"]), 6, PROMPTS))
    short, long = (
        sum(map(len, tokens(texts, add_special_tokens=False)["input_ids"]))
        for tokens in (tiny_tokenizer(texts, things=False, phrases=phrases) for phrases in (True, False))
    )
    assert short < 0.8 * long


def test_answers_alone_are_trained(world, tmp_path):
    _, tokens = world
    tokens.save_pretrained(tmp_path)
    tokens = AutoTokenizer.from_pretrained(tmp_path)
    said = [
        {"role": "user", "content": "[0]"},
        {"role": "assistant", "content": "<action>0</action>"},
        {"role": "user", "content": "[1]"},
        {"role": "assistant", "content": "<action>1</action>"},
    ]
    given = tokens.apply_chat_template(said, return_assistant_tokens_mask=True, return_dict=True, tokenize=True)
    trained = [token for token, on in zip(given["input_ids"], given["assistant_masks"], strict=True) if on]
    assert tokens.decode(trained) == f"<action>0</action>{END}<action>1</action>{END}"
    assert tokens.padding_side == "left"


def test_a_dialogue_is_what_the_template_writes(world):
    _, tokens = world
    chat = Chat(tokens)
    first, answer, then = "[0] 1", "<action>0</action>", "[1] 2"
    ids = (*chat.opening([{"role": "user", "content": first}]), *chat.answer(answer))
    ids = (*ids, *chat.reply(then, ids[-1]))
    roles = [("user", first), ("assistant", answer), ("user", then)]
    assert ids == chat.opening([{"role": role, "content": content} for role, content in roles])


def test_models_are_made_by_their_seed():
    tokens = tiny_tokenizer(["a b c"])
    before = torch.random.get_rng_state()
    one, same, other = (tiny_model(tokens, Size(hidden=32, layers=1, heads=2), seed) for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.get_input_embeddings().weight, other.get_input_embeddings().weight)
    assert 100_000 < tiny_model(tiny_tokenizer([f"w{'x' * n}" for n in range(90)])).num_parameters() < 300_000
