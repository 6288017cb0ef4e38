"""The rules of Sokoban for two, as pure functions on `Level` and `State`: the simulator of `core.simulator`.

Both move in the same turn, and nobody is first. A turn goes by three sentences:

1. Alone, each move is as in Sokoban, in the room as the turn finds it: where the other player stands is no place to
   step or to push a box to, even if they leave it in this turn.
2. A move takes up the cell that is stepped onto, and with a push the cell beyond it too.
3. If the two moves take up a cell in common, neither happens; otherwise both do.

So two who want the same cell, who push the same box, who push two boxes to one place, or of whom one pushes a box where
the other wants to step, both stand still; so do two who want to change places; and who follows the other closely waits
a turn.
"""

from collections.abc import Callable
from typing import Any

from rollback_gym.core.simulator import Transition
from rollback_gym.envs.sokoban_two.types import WORDS, Joint, Level, State

_TURN, _BOX, _WIN = -0.1, 1.0, 10.0

Describe = Callable[[Level, State], Any]


class Rules:
    """Sokoban for two, observed through `describe`, which says what each of the two sees."""

    __slots__ = ("describe",)

    def __init__(self, describe: Describe) -> None:
        self.describe = describe

    def begin(self, level: Level) -> tuple[State, Any]:
        """The state that `level` starts in, and the first observations."""
        return level.start, self.describe(level, level.start)

    def step(self, level: Level, state: State, action: Joint) -> Transition:
        """Move both players.

        The reward is the team's: that of Sokoban, by how many boxes are on targets more or less than before. An action
        that is none of `WORDS` is to stay; `Transition.invalid` names the first such.
        """
        words: Joint = tuple([word if word in WORDS else "stay" for word in action])  # type: ignore[assignment]
        unknown = [word for word in action if word not in WORDS]
        after = moved(level, state, words)
        targets = level.room.targets
        won = after.boxes == targets
        change = (after.boxes & targets).bit_count() - (state.boxes & targets).bit_count()
        reward = _TURN + _BOX * change + (_WIN if won else 0.0)
        invalid = why_invalid(unknown[0]) if unknown else None
        return Transition(after, reward, won, self.describe(level, after), won, invalid)

    def actions(self, level: Level, state: State) -> tuple[str, ...]:
        """The admissible actions of each player: always all five."""
        return WORDS

    def encode(self, level: Level, state: State) -> tuple[int, int, int]:
        """`state` as plain values."""
        return state.first, state.second, state.boxes

    def decode(self, level: Level, data: Any) -> State:
        """The inverse of `encode`. Raises ValueError where `data` is no state that `level` can be in."""
        if not isinstance(data, tuple) or len(data) != 3 or not all(type(value) is int for value in data):
            raise ValueError("expected three whole numbers")
        first, second, boxes = data
        room = level.room
        if boxes < 0 or boxes & ~room.floor or boxes.bit_count() != room.targets.bit_count():
            raise ValueError(f"expected {room.targets.bit_count()} boxes on the floor, got {boxes:#x}")
        free = room.floor & ~boxes
        cells = range(room.height * room.width)
        if first == second or any(cell not in cells or not free >> cell & 1 for cell in (first, second)):
            raise ValueError(f"expected two players on free floor, got cells {first} and {second}")
        return State(first, second, boxes)


def why_invalid(action: str) -> str:
    """What is said of an action that is none."""
    return f"{action!r} is none of {', '.join(WORDS)}"


def moved(level: Level, state: State, words: Joint) -> State:
    """Where a turn leads; `words` are two of `WORDS`. `state` itself where nothing moves."""
    floor, offsets = level.room.floor, level.offsets
    first, second, boxes = state
    step, other_step = offsets[words[0]], offsets[words[1]]
    taken = _taken(floor, boxes, first, second, step)
    other_taken = _taken(floor, boxes, second, first, other_step)
    if taken & other_taken or not taken | other_taken:
        return state
    for taking, there in ((taken, first + step), (other_taken, second + other_step)):
        if taking & ~(1 << there):
            boxes ^= taking
    return State(first + step if taken else first, second + other_step if other_taken else second, boxes)


def _taken(floor: int, boxes: int, cell: int, other: int, offset: int) -> int:
    """Bits: the cells that a move takes up, the other player standing still; none where it cannot be made."""
    there = cell + offset
    bit = 1 << there
    if not offset or there == other or not bit & floor:
        return 0
    if not bit & boxes:
        return bit
    beyond = 1 << there + offset
    return bit | beyond if beyond & floor & ~boxes and there + offset != other else 0
