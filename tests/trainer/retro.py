"""Models that look back as they are told, and a corridor whose pit is the end."""

import json
import math
from collections.abc import Callable
from typing import Any

from rollback_gym.oracles.search import BreadthFirst
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.memory import Memory
from rollback_gym.trainer.trajectory import Start, Trajectory, groups
from tests.toy import ToySimulator
from tests.trainer.scripted import PLAIN, Bytes, Drawn, any_act, corridor

CHAT = Chat(Bytes())
LIMITS = Limits(answer=400, text=8000)
TASK = "walk 3 steps"


class Pit(BreadthFirst):
    """L of the corridor: who fell never walks again."""

    def __init__(self) -> None:
        super().__init__(ToySimulator())

    def distance(self, level: Any, state: Any) -> float:
        return math.inf if state.position <= -2 else super().distance(level, state)

    def plan(self, level: Any, state: Any) -> tuple[Any, ...]:
        return () if state.position <= -2 else super().plan(level, state)


def said(done: int = 1, of: int = 2, success: bool = False, lesson: str | None = "Walk to the right.") -> str:
    subtasks = [{"name": f"part {number}", "done": number < done} for number in range(of)]
    return json.dumps({"subtasks": subtasks, "success": success, "action_lesson": lesson, "navigation_lesson": None})


def mirror(chat: Chat = CHAT, reflect: Callable[[str], str] | None = None, play: Any = any_act) -> Drawn:
    """Plays as `play` says, and answers to questions about episodes as `reflect` does."""
    answer = reflect or (lambda text: said())
    return Drawn(chat, lambda number, text: answer(text) if "Look back at it" in text else play(number, text))


def batch(
    agent: Any = None,
    *,
    starts: int = 2,
    size: int = 4,
    generator: Any = None,
    level: int | None = 3,
    tell: Any = None,
    **options: Any,
) -> tuple[Trajectory, ...]:
    """Some groups that were played in the corridor."""
    options.setdefault("max_turns", 6)
    limits = Limits(text=options.pop("text", 8192))
    lesson = tell or (agent.lesson if agent is not None else None)
    setup = Setup(corridor(**options), PLAIN, limits=limits, **({"lesson": lesson} if lesson else {}))
    given = [Start(seed=seed, options={} if level is None else {"level": level}) for seed in range(starts)]
    return Collector(setup, CHAT).play(groups(given, size), generator or mirror(), 0).trajectories


def taught(memory: Memory) -> Memory:
    memory.add(TASK, "The coins are worth nothing.", "[0] ...", "lost")
    return memory
