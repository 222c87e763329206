"""The entries of refs in a log, found in its bytes without parsing the other lines.

A log can have many megabytes, and parsing all of it would make a restore too slow. The search
relies on how `LineFile.append` writes lines: a quotation mark inside a string has a backslash
before it, so bytes that look like a key are a key. For a log that was edited by hand, see
`SessionLog.refs`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from context_compression.store.checksums import was_changed
from context_compression.store.files import leading_json

_KEY = re.compile(rb'"([0-9a-f]{12,64})":')
_MESSAGE = re.compile(rb'"([0-9a-f]{12,64})":\{"what":"[^"\\]*","message":\d+,"block":null[,}]')
_EVENTS = (b'{"type":"compression"', b'{"type":"offload"')
_ORIGINALS = b'"originals":"'
_REFS = b'"refs":{'


def is_usable(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of a ref has all that says where its original is."""
    match entry:
        case {"what": str(), "text": str()}:
            return True
        case {
            "what": str(),
            "file": str(),
            "message": int(at),
            "block": (None | int()) as block,
        }:
            return not isinstance(at, bool) and not isinstance(block, bool)
        case _:
            return False


def entries(log: bytes, ref: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The refs that begin with `ref`, each with its entry and the `file` of its originals.

    Args:
        log: the bytes of a log.
        ref: lower-case hex digits.
    """
    key_start = b'"' + ref.encode()
    at = log.find(key_start)
    while at >= 0:
        if entry := _entry(log, at):
            yield entry
        at = log.find(key_start, at + 1)


def latest(log: bytes, ref: str) -> tuple[str, Mapping[str, Any]] | None:
    """The last entry of a complete ref, as in `entries`, searched from the end of the log."""
    key = b'"' + ref.encode() + b'"'
    at = log.rfind(key)
    while at >= 0:
        if entry := _entry(log, at):
            return entry
        at = log.rfind(key, 0, at)
    return None


def following(log: bytes, ref: str) -> str | None:
    """The ref of the next message that the same compression archived; `None` if there is none.

    Args:
        log: the bytes of a log; if a message was archived twice, the last time counts.
        ref: the complete ref of a message.
    """
    key = b'"' + ref.encode() + b'":'
    at = log.rfind(key)
    while at >= 0:
        message = _MESSAGE.match(log, at)
        if message and (event := _event(log, at)):
            next_message = _MESSAGE.search(log, message.end(), event.stop)
            return next_message[1].decode() if next_message else None
        at = log.rfind(key, 0, at)
    return None


def _entry(log: bytes, at: int) -> tuple[str, Mapping[str, Any]] | None:
    """The ref whose key starts at `at`, and its entry; `None` if no key starts there."""
    key = _KEY.match(log, at)
    event = _event(log, at) if key else None
    if not key or not event:
        return None
    entry = leading_json(log[key.end() : event.stop])
    file = _string_after(_ORIGINALS, log, log.rfind(_ORIGINALS, event.start, at))
    match entry:
        case {"what": str(), "text": str()}:
            return key[1].decode(), entry
        case {"what": str(), "message": int(), "block": int() | None} if file:
            return key[1].decode(), {**entry, "file": file}
        case _:
            return None


def _event(log: bytes, at: int) -> range | None:
    """The byte range of the event whose `refs` contain the position `at`.

    `None` if `at` is in another part of a line, or the line was changed. After its refs an event
    has only keys that this package wrote. Before them it may have any keys, from the messages of
    the view.
    """
    start, stop = log.rfind(b"\n", 0, at) + 1, log.find(b"\n", at)
    stop = stop if stop >= 0 else len(log)
    if not log.startswith(_EVENTS, start) or was_changed(log[start:stop]):
        return None
    return range(start, stop) if start < log.rfind(_REFS, start, stop) < at else None


def _string_after(key: bytes, log: bytes, at: int) -> str | None:
    """The string that follows a key at `at`; `None` if `at` is negative."""
    if at < 0:
        return None
    start = at + len(key)
    return log[start : log.find(b'"', start)].decode("ascii", "replace")
