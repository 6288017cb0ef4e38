"""Everything that a RetroAgent training is decided by; those that come with the package are in `configs/retroagent/`.

Nothing here imports torch, so a config is checked before anything is loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Literal

from rollback_gym.core.errors import ConfigError
from rollback_gym.play.prompts import Prompts
from rollback_gym.play.records import Made
from rollback_gym.play.run import made_by
from rollback_gym.trainer import reporting
from rollback_gym.trainer.checking import Count, NotNegative, Number, Positive, Share, build
from rollback_gym.trainer.config import Asking, Environment, Limits, Model, Rl, read_yaml
from rollback_gym.trainer.contexts import check_style
from rollback_gym.trainer.lessons import Ranking, Rule


@dataclass(frozen=True)
class Reward:
    """What a turn earns."""

    environment: Positive = 1.0
    """On what the environment pays. The public code's ALFWorld pays 10 for a win, and ours, like the original, 1."""
    coefficient: NotNegative = 1.0
    """On R_int; 0 is the ablation without."""
    penalty: NotNegative = 0.1
    """For an inadmissible action."""
    decay: Share | None = None
    """null: Phi is the highest success rate so far. Else a moving average, and this is the weight of the past."""


@dataclass(frozen=True)
class Lessons:
    """The memory."""

    on: bool = True
    encoder: str = "sentence"
    """sentence, hashing, or a model for sentence-transformers."""
    rule: Rule = "ucb"
    alpha: Share = 0.6
    kappa: NotNegative = 1.0
    floor: Share = 0.4
    beta: Share = 0.05
    same: Share = 0.85
    capacity: Count = 100_000
    retrieved: Count = 3
    outperform: bool = False

    @property
    def ranking(self) -> Ranking:
        """How lessons are ranked."""
        return Ranking(self.rule, self.alpha, self.kappa, self.floor)


@dataclass(frozen=True)
class Looking:
    """Who looks back, and how."""

    source: Literal["context", "trained", "oracle"] = "context"
    weight: Positive = 1.0
    """lambda_reflect; only `trained` has it."""
    answer: Count = 2048
    """Tokens of a reflection."""
    text: Count = 18_432
    """Tokens of a reflection and all that is read for it."""
    measured: bool = True
    """Whether phi is compared with the exact one. Where a board is too large for that, false."""


@dataclass(frozen=True)
class RetroConfig:
    """A training run."""

    seed: Number = 0
    model: Model = field(default_factory=Model)
    environment: Environment = field(default_factory=Environment)
    asking: Asking = field(default_factory=Asking)
    rl: Rl = field(default_factory=Rl)
    limits: Limits = field(default_factory=Limits)
    reward: Reward = Reward()
    lessons: Lessons = Lessons()
    looking: Looking = Looking()
    vllm: bool = False
    """Whether vLLM samples, in the trainer's processes."""
    save_every: Count = 10
    report_to: tuple[str, ...] = ()

    @property
    def prompts(self) -> Prompts:
        """How a model is asked."""
        return Prompts(**{name: getattr(self.asking, name) for name in Prompts._fields})

    @property
    def made(self) -> Made:
        """The environment."""
        return made_by(self.environment.id, dict(self.environment.options))


def names() -> tuple[str, ...]:
    """The configs that come with the package."""
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in _folder().iterdir()))


def read(named: str, overrides: Sequence[tuple[str, Any]] = ()) -> RetroConfig:
    """The config of this name, or in this file, with settings by their path over what it says.

    Raises:
        ConfigError: at a mistake, naming it.
    """
    data = read_yaml(named, _folder(), names())
    for path, value in overrides:
        *parents, name = path.split(".")
        here = data
        for parent in parents:
            here = here.setdefault(parent, {})
            if not isinstance(here, dict):
                raise ConfigError(f"{path}: {parent} has no settings of its own.")
        here[name] = value
    config = build(RetroConfig, data)
    check(config)
    return config


def check(config: RetroConfig) -> None:
    """Raise ConfigError where settings do not go together."""
    try:
        check_style(config.asking.context, config.prompts)
    except ValueError as error:
        raise ConfigError(f"asking: {error}") from None
    problems = {
        "model.path must name a model: RetroAgent begins with one that can talk.": config.model.path is None,
        "rl.algorithm must be grpo or gigpo: RetroAgent compares the episodes of a group.": (
            config.rl.algorithm == "ppo"
        ),
        "rl.group must be at least 2, better 8: half of it plays with lessons.": config.rl.group < 2,
        "looking.text must be above looking.answer.": config.looking.answer >= config.looking.text,
        "limits.text must be above limits.answer.": config.limits.answer >= config.limits.text,
        "reward.decay must be below 1.": config.reward.decay == 1,
        "lessons.beta must be above 0 and below 1, and lessons.same above 0.": (
            config.lessons.beta in (0, 1) or config.lessons.same == 0
        ),
    }
    for problem, is_so in problems.items():
        if is_so:
            raise ConfigError(problem)
    reporting.check(config.report_to)


def _folder() -> Any:
    return resources.files("rollback_gym.trainer").joinpath("configs", "retroagent")
