"""Writes a game as a file that TextWorld, ALFWorld and this package play alike."""

import os
import threading
from pathlib import Path

from rollback_gym.core.errors import DataError
from rollback_gym.envs.alfworld.made.pddl import game_json
from rollback_gym.envs.alfworld.problem import Game

SUFFIX = ".tw-pddl"
"""TextWorld knows the format of a game by the end of its file's name."""


def export(game: Game, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Writes `game` to `path`, whole or not at all, and returns the path.

    Raises DataError where something is there already (unless told to `overwrite` a file), where the folder is
    missing or cannot be written to, and for a name that does not end in `.tw-pddl`.
    """
    target = Path(path)
    if not target.name.endswith(SUFFIX):
        raise DataError(f"{target}: TextWorld plays only files whose name ends in {SUFFIX}; call it game{SUFFIX}.")
    draft = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        if not target.parent.is_dir():
            raise DataError(f"There is no folder {target.parent} to write {target.name} into; make it first.")
        if target.is_dir():
            raise DataError(f"{target} is a folder; expected the name of a file to write.")
        if target.exists() and not overwrite:
            raise DataError(f"{target} exists already; choose another name, or overwrite it (overwrite=True).")
        try:
            draft.write_text(game_json(game.problem, game.task, game.walkthrough), encoding="utf-8")
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error}. Check its name, the rights and the space.") from error
    return target
