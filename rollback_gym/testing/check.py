"""One call that tries all laws of going back on an environment."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import gymnasium as gym

from rollback_gym.testing.laws import LAWS, Skipped
from rollback_gym.testing.subject import CheckFailed, Env, Make, Subject

__all__ = ["CheckFailed", "Report", "check_rollback_env"]


class Report(NamedTuple):
    """Which laws an environment kept."""

    passed: tuple[str, ...]
    skipped: dict[str, str]
    """Laws that do not apply, and why."""
    failed: dict[str, str]
    """Laws that are broken: what was done, what was expected, what came."""

    def __str__(self) -> str:
        lines = [f"kept     {name}" for name in self.passed]
        lines += [f"skipped  {name}: {why}" for name, why in self.skipped.items()]
        lines += [f"broken   {name}: {what}" for name, what in self.failed.items()]
        return "\n".join(lines)


def check_rollback_env(
    env: str | Env | Callable[[], Env],
    *,
    turns: int = 60,
    only: Sequence[str] | None = None,
    raise_on_failure: bool = True,
    progress: Callable[[str], None] = lambda name: None,
    **kwargs: Any,
) -> Report:
    """Try whether an environment can go back exactly, as its users will do it.

    An environment without snapshots is wrapped in `Snapshots`, one without rollbacks in `Rollback`; a game of your own
    should come with its wrappers, so that they are tried too.

        >>> from rollback_gym.testing import check_rollback_env
        >>> check_rollback_env("MyGame-v0")                             # doctest: +SKIP
        >>> check_rollback_env(lambda: Rollback(MyEnv(), revive=True))  # doctest: +SKIP

    Args:
        env: A registered id, a function that makes an environment, or one that `gym.make` made; several are made. An
            environment in whatever order its laws were broken is of no use afterwards, so the one given is not touched.
        turns: How long the random episodes are at most.
        only: The names of the laws to try, out of `rollback_gym.testing.laws.LAWS`; by default all.
        raise_on_failure: Whether broken laws raise; else the report says so.
        progress: Called with the name of each law before it is tried.
        kwargs: Passed to `gym.make`, with an id.

    Raises:
        CheckFailed: naming every law that is broken, with what was done, what was expected and what came.
        TypeError: if `env` cannot be made again.
    """
    unknown = set(only or ()) - LAWS.keys()
    if unknown:
        raise ValueError(f"There are no laws {', '.join(sorted(unknown))}; there are {', '.join(LAWS)}.")
    subject = Subject(_maker(env, kwargs), turns)
    passed: list[str] = []
    skipped: dict[str, str] = {}
    failed: dict[str, str] = {}
    for name, law in LAWS.items():
        if only is not None and name not in only:
            continue
        progress(name)
        try:
            law(subject)
            passed.append(name)
        except Skipped as why:
            skipped[name] = str(why)
        except CheckFailed as failure:
            failed[name] = str(failure)
        except Exception as error:  # whatever a foreign environment raises where it should not
            failed[name] = f"{type(error).__name__}: {error}"
    report = Report(tuple(passed), skipped, failed)
    if failed and raise_on_failure:
        raise CheckFailed("\n".join(f"{name}: {what}" for name, what in failed.items()))
    return report


class _Registered:
    """Makes a registered environment; can go to another process, which need not have registered it."""

    def __init__(self, spec: Any, kwargs: dict[str, Any]) -> None:
        self.spec = spec
        self.kwargs = kwargs

    def __call__(self) -> Env:
        return gym.make(self.spec, **self.kwargs)


def _maker(env: Any, kwargs: dict[str, Any]) -> Make:
    if isinstance(env, str):
        return _Registered(gym.spec(env), kwargs)
    if isinstance(env, gym.Env):
        if env.spec is None:
            raise TypeError(
                f"{env} was not made by gym.make, so that it cannot be made again: pass its id, or a function that "
                "makes it."
            )
        return _Registered(env.spec, kwargs)
    if callable(env):
        return cast(Make, env)
    raise TypeError(f"Expected an id, an environment or a function that makes one, got {type(env).__name__}.")
