"""A room as text, in the layouts of the originals.

The symbols are RAGEN's: `#` wall, `_` floor, `O` target, `√` box on a target, `X` box, `P` player, `S` player on a
target. Texts are put together as bytes, in which a symbol is set by one assignment.
"""

from functools import lru_cache
from typing import NamedTuple

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
_BITS_AS_FLOOR = bytes.maketrans(b"01", bytes([_BYTES[WALL], _BYTES[FLOOR]]))


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

    def __init__(self, level: Level, layout: Layout) -> None:
        self.targets = level.targets
        sheet = _sheet(layout.name, level.height, level.width)
        self.places = sheet.places
        page = bytearray(sheet.blank)
        floor = f"{level.floor:0{len(self.places)}b}"[::-1].encode().translate(_BITS_AS_FLOOR)
        for cells, places in sheet.rows:
            page[places] = floor[cells]
        for cell in numbers(level.targets):
            page[self.places[cell]] = _BYTES[TARGET]
        self.empty = bytes(page)
        self.rooms: dict[int, bytes] = {}
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

    def _room(self, boxes: int) -> bytes:
        page = bytearray(self.empty)
        for cell in numbers(boxes):
            page[self.places[cell]] = _BYTES[BOX_ON_TARGET if self.targets >> cell & 1 else BOX]
        room = self.rooms[boxes] = bytes(page)
        return room


class _Sheet(NamedTuple):
    """What all rooms of a size have in common."""

    blank: bytes
    """The text of a room that is all wall."""
    places: tuple[int, ...]
    """Where in the text each cell's symbol is."""
    rows: tuple[tuple[slice, slice], ...]
    """The cells of each row, and the places of their symbols."""


@lru_cache(maxsize=64)
def _sheet(layout: str, height: int, width: int) -> _Sheet:
    row_format, cell_format = LAYOUTS[layout].row, LAYOUTS[layout].cell
    cell = cell_format.format(WALL)
    lines = [row_format.format(row) + cell * width for row in range(height)]
    blank = "\n".join(lines).encode()
    ends = [sum(map(len, lines[: row + 1])) + row for row in range(height)]
    firsts = [end - len(cell) * width + cell.index(WALL) for end in ends]
    rows = tuple(
        (slice(row * width, (row + 1) * width), slice(first, end, len(cell)))
        for row, (first, end) in enumerate(zip(firsts, ends, strict=True))
    )
    places = tuple(place for _, there in rows for place in range(len(blank))[there])
    return _Sheet(blank, places, rows)
