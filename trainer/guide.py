"""Leads a run through the curriculum: chooses where episodes begin, evaluates, and does what the schedule decides.

To the trainer it is three things: the source of beginnings, a part of every checkpoint, and a callback. Every decision,
alarm and measure becomes a line of a log, from which the run can be drawn; a run that goes on from a checkpoint goes on
in the log from there.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from transformers import TrainerCallback

from rollback_gym.core.files import whole
from rollback_gym.trainer import curriculum
from rollback_gym.trainer.collector import Collector
from rollback_gym.trainer.config import Config
from rollback_gym.trainer.critic import Critic
from rollback_gym.trainer.curriculum import LEVELS, Decision, Kind
from rollback_gym.trainer.evaluation import CLEAN, Counts, counts, mean
from rollback_gym.trainer.generation import TransformersGenerator
from rollback_gym.trainer.levels import Beginnings
from rollback_gym.trainer.log import Line, Log
from rollback_gym.trainer.trajectory import Start
from rollback_gym.trainer.watchdogs import Measures, Watch, watched


def evaluate(
    collector: Collector, model: Any, beginnings: Beginnings, groups: Mapping[str, Sequence[Start]], temperature: float
) -> dict[str, tuple[Counts, ...]]:
    """Play groups of beginnings, and count."""
    generator = TransformersGenerator(model, collector.chat.stops, temperature=temperature)
    order = [(name, start) for name, starts in groups.items() for start in starts]
    played = collector.play([start for _, start in order], generator, 0)
    tally: dict[str, list[Counts]] = {name: [] for name in groups}
    for (name, _), trajectory in zip(order, played.trajectories, strict=True):
        tally[name].append(counts(trajectory, beginnings.oracle))
    return {name: tuple(episodes) for name, episodes in tally.items()}


class Guide(TrainerCallback):  # type: ignore[misc]
    """The curriculum of a run.

    Args:
        config: The run.
        train: Draws the episodes to learn from.
        held: Draws those to evaluate on.
        collector: Plays them.
        folder: Where the log and the last good weights go.
        log: The log.
        critic: PPO's, whose weights go back with the policy's.
    """

    def __init__(
        self,
        config: Config,
        train: Beginnings,
        held: Beginnings,
        collector: Collector,
        folder: Path,
        log: Log,
        critic: Critic | None = None,
    ) -> None:
        self._config, self._schedule, self._collector, self._folder = config, config.curriculum, collector, folder
        self._train, self._held, self._log, self._critic = train, held, log, critic
        self._state = curriculum.begin(config.curriculum)
        self._watch = Watch()
        self._groups: dict[str, tuple[Start, ...]] = {}
        self._referred: set[int] = set()

    # The source of beginnings.

    def starts(self, seeds: Sequence[int]) -> Sequence[Start]:
        """See `Source.starts`."""
        shares = curriculum.shares(self._schedule, self._state)
        return [self._train.draw(shares, 1, f"step {seed}")[0] for seed in seeds]

    # A part of checkpoints.

    def state(self) -> Any:
        """See `Part.state`."""
        good = None if self._state.good is None else self._state.good.step
        now = {good} if good is not None else set()
        for path in () if self._log.quiet else self._folder.glob("good-*.pt"):
            # The checkpoint before may still be gone back to, if this one is not written to its end.
            if int(path.stem.rpartition("-")[2]) not in now | self._referred:
                path.unlink()
        self._referred = now
        return {"curriculum": curriculum.plain(self._state), "watch": self._watch}

    def resume(self, state: Any) -> None:
        """See `Part.resume`."""
        self._state = curriculum.from_plain(state["curriculum"])
        rewards, called = state["watch"]
        self._watch = Watch(tuple(rewards), tuple((name, times, step) for name, times, step in called))
        self._log.cut(self._state.step)

    # A callback.

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **_: Any
    ) -> None:
        """Evaluate before the first step."""
        if state.global_step == 0:
            self._log.cut(-1)
            self._evaluated(model, optimizer)

    def on_step_end(
        self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **_: Any
    ) -> None:
        """Go on in the schedule; now and then, evaluate."""
        self._state, decisions = curriculum.stepped(self._schedule, self._state)
        self._decided(decisions)
        if self._state.step % self._config.evaluation.every == 0:
            self._evaluated(model, optimizer)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write down what the trainer measured, and have the watchdogs look at it."""
        logs = dict(logs or {})
        if "loss" not in logs:
            return
        shares = curriculum.shares(self._schedule, self._state)
        self._log.add({"step": state.global_step, "what": "step", "shares": shares, **logs})
        reward, kl, malformed = (_number(logs.get(name)) for name in ("return", "kl", "teacher/malformed"))
        self._watched(Measures(state.global_step, reward, kl, malformed=malformed))

    def _evaluated(self, model: Any, optimizer: Any) -> None:
        wanted = [CLEAN, *map(str, LEVELS[: self._state.level])]
        tally = self._tally(model, wanted)
        errors = [episode for name in wanted if name != CLEAN for episode in tally[name]]
        won = {name: mean(tally[name], "success") for name in wanted}
        line: Line = {
            "step": self._state.step,
            "what": "evaluation",
            "success": won,
            "noticed": mean(errors, "noticed"),
            "exact": mean(errors, "exact"),
            "near": mean(errors, "near"),
            "needless": mean(tally[CLEAN], "needless"),
            "format": mean([*errors, *tally[CLEAN]], "format"),
        }
        success = {level: won[str(level)] or 0.0 for level in LEVELS[: self._state.level]}
        self._state, decisions = curriculum.evaluated(self._schedule, self._state, success)
        averages = {str(level): average for level, average in zip(LEVELS, self._state.averages, strict=True)}
        self._log.add({**line, "averages": averages})
        self._watched(Measures(self._state.step, None, None, line["needless"], line["exact"]))
        self._decided(decisions)
        for decision in decisions:
            if decision.kind is Kind.GOOD:
                self._keep(model, optimizer)
            elif decision.kind is Kind.BACK:
                assert decision.to is not None
                self._put_back(model, optimizer, decision.to)

    def _tally(self, model: Any, wanted: Sequence[str]) -> dict[str, tuple[Counts, ...]]:
        """One process evaluates, so that no two decide differently."""
        told: list[Any] = [None]
        if not self._log.quiet:
            groups = {name: self._group(name) for name in wanted}
            told = [evaluate(self._collector, model, self._held, groups, self._config.evaluation.temperature)]
        broadcast_object_list(told)
        return {name: tuple(Counts(*of) for of in episodes) for name, episodes in told[0].items()}

    def _group(self, name: str) -> tuple[Start, ...]:
        """The same beginnings at every evaluation; made when they are first needed."""
        if name not in self._groups:
            wanted = self._config.evaluation
            drawn = (
                self._held.cleans(wanted.clean, "evaluation")
                if name == CLEAN
                else self._held.errors(int(name), wanted.episodes, "evaluation")
            )
            self._groups[name] = drawn
        return self._groups[name]

    def _decided(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            self._log.add({"what": "decision", **decision._asdict()})

    def _watched(self, measures: Measures) -> None:
        self._watch, calls = watched(self._config.watchdogs, self._watch, measures)
        for call in calls:
            self._log.add({"what": "alarm", **call._asdict()})

    # The last good weights.

    def _keep(self, model: Any, optimizer: Any) -> None:
        if self._schedule.mode != "adaptive" or self._log.quiet:
            return
        path = self._good(self._state.step)
        kept = {
            "model": model.state_dict(),
            "optimizer": None if optimizer is None else optimizer.state_dict(),
            "critic": None if self._critic is None else self._critic.state_dict(),
        }
        with whole(path) as draft:
            torch.save(kept, draft)

    def _put_back(self, model: Any, optimizer: Any, step: int) -> None:
        kept = torch.load(self._good(step), map_location="cpu", weights_only=True)
        model.load_state_dict(kept["model"])
        if optimizer is not None and kept["optimizer"] is not None:
            optimizer.load_state_dict(kept["optimizer"])
        if self._critic is not None:
            self._critic.load_state_dict(kept["critic"])

    def _good(self, step: int) -> Path:
        return self._folder / f"good-{step}.pt"


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def final(beginnings: Beginnings, episodes: int, of: str = "final") -> dict[str, tuple[Start, ...]]:
    """The beginnings of an evaluation before or after a run: clean ones, and each level's."""
    return {
        CLEAN: beginnings.cleans(episodes, of),
        **{str(level): beginnings.errors(level, episodes, of) for level in LEVELS},
    }
