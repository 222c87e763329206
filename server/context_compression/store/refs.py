"""Finding one ref among many: what the log says of it is read, and of the originals one message.

A log and its files may have many megabytes, and to parse them takes longer than anybody wants to
wait for one text. They are as we wrote them; where they are not, all of them is parsed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from context_compression.conversation.refs import SHORTEST
from context_compression.store.checksums import was_changed

_KEY = re.compile(rb'"([0-9a-f]{12,64})":')
_MESSAGE = re.compile(rb'"([0-9a-f]{12,64})":\{"what":"[^"\\]*","message":\d+,"block":null[,}]')
_EVENTS = (b'{"type":"compression"', b'{"type":"offload"')
_ORIGINALS = b'"originals":"'
_REFS = b'"refs":{'
_FIRST, _LAST = b"[\n  {\n", b"\n  }\n]"
_BEGINNING, _END = b"\n  {", b"\n  }"
_DECODER = json.JSONDecoder()


def if_too_short(ref: str) -> str:
    """`"6da"` -> `" (at least 4 digits name a ref)"`; of longer ones there is nothing to say."""
    return f" (at least {SHORTEST} digits name a ref)" * (len(ref) < SHORTEST)


def entries(log: bytes, ref: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What a log says of the refs that begin so, each with the `file` of its originals.

    Args:
        log: lines of JSON as `LineFile.append` writes them. Within a text a quotation mark has a
            backslash before it, so what looks like a key is one.
        ref: lower-case hex digits.
    """
    wanted = b'"' + ref.encode()
    at = log.find(wanted)
    while at >= 0:
        if found := _entry(log, at):
            yield found
        at = log.find(wanted, at + 1)


def latest(log: bytes, ref: str) -> tuple[str, Mapping[str, Any]] | None:
    """The last of the `entries` of a ref in full: it stands near the end of a long log."""
    wanted = b'"' + ref.encode() + b'"'
    at = log.rfind(wanted)
    while at >= 0:
        if found := _entry(log, at):
            return found
        at = log.rfind(wanted, 0, at)
    return None


def _entry(log: bytes, at: int) -> tuple[str, Mapping[str, Any]] | None:
    key = _KEY.match(log, at)
    event = _event(log, at) if key else None
    if not key or not event:
        return None
    about = _decoded(log[key.end() : event.stop])
    file = _name_after(log, log.rfind(_ORIGINALS, event.start, at))
    match about:
        case {"what": str(), "text": str()}:
            return key[1].decode(), about
        case {"what": str(), "message": int(), "block": int() | None} if file:
            return key[1].decode(), {**about, "file": file}
        case _:
            return None


def following(log: bytes, ref: str) -> str | None:
    """The ref of the message that was archived right behind the one of this ref, if any.

    Args:
        log: as `entries` takes it; what is archived twice counts where it stands last.
        ref: in full, of a message.
    """
    own = b'"' + ref.encode() + b'":'
    at = log.rfind(own)
    while at >= 0:
        message = _MESSAGE.match(log, at)
        if message and (event := _event(log, at)):
            found = _MESSAGE.search(log, message.end(), event.stop)
            return found[1].decode() if found else None
        at = log.rfind(own, 0, at)
    return None


def _event(log: bytes, at: int) -> range | None:
    """Where the event stands of whose refs `at` is one; `None` for no ref, or a changed event.

    Behind them an event holds no keys but ours, before them whatever the view's messages hold.
    """
    start, stop = log.rfind(b"\n", 0, at) + 1, log.find(b"\n", at)
    stop = stop if stop >= 0 else len(log)
    if not log.startswith(_EVENTS, start) or was_changed(log[start:stop]):
        return None
    return range(start, stop) if start < log.rfind(_REFS, start, stop) < at else None


def message_at(originals: bytes, position: int) -> Any:
    """A message of a file of originals; `None` where the file is not as we write it."""
    if position < 0 or not (originals.startswith(_FIRST) and originals.endswith(_LAST)):
        return None
    at = -1
    for _ in range(position + 1):
        at = originals.find(_BEGINNING, at + 1)
        if at < 0:
            return None
    return _decoded(originals[at : originals.find(_END, at) + len(_END)].lstrip())


def _decoded(data: bytes) -> Any:
    """The JSON value that `data` begins with, `None` where there is none."""
    try:
        return _DECODER.raw_decode(data.decode())[0]
    except (ValueError, RecursionError):
        return None


def _name_after(log: bytes, at: int) -> str | None:
    if at < 0:
        return None
    start = at + len(_ORIGINALS)
    return log[start : log.find(b'"', start)].decode("ascii", "replace")
