"""Two drawings of terminals for `pictures.py`: the demo, line by line, and Claude Code.

What they show is what our own code prints, here and now. Times of the demo are set, so that one can
read it in ten seconds; who asks for less motion sees its last lines. Of Claude Code's own screen,
the signs before a line and what it says of a compaction are copied from version 2.1.329.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any, TypeAlias

from host_sessions import Slow

from context_compression.conversation.formats import parse
from context_compression.hosts import status_line
from context_compression.hosts.exporting import EXPORTERS
from context_compression.tokens.usage import count_tokens

Line: TypeAlias = Sequence[tuple[str, str]]
"""Parts of a line: how they look, as a class of `STYLE`, and their text."""

WIDTH, EDGE = 760, 14  # pixels of the drawing, and of the empty edge of a screen
LINE, FONT = 17, 12  # pixels; 101 columns fit
ROWS = 25  # of the demo's screen
PLAYING, HOLDING = 10.0, 5.0  # seconds, until the demo begins again
STARTING, TYPING = 0.6, 0.025  # seconds until the first line, and between two of an answer
COLUMNS = 96  # of Claude Code's screen
WINDOW = 200_000  # tokens
MADE_OF = (
    "Drawn from what our status line and our hook print for this session; what is around them is "
    "as Claude Code 2.1.329 shows it."
)
SESSION = "00000000-0000-4000-8000-000000000001"
STYLES = {"1": "strong", "32": "good"}  # of the codes of a terminal
STYLED = re.compile(r"\x1b\[(\d+)m")
SECONDS = re.compile(r" in [\d.]+ s\b")
STYLE = (
    f"text {{ font: {FONT}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', "
    "monospace; fill: #1c2430; white-space: pre } .strong { font-weight: 600 } "
    ".good { fill: #1a7f37 } .quiet { fill: #56606d } "
    ".small { font: 11px system-ui, sans-serif } .caption { font: 600 14px system-ui, sans-serif } "
    ".screen { fill: #f6f8fa; stroke: #d0d7de } .cover { fill: #f6f8fa } "
    "@media (prefers-color-scheme: dark) { text { fill: #e4e8ee } .good { fill: #3fb950 } "
    ".quiet { fill: #a2abb8 } .screen { fill: #0d1117; stroke: #3d444d } .cover { fill: #0d1117 } }"
)


def demo() -> str:
    """The output of `context-compression demo` in ten seconds, as SVG that moves."""
    lines = [[("strong", "$ context-compression demo")], *_printed()]
    last = len(lines)
    drawn = "".join(_text(line, EDGE, LINE * (at + 1) - 4) for at, line in enumerate(lines))
    steps = [(1, 0.0), *_times(lines)]
    height = ROWS * LINE + 2 * EDGE
    label = "A recorded run of the demo: six tools of a real server, and each check passed"
    return _drawing(
        height,
        label,
        f"{STYLE} .lines {{ transform: translateY({-_scrolled(last)}px) }} "
        f".cover {{ transform: translateY({last * LINE}px) }} {_motion(steps)}",
        f'<clipPath id="screen"><rect x="1" y="{EDGE}" width="{WIDTH - 2}" '
        f'height="{ROWS * LINE}"/></clipPath>\n{_screen(0, height)}'
        f'<g clip-path="url(#screen)"><g transform="translate(0 {EDGE})"><g class="lines">\n{drawn}'
        f'<rect class="cover" x="1" width="{WIDTH - 2}" height="{last * LINE}"/></g></g></g>\n',
    )


def _printed() -> Iterator[Line]:
    """The lines of the demo, as a terminal gets them; how long it took is left out."""
    with TemporaryDirectory() as home:
        command = [sys.executable, "-m", "context_compression", "demo"]
        environ = {"HOME": home, "PATH": os.environ["PATH"], "FORCE_COLOR": "1", "TERM": "xterm"}
        told = subprocess.run(command, env=environ, capture_output=True, check=True).stdout
    style = ""
    for line in SECONDS.sub("", told.decode()).splitlines():
        first, *rest = STYLED.split(line)
        parts = [(style, first)]
        for code, text in zip(rest[::2], rest[1::2], strict=True):
            style = STYLES.get(code, "")
            parts.append((style, text))
        yield [(look, text) for look, text in parts if text]


def _times(lines: Sequence[Line]) -> Iterator[tuple[int, float]]:
    """How many lines are there after how many seconds.

    An answer comes at once, line by line, and then the reader gets time by its lines.
    """
    begins = [1, *(at for at, line in enumerate(lines) if not line)]
    read = begins[-1] - 1  # lines before the last part
    wait = (PLAYING - STARTING - TYPING * (len(lines) - 1)) / read
    at = STARTING
    for begin, end in pairwise([*begins, len(lines)]):
        for line in range(begin, end):
            at += TYPING
            yield line + 1, at
        at += wait * (end - begin)


def _motion(steps: Sequence[tuple[int, float]]) -> str:
    """What moves, for who does not ask for less motion."""
    whole = PLAYING + HOLDING
    named = {
        "lines": [(at, -_scrolled(shown)) for shown, at in steps],
        "cover": [(at, shown * LINE) for shown, at in steps],
    }
    moves = ""
    for name, places in named.items():
        frames = "".join(
            f"{100 * at / whole:.1f}%{{transform:translateY({y}px)}}"
            for number, (at, y) in enumerate(places)
            if not number or y != places[number - 1][1]
        )
        moves += f".{name} {{ animation: {name} {whole:g}s step-end infinite }} "
        moves += f"@keyframes {name} {{ {frames} }} "
    return f"@media (prefers-reduced-motion: no-preference) {{ {moves}}}"


def _scrolled(shown: int) -> int:
    """Pixels by which a screen with so many lines is scrolled."""
    return max(shown - ROWS, 0) * LINE


@dataclass(frozen=True)
class Seen:
    """What our code prints in a session: the status line before and after, and a line between."""

    before: str
    compacted: str
    after: str


def claude_code(messages: Sequence[Mapping[str, Any]], asked: str) -> str:
    """The last words of a session in Claude Code, and a compaction, as SVG.

    Args:
        messages: of the session, which ends with a question and its answer.
        asked: the command that the user types, such as `/compact keep 20k`.
    """
    seen = _seen(messages, asked.partition(" ")[2])
    spoken = [message for message in parse(messages).messages if message.text]
    question, answer = spoken[-3].text, spoken[-1].text
    wrapped = [("● " if not at else "  ") + row for at, row in enumerate(wrap(answer, COLUMNS - 2))]
    screens = [
        (
            "The demo's session in Claude Code: the status line says how full the context is",
            [[("", f"❯ {question}")], [], *([("", w)] for w in wrapped)],
        ),
        (
            "After /compact, which asks no model: one line says what it did",
            [
                [("", f"❯ {asked}")],
                [("quiet", "  ⎿  Compacted (ctrl+o to see full summary)")],
                [("quiet", f"  ⎿  SessionStart:compact says: {seen.compacted}")],
            ],
        ),
    ]
    drawn, y = "", 0
    for (caption, lines), status in zip(screens, (seen.before, seen.after), strict=True):
        lines = [*lines, [], *_prompt(status)]
        drawn += f'<text x="0" y="{y + 16}" class="caption">{escape(caption)}</text>\n'
        height = LINE * len(lines) + 2 * EDGE
        drawn += _screen(y + 26, height)
        drawn += "".join(
            _text(line, EDGE, y + 26 + EDGE + LINE * (at + 1) - 4) for at, line in enumerate(lines)
        )
        y += 26 + height + 18
    label = (
        f"Claude Code shows: {seen.before}; after {asked}: {seen.compacted}, and then: {seen.after}"
    )
    drawn += f'<text x="0" y="{y + 2}" class="quiet small">{escape(MADE_OF)}</text>\n'
    return _drawing(y + 8, label, STYLE, drawn)


def _prompt(status: str) -> Iterator[Line]:
    """Claude Code's prompt, and the status line below it."""
    rule = [("quiet", "─" * (COLUMNS + 5))]
    share, sign, rest = status.partition(",")
    yield from (rule, [("", "❯")], rule, [("good", f"  {share}"), ("quiet", f"{sign}{rest}")])


def _seen(messages: Sequence[Mapping[str, Any]], wanted: str) -> Seen:
    """What our hook and our status line print for a session of Claude Code."""
    with TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        path = home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl"
        path.parent.mkdir(parents=True)
        written = Slow(SESSION, home, datetime(2026, 11, 2, tzinfo=UTC), "claude-sonnet-4-5")
        rows = [*EXPORTERS["claude-code"].rows(parse(messages).messages, written)]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        about = {"session_id": SESSION, "transcript_path": str(path), "cwd": folder}

        def answered(**event: Any) -> dict[str, Any]:
            return json.loads(
                subprocess.run(
                    [sys.executable, "-m", "context_compression", "hook", "claude-code"],
                    cwd=home,
                    env={"HOME": folder, "PATH": "/usr/bin:/bin"},
                    input=json.dumps(about | event).encode(),
                    capture_output=True,
                    check=True,
                ).stdout
            )

        def status(tokens: int) -> str:
            usage = {"input_tokens": tokens} if tokens else None
            told = {"context_window_size": WINDOW, "current_usage": usage}
            event = {"context_window": told | {"total_input_tokens": 1}}
            return status_line(about | event, {"NO_COLOR": "1"}, home)

        before = status(count_tokens(messages))
        handles = [row["uuid"] for row in rows]
        compaction = {"hook_event_name": "session.compact", "trigger": "manual", "handles": handles}
        answered(**compaction, instructions=wanted)
        said = answered(hook_event_name="SessionStart", source="compact")["systemMessage"]
        return Seen(before, said, status(0))


def _text(line: Line, x: int, y: int) -> str:
    parts = "".join(
        f'<tspan class="{look}">{escape(text)}</tspan>' if look else escape(text)
        for look, text in line
    )
    return f'<text x="{x}" y="{y}" xml:space="preserve">{parts}</text>\n' if parts else ""


def _screen(y: int, height: int) -> str:
    place = f'x="0.5" y="{y + 0.5}" width="{WIDTH - 1}" height="{height - 1}"'
    return f'<rect class="screen" {place} rx="8"/>\n'


def _drawing(height: int, label: str, style: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(label)}">\n<style>{style}</style>\n{body}</svg>\n'
    )
