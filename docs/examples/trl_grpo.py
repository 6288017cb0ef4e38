"""Train a policy with TRL's own GRPOTrainer, by tool calls: it acts, and it goes back.

    pip install 'trl>=1.16,<1.17'
    python trl_grpo.py 20

So that it runs anywhere, offline, in a minute, the model is a tiny one with random weights that can say six things: a
step in each direction, going back to the start, and nothing. For a real one, say `model="Qwen/Qwen3-0.6B"`, and leave
out `processing_class` and `generation_kwargs`.
"""

import json
import sys
from typing import Any

import torch
from datasets import Dataset
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from rollback_gym.doors.trl import environment_factory, episode_return, rows, won

CALLS = [("act", {"action": way}) for way in ("up", "down", "left", "right")] + [("rollback", {"index": 0})]


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Bytes, and every call as one token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    calls = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in CALLS]
    tokenizer.add_tokens([AddedToken(f"<tool_call>\n{call}\n</tool_call>", normalized=False) for call in calls])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=qwen3_chat_template,
    )


def tiny_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """A Qwen3 of about a hundred thousand weights."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=16384,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen3ForCausalLM(config)


def train(steps: int, folder: str) -> GRPOTrainer:
    """A trainer that has made so many updates."""
    tokenizer = tiny_tokenizer()
    spoken = {*range(len(tokenizer) - len(CALLS), len(tokenizer)), tokenizer.eos_token_id}
    silent: dict[str, Any] = {"suppress_tokens": [token for token in range(len(tokenizer)) if token not in spoken]}
    trainer = GRPOTrainer(
        model=tiny_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=[won, episode_return],
        train_dataset=Dataset.from_list(rows(seeds=range(64))),
        environment_factory=environment_factory("Rollback-Sokoban-v0", boxes=1, max_turns=6),
        args=GRPOConfig(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=4096,
            max_tool_calling_iterations=6,
            learning_rate=1e-3,
            generation_kwargs=silent,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
        ),
    )
    trainer.train()
    return trainer


if __name__ == "__main__":
    log = train(int(sys.argv[1]) if len(sys.argv) > 1 else 3, "trl-run").state.log_history
    for line in log[:-1]:
        print({name: line[name] for name in ("reward", "tools/call_frequency", "tools/failure_frequency", "grad_norm")})
