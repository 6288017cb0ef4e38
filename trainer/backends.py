"""What samples the answers that are learned from, as a config names it. Nothing here imports torch or vLLM."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, Literal
from urllib.error import URLError
from urllib.request import urlopen

from rollback_gym.core.errors import ConfigError, MissingExtra
from rollback_gym.trainer.checking import Count, Within, check_url

Backend = Literal["transformers", "vllm_colocate", "vllm_server"]

INSTALL = "pip install 'vllm>=0.22,<0.32'"
"""What TRL 1.16 works with."""
_SERVE = (
    """VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --weight-transfer-config '{"backend": "nccl"}' """
    "--logprobs-mode processed_logprobs --max-logprobs -1"
)
_WAIT = 10.0


@dataclass(frozen=True)
class Generation:
    """What samples the episodes that are learned from. What is evaluated is sampled by transformers, always."""

    backend: Backend = "transformers"
    """`vllm_colocate`: vLLM in the trainer's processes, on their GPUs. `vllm_server`: vLLM on GPUs of its own."""
    memory: Annotated[float, Within(0, 1, above=True)] = 0.3
    """The share of a GPU's memory that vLLM takes (TRL's default); only `vllm_colocate` has it, as the next two."""
    gpus: Count = 1
    """How many GPUs a model is spread over."""
    sleep: bool = False
    """Whether vLLM leaves its memory to the trainer while that updates."""
    url: str | None = None
    """Where the server is, such as http://localhost:8000; only `vllm_server` has it."""


def check(generation: Generation) -> None:
    """Raise ConfigError where settings do not go together."""
    if generation.backend == "vllm_server":
        check_url("generation.url", generation.url, "http://localhost:8000")
    elif generation.url is not None:
        raise ConfigError(f"generation.url is for backend vllm_server, and the backend is {generation.backend}.")


def check_there(generation: Generation) -> None:
    """Make sure that the backend can be used here, before anything is loaded.

    Raises:
        MissingExtra: if vLLM is asked for and not installed.
        ConfigError: if no server answers.
    """
    if generation.backend == "transformers":
        return
    needed = ("vllm", "requests") if generation.backend == "vllm_server" else ("vllm",)
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"generation.backend={generation.backend} needs {' and '.join(missing)}: {INSTALL}. "
            "Or choose generation.backend=transformers."
        )
    if generation.backend == "vllm_server":
        try:
            with urlopen(f"{str(generation.url).rstrip('/')}/health", timeout=_WAIT):
                pass
        except (URLError, OSError, ValueError) as error:
            why = getattr(error, "reason", error)
            raise ConfigError(f"No vLLM server answers at {generation.url} ({why}). Start one: {_SERVE}.") from None


def arguments(generation: Generation, answer: int, text: int) -> dict[str, Any]:
    """What TRL is told of it.

    Args:
        generation: The backend.
        answer: Tokens of an answer, at most.
        text: Tokens of all that is read and written at once, at most.
    """
    if generation.backend == "transformers":
        return {}
    shared = {
        "use_vllm": True,
        "max_completion_length": answer,
        # Over a row of thousands of tokens a ratio says nothing; TRL's default masks whole rows by it.
        "vllm_importance_sampling_mode": "token_truncate",
    }
    if generation.backend == "vllm_server":
        return {**shared, "vllm_mode": "server", "vllm_server_base_url": generation.url}
    return {
        **shared,
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": generation.memory,
        "vllm_tensor_parallel_size": generation.gpus,
        "vllm_enable_sleep_mode": generation.sleep,
        "vllm_max_model_length": text,
    }
