"""A chart of quality over size as SVG: lines for those who keep a budget, dots for the others.

Its colours follow the reader's light or dark page.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
"""Size as a share of the history, quality."""

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 250, 46, 52
SMALLEST, LARGEST = 0.04, 1.0
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.quiet { fill: #57606a }
.grid { stroke: #d0d7de; stroke-width: 1 }
.line { fill: none; stroke-width: 2 }
.ours { stroke-width: 3.5 }
.c0 { stroke: #0969da } .f0 { fill: #0969da }
.c1 { stroke: #8250df } .f1 { fill: #8250df }
.c2 { stroke: #bf3989 } .f2 { fill: #bf3989 }
.c3 { stroke: #9a6700 } .f3 { fill: #9a6700 }
.c4 { stroke: #1a7f37 } .f4 { fill: #1a7f37 }
.c5 { stroke: #cf222e } .f5 { fill: #cf222e }
.c6 { stroke: #57606a } .f6 { fill: #57606a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d }
  .c0 { stroke: #4493f8 } .f0 { fill: #4493f8 } .c1 { stroke: #ab7df8 } .f1 { fill: #ab7df8 }
  .c2 { stroke: #db61a2 } .f2 { fill: #db61a2 } .c3 { stroke: #d29922 } .f3 { fill: #d29922 }
  .c4 { stroke: #3fb950 } .f4 { fill: #3fb950 } .c5 { stroke: #f85149 } .f5 { fill: #f85149 }
  .c6 { stroke: #9198a1 } .f6 { fill: #9198a1 }
}
"""


def chart(title: str, series: Mapping[str, Sequence[Point]]) -> str:
    """The drawing; the first series is drawn thickest."""
    body = "\n".join(_body(title, series))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def _body(title: str, series: Mapping[str, Sequence[Point]]) -> Iterator[str]:
    yield _text(LEFT, 24, title, "title")
    for step in range(6):
        y = _y(step / 5)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield _text(LEFT - 8, y + 4, f"{step / 5:.1f}", "quiet", anchor="end")
    for size in (0.05, 0.1, 0.25, 0.5, 1.0):
        yield f'<path class="grid" d="M{_x(size):.1f} {_y(0):.1f}v5"/>'
        yield _text(_x(size), _y(0) + 20, f"{size:.0%}", "quiet", anchor="middle")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield _text(middle, HEIGHT - 10, "size of the view, of the history's", "quiet", anchor="middle")
    for number, (name, points) in reversed([*enumerate(series.items())]):
        yield from _drawn(name, points, number)
    for y, number, name in _labels(series):
        yield f'<circle class="f{number % 7}" cx="{WIDTH - RIGHT + 22}" cy="{y - 4:.1f}" r="4.5"/>'
        yield _text(WIDTH - RIGHT + 34, y, name, "" if number else "title")


def _drawn(name: str, points: Sequence[Point], number: int) -> Iterator[str]:
    colour = number % 7
    if len(points) > 1:
        path = "L".join(f"{_x(size):.1f} {_y(quality):.1f}" for size, quality in sorted(points))
        yield f'<path class="line c{colour}{"" if number else " ours"}" d="M{path}"/>'
    for size, quality in points:
        place = f'cx="{_x(size):.1f}" cy="{_y(quality):.1f}"'
        tip = f"<title>{escape(name)}: {quality:.2f} at {size:.0%}</title>"
        yield f'<circle class="f{colour}" {place} r="4.5">{tip}</circle>'


def _labels(series: Mapping[str, Sequence[Point]]) -> Iterator[tuple[float, int, str]]:
    """Where each name is written: best first, none over another."""
    order = sorted(enumerate(series.items()), key=lambda each: -max(q for _, q in each[1][1]))
    for place, (number, (name, _)) in enumerate(order):
        yield TOP + 16 + 24 * place, number, name


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(text)}</text>'


def _x(size: float) -> float:
    """On a logarithmic scale."""
    share = math.log(size / SMALLEST) / math.log(LARGEST / SMALLEST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(quality: float) -> float:
    return TOP + (1 - quality) * (HEIGHT - TOP - BOTTOM)
