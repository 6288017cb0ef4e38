"""PivotOPD as a config asks for it: `pivotopd:`. See `pivotopd.py`. Nothing here imports torch."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

from rollback_gym.core.errors import ConfigError, MissingExtra, PolicyError, RunStopped
from rollback_gym.oracles.lookup import Oracle
from rollback_gym.play.endpoint import Endpoint
from rollback_gym.trainer.backends import Backend
from rollback_gym.trainer.chat import Chat
from rollback_gym.trainer.checking import Count, NotNegative, Number, Positive, check_url
from rollback_gym.trainer.hints import GOLD
from rollback_gym.trainer.judging import LLMTeacher, by_generator, by_model
from rollback_gym.trainer.pivot_settings import Frozen, Recovering, Settings, Sharing, Where
from rollback_gym.trainer.pivot_settings import check as check_settings
from rollback_gym.trainer.scene import Scene
from rollback_gym.trainer.teacher_reports import MOST_CANDIDATES
from rollback_gym.trainer.teachers import GoingBack, OracleTeacher, Teacher

_OWN = ("messages", "model", "max_tokens", "temperature", "seed", "stream", "n")
"""What `teacher.extra` may not hold: settings of their own, and what no single answer would come of."""
_WAIT = 60.0


@dataclass(frozen=True)
class Judge:
    """Who names the turns that decided, and what should have been done on them."""

    source: Literal["oracle", "llm", "self"] = "oracle"
    """`oracle`: L(s). `llm`: a model at an endpoint. `self`: what is trained, as it was at the start of the step."""
    most: Count = MOST_CANDIDATES
    """m: turns of an episode."""
    going_back: GoingBack = "no"
    """Whether a recovery action may be a rollback; only `oracle` has it, as the next."""
    weigh: bool = False
    """Whether a mistake counts by what it lost."""
    url: str | None = None
    """An OpenAI-compatible endpoint, up to the version, such as http://localhost:8000/v1; only `llm` has it."""
    model: str | None = None
    """As the endpoint knows it."""
    key_variable: str = "OPENAI_API_KEY"
    """The environment variable that holds the endpoint's key; where it is not set, none is sent."""
    at_once: Count = 16
    """Questions that the endpoint is asked at the same time."""
    samples: Count = 1
    """How often `llm` and `self` are asked the same; they vote."""
    answer: Count = 1024
    """Tokens of an answer of theirs, at most; to an endpoint, `max_tokens`. One that is cut off is no report."""
    temperature: NotNegative | None = None
    """null leaves it to the endpoint; only `llm` has it, as the next. `self` is sampled as episodes are."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More fields of every request, such as {chat_template_kwargs: {enable_thinking: false}}."""


@dataclass(frozen=True)
class Distilling:
    """Prevention and recovery, beside reward; see `pivot_settings.Settings` and `Recovering`."""

    on: bool = False
    prevention: NotNegative = 0.001
    prevention_clip: Positive | None = None
    lesson: NotNegative = 0.001
    turns: Number = 1
    """K."""
    weight: NotNegative | Sharing = "turns"
    """w_rec."""
    adaptive: bool = False
    forward: bool = True
    clip: NotNegative = 5.0
    most: Count = 64
    """Recovery rows of a step, of all processes together."""
    tries: Count = 1
    where: Where = "pivots"
    hint: str | None = GOLD
    frozen: Frozen = "start"
    teacher: Judge = field(default_factory=Judge)

    @property
    def writes_as_before(self) -> bool:
        """Whether recovery answers are the initial model's."""
        return self.frozen == "initial" and self.turns > 0 and self.forward

    def settings(self, processes: int = 1) -> Settings:
        """Those of one of so many processes."""
        return Settings(
            prevention=self.prevention,
            prevention_clip=self.prevention_clip,
            lesson=self.lesson,
            recovering=Recovering(self.turns, self.weight, self.adaptive, self.forward),
            clip=self.clip,
            most=-(-self.most // processes),
            tries=self.tries,
            where=self.where,
            hint=self.hint,
            frozen=self.frozen,
        )


def check(distilling: Distilling, kl: float, backend: Backend) -> None:
    """Raise ConfigError where settings do not go together, with each other or with the base algorithm's."""
    if not distilling.on:
        return
    try:
        check_settings(distilling.settings(), writes=distilling.writes_as_before)
    except ValueError as error:
        raise ConfigError(f"pivotopd: {error}") from None
    judge = distilling.teacher
    for name, given in (("url", judge.url), ("model", judge.model)):
        if (given is None) == (judge.source == "llm"):
            raise ConfigError(f"pivotopd.teacher.{name} must be given where source is llm, and only there.")
    if judge.url is not None:
        check_url("pivotopd.teacher.url", judge.url, "http://localhost:8000/v1")
    if own := [name for name in judge.extra if name in _OWN]:
        raise ConfigError(f"pivotopd.teacher.extra must not hold {own[0]}: it is set otherwise.")
    if judge.source != "oracle" and (judge.weigh or judge.going_back != "no"):
        raise ConfigError("pivotopd.teacher: only the oracle weighs mistakes, and says whether to go back.")
    if distilling.frozen == "initial" and kl == 0:
        raise ConfigError("pivotopd.frozen=initial needs the reference model, which is there where rl.kl is above 0.")
    if distilling.writes_as_before and backend != "transformers":
        raise ConfigError(
            "pivotopd.frozen=initial samples recovery answers from a copy of the initial model, which vLLM lacks: take "
            "generation.backend=transformers, or pivotopd.frozen=start."
        )


def check_there(distilling: Distilling) -> None:
    """Make sure that a teacher behind an endpoint answers, as it will be asked, before anything is loaded.

    Raises:
        MissingExtra: if what asks over HTTP is not installed.
        ConfigError: if the teacher does not answer, or comes to no end.
    """
    judge = distilling.teacher
    if not distilling.on or judge.source != "llm":
        return
    if find_spec("httpx") is None:
        raise MissingExtra("pivotopd.teacher.source=llm needs httpx: pip install 'rollback-gym[endpoint]'.")
    try:
        answer = _endpoint(judge, timeout=_WAIT, retries=0).answer(({"role": "user", "content": "Say yes."},), 0)
    except (PolicyError, RunStopped) as error:
        why = str(error).rstrip(".")
        raise ConfigError(
            f"The teacher {judge.model} does not answer at {judge.url} ({why}). Serve it there, or change "
            "pivotopd.teacher."
        ) from None
    if answer.usage.get("finish_reason") == "length":
        raise ConfigError(
            f"The teacher {judge.model} says yes in no {judge.answer} tokens (pivotopd.teacher.answer), so none of its "
            "reports would come to an end. Keep it from thinking by pivotopd.teacher.extra, or allow it more."
        )


def teacher_of(judge: Judge, chat: Chat, text: int, oracle: Oracle) -> Callable[[Scene], Teacher]:
    """Who teaches in a scene.

    Args:
        judge: Who is asked for.
        chat: Writes the student's texts, where it is its own teacher.
        text: Tokens that the student reads and writes at once, at most.
        oracle: Knows L.
    """
    voting = {"samples": judge.samples, "most": judge.most}
    teacher: Teacher
    if judge.source == "self":
        return lambda scene: LLMTeacher(by_generator(chat, scene.generator, judge.answer, text), **voting)
    if judge.source == "llm":
        teacher = LLMTeacher(by_model(_endpoint(judge), judge.at_once), **voting)
    else:
        teacher = OracleTeacher(oracle, most=judge.most, going_back=judge.going_back, weigh=judge.weigh)
    return lambda scene: teacher


def _endpoint(judge: Judge, **asking: Any) -> Endpoint:
    warmth = {} if judge.temperature is None else {"temperature": judge.temperature}
    body = {"model": judge.model, "max_tokens": judge.answer, **warmth, **judge.extra}
    return Endpoint(str(judge.url), body, key=os.environ.get(judge.key_variable), **asking)
