"""A RetroAgent training in one folder, which the same call goes on with.

OUT/config.json     what was asked for; another config is refused
OUT/lessons.sqlite  the memory; a run that has no checkpoint yet begins with an empty one
OUT/checkpoint-N    to go on from
OUT/log.jsonl       what was measured, a step a line
OUT/model/          the model, when it is done
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig

from rollback_gym.core.errors import MissingExtra, RunMismatch, RunStopped
from rollback_gym.core.files import write_whole
from rollback_gym.oracles import for_env
from rollback_gym.play.run import make_env
from rollback_gym.registration import levels as levels_of
from rollback_gym.trainer import collector as collecting
from rollback_gym.trainer.backends import INSTALL
from rollback_gym.trainer.capability import Capability
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Setup
from rollback_gym.trainer.encoders import encoder
from rollback_gym.trainer.feedback import Event, penalised, scaled
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.parts import check_there, loaded, lora, merged, method_of, rewarded
from rollback_gym.trainer.reflectors import ModelReflector, OracleReflector, Reflecting
from rollback_gym.trainer.retro_config import RetroConfig
from rollback_gym.trainer.retroagent import RetroAgent, Settings, alone
from rollback_gym.trainer.rewards import environment_rewards
from rollback_gym.trainer.scene import Seeds
from rollback_gym.trainer.update import Plan, RollbackTrainer, check, last_checkpoint

Tell = Callable[[dict[str, float]], None]
_WIDE = ("data", "split", "task_types", "difficulty", "preset", "products", "goals")
"""Options that decide which levels there are."""


def train(config: RetroConfig, out: Path, tell: Tell = lambda line: None) -> None:
    """Do what is left of a run.

    Raises:
        RunMismatch: if the folder holds a run by another config.
        RunStopped: if there is no such model, or it reads less than it is to look back at.
        MissingExtra: if vLLM, the encoder, or what metrics go to is not installed.
        MemoryInUse: if another run writes to its memory.
    """
    check_there(config)
    _check_sampler(config)
    out.mkdir(parents=True, exist_ok=True)
    _claim(config, out)
    if (out / "model").exists():
        return
    assert config.model.path is not None  # `check`
    model, chat = loaded(config, config.model.path)
    _check_reads(config, model)
    arguments = arguments_of(config, out)
    agent = agent_of(config, chat, out / "lessons.sqlite" if arguments.process_index == 0 else None)
    checkpoint = last_checkpoint(out)
    if checkpoint is None and agent.memory is not None:
        agent.memory.clear()  # what a run learnt that died before its first checkpoint
    plan = Plan(
        collector_of(config, chat, agent),
        Seeds(levels=levels(config)),
        penalised(scaled(environment_rewards, config.reward.environment), config.reward.penalty),
        method_of(config.rl),
        extending=agent,
        parts={"retroagent": agent},
    )
    logging = _Logging(out / "log.jsonl", tell, arguments.process_index == 0)
    trainer = RollbackTrainer(
        model, plan, arguments, processing_class=chat.tokenizer, callbacks=[logging], peft_config=lora(config)
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=checkpoint)
    trained = merged(trainer.model)
    if arguments.process_index == 0:
        draft = out / f".model.{os.getpid()}"
        trained.save_pretrained(draft)
        chat.tokenizer.save_pretrained(draft)
        draft.replace(out / "model")
        if agent.memory is not None:
            agent.memory.close()


def dry_run(config: RetroConfig) -> dict[str, Any]:
    """Check all that can be checked without the model: the environment, its oracle, the encoder, TRL's arguments.

    Returns what a step would be made of. Raises what `train` would, but that it only says whether vLLM is there.
    """
    arguments = arguments_of(config, Path("nowhere"))
    check(method_of(config.rl), arguments)
    env, pool = make_env(config.made), levels(config)
    env.reset(seed=0, options={"level": pool[0]})
    base: Any = env.unwrapped
    found = encoder(config.lessons.encoder).name if config.lessons.on else "none"
    try:
        _check_sampler(config)
        there = ""
    except MissingExtra as error:
        there = f" (not here: {error})"
    return {
        "model": config.model.path,
        "levels": len(pool),
        "turns": base.max_turns,
        "L of the first level": for_env(env).distance(base.level, base.state),
        "encoder": found,
        "episodes a step": config.rl.groups * config.rl.group,
        "episodes a process and micro-batch": arguments.per_device_train_batch_size,
        "steps": config.rl.steps,
        "sampled by": f"{'vLLM' if config.vllm else 'transformers'}{there}",
        "looking back": config.looking.source,
    }


# --- Parts ------------------------------------------------------------------------------------------------------------


def levels(config: RetroConfig) -> list[str]:
    """The levels that are trained on."""
    made = config.made
    given = {name: made.kwargs[name] for name in _WIDE if name in made.kwargs}
    return list(levels_of(made.id, **{"split": "train", **given}))


def agent_of(config: RetroConfig, chat: Chat, path: Path | None) -> RetroAgent:
    """The mechanism, as the config has it; `path` is where the memory is kept."""
    lessons, looking, memory = config.lessons, config.looking, None
    if lessons.on:
        memory = Memory(
            encoder(lessons.encoder),
            path,
            ranking=lessons.ranking,
            beta=lessons.beta,
            same=lessons.same,
            capacity=lessons.capacity,
        )
    oracle = for_env(make_env(config.made)) if looking.measured or looking.source == "oracle" else None
    limits = collecting.Limits(looking.answer, looking.text)
    reflecting: Reflecting
    if looking.source == "oracle":
        assert oracle is not None
        reflecting = OracleReflector(oracle)
    else:
        reflecting = ModelReflector(chat, limits, weight=looking.weight if looking.source == "trained" else 0.0)
    return RetroAgent(
        reflecting,
        memory,
        method=method_of(config.rl),
        settings=Settings(config.reward.coefficient, lessons.retrieved, lessons.outperform),
        capability=Capability(decay=config.reward.decay),
        steps=config.rl.steps,
        oracle=oracle if looking.measured else None,
        share=_gathered if int(os.environ.get("WORLD_SIZE", "1")) > 1 else alone,
    )


def collector_of(config: RetroConfig, chat: Chat, agent: RetroAgent) -> Collector:
    """What plays episodes."""
    given = config.limits
    limits = collecting.Limits(given.answer, given.text, given.turns)
    setup = Setup(
        config.made,
        config.prompts,
        config.asking.context,
        limits=limits,
        parallel=given.parallel,
        lesson=agent.lesson,
    )
    return Collector(setup, chat)


def arguments_of(config: RetroConfig, out: Path) -> GRPOConfig:
    """TRL's arguments."""
    vllm = {"use_vllm": True, "vllm_mode": "colocate"} if config.vllm else {}
    world = int(os.environ.get("WORLD_SIZE", "1"))
    return rewarded(config, out, world, max_completion_length=config.limits.answer, **vllm)


def _gathered(event: Event) -> list[Event]:
    """The events of all processes, in their order."""
    return [Event(*of) for of in gather_object([tuple(event)])]


class _Logging(TrainerCallback):  # type: ignore[misc]
    """Writes what was measured; what came after the checkpoint that a run goes on from is forgotten."""

    def __init__(self, path: Path, tell: Tell, writes: bool) -> None:
        self._path, self._tell, self._writes = path, tell, writes

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """See TrainerCallback."""
        if self._writes:
            lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
            kept = [line for line in lines[: state.global_step] if line.endswith("}")]
            write_whole(self._path, "".join(f"{line}\n" for line in kept))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """See TrainerCallback."""
        if logs and "loss" in logs and self._writes:
            line = {"step": state.global_step, **{name: float(value) for name, value in logs.items()}}
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{json.dumps(line)}\n")
            self._tell(line)


def _check_sampler(config: RetroConfig) -> None:
    """Raise MissingExtra if vLLM is asked for and not installed."""
    if config.vllm and find_spec("vllm") is None:
        raise MissingExtra(f"vllm: true needs vLLM: {INSTALL}. Or let transformers sample: --set vllm=false.")


def _check_reads(config: RetroConfig, model: Any) -> None:
    """Raise RunStopped if a reflection may get longer than the model reads; of episodes `RollbackTrainer` says so."""
    longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if config.looking.source != "oracle" and longest is not None and config.looking.text > longest:
        raise RunStopped(f"The model reads {longest} tokens, and looking.text is {config.looking.text}. Lower it.")


def _claim(config: RetroConfig, out: Path) -> None:
    path, asked = out / "config.json", json.loads(json.dumps(asdict(config)))
    if not path.exists():
        write_whole(path, json.dumps(asked, indent=1))
    elif json.loads(path.read_text(encoding="utf-8")) != asked:
        raise RunMismatch(f"{out} holds a run by another config. Go on with the same one, or choose another folder.")
