"""Everything that a training run is decided by: dataclasses, filled from a YAML file.

Those that come with the package are in `configs/`, each default there with its source. A mistake is one sentence
before anything is loaded. Nothing here imports torch.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym

from rollback_gym.core.errors import ConfigError, MissingExtra
from rollback_gym.play.prompts import Prompts
from rollback_gym.play.records import Made
from rollback_gym.play.run import made_by
from rollback_gym.study.dataset import OPTIONS, Recipe, check_recipe
from rollback_gym.study.inject import Kind
from rollback_gym.trainer import backends, distilling, reporting
from rollback_gym.trainer.backends import Generation
from rollback_gym.trainer.checking import Count, NotNegative, Number, Positive, Share, build
from rollback_gym.trainer.contexts import check_style
from rollback_gym.trainer.curriculum import Schedule
from rollback_gym.trainer.distilling import Distilling
from rollback_gym.trainer.shaping import Rewards
from rollback_gym.trainer.watchdogs import Watchdogs

Algorithm = Literal["grpo", "gigpo", "ppo"]


@dataclass(frozen=True)
class Model:
    """What is trained."""

    path: str | None = None
    """A model for transformers, by its folder or name; null makes a tiny one, with the environment's words."""
    hidden: Count = 64
    """Of a tiny one, as the next four."""
    layers: Count = 3
    heads: Count = 4
    feed_forward: Count = 192
    things: bool = False
    """Whether a thing and its number are one token. With a token for every word names are copied sooner where they are
    not; with `phrases` the shorter texts are worth more."""
    phrases: bool = False
    """Whether what often stands between names and numbers is one token; see `tiny_tokenizer`."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """What is computed in, on a GPU. Weights that are trained are float32, always: bfloat16 has 8 bits, and a step of
    1e-6 changes hardly a number of these. Frozen ones, below an adapter, are stored in it, and those of a model that is
    only evaluated."""
    template: Mapping[str, Any] = field(default_factory=dict)
    """More for the chat template, such as {enable_thinking: false}."""
    lora_rank: Number = 0
    """0 trains all weights."""
    lora_alpha: Positive = 32.0


@dataclass(frozen=True)
class Environment:
    """What is played."""

    id: str = "Rollback-ALFWorld-v0"
    options: Mapping[str, Any] = field(default_factory=dict)
    """For gym.make."""


@dataclass(frozen=True)
class Asking:
    """How a model is asked; see `play.prompts.Prompts`."""

    style: Literal["dialogue", "single"] = "dialogue"
    window: Number | None = None
    admissible: bool = True
    think: bool = True
    rollback: bool = True
    system: bool = True
    thoughts: bool = True
    brief: bool = False
    reasons: bool = True
    """Whether demonstrations say why they go back."""
    notes: bool = False
    """Whether demonstrations think in notes (`study.notes`), for models of a few layers. ALFWorld only."""
    context: Literal["dialogue", "turns"] = "dialogue"
    """`dialogue`: the whole of it in one text. `turns`: a text a turn, with a window of the last few."""


@dataclass(frozen=True)
class Data:
    """Demonstrations; see `rollback-gym dataset`."""

    records: Count = 1000
    """Of each level, to learn from."""
    clean: Share = 0.2
    """The share of episodes without an error."""
    searches: Number = 0
    """How many places of ALFWorld are looked at in vain before what is needed is found, at most; in RL, too."""
    fumbles: Share = 0.0
    """The chance, before each right action, of one that ALFWorld refuses, and that is not trained; in RL, too."""
    workers: Count = 1


@dataclass(frozen=True)
class Sft:
    """Learning from demonstrations."""

    levels: tuple[int, ...] = (1, 2, 3)
    """Whose data."""
    epochs: Positive = 3.0
    batch: Count = 32
    """Texts of an update."""
    rows: Count | None = None
    """Of these, how many are computed at once in a process, at most; null: all of its own."""
    checkpointing: bool = False
    """Whether what lies between layers is computed again instead of kept, as in RL."""
    learning_rate: Positive = 2e-5
    warmup: Share = 0.03
    optimizer: Literal["adamw", "muon"] = "adamw"
    """`muon` for a model that begins from nothing: Muon for its matrices, AdamW for the rest."""
    told: Number = 0
    """The first epochs in which a model also learns to foresee what it is told; for one that begins from nothing."""
    weight_decay: NotNegative = 0.0
    max_grad_norm: Positive = 1.0


@dataclass(frozen=True)
class Limits:
    """What an episode may take; see `collector.Limits`."""

    answer: Count = 512
    text: Count = 8192
    turns: Count | None = None
    parallel: Count | None = None


@dataclass(frozen=True)
class Rl:
    """Learning from reward."""

    algorithm: Algorithm = "grpo"
    steps: Count = 160
    groups: Count = 16
    """Episodes that begin differently, a step."""
    group: Count = 8
    """Episodes that begin alike: G; at least 2."""
    learning_rate: Positive = 1e-6
    kl: NotNegative = 0.01
    clip: Positive = 0.2
    """How far the ratio of new to old probabilities counts. Here a step is one update, by the policy that played it, so
    the ratio is 1 and this never acts."""
    discount: Share = 0.95
    gae: Share = 0.95
    """Lambda; only PPO has it."""
    batch: Count = 8
    """Rows that are computed at once in a process, at most: a matter of memory alone. All rows of a step are one
    update, whatever this is; it is no paper's batch, which makes several."""
    temperature: Positive = 1.0
    max_grad_norm: Positive = 1.0
    checkpointing: bool = True
    """Whether what lies between layers is computed again instead of kept: less memory, a third more time."""
    below: Share = 1.0
    """What a group's negative advantages are multiplied by (`Method.below`); PPO has no groups."""
    scale: bool = True
    """Whether advantages are divided by their standard deviation (in PPO, over the batch). Not doing so (Dr. GRPO, Liu
    et al. 2025) lets a group in which some lost count for more than one in which all won, some a turn later."""


@dataclass(frozen=True)
class Levels:
    """How episodes begin in RL."""

    clean: Share = 0.2
    """The share of episodes without an error."""
    begun: Share = 0.5
    """Of those, the share in which the agent takes over in the middle, as it does where there is an error."""
    kinds: tuple[str, ...] = tuple(map(str, Kind))
    """Of errors, in levels 1 and 2; an ablation is to leave all but one out. Level 3 is always a misread intent."""


@dataclass(frozen=True)
class Evaluation:
    """How often, and how much, a run is evaluated."""

    every: Count = 10
    """Steps."""
    episodes: Count = 64
    """Of each level, with errors."""
    clean: Count = 64
    """Clean ones."""
    final: Count = 200
    """Of each level, and clean ones, before and after."""
    temperature: NotNegative = 1.0


@dataclass(frozen=True)
class Config:
    """A training run."""

    seed: Number = 0
    threads: Count | None = None
    """Of the processor; null takes all cores."""
    model: Model = Model()
    environment: Environment = field(default_factory=Environment)
    asking: Asking = Asking()
    data: Data = Data()
    sft: Sft = Sft()
    rl: Rl = Rl()
    generation: Generation = field(default_factory=Generation)
    pivotopd: Distilling = field(default_factory=Distilling)
    limits: Limits = Limits()
    levels: Levels = Levels()
    curriculum: Schedule = field(default_factory=Schedule)
    rewards: Rewards = field(default_factory=Rewards)
    watchdogs: Watchdogs = field(default_factory=Watchdogs)
    evaluation: Evaluation = Evaluation()
    save_every: Count = 10
    """Steps between checkpoints that a run can go on from."""
    report_to: tuple[str, ...] = ()
    """Where else metrics go: tensorboard, wandb, and what else transformers knows."""

    @property
    def prompts(self) -> Prompts:
        """How a model is asked."""
        given = {name: getattr(self.asking, name) for name in Prompts._fields}
        return Prompts(**given)

    @property
    def made(self) -> Made:
        """The environment, with what data sets add to it so that a lost game can go back."""
        id = self.environment.id
        added = OPTIONS.get(id.removeprefix("rollback_gym:"), {})
        return made_by(id, {**added, **self.environment.options})

    def recipe(self, level: int) -> Recipe:
        """What demonstrations of a level are made of."""
        return Recipe(
            level,
            self.data.records,
            self.environment.id,
            self.environment.options,
            "train",
            self.seed,
            self.data.clean,
            prompts=self.prompts,
            reasons=self.asking.reasons,
            notes=self.asking.notes,
            searches=self.data.searches,
            fumbles=self.data.fumbles,
        )


def names() -> tuple[str, ...]:
    """The configs that come with the package."""
    folder = resources.files("rollback_gym.trainer").joinpath("configs")
    found = [("", folder), ("pivotopd/", folder.joinpath("pivotopd"))]
    files = [f"{before}{entry.name}" for before, within in found for entry in within.iterdir()]
    return tuple(sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml")))


def read(named: str, overrides: Sequence[tuple[str, Any]] = ()) -> Config:
    """The config of this name, or in this file.

    Args:
        named: One of `names()`, or the path of a YAML file.
        overrides: Settings by their path, such as `("rl.steps", 20)`, over what the file says.

    Raises:
        ConfigError: at a mistake, naming it.
    """
    data = read_yaml(named, resources.files("rollback_gym.trainer").joinpath("configs"), names())
    for path, value in overrides:
        _put(data, path.split("."), path, value)
    config = build(Config, data)
    check(config)
    return config


def read_yaml(named: str, folder: Any, known: Sequence[str]) -> dict[str, Any]:
    """What a config holds that comes with the package, or lies elsewhere.

    Args:
        named: One of `known`, or the path of a YAML file.
        folder: Where those that come with the package are.
        known: Their names.

    Raises:
        ConfigError: if there is no such file, or it does not hold settings by name.
    """
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("Configs are YAML: pip install 'rollback-gym[trainer]'.") from error
    try:
        text = (folder.joinpath(f"{named}.yaml") if named in known else Path(named)).read_text("utf-8")
    except (OSError, ValueError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ConfigError(
            f"There is no config {named!r} ({why}). Give the path of a YAML file, or one of {', '.join(known)}."
        ) from None
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{named} is no YAML: {' '.join(str(error).split())}.") from None
    if data is not None and not isinstance(data, dict):
        raise ConfigError(f"{named} must hold settings with names, such as 'seed: 1'.")
    return data or {}


def _put(data: dict[str, Any], names: list[str], path: str, value: Any) -> None:
    here = data
    for name in names[:-1]:
        here = here.setdefault(name, {})
        if not isinstance(here, dict):
            raise ConfigError(f"{path}: {name} has no settings of its own.")
    here[names[-1]] = value


def check(config: Config) -> None:
    """Raise ConfigError where settings do not go together."""
    try:
        check_style(config.asking.context, config.prompts)
    except ValueError as error:
        raise ConfigError(f"asking: {error}") from None
    for level in config.sft.levels:
        if level not in (1, 2, 3):
            raise ConfigError(f"sft.levels must be some of 1, 2 and 3, got {level!r}.")
    for kind in config.levels.kinds:
        if kind not in tuple(Kind):
            raise ConfigError(f"levels.kinds must be some of {', '.join(Kind)}, got {kind!r}.")
    if not config.levels.kinds or not config.sft.levels:
        raise ConfigError("levels.kinds and sft.levels must not be empty.")
    if config.model.path is None and config.model.hidden % (2 * config.model.heads):
        raise ConfigError(
            f"model.hidden must be a multiple of twice model.heads, got {config.model.hidden} and {config.model.heads}."
        )
    if config.rl.group < 2:
        raise ConfigError(
            "rl.group must be at least 2: TRL compares groups of at least two episodes that began alike. Where the "
            "algorithm is ppo, which does not, take 2 and half of rl.groups."
        )
    if config.limits.answer >= config.limits.text:
        raise ConfigError(f"limits.text must be above limits.answer, got {config.limits.text}.")
    backends.check(config.generation)
    distilling.check(config.pivotopd, config.rl.kl, config.generation.backend)
    reporting.check(config.report_to)


def check_there(config: Config) -> None:
    """Raise MissingExtra or ConfigError where what RL is to be done with is not at hand: vLLM, a server, httpx."""
    reporting.check_there(config.report_to)
    backends.check_there(config.generation)
    distilling.check_there(config.pivotopd)


def check_playable(config: Config) -> None:
    """Raise ConfigError unless the environment can be made, and has an injector of errors. Takes a moment."""
    try:
        for level in (1, 2, 3):
            check_recipe(config.recipe(level))
    except (ValueError, TypeError, OSError, gym.error.Error) as error:
        said = str(error).partition(" was raised from the environment creator")[0]
        raise ConfigError(f"environment: {said}") from error


def plain(config: Config) -> dict[str, Any]:
    """`config` as plain values."""
    data: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    return data
