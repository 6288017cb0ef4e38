"""RetroAgent in small, on a CPU: what each part of it does to a tiny model, over several seeds.

One base learns from demonstrations (`retro_demos.py`); each arm and seed trains it by reward on the same few rooms, and
is evaluated on those, and on rooms that it never saw. Every finished piece is a file in the folder, so that the same
call goes on where it was stopped. A check of the mechanism; no number of it is to be compared with the paper's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rollback_gym.core.files import write_whole
from rollback_gym.oracles import for_env
from rollback_gym.play.pool import Work
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.registration import levels as levels_of
from rollback_gym.study.statistics import shares
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.checking import Count, Positive, Share
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.cooks import Habits
from rollback_gym.trainer.discovery import adapt
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
from rollback_gym.trainer.sft import Texts
from rollback_gym.trainer.studies import (
    ID,
    PROMPTS,
    WORLD,
    Job,
    Runs,
    Tell,
    claim,
    finish,
    learn_base,
    means,
    percent,
    results,
    slug,
    table,
    train_arm,
)
from rollback_gym.trainer.tiny import tiny_tokenizer
from rollback_gym.trainer.trajectory import Start, groups
from rollback_gym.trainer.update import Plan

REFLECTION = 160
"""The most tokens of a reflection; as it is shown it takes some 110."""
TOLD = 4
"""The first epochs, in which what is told in episodes is learned, too; see `sft.py`."""


@dataclass(frozen=True)
class Study:
    """Its size. The defaults are meant for half an hour on two idle CPU cores."""

    seeds: Count = 3
    shown: Count = 720
    """Levels of demonstrations, two episodes each, of which each fourth is looked back at."""
    epochs: Positive = 8.0
    rooms: Count = 8
    """Levels that are trained on, and as many that never are."""
    turns: Count = 10
    steps: Count = 16
    groups: Count = 8
    group: Count = 8
    learning_rate: Positive = 5e-4
    errs: Share = 0.05
    """Of the cooks in the demonstrations: how often they err."""
    helped: Share = 0.1
    """Of players who were told a lesson: how often they act at random."""
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
EVERY = ARMS
"""Those that can be asked for by name."""


def reproduce(
    study: Study,
    out: Path,
    tell: Tell = lambda line: None,
    arms: Sequence[str] = tuple(ARMS),
    workers: int | None = 1,
) -> str:
    """Do what is left of a study, and return its table as Markdown, which is in `out/results.md`, too.

    Args:
        study: Its size.
        out: Its folder.
        tell: Is told how far it is.
        arms: Which.
        workers: How many of them are trained at a time; None for one a core.

    Raises:
        RunMismatch: if the folder holds a study of another size.
        RunStopped: if a training ended early.
    """
    torch.set_num_threads(1)  # so small a model gains nothing from more
    claim(study, out)
    base = _base(study, out, tell)
    jobs = [Job(name, seed) for seed in range(study.seeds) for name in arms]
    finish(out, jobs, _running, (study, out, base), tell, workers)
    written = markdown(study, results(out, arms, study.seeds))
    write_whole(out / "results.md", written)
    return written


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
    habits = Habits(errs=study.errs, recovers=0.5, fumbles=0.03)
    given = demos(env, shown, oracle, habits=habits, helped=study.helped)
    read = demos(env, [*seen, *unseen], oracle, habits=habits, helped=1.0)  # for their words; nobody learns from them
    tokenizer = tiny_tokenizer((text for demo in [*given, *read] for text in words(demo, PROMPTS)), things=False)
    chat = Chat(tokenizer)
    first, texts = (
        [
            text
            for number, demo in enumerate(given)
            for text in (
                *play_texts(chat, demo, PROMPTS, told=told),
                *(reflection_texts(chat, demo) if number % 8 < 2 else ()),
            )
            if len(text.ids) <= 640
        ]
        for told in (True, False)
    )
    tell(f"base: {len(texts)} texts")
    learn_base(chat, Texts(texts, first, TOLD), out, epochs=study.epochs, batch=24)
    return folder


# --- An arm -----------------------------------------------------------------------------------------------------------


def agent_of(study: Study, chat: Chat, arm: Arm, oracle: Any) -> RetroAgent:
    """The mechanism with what the arm switches on, and an empty memory."""
    memory = None if arm.memory is None else Memory(HashingEncoder(), ranking=Ranking(arm.memory))
    limits = Limits(answer=REFLECTION, text=1024)
    if arm.source == "oracle":
        reflecting: Any = OracleReflector(oracle)
    else:
        reflecting = ModelReflector(chat, limits, weight=float(arm.source == "trained"), brief=True)
    settings = Settings(coefficient=float(arm.reward), retrieved=1)
    return RetroAgent(reflecting, memory, settings=settings, steps=study.steps, oracle=oracle)


def _running(given: tuple[Study, Path, Path]) -> Work:
    """What runs an arm, in a process of its own."""
    torch.set_num_threads(1)
    study, out, base = given
    return lambda job: _run(study, base, ARMS[job.name], job.seed, out / f"{slug(job.name)}-{job.seed}")


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
        series.append(means(values))
        return extension

    collector = Collector(setup, chat)
    plan = Plan(collector, Seeds(levels=seen), penalised(environment_rewards), extending=watched)
    train_arm(study, model, plan, folder, seed, kl=0.0)
    generator = TransformersGenerator(model.eval(), chat.stops)
    evaluating = Collector(setup._replace(lesson=agent.greedy), chat)
    starts = groups([Start(options={"level": level}) for level in seen], 4 * study.repeats)
    ended = evaluating.play(starts, generator, seed).trajectories

    def adapted(levels: Sequence[str]) -> list[list[bool]]:
        won: list[list[bool]] = []
        for repeat in range(study.repeats):
            fresh = agent_of(study, chat, arm, for_env(env))
            tasks = [Start(options={"level": level}) for level in levels]
            won += map(list, adapt(collector, fresh, tasks, generator, ATTEMPTS, 1000 * seed + repeat).won)
        return won

    return {
        "series": series,
        "evaluated": [of.won for of in ended],
        "seen": adapted(seen),
        "unseen": adapted(unseen),
    }


# --- What came out ----------------------------------------------------------------------------------------------------


def markdown(study: Study, results: Mapping[str, Runs]) -> str:
    """The tables: an arm a row, all seeds together; intervals draw whole rooms, with all that was played in them."""
    peak = _peak(results["GRPO"]) if "GRPO" in results else None
    heads = ["arm", "trained rooms, best lessons", "each seed", "steps to GRPO's peak"]
    heads += [f"Discovery@{k}, {which} rooms" for which in ("trained", "new") for k in (1, ATTEMPTS)]
    heads += ["attempt 1, 2, 3 in new rooms"]
    won, looked = [], []
    for name, runs in results.items():
        evaluated = [_by_room(run["evaluated"], study.rooms, len(run["evaluated"]) // study.rooms) for run in runs]
        cells = [name, _rooms(evaluated), " ".join(f"{100 * _mean(of):.0f}" for of in evaluated), _steps(runs, peak)]
        for which in ("seen", "unseen"):
            cells += [_rooms([_found(run[which], k, study.rooms) for run in runs]) for k in (1, ATTEMPTS)]
        tries = [[of[k] for run in runs for of in run["unseen"]] for k in range(ATTEMPTS)]
        won.append([*cells, " ".join(f"{100 * sum(of) / len(of):.0f}%" for of in tries)])
        looked.append([name, *(_seeds(runs, measure, end) for measure, end in LOOKED.values())])
    return f"{table(heads, won)}\n{table(['arm', *LOOKED], looked)}"


ATTEMPTS = 3
"""At each room, when it is adapted to."""
LOOKED = {
    "lessons in memory": ("memory/lessons", -1),
    "spread of lessons": ("memory/spread", -1),
    "malformed, last": ("reflection/malformed", -1),
    "c right, first": ("reflection/right", 0),
    "c right, last": ("reflection/right", -1),
    "phi off by": ("reflection/phi_error", -1),
    "phi too high, lost episodes": ("reflection/phi_bias_lost", -1),
}
"""What is told of looking back: each seed's mean over the first or the last steps of training."""


def _by_room(won: Sequence[bool], rooms: int, each: int) -> list[list[bool]]:
    """Of every room, `each` episodes in a row."""
    return [list(won[room * each : (room + 1) * each]) for room in range(rooms)]


def _found(won: Sequence[Sequence[bool]], k: int, rooms: int) -> list[list[bool]]:
    """Of every room, whether one of the first k attempts won it, for every time that it was adapted to."""
    return [[any(of[:k]) for of in won[room::rooms]] for room in range(rooms)]


def _rooms(seeds: Sequence[Sequence[Sequence[bool]]]) -> str:
    """The share of all that was won, with an interval over rooms."""
    rooms = [[won for seed in seeds for won in seed[room]] for room in range(len(seeds[0]))]
    counts = [float(sum(of)) for of in rooms], [float(len(of)) for of in rooms]
    return percent(shares({"won": counts})["won"])


def _mean(rooms: Sequence[Sequence[bool]]) -> float:
    return sum(map(sum, rooms)) / sum(map(len, rooms))


WINDOW = 5
"""Steps that a success rate in training is averaged over."""


def _smooth(run: Mapping[str, Any]) -> dict[int, float]:
    """By the number of a step, the success of it and those before it in the window; of whole windows only."""
    won = [of["won"] for of in run["series"]]
    size = min(WINDOW, len(won))
    return {end: sum(won[end - size : end]) / size for end in range(size, len(won) + 1)}


def _peak(runs: Runs) -> float:
    """The mean over seeds of the best smoothed success rate."""
    return sum(max(_smooth(run).values()) for run in runs) / len(runs)


def _steps(runs: Runs, peak: float | None) -> str:
    """When each seed reached it first; empty where GRPO won nothing at all."""
    if not peak:
        return ""
    first = [next((step for step, of in _smooth(run).items() if of >= peak), None) for run in runs]
    return ", ".join("never" if of is None else str(of) for of in first)


def _seeds(runs: Runs, name: str, end: int) -> str:
    """Each seed's mean over a window at one end of training; empty where it was not measured."""
    part = slice(0, WINDOW) if end == 0 else slice(-WINDOW, None)
    values = [[of[name] for of in run["series"][part] if name in of] for run in runs]
    return " ".join(f"{sum(of) / len(of):.2f}" for of in values if of)
