"""A room as text, in the layouts of the originals.

The symbols are RAGEN's: `#` wall, `_` floor, `O` target, `√` box on a target, `X` box, `P` player, `S` player on a
target. Texts are put together as bytes, in which a symbol is set by one assignment.
"""

from functools import lru_cache

from rollback_gym.core.bits import numbers
from rollback_gym.envs.sokoban.types import Level, State

SYMBOLS = "#_O√XPS"
"""By gym-sokoban's numbers: 0 wall, 1 floor, 2 target, 3 box on target, 4 box, 5 player; 6 player on target."""
WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = tuple(SYMBOLS)

_REMEMBERED = 1024
"""States whose text is kept, per level and layout."""
_STAND_IN = "*"
"""For `√`, which no byte of ASCII is, until a text is done."""
_BYTES = dict(zip(SYMBOLS, SYMBOLS.replace(BOX_ON_TARGET, _STAND_IN).encode(), strict=True))


class Layout:
    """A way to space the symbols out."""

    def __init__(self, name: str, row: str, cell: str) -> None:
        self.name = name
        self.row = row
        """What stands before a row, a format of its number."""
        self.cell = cell
        """A format of a cell's symbol."""

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

    __slots__ = ("empty", "places", "rooms", "targets", "texts")

    def __init__(self, level: Level, layout: Layout) -> None:
        self.targets = level.targets
        walls, self.places = _walls(layout.name, level.height, level.width)
        self.empty = page = bytearray(walls)
        """The text without boxes and player."""
        for cell in numbers(level.floor):
            page[self.places[cell]] = _BYTES[FLOOR]
        for cell in numbers(level.targets):
            page[self.places[cell]] = _BYTES[TARGET]
        self.rooms: dict[int, bytearray] = {}
        """The text without the player, by where the boxes are."""
        self.texts: dict[State, str] = {}

    def text(self, state: State) -> str:
        player, boxes = state
        page = bytearray(self.rooms.get(boxes) or self._room(boxes))
        page[self.places[player]] = _BYTES[PLAYER_ON_TARGET if self.targets >> player & 1 else PLAYER]
        text = page.decode("ascii").replace(_STAND_IN, BOX_ON_TARGET)
        if len(self.texts) >= _REMEMBERED:
            self.texts.clear()
            self.rooms.clear()
        self.texts[state] = text
        return text

    def _room(self, boxes: int) -> bytearray:
        page = self.rooms[boxes] = bytearray(self.empty)
        for cell in numbers(boxes):
            page[self.places[cell]] = _BYTES[BOX_ON_TARGET if self.targets >> cell & 1 else BOX]
        return page


@lru_cache(maxsize=64)
def _walls(layout: str, height: int, width: int) -> tuple[bytes, tuple[int, ...]]:
    """The text of a room that is nothing but wall, and where in it each cell's symbol is."""
    row_format, cell_format = LAYOUTS[layout].row, LAYOUTS[layout].cell
    rows = [row_format.format(row) + cell_format.format(WALL) * width for row in range(height)]
    text = "\n".join(rows)
    return text.encode(), tuple([place for place, symbol in enumerate(text) if symbol == WALL])
