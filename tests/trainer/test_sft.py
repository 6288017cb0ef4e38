"""What is learned from demonstrations, and what is not."""

import re

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'rollback-gym[trainer]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'rollback-gym[trainer]'")

import torch
from transformers import TrainingArguments

from rollback_gym.play.prompts import Prompts
from rollback_gym.study import dataset
from rollback_gym.study.samples import read
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.sft import IGNORED, Padded, Texts, encoded, trainer
from rollback_gym.trainer.tiny import END, Size, tiny_model, tiny_tokenizer
from rollback_gym.trainer.trajectory import Start
from tests.trainer import models
from tests.trainer.scripted import Bytes, Told

pytestmark = pytest.mark.filterwarnings("ignore")  # of what it imports
PROMPTS = Prompts(think=False, brief=True, admissible=False, rollback=False)
OPTIONS = {"difficulty": 0.25, "max_turns": 16, "data": None}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "level-2.jsonl"
    recipe = dataset.Recipe(2, 6, options=OPTIONS, clean=0.2, prompts=PROMPTS, reasons=False)
    dataset.make(recipe, path)
    return list(read(path))


@pytest.fixture(scope="module")
def chat(samples):
    return Chat(tiny_tokenizer([m["content"] for s in samples for c in s["conversations"] for m in c]))


def trained(chat, text):
    """What is trained of a text, answer by answer."""
    said, run = [], []
    for id, is_trained in zip(text.ids, text.trained, strict=True):
        if is_trained:
            run.append(id)
        elif run:
            said.append(chat.text(tuple(run)))
            run = []
    return [*said, chat.text(tuple(run))] if run else said


def test_the_models_own_answers_are_trained_and_no_error_is(samples, chat):
    for sample in samples:
        told = [action for c in sample["conversations"] for action in trained(chat, encoded(chat, c))]
        injected = {turn["content"] for turn in sample["trace"] if turn["turn"] in sample["injected"]}
        taught = [turn["content"] for turn in sample["trace"] if turn["turn"] not in sample["injected"]]
        # Every action that was not put in on purpose is trained exactly once, in its order, its end included.
        assert told == [f"<action>{action}</action>" for action in taught]
        assert sample["form"] == 0 or injected
    assert any(sample["injected"] for sample in samples)


def test_what_is_told_may_be_foreseen_but_never_an_error(samples, chat):
    for sample in samples:
        for conversation in sample["conversations"]:
            text = encoded(chat, conversation, told=True)
            assert text.ids == encoded(chat, conversation).ids
            left = [id for id, is_trained in zip(text.ids, text.trained, strict=True) if not is_trained]
            kept_out = [m["content"] for m in conversation if m["role"] == "assistant" and not m["train"]]
            assert chat.tokenizer.decode(left) == "".join(f"{said}{END}" for said in kept_out)


def test_reasons_can_be_left_out(samples):
    back = [turn["content"] for sample in samples for turn in sample["trace"] if turn["action"] == "rollback"]
    assert back
    assert all(re.fullmatch(r"rollback\(\d+\)", action) for action in back)


def test_nothing_that_is_not_trained_has_a_gradient(samples, chat):
    # Other labels where none are trained change nothing; and the loss is the mean over what is trained.
    text = encoded(chat, samples[0]["conversations"][0])
    model = tiny_model(chat.tokenizer, Size(16, 1, 2, 32, 1024))
    batch = Padded(chat.tokenizer.pad_token_id)([{"input_ids": text.ids, "labels": text.labels}])
    loss = model(**batch).loss
    logprobs = torch.log_softmax(model(batch["input_ids"]).logits[0, :-1], -1)
    wanted = [-logprobs[place - 1, id] for place, (id, is_trained) in enumerate(zip(*text, strict=True)) if is_trained]
    assert float(loss) == pytest.approx(float(torch.stack(wanted).mean()), rel=1e-5)


def test_padding_is_no_text():
    batch = Padded(9)([{"input_ids": (1, 2, 3), "labels": (IGNORED, 2, 3)}, {"input_ids": (4,), "labels": (4,)}])
    assert batch["input_ids"].tolist() == [[1, 2, 3], [4, 9, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [[IGNORED, 2, 3], [4, IGNORED, IGNORED]]


def test_a_demonstration_is_written_as_it_would_be_played(samples):
    """Token by token what a model reads and says that plays the demonstration itself."""
    chat = Chat(Bytes())
    for sample in samples:
        made = dataset.Recipe(2, 1, options=OPTIONS, prompts=PROMPTS).setting.env
        answers = [f"<action>{turn['content']}</action>" for turn in sample["trace"]]
        told = Told(chat, answers)
        setup = Setup(made, PROMPTS, limits=Limits(200, 20_000))
        played = Collector(setup, chat).play([Start(options={"level": sample["task_id"]})], told, 0)
        assert played.trajectories[0].won
        texts = [encoded(chat, conversation) for conversation in sample["conversations"]]
        assert [(*row.prompt, *row.completion) for row in played.rows] == [text.ids for text in texts]


@pytest.mark.parametrize(
    "roles", [["user"], ["assistant", "assistant"], ["user", "assistant", "user"], ["user", "assistant", "assistant"]]
)
def test_messages_take_turns(roles):
    with pytest.raises(ValueError, match="must take turns"):
        encoded(Chat(Bytes()), [{"role": role, "content": "x", "train": True} for role in roles])


def test_other_tokens_are_trained_in_the_first_epochs(samples, chat, tmp_path):
    models.quiet()
    conversations = [conversation for sample in samples for conversation in sample["conversations"]][:4]
    seen = []

    class Noting(Padded):
        def __call__(self, batch):
            made = super().__call__(batch)
            seen.append(int((made["labels"] != IGNORED).sum()))
            return made

    texts = [encoded(chat, of) for of in conversations]
    first = [encoded(chat, of, told=True) for of in conversations]
    arguments = TrainingArguments(
        str(tmp_path), num_train_epochs=4, per_device_train_batch_size=4, report_to="none", use_cpu=True,
        disable_tqdm=True, save_strategy="no", remove_unused_columns=False, eval_strategy="no",
    )  # fmt: skip
    model = tiny_model(chat.tokenizer, Size(16, 1, 2, 32, 1024))
    made = trainer(model, Texts(texts, first, 2), chat.tokenizer.pad_token_id, arguments)
    made.data_collator = Noting(chat.tokenizer.pad_token_id)
    made.train()
    few, many = (sum(map(sum, (text.trained for text in of))) for of in (texts, first))
    assert seen == [many, many, few, few]


def test_a_few_steps_bring_the_loss_down(samples, chat, tmp_path):
    models.quiet()
    model = tiny_model(chat.tokenizer, Size(32, 2, 2, 64, 1024))
    texts = [encoded(chat, conversation) for sample in samples for conversation in sample["conversations"]]
    arguments = TrainingArguments(
        str(tmp_path), max_steps=12, per_device_train_batch_size=4, learning_rate=1e-2, report_to="none",
        use_cpu=True, disable_tqdm=True, logging_steps=1, save_strategy="no", remove_unused_columns=False,
    )  # fmt: skip
    made = trainer(model, Texts(texts), chat.tokenizer.pad_token_id, arguments)
    made.train()
    losses = [line["loss"] for line in made.state.log_history if "loss" in line]
    assert losses[-1] < 0.8 * losses[0]
