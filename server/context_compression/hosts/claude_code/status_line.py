"""One line about the context, for Claude Code's `statusLine`.

    context 62 %, 124K of 200K · compacts at 167K · 12 archived · 48K saved

Claude Code runs this file by its path after every answer, up to three times a second. So it imports
few modules of the package and no other, counts no tokens, and reads only the events of the archive
that it adds up. It leaves out what it cannot read, and never fails.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

if __name__ == "__main__":  # without site-packages, `-S`
    sys.path.append(str(Path(__file__).parents[3]))

from context_compression.opening import opened
from context_compression.store import location
from context_compression.transcripts import limits

WIDTHS = range(32, 81)  # characters of the line; the first part needs at most 32
MARGIN = 4  # characters of the terminal's width that Claude Code keeps for itself
LONGEST_EVENT = 1_000_000  # bytes of what Claude Code passes on stdin, which is about 2,000
LARGEST_LOG = 50_000_000  # bytes; a longer one would take a tenth of a second to read
LATELY = 256 * 1024  # bytes at the end of a transcript, in which its last request is looked for
UNKNOWN = "context not measured yet"  # nothing was sent
COMPACTED = re.compile(rb'"subtype":\s?"compact_boundary"')
SUBAGENTS = re.compile(rb'"isSidechain":\s?true')
LARGEST_COUNT = 10**9  # tokens; more would not fit on the line
SESSION_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
PROMPT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
OFFLOAD = re.compile(rb'\{"type":"offload","created_at":"[^"]*","refs":\{(?:"(\w+)")?')
KEPT_OUT = re.compile(rb'"call":"([^"]*)","tokens_freed":([0-9]+)')
ENDING = 500  # bytes at the end of such an event, after the text that was offloaded
PARSED = (b'{"type":"restore"', b'{"type":"compression"')
UNDONE = b'{"type":"undo"'
COLORS = ((0.9, "31"), (0.7, "33"), (0.0, "32"))
"""Red, yellow, green: from which share of the size at which Claude Code compacts."""

Json = Mapping[str, Any]


def status_line(event: Json, environ: Mapping[str, str], home: Path) -> str:
    """The line; empty if the event does not tell the size of the window.

    Args:
        event: what Claude Code passes on stdin.
        environ: the environment variables.
        home: the user's home folder.
    """
    context = _object(event.get("context_window"))
    window, used = _count(context.get("context_window_size")), _used(context)
    if not window:
        return ""
    window, limit = _limits(event, window, used, environ, home)
    archive = ArchivedParts()
    with suppress(Exception):  # whatever is wrong with the archive, the window is known
        archive = _archived(event, environ, home)
    used = used or archive.left  # after a compaction, until the next answer
    has_sent = _count(context.get("total_input_tokens"))  # since it began
    size = "" if used else "context just compacted"  # by Claude Code, which does not say more
    if not used and not has_sent:
        used, size = _lately(event)
    share = size or f"context {100 * used / window:.0f} %"
    size = size or f"{share}, {_short(used)} of {_short(window)}"
    line = _fitting(
        size,
        f"compacts at {_short(limit)}" if limit else "",
        *archive.parts,
        width=_width(limits.number(environ.get("COLUMNS"))),
    )
    if environ.get("NO_COLOR"):
        return line
    color = next(code for least, code in COLORS if used >= least * (limit or window))
    return f"\x1b[{color}m{share}\x1b[0m{line.removeprefix(share)}"


def _limits(
    event: Json, window: int, used: int, environ: Mapping[str, str], home: Path
) -> tuple[int, int]:
    """The window that Claude Code tells, as far as no larger request was answered; its limit."""
    model = str(_object(event.get("model")).get("id") or "") or None
    path = Path(str(event.get("transcript_path") or ""))
    used = max(used, limits.largest_use(path, model, window, LARGEST_LOG))
    window = limits.holding(window, used)
    project = Path(folder) if (folder := _project(event)) else None
    found = limits.of_claude_code(window, environ, home, model, project)
    return found.window, found.compacts_at


def _lately(event: Json) -> tuple[int, str]:
    """Tokens of the last request in the transcript, or why it tells none.

    Claude Code tells no usage before the first answer of a session, one that it resumed included.
    """
    path = Path(str(event.get("transcript_path") or ""))
    with suppress(OSError, ValueError):
        with opened(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LATELY))
            lines = file.read(LATELY).splitlines()
        for line in reversed(lines):
            if COMPACTED.search(line):
                return 0, "context just compacted"
            if limits.USAGE in line and not SUBAGENTS.search(line):
                with suppress(ValueError, RecursionError):
                    message = _object(_object(json.loads(line)).get("message"))
                    if tokens := limits.tokens_of(_object(message.get("usage"))):
                        return min(tokens, LARGEST_COUNT), ""
    return 0, UNKNOWN


class ArchivedParts(NamedTuple):
    """What the session's log says: parts of the line, and the size that a compaction left, or 0."""

    parts: Sequence[str] = ()
    left: int = 0


def _used(context: Json) -> int:
    """Tokens of the last request. Older versions give only the sum of all requests as a total."""
    usage = context.get("current_usage")
    return sum(_count(_object(usage).get(name)) for name in PROMPT_TOKENS)


def _archived(event: Json, environ: Mapping[str, str], home: Path) -> ArchivedParts:
    """How much of the session is archived, stayed out of the context, and was restored."""
    refs: set[str] = set()
    restored: set[str] = set()
    kept_out: dict[bytes, int] = {}
    brought_back = left = 0
    for line in _log(event, environ, home):
        if offload := OFFLOAD.match(line):  # not parsed: its text is long
            refs |= {offload[1].decode()} if offload[1] else set()
            if freed := KEPT_OUT.search(line, max(0, len(line) - ENDING)):
                kept_out[freed[1]] = int(freed[2])
        elif line.startswith(PARSED):
            with suppress(ValueError, RecursionError):  # a damaged line
                about = _object(json.loads(line))
                refs |= _object(about.get("refs")).keys()
                restored |= {str(about["ref"])} if "ref" in about else set()
                brought_back += _count(about.get("tokens"))
                if after := _count(about.get("tokens_after")):
                    left = after + _count(_object(about.get("origin")).get("beside"))
        elif line.startswith(UNDONE):  # a compaction of the host's own
            left = 0
    saved = sum(kept_out.values()) - brought_back
    parts = (
        f"{len(refs):,} archived" if refs else "",
        f"{_short(saved)} saved" if saved > 0 else "",
        f"{len(restored):,} restored" if restored else "",
    )
    return ArchivedParts(parts, left)


def _log(event: Json, environ: Mapping[str, str], home: Path) -> Iterator[bytes]:
    """The lines of the session's log; none if there is no log, or if it is too long."""
    id, project = str(event.get("session_id")), _project(event)
    if not project or not SESSION_ID.fullmatch(id):
        return
    place = location.store_folder_for(Path(project), home=home, environ=environ)
    log = place / "sessions" / id / "events.jsonl"
    if log.is_file() and log.stat().st_size <= LARGEST_LOG:
        with opened(log) as lines:
            yield from lines


def _project(event: Json) -> str:
    project = _object(event.get("workspace")).get("project_dir") or event.get("cwd")
    return project if isinstance(project, str) else ""


def _width(columns: int) -> int:
    """The most characters of the line on a terminal with that many columns; 0 if unknown."""
    longest = max(WIDTHS)
    return max(min(WIDTHS), min(columns - MARGIN, longest)) if columns else longest


def _fitting(*parts: str, width: int) -> str:
    """As many of the parts as fit, from the first on, in the order of their worth."""
    line = ""
    for part in filter(None, parts):
        longer = f"{line} · {part}" if line else part
        line = longer if len(longer) <= width else line
    return line


def _short(number: int) -> str:
    """`124_300` -> `"124K"`, `1_000_000` -> `"1M"`."""
    if number < 1_000:
        return str(number)
    if number < 999_500:
        return f"{number / 1_000:.0f}K"
    return f"{number / 1_000_000:.2f}".rstrip("0").rstrip(".") + "M"


def _object(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(0, value), LARGEST_COUNT)


def main() -> None:
    """Print the line for the event on stdin; nothing at all if anything goes wrong."""
    try:
        event = json.loads(sys.stdin.buffer.read(LONGEST_EVENT))
        line = status_line(_object(event), os.environ, Path.home())
        sys.stdout.buffer.write(line.encode() + b"\n" * bool(line))
        sys.stdout.buffer.flush()
    except Exception:  # the user's screen is no place for our errors
        os._exit(0)  # at once: Python would report a closed pipe at its own exit


if __name__ == "__main__":
    main()
