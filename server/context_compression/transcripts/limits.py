"""How large a host lets a conversation become: its window, and the size at which it compacts.

Claude Code's status line reads this file by its path, so it imports the standard library alone.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

FOR_SUMMARY, KEPT_FREE = 20_000, 13_000
"""Tokens of the window that Claude Code keeps free: it compacts at 167,000 of 200,000."""
SMALLEST_WINDOW = 100_000
"""The smallest window that the user can set for compactions; Claude Code raises smaller ones."""
NEVER_COMPACTS = ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT")
SWITCHED_OFF = re.compile(rb'"autoCompactEnabled"\s*:\s*false')
LARGEST_SETTINGS = 10_000_000  # bytes; Claude Code's own file holds the history of prompts
LARGEST_NUMBER = 10**9  # of tokens; more would be no size
MOST_DIGITS = 9  # of a number among the environment variables
SIZES = (200_000, 1_000_000, 2_000_000, 10_000_000)
"""Windows of models, in tokens."""


class Limits(NamedTuple):
    """The tokens of a window, and the size at which the host compacts; 0 if it does not."""

    window: int
    compacts_at: int = 0


def holding(window: int, used: int) -> int:
    """The window if it holds a request of `used` tokens that was answered, else the next larger."""
    return window if used <= window else next((size for size in SIZES if size >= used), used)


def limits_of(host: str, window: int, environ: Mapping[str, str], home: Path) -> Limits:
    """The limits of a host for a model with this window; `host` as in `Transcript`."""
    return of_claude_code(window, environ, home) if host == "claude-code" else Limits(window)


def of_claude_code(window: int, environ: Mapping[str, str], home: Path) -> Limits:
    """Claude Code's own rule, with the variables that change it (seen in version 2.1.329).

    It also takes variables from `env` in the user's settings.
    """
    folder = environ.get("CLAUDE_CONFIG_DIR")
    config = _bytes(Path(folder or home) / ".claude.json")
    settings = _bytes(Path(folder or home / ".claude") / "settings.json")
    environ = {**_environ_in(settings), **environ}
    if chosen := number(environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW")):
        window = min(window, max(chosen, SMALLEST_WINDOW))
    if any(map(environ.get, NEVER_COMPACTS)) or any(map(SWITCHED_OFF.search, (config, settings))):
        return Limits(window)
    if window < SMALLEST_WINDOW:
        return Limits(window)  # it names none for so small a window
    usable = window - FOR_SUMMARY
    percent = number(environ.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"))
    share = usable * percent // 100 if 0 < percent <= 100 else usable
    return Limits(window, max(0, min(share, usable - KEPT_FREE)))


def number(text: str | None) -> int:
    """The number in a variable; 0 if it holds none."""
    if not text or not text.isascii() or not text.isdigit():
        return 0
    return int(text) if len(text) <= MOST_DIGITS else LARGEST_NUMBER


def _environ_in(settings: bytes) -> Mapping[str, str]:
    if b'"env"' not in settings:
        return {}
    with suppress(ValueError, RecursionError, AttributeError):
        given = cast("dict[str, Any]", json.loads(settings)["env"])
        return {name: value for name, value in given.items() if isinstance(value, str)}
    return {}


def _bytes(path: Path) -> bytes:
    with suppress(OSError, ValueError):
        if path.is_file():  # and no pipe or device, which might never end
            with path.open("rb") as file:
                return file.read(LARGEST_SETTINGS)
    return b""
