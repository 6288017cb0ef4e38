"""Answers from vLLM, in the trainer's process or on a server, as TRL holds it.

The other file that calls what TRL does not promise to keep. Two things differ from how TRL uses vLLM: an episode asks
many times between two updates, so a sleeping engine is woken once a rollout and not once a turn; and with a server,
generation is collective, so every process asks equally often and for equally many answers.
"""

from collections.abc import Sequence
from typing import Any

from accelerate.utils import gather_object

from rollback_gym.trainer.generator import Ask, Sample


class VLLMGenerator:
    """Samples from the vLLM engine of a trainer. vLLM draws from random states of its own: seeds are not heeded.

    Args:
        trainer: A GRPOTrainer with `use_vllm`.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._vllm = trainer.vllm_generation
        self._collective = self._vllm.mode == "server" or self._vllm.tensor_parallel_size > 1
        self._stops = trainer.plan.collector.chat.stops
        self._vllm.generation_kwargs = {**self._vllm.generation_kwargs, "stop_token_ids": sorted(self._stops)}
        self._sleeps = self._vllm.mode == "colocate" and self._vllm.enable_sleep_mode

    def __enter__(self) -> "VLLMGenerator":
        """Bring the policy's weights in, and keep them until the end."""
        trainer, vllm = self._trainer, self._vllm
        step = trainer.state.global_step
        if self._sleeps or step != trainer._last_loaded_step:
            vllm.sync_weights()
            trainer._last_loaded_step = step
        if self._sleeps:
            vllm.enable_sleep_mode = False
            vllm.llm.wake_up(tags=["kv_cache"])
        return self

    def __exit__(self, *_: object) -> None:
        """Let the engine sleep, if it does."""
        if self._sleeps:
            self._vllm.enable_sleep_mode = True
            self._vllm.llm.sleep(level=2)
            self._vllm._llm_weights_sleeping = True

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        """See `Generator.generate`."""
        prompts = [list(ask.ids) for ask in asks]
        most = max((ask.most for ask in asks), default=1)
        if self._collective:
            counts = gather_object([(len(prompts), most)])
            most = max(each for _, each in counts)
            prompts += [[self._trainer._tokenizer.eos_token_id]] * (max(count for count, _ in counts) - len(prompts))
        if not prompts:
            return []
        self._vllm.max_completion_length = most
        _, ids, logprobs, _ = self._vllm.generate(prompts=prompts, images=None, num_generations=1)
        samples = []
        for ask, said, given in zip(asks, ids, logprobs, strict=False):
            kept = tuple(said[: ask.most])
            samples.append(Sample(kept, tuple(token[0] for token in given[: ask.most]), kept[-1] in self._stops))
        return samples

    def goes_on(self, wanted: bool) -> bool:
        """See `Generator.goes_on`."""
        return any(gather_object([wanted])) if self._collective else wanted
