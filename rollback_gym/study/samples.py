"""Samples of the rollback curriculum: a script, played in its environment, with what was said and seen.

A sample is a dict of plain values, a line of a data set. `fields.py` says what is in it.
"""

import json
import math
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym

from rollback_gym.core.errors import RecordError
from rollback_gym.core.snapshot import Outcome
from rollback_gym.play.playing import Table, turn
from rollback_gym.play.policies import GoingBack, Turn
from rollback_gym.play.prompts import Prompts, branch, prompt
from rollback_gym.play.records import Made
from rollback_gym.study import notes as notes_of
from rollback_gym.study.fields import SCHEMA
from rollback_gym.study.inject import Game
from rollback_gym.study.reasons import Seen, back_thought, reason, thought
from rollback_gym.study.scripts import Script

Sample = dict[str, Any]
Message = dict[str, Any]


class Setting(NamedTuple):
    """What all samples of a data set have in common."""

    env: Made
    split: str
    level: int
    """Of the curriculum."""
    prompts: Prompts


class Performance(NamedTuple):
    """A script as it was played."""

    turns: tuple[Turn, ...]
    """From the start on; `text` is what the agent said."""
    going_back: GoingBack
    max_turns: int
    won: bool
    reason: str | None


def perform(
    env: gym.Env[Any, Any],
    game: Game,
    script: Script,
    rng: random.Random,
    *,
    think: bool,
    reasons: bool = True,
    notes: bool = False,
) -> Performance | None:
    """Play `script` in `env`, from the start of the game's level; None where the environment ends it early.

    That can be so where the environment knows endings that the rules do not (`wrappers.DeadEnd` with a limit).
    """
    observation, info = env.reset(seed=0, options={"level": game.level.id})
    table = Table(env)
    view = table.view((), info)
    turns = [_first(observation, info)]
    why: str | None = None
    name, task = game.name, game.level.task

    def thinking(action: str) -> str:
        return notes_of.thought(game.level.goal, turns, action) if notes else thought(name, task, action, rng)

    def do(action: Any, thoughts: str) -> bool:
        if table.base.outcome not in (Outcome.RUNNING, Outcome.FAILED):
            return False
        _, _, _, _, now = env.step(action)
        text = f"<think>{thoughts}</think>\n<action>{action}</action>" if think else f"<action>{action}</action>"
        turns.append(turn(table.history.last, now)._replace(text=text))
        return True

    for action in (*script.before, *(script.error.actions if script.error else ())):
        if not do(action, thinking(action)):
            return None
    if script.error is not None:
        target, number = script.rollback_target, script.error_step
        assert target is not None
        assert number is not None
        seen = Seen(
            env=name,
            task=task,
            number=number,
            action=turns[number].action,
            before=turns[target].observation,
            after=turns[number].observation,
            refused=turns[target].action if script.error.pivot else None,
            turns=script.error.turns,
            ended=script.error.ended,
        )
        why = reason(script.error.kind, seen, rng)
        looking_back = back_thought(seen, why, target, rng)
        if notes:
            looking_back = notes_of.regretted(notes_of.thought(game.level.goal, turns), seen.action, target)
        if not do(view.go_back(target, why if reasons else ""), looking_back) or turns[-1].target != target:
            return None
        for action in script.after:
            if not do(action, thinking(action)):
                return None
    return Performance(tuple(turns), view.going_back, table.base.max_turns, table.base.outcome is Outcome.WON, why)


def _first(observation: Any, info: Mapping[str, Any]) -> Turn:
    offered, targets = tuple(info["admissible_actions"]), tuple(info["rollback_targets"])
    return Turn(0, None, observation, admissible=offered, targets=targets)


def sample(setting: Setting, game: Game, script: Script, played: Performance) -> Sample:
    """The sample of a script that was played and won; all but its `id`."""
    injected = _injected(script, played)
    return {
        "schema": SCHEMA,
        "task_id": game.level.id,
        "env": setting.env._asdict(),
        "split": setting.split,
        "curriculum_level": setting.level,
        "form": script.form,
        "task": game.level.task,
        "observation": played.turns[0].observation,
        "trace": [_traced(turn) for turn in played.turns[1:]],
        "rollback_type": None if script.error is None else str(script.error.kind),
        "error_step": script.error_step,
        "rollback_step": script.rollback_step,
        "rollback_target": script.rollback_target,
        "restored_success": None if script.error is None else played.won,
        "injected": list(injected),
        "distances": [None if math.isinf(length) else int(length) for length in distances(game, played.turns)],
        "conversations": conversations(game.name, game.level.task, played, injected, setting.prompts),
    }


def _injected(script: Script, played: Performance) -> tuple[int, ...]:
    begin = len(script.before) + 1
    wrong = set() if script.error is None else set(range(begin, begin + len(script.error.actions)))
    return tuple(sorted(wrong | {turn.index for turn in played.turns if turn.invalid is not None}))


def _traced(turn: Turn) -> dict[str, Any]:
    return {
        "turn": turn.index,
        "action": "rollback" if turn.rollback else "game",
        "content": turn.action,
        "observation": turn.observation,
        "invalid": turn.invalid,
        "target": turn.target,
        "reason": turn.reason if turn.rollback else None,
    }


def distances(game: Game, turns: Sequence[Turn]) -> Iterator[float]:
    """L at every turn, by the rules alone, without the environment."""
    states = {0: game.simulator.begin(game.level)[0]}
    here = states[0]
    yield game.distance(here)
    for taken in turns[1:]:
        here = states[taken.target] if taken.target is not None else game.step(here, taken.action).state
        states[taken.index] = here
        yield game.distance(here)


def conversations(
    env: str, task: str, played: Performance, injected: Sequence[int], prompts: Prompts
) -> list[list[Message]]:
    """What a model is to learn from: dialogues in which the answers marked `train` are to be imitated.

    A rollback cuts the dialogue back, so an episode with one is two dialogues: up to the rollback, and the one that is
    left after it, with the note that the model finds there. An answer is trained once: in the second dialogue only what
    follows the rollback is. What was done wrong on purpose is never trained. Where a model is asked anew each turn
    (`style="single"`, or a `window`), every trained answer is a dialogue of its own.
    """
    turns = played.turns
    back = next((turn.index for turn in turns if turn.target is not None), 0)
    taught = [turn.index for turn in turns[1:] if turn.index not in injected]
    whole = prompts.style == "dialogue" and prompts.window is None
    ends = [end for end in (back, turns[-1].index) if end] if whole else taught
    made = []
    for end in ends:
        asked = prompt(env, task, turns[:end], prompts, played.going_back, played.max_turns)
        answers = iter([remembered.turn.index for remembered in branch(turns[:end])[1:]] if whole else ())
        messages: list[Message] = []
        for message in asked:
            number = next(answers) if message["role"] == "assistant" and whole else 0
            trains = number in taught and (end == back or number > back)
            messages.append({**message, "train": trains})
        messages.append({"role": "assistant", "content": turns[end].text, "train": True})
        made.append(messages)
    return made


def line(sample: Sample) -> str:
    """One line of JSON, without the line break."""
    return json.dumps(sample, allow_nan=False, separators=(",", ":"))


def read(path: str | os.PathLike[str]) -> Iterator[Sample]:
    """The samples of a data set, one after the other.

    Raises:
        RecordError: at a line that is no JSON, naming the line.
        OSError: if there is no such file.
    """
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            if raw.isspace():
                continue
            try:
                yield json.loads(raw)
            except (ValueError, RecursionError) as error:
                raise RecordError(
                    f"{os.fspath(path)}, line {number}: no JSON ({error}); expected a file of rollback-gym dataset."
                ) from None


def sft_rows(sample: Sample) -> Iterator[dict[str, Any]]:
    """The conversations as rows: `messages`, each with its mask `train`, and where they come from."""
    for messages in sample["conversations"]:
        yield {"messages": messages, **_origin(sample)}


def answer_rows(sample: Sample) -> Iterator[dict[str, Any]]:
    """A row for each answer that is trained: `prompt`, the messages before it, and `completion`, the answer.

    TRL trains all answers of `messages`, or none: it knows no mask for a single one. Of these rows it trains the
    completions, that is, just what is right.
    """
    for messages in sample["conversations"]:
        said = [{"role": message["role"], "content": message["content"]} for message in messages]
        for place, message in enumerate(messages):
            if message["train"]:
                yield {"prompt": said[:place], "completion": [said[place]], **_origin(sample)}


def _origin(sample: Sample) -> dict[str, Any]:
    return {"id": sample["id"], "task_id": sample["task_id"], "form": sample["form"]}
