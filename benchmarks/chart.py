"""A chart of quality over size as SVG: lines for methods with a budget, dots for the others.

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
COLOURS = 12
TICKS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
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
.c7 { stroke: #0f766e } .f7 { fill: #0f766e }
.c8 { stroke: #bc4c00 } .f8 { fill: #bc4c00 }
.c9 { stroke: #4d2d00 } .f9 { fill: #4d2d00 }
.c10 { stroke: #6f7f00 } .f10 { fill: #6f7f00 }
.c11 { stroke: #3b3b98 } .f11 { fill: #3b3b98 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d }
  .c0 { stroke: #4493f8 } .f0 { fill: #4493f8 } .c1 { stroke: #ab7df8 } .f1 { fill: #ab7df8 }
  .c2 { stroke: #db61a2 } .f2 { fill: #db61a2 } .c3 { stroke: #d29922 } .f3 { fill: #d29922 }
  .c4 { stroke: #3fb950 } .f4 { fill: #3fb950 } .c5 { stroke: #f85149 } .f5 { fill: #f85149 }
  .c6 { stroke: #9198a1 } .f6 { fill: #9198a1 }
  .c7 { stroke: #2dd4bf } .f7 { fill: #2dd4bf } .c8 { stroke: #f0883e } .f8 { fill: #f0883e }
  .c9 { stroke: #c69026 } .f9 { fill: #c69026 } .c10 { stroke: #b5c21a } .f10 { fill: #b5c21a }
  .c11 { stroke: #9a9af0 } .f11 { fill: #9a9af0 }
}
"""


def chart(title: str, series: Mapping[str, Sequence[Point]]) -> str:
    """The drawing; the first series is drawn thickest."""
    smallest = 0.9 * min(size for points in series.values() for size, _ in points)
    body = "\n".join(_body(title, series, min(smallest, 0.045)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def _body(title: str, series: Mapping[str, Sequence[Point]], smallest: float) -> Iterator[str]:
    yield _text(LEFT, 24, title, "title")
    for step in range(6):
        y = _y(step / 5)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield _text(LEFT - 8, y + 4, f"{step / 5:.1f}", "quiet", anchor="end")
    for size in TICKS:
        if size >= smallest:
            x = _x(size, smallest)
            yield f'<path class="grid" d="M{x:.1f} {_y(0):.1f}v5"/>'
            yield _text(x, _y(0) + 20, f"{size:.0%}", "quiet", anchor="middle")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield _text(
        middle,
        HEIGHT - 10,
        "tokens in context, as a share of the whole history",
        "quiet",
        anchor="middle",
    )
    for number, (name, points) in reversed([*enumerate(series.items())]):
        placed = [(_x(size, smallest), _y(q), f"{q:.2f} at {size:.0%}") for size, q in points]
        yield from _drawn(name, sorted(placed), number)
        y = TOP + 16 + 24 * number
        x, colour = WIDTH - RIGHT + 22, number % COLOURS
        yield f'<circle class="f{colour}" cx="{x}" cy="{y - 4:.1f}" r="4.5"/>'
        yield _text(WIDTH - RIGHT + 34, y, name, "" if number else "title")


def _drawn(name: str, points: Sequence[tuple[float, float, str]], number: int) -> Iterator[str]:
    colour = number % COLOURS
    if len(points) > 1:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in points)
        yield f'<path class="line c{colour}{"" if number else " ours"}" d="M{path}"/>'
    for x, y, what in points:
        tip = f"<title>{escape(name)}: {what}</title>"
        yield f'<circle class="f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4.5">{tip}</circle>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(text)}</text>'


def _x(size: float, smallest: float) -> float:
    """On a logarithmic scale up to the complete history."""
    return LEFT + (1 - math.log(size) / math.log(smallest)) * (WIDTH - LEFT - RIGHT)


def _y(quality: float) -> float:
    return TOP + (1 - quality) * (HEIGHT - TOP - BOTTOM)
