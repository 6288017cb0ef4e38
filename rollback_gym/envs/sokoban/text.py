"""A room as text, in the layouts of the originals.

The symbols are RAGEN's: `#` wall, `_` floor, `O` target, `√` box on a target, `X` box, `P` player, `S` player on a
target.
"""

from rollback_gym.envs.sokoban.types import Level, State, cells

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
    """A level in one layout, without player and boxes, and what each cell looks like with them."""

    def __init__(self, level: Level, layout: Layout) -> None:
        on_target = [bool(level.targets >> cell & 1) for cell in range(level.height * level.width)]
        self.players = tuple([PLAYER_ON_TARGET if on else PLAYER for on in on_target])
        self.boxes = tuple([BOX_ON_TARGET if on else BOX for on in on_target])
        self.texts: dict[State, str] = {}
        empty, places = "", []
        for cell, on in enumerate(on_target):
            row, column = divmod(cell, level.width)
            if column == 0:
                empty += "\n" * (row > 0) + layout.row.format(row)
            places.append(len(empty) + layout.cell.index("{"))
            empty += layout.cell.format(TARGET if on else FLOOR if level.floor >> cell & 1 else WALL)
        self.symbols = list(empty)
        self.places = tuple(places)
        """Where in the text each cell's symbol is."""

    def text(self, state: State) -> str:
        symbols, places = self.symbols.copy(), self.places
        symbols[places[state.player]] = self.players[state.player]
        for cell in cells(state.boxes):
            symbols[places[cell]] = self.boxes[cell]
        if len(self.texts) >= _REMEMBERED:
            self.texts.clear()
        text = self.texts[state] = "".join(symbols)
        return text
