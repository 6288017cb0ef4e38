"""PivotOPD in small, on a CPU: whether a tiny model learns to recover from its mistakes, arm by arm.

One base learns from demonstrations (`pivot_demos.py`); each arm and seed trains it by reward in kitchens of six places.
Then all play on from the same pivotal mistakes, which the base made in kitchens that nobody was trained in, 8 times
each (PivotOPD, Figure 5b). Every finished piece is a file in the folder, so the same call goes on where it was stopped.
A check of the mechanism: a base that brings hint-following and a trace of recovery along by demonstrations is not one
that was pretrained, and no number of it reproduces one of the paper's.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rollback_gym.core.files import write_whole
from rollback_gym.oracles.agreement import agreement
from rollback_gym.oracles.lookup import for_env
from rollback_gym.play.pool import Work
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env
from rollback_gym.registration import levels as levels_of
from rollback_gym.study.statistics import Estimate, shares
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.checking import Count, NotNegative, Number, Positive, Share
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.cooks import Habits
from rollback_gym.trainer.credit import Method
from rollback_gym.trainer.generation import TransformersGenerator
from rollback_gym.trainer.pivot_demos import HINT, shown, text, words
from rollback_gym.trainer.pivot_mistakes import TELLS, Mistake, balanced, first_mistake, judged
from rollback_gym.trainer.pivot_probes import probes, summary
from rollback_gym.trainer.pivot_settings import Recovering, Settings, Where
from rollback_gym.trainer.pivot_teacher import Knowable, true_to_notes
from rollback_gym.trainer.pivotopd import PivotOPD
from rollback_gym.trainer.scene import Extension, Scene, Seeds, as_played
from rollback_gym.trainer.scoring import scoring_by
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
    share,
    table,
    train_arm,
)
from rollback_gym.trainer.teachers import OracleTeacher
from rollback_gym.trainer.tiny import tiny_tokenizer
from rollback_gym.trainer.trajectory import Start, groups, start_after
from rollback_gym.trainer.update import Plan

TOLD = 4
"""The first epochs, in which what is told in episodes without hints is learned, too; see `sft.py`."""
COOK = Habits(errs=0.08, recovers=0.15, fumbles=0.01)
"""Whose episodes without hints are."""
HINTED = Habits(hinted=0.7)
HINTS = 8
"""Turns that are shown of an episode with hints: enough of them a text, and no more than need be."""


@dataclass(frozen=True)
class Study:
    """Its size. The defaults are meant for half an hour on two idle CPU cores."""

    seeds: Count = 3
    chance: Number = 0
    """The seed of the base, by which settings that were found on one are tried on another."""
    turns: Count = 14
    shown: Count = 3000
    """Episodes of demonstrations; a third of them hinted."""
    epochs: Positive = 8.0
    rooms: Count = 400
    """Kitchens that are trained in."""
    held_out: Count = 341
    """Kitchens that are evaluated in, and that nobody was trained in."""
    steps: Count = 20
    groups: Count = 8
    group: Count = 8
    learning_rate: Positive = 1e-3
    kl: NotNegative = 0.01
    below: Share = 0.2
    """See `Method.below`; for all arms alike."""
    prevention: NotNegative = 0.01
    """w_prev; ten times the paper's, for a learning rate of 1,000 times."""
    recovery: NotNegative = 0.3
    """w_rec, of each recovery turn."""
    k: Count = 2
    tries: Count = 4
    """See `Settings.tries`; what is noted for a false reason is not kept, which is much of it."""
    mistakes: Count = 65
    """Those that the agent could have known of; see `Mistake.knowable`."""
    unseen: Count = 15
    """Those that it could not."""
    replays: Count = 8


class Arm(NamedTuple):
    """What is added to the base algorithm."""

    prevention: bool = False
    recovery: bool = False
    where: Where = "pivots"
    forward: bool = True
    hint: str | None = HINT
    trained: bool = True


ARMS: Mapping[str, Arm] = {
    "base": Arm(trained=False),
    "GRPO": Arm(),
    "OPD": Arm(prevention=True, where="every"),
    "prevention only": Arm(prevention=True),
    "recovery only": Arm(recovery=True),
    "PivotOPD": Arm(prevention=True, recovery=True),
}
ABLATIONS: Mapping[str, Arm] = {
    "random turns": Arm(prevention=True, where="random"),
    "reverse-KL recovery": Arm(prevention=True, recovery=True, forward=False),
    "no gold action": Arm(prevention=True, recovery=True, hint=None),
}
"""Only where they are asked for by name."""
EVERY = {**ARMS, **ABLATIONS}
PAPER = {"base": "8.3", "OPD": "20.3", "prevention only": "45.8", "PivotOPD": "72.7"}
"""What the paper reports for Qwen3-8B, 72 mistakes, 8 replays each (Figure 5b)."""


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
    claim(study, out)
    base = _base(study, out, tell)
    mistakes = _mistakes(study, out, base, tell)
    jobs = [Job(name, seed) for seed in range(study.seeds) for name in arms]
    finish(out, jobs, _running, (study, out, base, mistakes), tell, workers)
    written = f"{markdown(results(out, arms, study.seeds), mistakes)}\n{_judge(out)}\n"
    write_whole(out / "results.md", written)
    return written


# --- The world, and the base ------------------------------------------------------------------------------------------


def made(study: Study) -> Made:
    """The world: no rollbacks, so that recovery is to repair."""
    return Made(ID, {**WORLD, "max_turns": study.turns, "max_rollbacks": 0})


def _rooms(study: Study) -> Sequence[str]:
    """Kitchens to train in."""
    return levels_of(ID, split="train", **WORLD)[: study.rooms]


def _held_out(study: Study) -> Sequence[str]:
    """Kitchens to evaluate in."""
    return levels_of(ID, split="train", **WORLD)[study.rooms : study.rooms + study.held_out]


def _base(study: Study, out: Path, tell: Tell) -> Path:
    folder = out / "base"
    if folder.exists():
        return folder
    env, rooms = make_env(made(study)), _rooms(study)
    seen = []
    for number in range(study.shown):
        hinted = number % 3 == 0
        habits, chance = HINTED if hinted else COOK, study.chance * study.shown + number
        views = shown(env, rooms[number % len(rooms)], habits, chance)
        seen.append((views[: HINTS + 1] if hinted else views, hinted))
    chat = Chat(tiny_tokenizer((word for views, _ in seen for word in words(views, PROMPTS)), phrases=True))
    first = [text(chat, views, PROMPTS, hinted=hinted, told=not hinted) for views, hinted in seen]
    texts = [text(chat, views, PROMPTS, hinted=hinted) for views, hinted in seen]
    tell(f"base: {len(texts)} episodes")
    log = learn_base(chat, Texts(texts, first, TOLD), out, epochs=study.epochs, batch=12, seed=study.chance)
    write_whole(out / "sft.json", json.dumps(log))
    return folder


# --- Mistakes ---------------------------------------------------------------------------------------------------------


def _mistakes(study: Study, out: Path, base: Path, tell: Tell) -> list[Mistake]:
    """Of the base, in kitchens that nobody was trained in: first those that it could have known of, of all kinds."""
    path = out / "mistakes.json"
    if not path.exists():
        tell("mistakes")
        model = AutoModelForCausalLM.from_pretrained(base)
        collector = _collector(study, base)
        starts = [Start(options={"level": level}) for level in _held_out(study)]
        played = collector.play(starts, TransformersGenerator(model, collector.chat.stops), 0).trajectories
        oracle = for_env(make_env(collector.setup.made))
        every = [of for trajectory in played if (of := first_mistake(trajectory, oracle, study.turns)) is not None]
        found = balanced([of for of in every if of.knowable], study.mistakes)
        found += [of for of in every if not of.knowable][: study.unseen]
        judge = agreement([judged(trajectory, oracle) for trajectory in played if not trajectory.won])
        write_whole(out / "judge.json", json.dumps(judge._asdict()))
        write_whole(path, json.dumps([of._asdict() for of in found]))
    read = json.loads(path.read_text(encoding="utf-8"))
    return [Mistake(**{**of, "actions": tuple(of["actions"]), "texts": tuple(of["texts"])}) for of in read]


def _judge(out: Path) -> str:
    """How far the weak judge got."""
    of = json.loads((out / "judge.json").read_text(encoding="utf-8"))
    found, right, chance = Estimate(*of["first_found"]), Estimate(*of["right"]), of["first_found_by_chance"]
    if found.value is None or right.value is None:
        return "No episode of the base had a pivotal mistake."
    return (
        f"A judge that names the first action that failed or had been done before names the first pivotal mistake of "
        f"{percent(found)} of the base's lost episodes, within a turn; by chance {100 * chance:.0f}%; the oracle 100%. "
        f"Of what it names {100 - 100 * right.value:.0f}% is no such mistake."
    )


# --- An arm -----------------------------------------------------------------------------------------------------------


def settings(study: Study, arm: Arm) -> Settings:
    """What the arm adds."""
    return Settings(
        prevention=study.prevention if arm.prevention else 0.0,
        prevention_clip=5.0,
        lesson=0.0,
        recovering=Recovering(study.k if arm.recovery else 0, study.recovery, forward=arm.forward),
        tries=study.tries,
        where=arm.where,
        hint=arm.hint,
    )


def _collector(study: Study, base: Path) -> Collector:
    chat = Chat(AutoTokenizer.from_pretrained(base))
    return Collector(Setup(made(study), PROMPTS, limits=Limits(answer=32, text=1536)), chat)


def _running(given: tuple[Study, Path, Path, Sequence[Mistake]]) -> Work:
    """What runs an arm, in a process of its own."""
    torch.set_num_threads(1)  # so small a model gains nothing from more
    study, out, base, mistakes = given
    return lambda job: _run(study, out, base, EVERY[job.name], job.seed, mistakes)


def _run(study: Study, out: Path, base: Path, arm: Arm, seed: int, mistakes: Sequence[Mistake]) -> dict[str, Any]:
    """Train an arm, evaluate it, and return everything that is counted."""
    model = AutoModelForCausalLM.from_pretrained(base)
    collector = _collector(study, base)
    series = _train(study, out, arm, seed, model, collector) if arm.trained else []
    generator = TransformersGenerator(model.eval(), collector.chat.stops)
    env = make_env(collector.setup.made)
    starts = [
        start_after(env, of.actions, options={"level": of.level}, texts=of.texts)._replace(note=number)
        for number, of in enumerate(mistakes)
    ]
    replayed = collector.play(groups(starts, study.replays), generator, 1000 + seed).trajectories
    recovered = [0] * len(mistakes)
    for of in replayed:
        recovered[of.start.note] += of.won
    ones = replayed[:: study.replays]
    scoring = scoring_by(model, collector.chat.tokenizer.pad_token_id)
    probed = probes(collector.setup, collector.chat, for_env(env), ones, scoring, HINT)
    fresh = [Start(options={"level": level}) for level in _held_out(study)]
    won = [of.won for of in collector.play(fresh, generator, 2000 + seed).trajectories]
    return {"series": series, "recovered": recovered, "replays": study.replays, "won": won, "probes": probed}


def _train(study: Study, out: Path, arm: Arm, seed: int, model: Any, collector: Collector) -> list[dict[str, float]]:
    """Train a model as an arm says, in place; what was measured, step by step."""
    env = make_env(collector.setup.made)
    env.reset(seed=0)
    teacher = Knowable(OracleTeacher(for_env(env)))
    series: list[dict[str, float]] = []
    began = time.perf_counter()
    added = PivotOPD(settings(study, arm), collector.setup, collector.chat, lambda scene: teacher, sound=true_to_notes)
    extending = added if arm.prevention or arm.recovery else as_played

    def watched(scene: Scene) -> Extension:
        nonlocal began
        extension = extending(scene)
        now = time.perf_counter()
        values = {
            **extension.measures,
            "won": [float(of.won) for of in scene.trajectories],
            "seconds/step": [now - began],  # from one batch to the next
        }
        began = now
        series.append(means(values))
        return extension

    torch.manual_seed(seed)
    rooms = list(_rooms(study))
    first = seed * study.steps * study.groups % len(rooms)
    seeds, method = Seeds(levels=[*rooms[first:], *rooms[:first]]), Method(below=study.below)
    plan = Plan(collector, seeds, method=method, extending=watched)
    train_arm(study, model, plan, out / f".training-{seed}-{os.getpid()}", seed, kl=study.kl)
    return series


# --- What came out ----------------------------------------------------------------------------------------------------


def markdown(results: Mapping[str, Runs], mistakes: Sequence[Mistake]) -> str:
    """The tables: an arm a row, all seeds together; intervals draw whole mistakes, with all their replays."""
    kinds = [kind for kind in (*TELLS, "other") if any(of.kind == kind and of.knowable for of in mistakes)]
    parts: dict[str, list[bool]] = {
        "recovery": [of.knowable for of in mistakes],
        **{f"after {kind}": [of.knowable and of.kind == kind for of in mistakes] for kind in kinds},
        "not to be known": [not of.knowable for of in mistakes],
    }
    heads = ["arm", *(f"{name} ({sum(of)})" for name, of in parts.items())]
    heads += ["each seed", "better, same, worse", "the paper's", "success"]
    rows = []
    for name, runs in results.items():
        cells = [name, *(percent(recovery(runs, of)) for of in parts.values())]
        cells.append(" ".join(f"{100 * (recovery([run], parts['recovery']).value or 0):.0f}" for run in runs))
        cells.append(paired(runs, results["base"], parts["recovery"]) if "base" in results else "")
        won = [won for run in runs for won in run["won"]]
        cells += [PAPER.get(name, ""), percent(share(won))]
        rows.append(cells)
    probed = {name: summary([run["probes"] for run in runs]) for name, runs in results.items()}
    measures = list(dict.fromkeys(measure for of in probed.values() for measure in of))
    likely = [
        [name, *(f"{of[measure]:.2f}" if measure in of else "" for measure in measures)] for name, of in probed.items()
    ]
    return f"{table(heads, rows)}\n{table(['arm', *measures], likely)}"


def paired(runs: Runs, base: Runs, counted: Sequence[bool]) -> str:
    """Of how many mistakes more, as much and less was made good than the base did, all seeds together."""
    shares = [
        [sum(run["recovered"][place] for run in of) / len(of) for place, counts in enumerate(counted) if counts]
        for of in (runs, base)
    ]
    signs = [(one > other) - (one < other) for one, other in zip(*shares, strict=True)]
    return ", ".join(str(signs.count(sign)) for sign in (1, 0, -1))


def recovery(runs: Runs, counted: Sequence[bool]) -> Estimate:
    """The share of replays that were won, of the mistakes that count."""
    places = [place for place, counts in enumerate(counted) if counts]
    won = [float(sum(run["recovered"][place] for run in runs)) for place in places]
    played = [float(sum(run["replays"] for run in runs)) for _ in places]
    return shares({"recovery": (won, played)})["recovery"]
