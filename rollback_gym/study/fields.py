"""The shape of a sample of the curriculum: what each field of a line is. `samples.py` fills them."""

from typing import Any, NamedTuple

from rollback_gym.play import shapes
from rollback_gym.play.records import Made

SCHEMA = "rollback-gym/curriculum/1"


class Traced(NamedTuple):
    """One action of a sample."""

    turn: int
    """The action index, from 1."""
    action: str
    """`"game"` or `"rollback"`."""
    content: str
    """What the environment was given."""
    observation: str
    invalid: str | None
    """Why the action was inadmissible, else null."""
    target: int | None
    """Of a rollback: where the game went back to."""
    reason: str | None
    """Of a rollback: what was given as its reason."""


class Message(NamedTuple):
    """A message of a conversation."""

    role: str
    content: str
    train: bool
    """Whether a model is to learn to say this."""


class Fields(NamedTuple):
    """A sample: an episode with a mistake, the rollback to before it, and the way on; or a clean one."""

    schema: str
    id: str
    """Unique in its file."""
    task_id: str
    """The level's id."""
    env: Made
    split: str
    """Of the data set: train, eval or test."""
    curriculum_level: int
    """Of the data set, 1 to 3."""
    form: int
    """Of the sample: 0 clean, else the level of the curriculum that it is of itself."""
    task: str
    observation: str
    """What node 0 showed."""
    trace: tuple[Traced, ...]
    rollback_type: str | None
    """The kind of the mistake, a `study.inject.Kind`; null in a clean sample, as the next four."""
    error_step: int | None
    """The action index of the mistake: of the first action that raised L."""
    rollback_step: int | None
    """The action index of the rollback."""
    rollback_target: int | None
    """Where it went back to: the last index before the mistake."""
    restored_success: bool | None
    """The game was won after the rollback."""
    injected: tuple[int, ...]
    """The action indices of what was done wrong on purpose, refused actions among it."""
    distances: tuple[int | None, ...]
    """L at the start and after each action; null where the goal is out of reach."""
    conversations: tuple[tuple[Message, ...], ...]
    """What a model is to learn from: dialogues, of which the messages with `train` are to be imitated."""


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a line."""
    whole = shapes.schema(Fields)
    whole["$defs"]["Fields"]["properties"]["schema"] = {"const": SCHEMA}
    whole["$defs"]["Traced"]["properties"]["action"]["enum"] = ["game", "rollback"]
    return {"$id": SCHEMA, **whole}
