"""What the command line says when it cannot do what it is asked: one red line, and exit code 2.

Only what a user can cause is caught. A bug keeps its traceback.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import gymnasium as gym
import typer
from rich.console import Console
from rich.text import Text

from rollback_gym.core.errors import RollbackGymError

P = ParamSpec("P")
R = TypeVar("R")


class Refused(RollbackGymError):
    """The options of a command do not go together, or ask for what there is not."""


@contextmanager
def asked_for() -> Iterator[None]:
    """Around code that reads what the user asked for: what it refuses is the user's to mend, not a bug."""
    try:
        yield
    except RollbackGymError:
        raise
    except (ValueError, TypeError, OSError, gym.error.Error) as error:
        # Gymnasium adds the call that failed to the sentence.
        raise Refused(str(error).partition(" was raised from the environment creator")[0]) from error


def polite(command: Callable[P, R]) -> Callable[P, R]:
    """`command`, with a RollbackGymError, or output that cannot be written, told in one line on stderr, exit code 2."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            raise
        except (RollbackGymError, OSError) as error:
            # Of the latter, writing to a full disk is left: what is read is `asked_for`.
            line = " ".join(str(error).split())
            Console(stderr=True).print(Text(f"error: {line}", style="bold red"), soft_wrap=True)
            raise typer.Exit(2) from error

    return run
