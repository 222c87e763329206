"""One line about the context, for Claude Code's `statusLine`.

    context 62 %, 124K of 200K · compacts at 167K · 12 archived · 48K saved

Claude Code runs this file by its path after every answer, up to three times a second. So it imports
the standard library alone (importing the package takes half a second), counts no tokens, and reads
only the events of the archive that it adds up. It leaves out what it cannot read, and never fails.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

WIDTHS = range(32, 81)  # characters of the line; the first part needs at most 32
MARGIN = 4  # characters of the terminal's width that Claude Code keeps for itself
LONGEST_EVENT = 1_000_000  # bytes of what Claude Code passes on stdin, which is about 2,000
LARGEST_LOG = 50_000_000  # bytes; a longer one would take a tenth of a second to read
LARGEST_SETTINGS = 10_000_000  # bytes; Claude Code's own file holds the history of prompts
LARGEST_COUNT = 10**9  # tokens; more would not fit on the line
MOST_DIGITS = 9  # of a number among the environment variables
SESSION_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
PROMPT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
FOR_SUMMARY, KEPT_FREE = 20_000, 13_000
"""Tokens of the window that Claude Code keeps free: it compacts at 167,000 of 200,000."""
SMALLEST_WINDOW = 100_000
"""The smallest window that the user can set for compactions; Claude Code raises smaller ones."""
NEVER_COMPACTS = ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT")
SWITCHED_OFF = re.compile(rb'"autoCompactEnabled"\s*:\s*false')
OFFLOAD = re.compile(rb'\{"type":"offload","created_at":"[^"]*","refs":\{(?:"(\w+)")?')
KEPT_OUT = re.compile(rb'"call":"([^"]*)","tokens_freed":([0-9]+)')
ENDING = 500  # bytes at the end of such an event, after the text that was offloaded
PARSED = (b'{"type":"restore"', b'{"type":"compression"')
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
    limit = compacts_at(window, environ, home)
    share = f"context {100 * used / window:.0f} %"
    archive: list[str] = []
    with suppress(Exception):  # whatever is wrong with the archive, the window is known
        archive += _archive(event, environ, home)
    line = _fitting(
        f"{share}, {_short(used)} of {_short(window)}",
        f"compacts at {_short(limit)}" if limit else "",
        *archive,
        width=_width(_number(environ.get("COLUMNS"))),
    )
    if environ.get("NO_COLOR"):
        return line
    color = next(code for least, code in COLORS if used >= least * (limit or window))
    return f"\x1b[{color}m{share}\x1b[0m{line.removeprefix(share)}"


def compacts_at(window: int, environ: Mapping[str, str], home: Path) -> int:
    """The size in tokens at which Claude Code compacts by itself; 0 if it does not.

    Its own rule, with the variables that change it (seen in version 2.1.329).
    """
    folder = environ.get("CLAUDE_CONFIG_DIR")
    config = Path(folder or home) / ".claude.json"
    settings = Path(folder or home / ".claude") / "settings.json"
    if any(map(environ.get, NEVER_COMPACTS)) or any(
        SWITCHED_OFF.search(_bytes(path)) for path in (config, settings)
    ):
        return 0
    if chosen := _number(environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW")):
        window = min(window, max(chosen, SMALLEST_WINDOW))
    usable = window - FOR_SUMMARY
    percent = _number(environ.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"))
    share = usable * percent // 100 if 0 < percent <= 100 else usable
    return max(0, min(share, usable - KEPT_FREE))


def _used(context: Json) -> int:
    """Tokens of the last request. Older versions give only the sum of all requests as a total."""
    usage = context.get("current_usage")
    return sum(_count(_object(usage).get(name)) for name in PROMPT_TOKENS)


def _archive(event: Json, environ: Mapping[str, str], home: Path) -> Iterator[str]:
    """How much of the session is archived, stayed out of the context, and was restored."""
    refs: set[str] = set()
    restored: set[str] = set()
    kept_out: dict[bytes, int] = {}
    brought_back = 0
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
    saved = sum(kept_out.values()) - brought_back
    yield f"{len(refs):,} archived" if refs else ""
    yield f"{_short(saved)} saved" if saved > 0 else ""
    yield f"{len(restored):,} restored" if restored else ""


def _log(event: Json, environ: Mapping[str, str], home: Path) -> Iterator[bytes]:
    """The lines of the session's log; none if there is no log, or if it is too long."""
    id = str(event.get("session_id"))
    project = _object(event.get("workspace")).get("project_dir") or event.get("cwd")
    if not isinstance(project, str) or not SESSION_ID.fullmatch(id):
        return
    place = _location().store_folder_for(Path(project), home=home, environ=environ)
    log = place / "sessions" / id / "events.jsonl"
    if log.is_file() and log.stat().st_size <= LARGEST_LOG:
        with log.open("rb") as lines:
            yield from lines


def _location() -> Any:
    """The module `store.location`, read from its file, so that no package is imported for it."""
    path = Path(__file__).parents[2] / "store" / "location.py"
    spec = spec_from_file_location("location", path)
    assert spec and spec.loader
    spec.loader.exec_module(module := module_from_spec(spec))
    return module


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


def _number(text: str | None) -> int:
    if not text or not text.isascii() or not text.isdigit():
        return 0
    return int(text) if len(text) <= MOST_DIGITS else LARGEST_COUNT


def _bytes(path: Path) -> bytes:
    with suppress(OSError, ValueError):
        if path.is_file():  # and no pipe or device, which might never end
            with path.open("rb") as file:
                return file.read(LARGEST_SETTINGS)
    return b""


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
    sys.path.append(str(Path(__file__).parents[3]))  # `store.location` may need platformdirs
    main()
