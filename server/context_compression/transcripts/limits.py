"""How large a host lets a conversation become: its window, and the size at which it compacts.

Claude Code's status line imports this up to three times a second, so it imports little.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple, cast

from context_compression.opening import opened

FOR_SUMMARY, KEPT_FREE = 20_000, 13_000
"""Tokens of the window that Claude Code keeps free: it compacts at 167,000 of 200,000."""
SMALLEST_WINDOW = 100_000
"""The smallest window that the user can set for compactions; Claude Code raises smaller ones."""
WITHOUT_MILLION = 200_000
"""The window of Claude's models where the user switched the one of a million off."""
NEVER_COMPACTS = ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT")
YES = ("1", "true", "yes", "on")
SWITCHED_OFF = re.compile(rb'"autoCompactEnabled"\s*:\s*false')
TOLD_IN = (b'"env"', b'"autoCompactWindow"', b'"model"')
MILLION = "[1m]"
"""The end of a model's name with which the user asks for a window of a million tokens."""
LARGEST_SETTINGS = 10_000_000  # bytes; Claude Code's own file holds the history of prompts
LARGEST_NUMBER = 10**9  # of tokens; more would be no size
SIZE = re.compile(r"([0-9]{1,400}(?:\.[0-9]{0,400})?)([km]?)", re.IGNORECASE | re.ASCII)
UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
SIZES = (200_000, 1_000_000, 2_000_000, 10_000_000)
"""Windows of models, in tokens."""
SURELY_SENT = 1.2
"""From which share of a window on a size that a host tells of a compaction shows a larger window:
such a size may hold an estimate of results that no request ever sent."""
DATED = re.compile(r"-20\d{6}$")
DIGITS = re.compile(rb"[0-9]+")
USAGE, BEFORE = b'"usage":', b'"preTokens":'
PROMPT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Limits(NamedTuple):
    """The tokens of a window, and the size at which the host compacts; 0 if it does not."""

    window: int
    compacts_at: int = 0


def holding(window: int, used: int, told: int = 0) -> int:
    """The window if it holds what was sent, else the next larger one.

    Args:
        window: the assumed one.
        used: tokens of the largest request that was answered.
        told: tokens of the largest context that the host says it compacted.
    """
    used = max(used, told if told > SURELY_SENT * window else 0)
    return window if used <= window else next((size for size in SIZES if size >= used), used)


def plain_name(model: str | None) -> str:
    """The name of a model without its date and without the window that was asked for.

    `claude-sonnet-4-5-20250929[1m]` -> `claude-sonnet-4-5`.
    """
    return DATED.sub("", (model or "").lower().removesuffix(MILLION))


class LargestUse:
    """The largest requests of a conversation, before its compactions too, by their model.

    Another model's requests say nothing about the window of the one that answers now.
    """

    def __init__(self) -> None:
        self.newest: str | None = None
        """The name of the model that answered last, before a compaction too."""
        self._used: dict[str, int] = {}

    def add(self, tokens: int, model: str | None = "") -> None:
        """Add a request that was answered; with an empty name, by a model that is not known."""
        self.newest = model or self.newest
        name = plain_name(model)
        self._used[name] = max(self._used.get(name, 0), tokens)

    def of(self, model: str | None) -> int:
        """Tokens of the largest request of a model, or of one that is not known."""
        names = {plain_name(model), ""} if model else self._used.keys()
        return max((self._used.get(name, 0) for name in names), default=0)


def of_claude_code(
    window: int,
    environ: Mapping[str, str],
    home: Path,
    model: str | None = None,
    project: Path | None = None,
) -> Limits:
    """Claude Code's own rule, with the variables and settings that change it (seen in 2.1.329).

    It also takes variables from `env` in the settings of the user and of the project.
    """
    folder = environ.get("CLAUDE_CONFIG_DIR")
    config = content_of(Path(folder or home) / ".claude.json")
    files = [Path(folder or home / ".claude") / "settings.json"]
    if project is not None:
        files += [project / ".claude" / name for name in ("settings.json", "settings.local.json")]
    written = [*map(content_of, files)]
    settings = [*filter(None, map(_told_in, written))]  # the later ones count before the earlier
    for each in reversed(settings):
        environ = {**_texts_in(each.get("env")), **environ}
    window = _window(window, environ, settings, model)
    if chosen := _chosen(environ, settings, model):
        window = min(window, max(chosen, SMALLEST_WINDOW))
    never = any(_is_on(environ.get(name)) for name in NEVER_COMPACTS)
    if never or any(map(SWITCHED_OFF.search, (config, *written))):
        return Limits(window)
    if window < SMALLEST_WINDOW:
        return Limits(window)  # it names none for so small a window
    usable = window - FOR_SUMMARY
    percent = _decimal(environ.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"))
    share = int(usable * percent / 100) if 0 < percent <= 100 else usable
    return Limits(window, max(0, min(share, usable - KEPT_FREE)))


def _window(
    window: int,
    environ: Mapping[str, str],
    settings: Sequence[Mapping[str, Any]],
    model: str | None,
) -> int:
    """The model's window, as the user chose it or the variables of Claude Code leave or set it."""
    is_claude = "claude" in (model or "claude").lower()
    told = number(environ.get("CLAUDE_CODE_MAX_CONTEXT_TOKENS"))
    if told and (_is_on(environ.get("DISABLE_COMPACT")) or not is_claude):
        return told
    without = is_claude and _is_on(environ.get("CLAUDE_CODE_DISABLE_1M_CONTEXT"))
    if without:
        return min(window, WITHOUT_MILLION)
    named = [environ.get("ANTHROPIC_MODEL"), *(each.get("model") for each in reversed(settings))]
    asked = next((name.lower() for name in named if isinstance(name, str) and name), "")
    is_asked = asked.endswith(MILLION) and plain_name(asked) in plain_name(model)
    return max(window, 1_000_000) if is_asked else window


def _chosen(
    environ: Mapping[str, str], settings: Sequence[Mapping[str, Any]], model: str | None
) -> int:
    """The window for compactions that the user chose: by variable, or by `/autocompact`."""
    if chosen := number(environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW")):
        return chosen
    for each in reversed(settings):
        by_model = _object(each.get("modelSettings"))
        named = [about for name, about in by_model.items() if plain_name(name) == plain_name(model)]
        for about in (*map(_object, named), each):
            told = about.get("autoCompactWindow")
            if told == "auto":
                return 0
            if isinstance(told, int) and not isinstance(told, bool) and told > 0:
                return told
    return 0


def number(text: str | None) -> int:
    """The size in a variable, as Claude Code reads it: `200000`, `200k`, `0.5m`; 0 if none is."""
    found = SIZE.fullmatch((text or "").strip())
    if not found:
        return 0
    if not found[2] and "." not in found[1]:
        return int(found[1]) if len(found[1]) <= 10 else LARGEST_NUMBER
    return int(min(LARGEST_NUMBER, _decimal(found[1]) * UNITS[found[2].lower()]))


def largest_use(path: Path, model: str | None, window: int, longest: int | None = None) -> int:
    """The largest size in a transcript of Claude Code above a window; few rows are parsed.

    Args:
        path: the transcript.
        model: whose requests count; `None` for those of any.
        window: the assumed one; smaller sizes are not looked at.
        longest: of a longer file, only so many bytes at its end are read.

    Returns:
        Tokens of the largest request that was answered, or of a much larger context that a
        compaction replaced; 0 if none is above the window.
    """
    largest, told = LargestUse(), 0
    with suppress(OSError, ValueError), opened(path) as file:
        for row in _rows_above(file, window, longest):
            message, compacted = row.get("message"), row.get("compactMetadata")
            tokens = tokens_of(_object(_object(message).get("usage")))
            if row.get("type") == "assistant" and not row.get("isSidechain"):
                largest.add(tokens, str(_object(message).get("model") or ""))
            before = _object(compacted).get("preTokens")
            told = max(told, before if isinstance(before, int) else 0)
    return max(largest.of(model), told if told > SURELY_SENT * window else 0)


def tokens_of(usage: Mapping[str, Any]) -> int:
    """Tokens of a prompt, cached or not."""
    parts = (n for part in PROMPT_TOKENS if isinstance(n := usage.get(part), int))
    return min(LARGEST_NUMBER, sum(n for n in parts if n > 0))


def _rows_above(
    file: BufferedReader, above: int, longest: int | None
) -> Iterator[Mapping[str, Any]]:
    """The rows that tell of more tokens than a number."""
    size = os.fstat(file.fileno()).st_size
    if longest and size > longest:
        file.seek(size - longest - 1)
        file.readline()
    for line in file:
        if any(_tells_more(line, mark, above) for mark in (USAGE, BEFORE)):
            with suppress(ValueError, RecursionError):
                yield _object(json.loads(line))


def _tells_more(line: bytes, mark: bytes, above: int) -> bool:
    """Whether the numbers behind a mark may be more than a number."""
    at = line.find(mark)
    while at >= 0:
        told = line[at : at + (240 if mark == USAGE else 40)]
        if sum(min(int(n[:10]), LARGEST_NUMBER) for n in DIGITS.findall(told)) > above:
            return True
        at = line.find(mark, at + 1)
    return False


def _is_on(value: str | None) -> bool:
    return (value or "").strip().lower() in YES


def _decimal(text: str | None) -> float:
    with suppress(ValueError):
        return float(text or 0)
    return 0


def _told_in(settings: bytes) -> Mapping[str, Any]:
    """What settings say, if anything in them matters here."""
    if any(name in settings for name in TOLD_IN):
        with suppress(ValueError, RecursionError):
            return _object(json.loads(settings))
    return {}


def _texts_in(value: Any) -> Mapping[str, str]:
    return {name: text for name, text in _object(value).items() if isinstance(text, str)}


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def content_of(path: Path) -> bytes:
    """The bytes of a settings file; empty if it cannot be read."""
    with suppress(OSError, ValueError), opened(path) as file:
        return file.read(LARGEST_SETTINGS)
    return b""
