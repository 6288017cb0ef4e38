"""Messages as tokens, in the frames of several templates."""

import pytest

from rollback_gym.trainer.chat import Chat
from tests.trainer.scripted import Bytes


class Stripping(Bytes):
    """Leaves out what earlier answers thought, as Qwen3's template does."""

    def apply_chat_template(self, messages, tokenize, add_generation_prompt, enable_thinking=True):
        last = max(n for n, of in enumerate(messages) if of["role"] == "user")
        kept = [
            {**of, "content": of["content"].rpartition("</think>")[2]} if of["role"] == "assistant" and n < last else of
            for n, of in enumerate(messages)
        ]
        text = super().apply_chat_template(kept, tokenize, add_generation_prompt)
        return text if enable_thinking else text + "<think></think>"


class Plain(Bytes):
    """Ends an answer by a line break, and no mark of its own."""

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        return "".join(f"{of['role']}: {of['content']}\n" for of in messages) + "assistant: "


class Mute(Bytes):
    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        return "".join(of["content"].lower() for of in messages)


def user(*contents):
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": content} for n, content in enumerate(contents)]


@pytest.mark.parametrize("tokens", [Bytes(), Plain()])
def test_a_dialogue_that_grows_is_what_the_template_writes(tokens):
    chat = Chat(tokens)
    ids = (*chat.opening(user("a")), *chat.answer("b"))
    if isinstance(tokens, Plain):
        ids = ids[:-1]  # the template writes no end
    assert (*ids, *chat.reply("c\nd", ids[-1])) == chat.opening(user("a", "b", "c\nd"))


def test_thoughts_stay_where_a_template_would_leave_them_out():
    chat = Chat(Stripping())
    ids = (*chat.opening(user("a")), *chat.answer("<think>t</think>b"))
    grown = Bytes().decode((*ids, *chat.reply("c", ids[-1])))
    assert "<think>t</think>b<|im_end|>\n<|im_start|>user\nc<|im_end|>" in grown
    assert "<think>t" not in Bytes().decode(chat.opening(user("a", "<think>t</think>b", "c")))


def test_options_reach_the_template_in_every_turn():
    chat = Chat(Stripping(), {"enable_thinking": False})
    assert Bytes().decode(chat.opening(user("a"))).endswith("assistant\n<think></think>")
    assert Bytes().decode(chat.reply("c", chat.end)).endswith("assistant\n<think></think>")


def test_an_answer_that_was_cut_off_is_ended_and_one_that_was_not_is_not_ended_twice():
    chat = Chat(Bytes())
    assert chat.end == 257
    assert chat.reply("c", last=ord("x"))[0] == chat.end
    assert chat.reply("c", last=chat.end) == chat.reply("c", last=ord("x"))[1:]


def test_the_text_of_an_answer_is_without_its_end():
    chat = Chat(Bytes())
    assert chat.text(chat.answer("é <|im_start|> x")) == "é <|im_start|> x"
    assert chat.text(chat.answer("cut")[:-2]) == "cu"
    assert chat.text(()) == ""


def test_tokenizers_that_no_dialogue_can_be_told_with():
    nameless = Bytes()
    nameless.chat_template = None
    with pytest.raises(ValueError, match="chat template"):
        Chat(nameless)
    with pytest.raises(ValueError, match="token by token"):
        Chat(Mute())
