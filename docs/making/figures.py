"""The figure of the page on concepts, drawn from an episode that is played for it: `python docs/making/figures.py`.

Nothing has a background and all text is mid-grey, so that it stands on a dark page as on a light one; the colours are
Okabe and Ito's.
"""

from pathlib import Path
from xml.sax.saxutils import escape

from rollback_gym.cli.demo import Show, perform
from rollback_gym.core.history import Node

FILE = Path(__file__).parents[1] / "images" / "history.svg"

_INK, _ACTIVE, _LEFT, _BACK = "#808080", "#0072B2", "#D55E00", "#009E73"
_LEFT_EDGE, _TOP, _STEP, _TURN, _RADIUS = 64, 34, 38, 60, 13


def history(show: Show) -> str:
    """An episode with one rollback as SVG: L(s) against the action index, what was abandoned dashed."""
    lengths, entries = show.lengths, show.history.entries
    highest = int(max(lengths.values()))
    width, height = _LEFT_EDGE + _TURN * (len(entries) - 1) + 40, _TOP + _STEP * highest + 56
    (back,) = show.history.rollbacks
    assert back.target is not None
    first_wrong = back.abandoned[0]
    on_path = {node.index for node in show.history.path}

    def at(index: int) -> tuple[float, float]:
        return _LEFT_EDGE + _TURN * index, _TOP + _STEP * (highest - lengths[index])

    parts = [_axis(highest, width, height)]
    for node in show.history.nodes[1:]:
        assert node.parent is not None
        parts.append(_edge(at(node.parent.index), at(node.index), node.index in on_path))
    parts.append(_arrow(at(back.source.index), at(back.target.index)))
    parts += [_circle(node, at(node.index), node.index in on_path) for node in show.history.nodes]

    x, y = at(first_wrong)
    parts.append(_text(x + 4, y - 22, "a pivotal mistake", _LEFT, "end"))
    x = (at(back.source.index)[0] + at(back.target.index)[0]) / 2
    parts.append(_text(x, _TOP + _STEP * highest + 26, f"[{back.index}]  rollback({back.target.index})", _BACK))
    x, y = at(entries[-1].index)
    parts.append(_text(x, y - 22, "won", _INK))
    x, y = at(0)
    parts.append(_text(x, y + 34, "start", _INK))
    label = f"L(s) falls from {lengths[0]:.0f} to {lengths[back.target.index]:.0f} in node {back.target.index}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="14" aria-label="{escape(label)}">',
            f'<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{_BACK}"/></marker>',
            *parts,
            "</svg>\n",
        ]
    )


def _axis(highest: int, width: float, height: float) -> str:
    lines = []
    for length in range(highest + 1):
        y = _TOP + _STEP * (highest - length)
        lines.append(f'<path d="M40 {y}H{width - 12:g}" stroke="{_INK}" stroke-opacity=".18"/>')
        lines.append(_text(26, y + 5, str(length), _INK))
    lines.append(_text(26, 14, "L(s)", _INK))
    lines.append(_text(width - 12, height - 8, "action index", _INK, "end"))
    return "\n".join(lines)


def _edge(start: tuple[float, float], end: tuple[float, float], active: bool) -> str:
    colour, dash = (_ACTIVE, "") if active else (_LEFT, ' stroke-dasharray="5 4"')
    line = f"M{start[0]:g} {start[1]:g}L{end[0]:g} {end[1]:g}"
    return f'<path d="{line}" stroke="{colour}" stroke-width="2.5"{dash} fill="none"/>'


def _arrow(source: tuple[float, float], target: tuple[float, float]) -> str:
    low = target[1] + 62
    curve = (
        f"M{source[0]:g} {source[1] + _RADIUS:g}C{source[0]:g} {low:g} {target[0] + 30:g} {low:g} "
        f"{target[0] + 5:g} {target[1] + _RADIUS + 3:g}"
    )
    return f'<path d="{curve}" stroke="{_BACK}" stroke-width="2.5" fill="none" marker-end="url(#tip)"/>'


def _circle(node: Node, at: tuple[float, float], active: bool) -> str:
    colour = _ACTIVE if active else _LEFT
    action = "the state after reset" if node.parent is None else str(node.action)
    place = f'cx="{at[0]:g}" cy="{at[1]:g}" r="{_RADIUS}"'
    return (
        f'<circle {place} fill="{colour}"><title>{escape(action)}</title></circle>\n'
        f'<text x="{at[0]:g}" y="{at[1] + 4.5:g}" fill="#fff" font-size="13" text-anchor="middle">{node.index}</text>'
    )


def _text(x: float, y: float, text: str, colour: str, anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    FILE.write_text(history(perform(0)), encoding="utf-8")
