"""A policy that runs a Hugging Face model in its own process.

It knows nothing of training. For many episodes at once serve the model with vLLM, and use the policy `endpoint`.
"""

import os
from typing import Any

from rollback_gym.core.errors import MissingExtra, PolicyError, RunStopped
from rollback_gym.play.models import Answer, ModelPolicy
from rollback_gym.play.prompts import Messages


class LocalPolicy(ModelPolicy):
    """A causal language model with a chat template, from a folder or the Hugging Face hub.

    Args:
        model: What `from_pretrained` takes.
        device: Where it runs; by default a GPU where there is one.
        dtype: Its numbers: `auto` as they are stored, or `float32`, `bfloat16` ...
        temperature: 0 takes the likeliest token each time.
        top_p: Sample only from the likeliest tokens that have this probability together.
        max_tokens: How long an answer may be.
        asking: See `ModelPolicy`.
    """

    def __init__(
        self,
        model: str,
        *,
        device: str | None = None,
        dtype: str = "auto",
        temperature: float = 1.0,
        top_p: float = 1.0,
        max_tokens: int = 512,
        **asking: Any,
    ) -> None:
        self._settings = {
            "model": os.fspath(model),
            "device": device,
            "dtype": dtype,
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
        }
        super().__init__("local", LocalChat(os.fspath(model), device, dtype, temperature, top_p, max_tokens), asking)

    def settings(self) -> dict[str, Any]:
        """See `Policy.settings`."""
        return {**self._settings, **super().settings()}


class LocalChat:
    """A model in this process, loaded when it is first asked; the arguments are those of `LocalPolicy`."""

    def __init__(
        self, model: str, device: str | None, dtype: str, temperature: float, top_p: float, max_tokens: int
    ) -> None:
        if temperature < 0 or not 0 < top_p <= 1 or max_tokens < 1:
            raise ValueError(
                f"temperature must be at least 0, top_p above 0 and at most 1, and max_tokens at least 1; got "
                f"{temperature!r}, {top_p!r} and {max_tokens!r}."
            )
        self._name, self._device, self._dtype = model, device, dtype
        self._temperature, self._top_p, self._max_tokens = temperature, top_p, max_tokens
        self._loaded: tuple[Any, Any] | None = None

    def answer(self, messages: Messages, seed: int) -> Answer:
        """See `Chat.answer`. Raises PolicyError where the dialogue is longer than the model can read.

        Raises RunStopped where there is no such model.
        """
        tokenizer, model = self._loaded or self._load()
        import torch

        tokens = tokenizer.apply_chat_template(
            list(messages), add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).to(model.device)
        length = tokens["input_ids"].shape[1]
        most = getattr(model.config, "max_position_embeddings", None)
        if most is not None and length + self._max_tokens > most:
            raise PolicyError(
                f"The dialogue has {length} tokens, and an answer may have {self._max_tokens}: more than the "
                f"{most} that {self._name} can read. Set window, or max_tokens."
            )
        sampling = self._temperature > 0
        how = {"temperature": self._temperature, "top_p": self._top_p, "top_k": 0} if sampling else {}
        # Generation draws from torch's global generators: seeded here, and put back as they were.
        devices = [model.device] if model.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), torch.inference_mode():
            torch.manual_seed(seed)
            output = model.generate(
                **tokens,
                do_sample=sampling,
                max_new_tokens=self._max_tokens,
                pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
                **how,
            )
        said = output[0, length:]  # (T,)
        text = tokenizer.decode(said, skip_special_tokens=True)
        reason = "length" if len(said) >= self._max_tokens else "stop"
        return Answer(text, {"finish_reason": reason, "prompt_tokens": length, "completion_tokens": len(said)})

    def _load(self) -> tuple[Any, Any]:
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise MissingExtra("Local models need torch: pip install 'rollback-gym[trainer]'.") from error
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._name)
            model = AutoModelForCausalLM.from_pretrained(self._name, dtype=self._dtype)
        except (OSError, ValueError) as error:
            raise RunStopped(f"There is no model at {self._name!r} that can be loaded: {error}") from error
        if tokenizer.chat_template is None:
            raise RunStopped(f"The tokenizer of {self._name!r} has no chat template. Choose a model made for chat.")
        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._loaded = tokenizer, model.to(device).eval()
        return self._loaded
