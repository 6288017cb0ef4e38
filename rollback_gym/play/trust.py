"""What a record may make this machine do: play environments that are known here, and no more.

A record is data, and may come from anybody. Yet it names what played, and that can be any function of any module, or an
address that is sent whatever an environment variable holds; and the id of an environment can name a module to import.
So what is not known to be harmless runs only where the user has said that the records are trusted.
"""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym

from rollback_gym.core.errors import RecordError, RollbackGymError
from rollback_gym.play.records import Made
from rollback_gym.play.run import make_env

HARMLESS = frozenset(("random", "scripted", "oracle", "noisy-oracle"))
"""Policies that run no code but ours, and reach for nothing outside of the process."""


def made_again(made: Made, *, trusted: bool = False) -> gym.Env[Any, Any]:
    """The environment of a record.

    Args:
        made: How the record says that it was made.
        trusted: Whether a module that the id names may be imported; ours, and those that are imported already, always.

    Raises:
        RecordError: if it names another module, or cannot be made.
    """
    module, colon, _ = made.id.rpartition(":")
    if colon and not trusted and module not in sys.modules:
        raise RecordError(
            f"The environment {made.id!r:.80} is of the module {module!r:.60}, whose code would run here. If you trust "
            "these records, import it before, or pass --trust."
        )
    try:
        return make_env(made)
    except RollbackGymError:
        raise
    except (ValueError, TypeError, OSError, ImportError, gym.error.Error) as error:
        told = str(error).partition(" was raised from the environment creator")[0]
        raise RecordError(f"There is no environment {made.id!r:.80} as the record has it: {told}") from error


def check_policies(policies: Iterable[Mapping[str, Any]]) -> None:
    """Raise RecordError where a policy, as `Episode.policy` names it, is not `HARMLESS`."""
    for policy in policies:
        if policy.get("name") not in HARMLESS:
            settings = ", ".join(f"{name}={value!r:.80}" for name, value in policy.items() if name != "name")
            raise RecordError(
                f"To play on would run {policy.get('name')!r:.80} with {settings[:400] or 'no settings'}, as the "
                "records have it: code, or an address that is sent a key. If you trust them, pass --trust."
            )
