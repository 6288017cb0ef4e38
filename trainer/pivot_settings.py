"""How much of PivotOPD is added to the base algorithm; each default with its source."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from rollback_gym.trainer.hints import GOLD

Where = Literal["pivots", "random", "every"]
"""Which turns prevention is for: pivots; as many random turns (an ablation); every turn (plain OPD)."""
Frozen = Literal["start", "initial"]
"""Which student is the self-teacher: as it was at the start of the step, or before training."""
Sharing = Literal["turns", "tokens"]


class Recovering(NamedTuple):
    """How recovery is trained; in the paper by benchmark, since K and w_rec go together."""

    turns: int = 1
    """K. 0 leaves recovery out."""
    weight: float | Sharing = "turns"
    """w_rec: a number; or what shares 1 among all recovery turns of the step, or among all their tokens."""
    adaptive: bool = False
    """Whether K is the turns that a mistake lost, L(s') - L(s), where the teacher knows them; then `turns` is the most.
    Proposition 3: a chain of d turns of which K are trained is finished with a probability of at most eps^(d - K)."""
    forward: bool = True
    """False distils the student's own turns after a mistake instead (reverse KL; an ablation)."""


class Settings(NamedTuple):
    """What is added to the base algorithm."""

    prevention: float = 0.001
    """w_prev (PivotOPD, table S.2)."""
    prevention_clip: float | None = None
    """Cuts A at pivots before it is weighed. The paper does not; models of a few layers need it."""
    lesson: float = 0.001
    """w_traj (the same)."""
    recovering: Recovering = Recovering()
    by_env: Mapping[str, Recovering] = {}
    """For some environments by their names, such as `webshop`."""
    clip: float = 5.0
    """delta (the same)."""
    most: int = 64
    """Recovery rows of a step, in each process (the same)."""
    tries: int = 1
    """How often a recovery answer is asked for until one is kept; the paper asks once."""
    where: Where = "pivots"
    hint: str | None = GOLD
    """h(a*), with `{action}` for the action; None is the ablation in which hints name none."""
    frozen: Frozen = "start"


def check(settings: Settings, writes: bool) -> None:
    """Raise ValueError where settings are out of range, or do not go together.

    Args:
        settings: What is asked for.
        writes: Whether there is a writer of recovery answers beside what is trained.
    """
    numbers = {
        "prevention": settings.prevention,
        "lesson": settings.lesson,
        "clip": settings.clip,
        "prevention_clip": settings.prevention_clip or 0.0,
        "most": settings.most,
    }
    for name, number in numbers.items():
        if number < 0:
            raise ValueError(f"{name} must be at least 0, got {number!r}.")
    if settings.tries < 1:
        raise ValueError(f"tries must be at least 1, got {settings.tries!r}.")
    for how in (settings.recovering, *settings.by_env.values()):
        if how.turns < 0:
            raise ValueError(f"The turns of recovery, K, must be at least 0, got {how.turns!r}.")
        if isinstance(how.weight, str) and how.weight not in get_args(Sharing):
            raise ValueError(f"The weight of recovery must be a number, turns or tokens, got {how.weight!r}.")
        if not isinstance(how.weight, str) and how.weight < 0:
            raise ValueError(f"The weight of recovery must be at least 0, got {how.weight!r}.")
        if settings.frozen == "initial" and how.turns and how.forward and not writes:
            raise ValueError(
                "With frozen='initial' recovery answers are the initial student's: give a writer that samples from it."
            )
    if settings.hint is not None and "{action}" not in settings.hint:
        raise ValueError(f"hint must have a place for the action, {{action}}; got {settings.hint!r}.")
    for name, value, options in (("where", settings.where, Where), ("frozen", settings.frozen, Frozen)):
        if value not in get_args(options):
            raise ValueError(f"{name} must be one of {', '.join(get_args(options))}, got {value!r}.")
