"""RetroAgent in small, on a CPU: what each part of it does to a tiny model, over several seeds.

One base learns from demonstrations (`retro_demos.py`); each arm and seed trains it by reward on the same few rooms, and
is evaluated on those, and on rooms that it never saw. Every finished piece is a file in the folder, so that the same
call goes on where it was stopped. A check of the mechanism; no number of it is to be compared with the paper's.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainingArguments
from trl import GRPOConfig

from rollback_gym.core.errors import RunMismatch
from rollback_gym.oracles import for_env
from rollback_gym.play.prompts import Prompts
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.registration import levels as levels_of
from rollback_gym.study.statistics import Estimate, shares
from rollback_gym.trainer import sft
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.checking import Count, Positive, Share
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.discovery import adapt, discovery
from rollback_gym.trainer.encoders import HashingEncoder
from rollback_gym.trainer.feedback import penalised
from rollback_gym.trainer.generation import TransformersGenerator
from rollback_gym.trainer.lessons import Ranking, Rule
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.reflectors import ModelReflector, OracleReflector
from rollback_gym.trainer.retro_demos import demos, play_texts, reflection_texts, words
from rollback_gym.trainer.retroagent import RetroAgent, Settings
from rollback_gym.trainer.rewards import environment_rewards
from rollback_gym.trainer.scene import Extension, Scene, Seeds
from rollback_gym.trainer.tiny import Size, tiny_model, tiny_tokenizer
from rollback_gym.trainer.trajectory import Start, groups
from rollback_gym.trainer.update import Plan, RollbackTrainer

PROMPTS = Prompts(brief=True, admissible=False, rollback=False, think=False)
WORLD: Mapping[str, Any] = {"difficulty": 0.25, "task_types": ["pick_and_place_simple"]}
ID = "Rollback-ALFWorld-v0"


@dataclass(frozen=True)
class Study:
    """Its size. The defaults are meant for half an hour on two idle CPU cores."""

    seeds: Count = 3
    shown: Count = 300
    """Levels of demonstrations, two episodes each."""
    epochs: Positive = 6.0
    rooms: Count = 8
    """Levels that are trained on, and as many that never are."""
    turns: Count = 10
    steps: Count = 24
    groups: Count = 8
    group: Count = 8
    learning_rate: Positive = 3e-4
    errs: Share = 0.5
    """Of the players in the demonstrations: how often they act at random."""
    helped: Share = 0.1
    """The same where they were told a lesson."""
    repeats: Count = 4
    """How often each room is adapted to, from an empty memory on, for Discovery@3."""


class Arm(NamedTuple):
    """What is switched on."""

    source: Literal["oracle", "context", "trained"] = "oracle"
    reward: bool = False
    memory: Rule | None = None


ARMS: Mapping[str, Arm] = {
    "GRPO": Arm(),
    "+ reward": Arm(reward=True),
    "+ memory": Arm(memory="ucb"),
    "+ both": Arm(reward=True, memory="ucb"),
    "+ both, similarity only": Arm(reward=True, memory="similarity"),
    "+ both, reflection in context": Arm("context", reward=True, memory="ucb"),
    "+ both, reflection trained": Arm("trained", reward=True, memory="ucb"),
}
"""The first five look back by the exact oracle, with template lessons; the last two by the model itself."""

Tell = Callable[[str], None]


def reproduce(study: Study, out: Path, tell: Tell = lambda line: None, arms: Sequence[str] = tuple(ARMS)) -> str:
    """Do what is left of a study, and return its table as Markdown, which is in `out/results.md`, too.

    Raises:
        RunMismatch: if the folder holds a study of another size.
    """
    torch.set_num_threads(1)  # so small a model gains nothing from more
    out.mkdir(parents=True, exist_ok=True)
    _claim(study, out)
    base = _base(study, out, tell)
    for name in arms:
        for seed in range(study.seeds):
            path = out / f"{_slug(name)}-{seed}.json"
            if not path.exists():
                tell(f"{name}, seed {seed}")
                _write(path, json.dumps(_run(study, base, ARMS[name], seed, out / f"{_slug(name)}-{seed}")))
    table = markdown({name: _results(study, out, name) for name in arms})
    _write(out / "results.md", table)
    return table


def _results(study: Study, out: Path, name: str) -> list[dict[str, Any]]:
    paths = [out / f"{_slug(name)}-{seed}.json" for seed in range(study.seeds)]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


# --- The base ---------------------------------------------------------------------------------------------------------


def made(study: Study) -> Made:
    """The world: one kind of task, small rooms, no rollbacks."""
    return Made(ID, {**WORLD, "max_turns": study.turns, "max_rollbacks": 0})


def rooms(study: Study) -> tuple[list[str], list[str], list[str]]:
    """Levels that are trained on, that never are, and of the demonstrations: none is in two of them."""
    pool = list(levels_of(ID, split="train", **WORLD))
    first, second = pool[: study.rooms], pool[study.rooms : 2 * study.rooms]
    return first, second, pool[2 * study.rooms : 2 * study.rooms + study.shown]


def _base(study: Study, out: Path, tell: Tell) -> Path:
    folder = out / "base"
    if folder.exists():
        return folder
    env, (seen, unseen, shown) = make_env(made(study)), rooms(study)
    env.reset(seed=0, options={"level": shown[0]})
    oracle = for_env(env)
    given = demos(env, shown, oracle, errs=study.errs, helped=study.helped)
    read = demos(env, [*seen, *unseen], oracle, errs=1.0, helped=0.0)  # for their words; nobody learns from them
    tokenizer = tiny_tokenizer(text for demo in [*given, *read] for text in words(demo, PROMPTS))
    chat = Chat(tokenizer)
    texts = [text for demo in given for text in (*play_texts(chat, demo, PROMPTS), *reflection_texts(chat, demo))]
    texts = [text for text in texts if len(text.ids) <= 640]
    tell(f"base: {len(texts)} texts")
    arguments = TrainingArguments(
        str(out / "sft"),
        per_device_train_batch_size=16,
        num_train_epochs=study.epochs,
        learning_rate=4e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        train_sampling_strategy="group_by_length",
        length_column_name="length",
        save_strategy="no",
        **_common(0),
    )
    trainer = sft.trainer(tiny_model(tokenizer, Size(positions=2048)), texts, tokenizer.pad_token_id, arguments)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    draft = out / f".base.{os.getpid()}"
    trainer.model.save_pretrained(draft)
    tokenizer.save_pretrained(draft)
    draft.replace(folder)
    return folder


def _common(seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "data_seed": seed,
        "report_to": "none",
        "logging_steps": 1,
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "bf16": False,
        "use_cpu": True,
    }


# --- An arm -----------------------------------------------------------------------------------------------------------


def agent_of(study: Study, chat: Chat, arm: Arm, oracle: Any) -> RetroAgent:
    """The mechanism with what the arm switches on, and an empty memory."""
    memory = None if arm.memory is None else Memory(HashingEncoder(), ranking=Ranking(arm.memory))
    limits = Limits(answer=100, text=1024)
    if arm.source == "oracle":
        reflecting: Any = OracleReflector(oracle)
    else:
        reflecting = ModelReflector(chat, limits, weight=float(arm.source == "trained"), brief=True)
    settings = Settings(coefficient=float(arm.reward), retrieved=1)
    return RetroAgent(reflecting, memory, settings=settings, steps=study.steps, oracle=oracle)


def _run(study: Study, base: Path, arm: Arm, seed: int, folder: Path) -> dict[str, Any]:
    """Train an arm, evaluate it, and return everything that is counted."""
    model = AutoModelForCausalLM.from_pretrained(base)
    chat = Chat(AutoTokenizer.from_pretrained(base))
    env, (seen, unseen, _) = make_env(made(study)), rooms(study)
    env.reset(seed=0, options={"level": seen[0]})
    agent = agent_of(study, chat, arm, for_env(env))
    setup = Setup(made(study), PROMPTS, limits=Limits(answer=16, text=1024), lesson=agent.lesson)
    series: list[dict[str, float]] = []

    def watched(scene: Scene) -> Extension:
        extension = agent(scene)
        values = {**extension.measures, "won": [float(of.won) for of in scene.trajectories]}
        series.append({name: sum(of) / len(of) for name, of in values.items() if len(of)})
        return extension

    collector = Collector(setup, chat)
    plan = Plan(collector, Seeds(levels=seen), penalised(environment_rewards), extending=watched)
    episodes = study.groups * study.group
    parts = next((part for part in range(episodes // 32, 0, -1) if episodes % part == 0), 1)
    arguments = GRPOConfig(
        str(folder),
        max_steps=study.steps,
        num_generations=study.group,
        per_device_train_batch_size=episodes // parts,
        steps_per_generation=parts,
        gradient_accumulation_steps=parts,
        learning_rate=study.learning_rate,
        lr_scheduler_type="constant",
        beta=0.0,
        loss_type="dapo",
        save_strategy="no",
        **_common(seed),
    )
    trainer = RollbackTrainer(model, plan, arguments, processing_class=chat.tokenizer)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    shutil.rmtree(folder, ignore_errors=True)
    generator = TransformersGenerator(model.eval(), chat.stops)
    evaluating = Collector(setup._replace(lesson=agent.greedy), chat)
    starts = groups([Start(options={"level": level}) for level in seen], 4 * study.repeats)
    ended = evaluating.play(starts, generator, seed).trajectories

    def adapted(levels: Sequence[str]) -> list[list[bool]]:
        won: list[list[bool]] = []
        for repeat in range(study.repeats):
            fresh = agent_of(study, chat, arm, for_env(env))
            tasks = [Start(options={"level": level}) for level in levels]
            won += map(list, adapt(collector, fresh, tasks, generator, 3, 1000 * seed + repeat).won)
        return won

    return {
        "series": series,
        "evaluated": [of.won for of in ended],
        "seen": adapted(seen),
        "unseen": adapted(unseen),
    }


# --- What came out ----------------------------------------------------------------------------------------------------


def markdown(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The table: an arm a row, all seeds together."""
    peak = _peak(results["GRPO"]) if "GRPO" in results else None
    heads = [
        "arm", "trained rooms, best lessons", "Discovery@1, @3, trained rooms", "Discovery@1, @3, new rooms",
        "steps to GRPO's peak", "spread of lessons", "c right, first to last", "phi too high, lost episodes",
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for name, runs in results.items():
        cells = [name, _shown(_share([won for run in runs for won in run["evaluated"]]))]
        cells += [_discovered([won for run in runs for won in run[which]]) for which in ("seen", "unseen")]
        cells += [_steps(runs, peak), _mean(runs, "memory/spread", -1)]
        cells += [f"{_mean(runs, 'reflection/right', 0)} to {_mean(runs, 'reflection/right', -1)}"]
        cells += [_mean(runs, "reflection/phi_bias_lost", -1)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


WINDOW = 5
"""Steps that a success rate in training is averaged over."""


def _smooth(run: Mapping[str, Any]) -> list[float]:
    won = [of["won"] for of in run["series"]]
    return [sum(won[max(0, at - WINDOW + 1) : at + 1]) / min(WINDOW, at + 1) for at in range(len(won))]


def _peak(runs: Sequence[Mapping[str, Any]]) -> float:
    """The mean over seeds of the best smoothed success rate."""
    return sum(max(_smooth(run)) for run in runs) / len(runs)


def _steps(runs: Sequence[Mapping[str, Any]], peak: float | None) -> str:
    """When each seed reached it first; empty where GRPO won nothing at all."""
    if not peak:
        return ""
    first = [next((at + 1 for at, of in enumerate(_smooth(run)) if of >= peak), None) for run in runs]
    return ", ".join("never" if of is None else str(of) for of in first)


def _mean(runs: Sequence[Mapping[str, Any]], name: str, end: int) -> str:
    """Over seeds and a window at one end of training."""
    part = slice(0, WINDOW) if end == 0 else slice(-WINDOW, None)
    values = [of[name] for run in runs for of in run["series"][part] if name in of]
    return f"{sum(values) / len(values):.2f}" if values else ""


def _share(won: Sequence[bool]) -> Estimate:
    return shares({"won": (list(map(float, won)), [1.0] * len(won))})["won"]


def _discovered(won: Sequence[Sequence[bool]]) -> str:
    found = discovery(won)
    return f"{_shown(found[0])}, {_shown(found[-1])}"


def _shown(of: Estimate) -> str:
    interval = f" ({100 * of.low:.0f} to {100 * of.high:.0f})" if of.low is not None and of.high is not None else ""
    return f"{100 * (of.value or 0.0):.0f}%{interval}"


def _claim(study: Study, out: Path) -> None:
    path = out / "study.json"
    if not path.exists():
        _write(path, json.dumps(asdict(study), indent=1))
    elif json.loads(path.read_text(encoding="utf-8")) != asdict(study):
        raise RunMismatch(f"{out} holds a study of another size. Go on with the same, or choose another folder.")


def _slug(name: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name).split()).lower()


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
