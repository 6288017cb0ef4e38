"""Episodes in the corridor with mistakes in them, and what PivotOPD needs to make rows of those."""

from collections.abc import Sequence
from typing import Any

from rollback_gym.oracles.search import BreadthFirst
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.collector import Collector, Limits, Setup
from rollback_gym.trainer.generator import Ask, Sample
from rollback_gym.trainer.pivot_settings import Settings
from rollback_gym.trainer.pivotopd import PivotOPD
from rollback_gym.trainer.rewards import environment_rewards
from rollback_gym.trainer.rows import Row, with_advantages
from rollback_gym.trainer.scene import Scene
from rollback_gym.trainer.teachers import OracleTeacher
from rollback_gym.trainer.trajectory import Start
from tests.toy import ToySimulator
from tests.trainer.scripted import PLAIN, Bytes, Told, act, corridor

CHAT = Chat(Bytes())
SETUP = Setup(corridor(), PLAIN, limits=Limits(answer=60, text=6000))
ORACLE = BreadthFirst(ToySimulator())
TEACHER = OracleTeacher(ORACLE)
WORDS = {"r": "right", "l": "left", "t": "take"}


def said(moves: str) -> list[str]:
    """Answers: r, l and t are steps, a digit is a rollback."""
    return [act(WORDS.get(move, f"rollback({move})")) for move in moves]


def played(*moves: str, length: int = 4, setup: Setup = SETUP, before: str = "") -> Scene:
    """A batch: one episode for each text of moves, which ends by falling into the pit where they do not end it.

    `before` is said before each action.
    """
    told = Told(CHAT, *[[f"{before}{action}" for action in [*said(of), *[act("left")] * 12]] for of in moves])
    batch = Collector(setup, CHAT).play([Start(options={"level": length})] * len(moves), told, 0)
    rows = tuple(
        with_advantages(row, {span.turn: 0.5 + row.episode + span.turn / 8 for span in row.spans}) for row in batch.rows
    )
    return Scene(batch.trajectories, environment_rewards(batch.trajectories), rows, Obeying(CHAT), Scored(), 0, 0)


class Scored:
    """A log-prob for a token by the token and how much stands before it; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[Row], bool]] = []

    def logprobs(self, rows: Sequence[Row], *, reference: bool = False) -> tuple[tuple[float, ...], ...]:
        self.asked.append((list(rows), reference))
        return tuple(
            tuple(logprob(len(row.prompt) + at, token) for at, token in enumerate(row.completion)) for row in rows
        )


def logprob(before: int, token: int) -> float:
    return -(1 + (before * 7 + token * 3) % 101) / 10


class Obeying(Told):
    """A self-teacher that does what the hint names, or what `otherwise` makes of that."""

    def __init__(self, chat: Chat, otherwise: Any = act, stops: bool = True) -> None:
        super().__init__(chat, stops=stops)
        self.otherwise = otherwise

    def generate(self, asks: Sequence[Ask], seed: int) -> list[Sample]:
        self.asked.append(list(asks))
        self.seeds.append(seed)
        return [self._sample(ask, self.otherwise(self._hinted(ask))) for ask in asks]

    def _hinted(self, ask: Ask) -> str:
        last = self.chat.text(ask.ids).rpartition("(Between us: ")[2]
        return last.partition(" is a sound")[0]


def opd(settings: Settings, teacher: Any = TEACHER, setup: Setup = SETUP, writer: Any = None, **more: Any) -> PivotOPD:
    return PivotOPD(settings, setup, CHAT, lambda scene: teacher, writer, **more)
