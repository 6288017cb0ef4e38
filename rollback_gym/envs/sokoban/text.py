"""A room as text, in the layouts of the originals.

The symbols are RAGEN's: `#` wall, `_` floor, `O` target, `√` box on a target, `X` box, `P` player, `S` player on a
target.
"""

from functools import cache

from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.types import Level, State

SYMBOLS = "#_O√XPS"
"""By gym-sokoban's numbers: 0 wall, 1 floor, 2 target, 3 box on target, 4 box, 5 player; 6 player on target."""
WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = tuple(SYMBOLS)

_REMEMBERED = 1024
"""States whose text is kept, per level and layout."""


class Layout:
    """A way to space the symbols out."""

    def __init__(self, name: str, row: str, cell: str) -> None:
        self.name = name
        self.row = row
        """What stands before a row, a format of its number."""
        self.cell = cell
        """A format of a cell's symbol."""
        self.looks = {symbol: cell.format(symbol) for symbol in SYMBOLS}

    def describe(self, level: Level, state: State) -> str:
        """The room, one row a line."""
        canvas: _Canvas = level.memo.get(self.name) or self._canvas(level)
        return canvas.texts.get(state) or canvas.text(state)

    def _canvas(self, level: Level) -> "_Canvas":
        canvas = level.memo[self.name] = _Canvas(level, self)
        return canvas


LAYOUTS = {
    layout.name: layout
    for layout in (Layout("rows", "{}:", " {}"), Layout("tabs", "", " {} \t"), Layout("plain", "", "{}"))
}
"""`rows` is RetroAgent's, which numbers the rows; `tabs` verl-agent's; `plain` RAGEN's."""


class _Canvas:
    """A level in one layout, and what was written of it so far."""

    def __init__(self, level: Level, layout: Layout) -> None:
        self.targets = level.targets
        self.places = _places(layout.name, level.height, level.width)
        wall, floor, target = layout.looks[WALL], layout.looks[FLOOR], layout.looks[TARGET]
        symbols = [wall] * (level.height * level.width)
        for cell in numbers(level.floor & ~level.targets):
            symbols[cell] = floor
        for cell in numbers(level.targets):
            symbols[cell] = target
        rows = ("".join(symbols[cell : cell + level.width]) for cell in range(0, len(symbols), level.width))
        self.empty = "\n".join([layout.row.format(number) + row for number, row in enumerate(rows)])
        self.rooms: dict[int, str] = {}
        """The text without the player, by where the boxes are."""
        self.texts: dict[State, str] = {}

    def text(self, state: State) -> str:
        player, boxes = state
        room = self.rooms.get(boxes) or self._room(boxes)
        symbol = PLAYER_ON_TARGET if self.targets >> player & 1 else PLAYER
        text = _with(room, self.places[player], symbol)
        if len(self.texts) >= _REMEMBERED:
            self.texts.clear()
            self.rooms.clear()
        self.texts[state] = text
        return text

    def _room(self, boxes: int) -> str:
        room = self.empty
        for cell in numbers(boxes):
            room = _with(room, self.places[cell], BOX_ON_TARGET if self.targets >> cell & 1 else BOX)
        self.rooms[boxes] = room
        return room


def _with(text: str, place: int, symbol: str) -> str:
    return f"{text[:place]}{symbol}{text[place + 1 :]}"


@cache
def _places(layout: str, height: int, width: int) -> tuple[int, ...]:
    """Where in the text each cell's symbol is."""
    row_format, cell = LAYOUTS[layout].row, LAYOUTS[layout].cell
    length, places = 0, []
    for row in range(height):
        length += len(row_format.format(row))
        places += [length + column * len(cell.format(WALL)) + cell.index("{") for column in range(width)]
        length += width * len(cell.format(WALL)) + 1
    return tuple(places)
