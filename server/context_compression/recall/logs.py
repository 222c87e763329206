"""The session of a host as a log that the index reads: one event for each message.

A host may compact or take back what it wrote. So the log is read from its beginning if any of the
messages that were indexed has changed since.
"""

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from context_compression.conversation.authors import author_of
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message, Text, ToolResult, is_array, is_object
from context_compression.conversation.refs import ref_of
from context_compression.errors import ContextCompressionError
from context_compression.evidence.redaction import LONGEST_TITLE, redact, title_line
from context_compression.hosts.listing import FoundSession
from context_compression.hosts.reading import Readings
from context_compression.store.backend import Stamp
from context_compression.strings import unhidden
from context_compression.transcripts.transcript import History
from context_compression.workspace import Workspace
from context_compression.workspace.kept import kept_in

ASIDE = ("context_restore", "context_status", "context_config", "context_summary")
"""Our tools whose answers repeat what stands elsewhere; hosts put a prefix before their names."""
LATEST = 2**63 - 1
"""The latest time in ns that an index can hold: in the year 2262."""
TITLE = 60
"""The most characters of a title."""
RANDOM = "Zk9Qw7Lm2Xv5Tb8R"
"""A text that is a secret behind the name of one."""
LONGEST_NAME = 60
"""The most characters of the name of a secret."""
LABELS, LABELLED = ("name", "key", "header", "variable"), ("value", "content", "val")
"""The keys of a name and of its value in objects that hold one of each."""
SPOKEN = {"user": "text of the user", "assistant": "answer", "system": "system text"}


@dataclass(frozen=True)
class Said:
    """A message as a host wrote it.

    Attributes:
        message: in a dialect of `formats`.
        ref: of the message.
        time: when it was written, in seconds since 1970; `None` if that is not recorded.
    """

    message: Mapping[str, Any]
    ref: str
    time: float | None


def history_of(found: FoundSession, workspace: Workspace) -> History:
    """A whole session, as its host wrote it, or as it was kept.

    Raises:
        ContextCompressionError: it cannot be read.
    """
    path = found.candidate.path
    if found.kept:
        path = kept_in(workspace).unpacked(found.kept, [])
    return Readings(whole=True).history(path)


def said_in(history: History) -> Iterator[Said]:
    """The messages of a session, the oldest first, each once; no summary of its host."""
    for stage in history.stages:
        times = [*stage.times, *[None] * (len(stage.messages) - len(stage.times))]
        for message, time in [*zip(stage.messages, times, strict=True)][stage.carried :]:
            yield Said(message, ref_of(message), time)


def before_live(path: Path) -> int:
    """How many of the messages of a session are no longer in its live context; 0 if it is gone."""
    with suppress(ContextCompressionError):
        *earlier, _ = Readings(whole=True).history(path).stages
        return sum(len(stage.messages) - stage.carried for stage in earlier)
    return 0


class HostLog:
    """A session of a host; see `IndexedLog` for the methods. Offsets count messages."""

    def __init__(self, found: FoundSession, workspace: Workspace) -> None:
        """The session that was found in a workspace."""
        self.id, self.title = found.place, ""
        self._workspace = workspace
        self._found = found
        self._refs: list[str] | None = None
        self._said: Sequence[Said] = ()
        self._names: dict[str, str] = {}  # of the tools, by the id of the call

    def stamp(self) -> Stamp | None:
        """The size and the time of the file, or the time that the host gives."""
        return stamp_of(self._found)

    def length(self) -> int:
        """How many messages it has."""
        return len(self._read())

    def checksum(self, stop: int) -> int:
        """A CRC-32 of the refs of the first messages."""
        return zlib.crc32("".join(self._read()[:stop]).encode()) if stop else 0

    def events_after(self, offset: int, at_least: int) -> tuple[list[dict[str, Any]], int]:
        """The messages from an offset on, each with the refs of its texts."""
        self._read()
        events: list[dict[str, Any]] = []
        left = at_least
        for said in self._said[offset:]:
            if left <= 0:
                break
            event, size = self._event(said)
            events.append(event)
            left -= size
        end = offset + len(events)
        if end >= self.length():
            self._said = ()  # many sessions are read one after the other
        return events, end

    def read_originals(self, name: str) -> Sequence[Any]:
        """There are none: each event holds its message."""
        raise KeyError(name)

    def stamp_of(self, name: str) -> object:
        """Nothing is under a name."""
        return name

    def _read(self) -> list[str]:
        if self._refs is None:
            history = history_of(self._found, self._workspace)
            title = self._found.candidate.about or history.title
            self.title = title_line(unhidden(title[:LONGEST_TITLE]), TITLE)
            self._said = [*said_in(history)]
            self._refs = [said.ref for said in self._said]
        return self._refs

    def _event(self, said: Said) -> tuple[dict[str, Any], int]:
        """The event of a message, and about how many bytes it has."""
        event: dict[str, Any] = {"type": "message", "message": said.message, "ref": said.ref}
        try:
            message = parse([said.message]).messages[0]
        except ContextCompressionError:  # it stays in the count
            return event, 1
        size, refs = 1, dict[str, dict[str, Any]]()
        for slot, block in enumerate(message.blocks):
            if isinstance(block, Text | ToolResult):
                size += len(block.text)
                if block.text.strip() and (what := self._what(message, block)):
                    refs.setdefault(ref_of(block.text), {"what": what, "block": slot})
        if called := ", ".join(self._called(message)):
            refs.setdefault(said.ref, {"what": f"call of {called}", "block": None})
        shown = {"message": without_secrets(said.message), "time": said.time, "refs": refs}
        return event | shown, size

    def _what(self, message: Message, block: Text | ToolResult) -> str:
        """A text in a few words; "" for one that is not searched."""
        if isinstance(block, ToolResult):
            name = self._names.get(block.call_id) or block.name
            return "" if name.endswith(ASIDE) else f"result of {name or 'a tool'}"
        return SPOKEN.get(author_of(message, block.text), "")

    def _called(self, message: Message) -> Iterator[str]:
        """The tools that a message calls, without those of ours that only repeat."""
        for call in message.calls:
            self._names[call.id] = redact(call.name)
            if not call.name.endswith(ASIDE):
                yield self._names[call.id]


def without_secrets(value: Any, name: str = "", outer: str = "") -> Any:
    """A JSON value with `[redacted: kind]` in place of every secret.

    What names a secret may be its key, a key above that, the `name` beside a `value`, or the text
    before it in a list.

    `without_secrets(["--password", "hunter22"])` -> `["--password", "[redacted: password]"]`
    """
    if isinstance(value, str):
        for each in (name, outer):
            value = redact(f"{each}={value}").removeprefix(f"{each}=") if each else redact(value)
        return value
    if is_object(value):
        label = next(filter(_names_secret, map(value.get, LABELS)), "")
        outer = name if _names_secret(name) else outer
        return {
            key: without_secrets(each, key, label if label and key in LABELLED else outer)
            for key, each in value.items()
        }
    if not is_array(value):
        return value
    return [
        without_secrets(each, name, before if _names_secret(before) else outer)
        for before, each in pairwise(("", *value))
    ]


def _names_secret(name: object) -> bool:
    """Whether a random text behind this name is a secret."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and _hides(name)


@lru_cache(1024)
def _hides(name: str) -> bool:
    start, shown = f"{name}=", redact(f"{name}={RANDOM}")
    return shown.startswith(start) and RANDOM not in shown


def stamp_of(found: FoundSession) -> Stamp | None:
    """The size and the time in ns of a session's file; `None` if it is gone.

    Of a session that is in no file of its own, the time that its host gives; of one that is kept,
    those that the file had.
    """
    if found.kept:
        size, time = found.kept.files[0].stamp
        return size, min(time, LATEST)
    try:
        about = os.stat(found.candidate.path)
    except NotADirectoryError:  # a session in a database
        return 0, min(round(found.written_at * 1e9), LATEST)
    except OSError:
        return None
    return about.st_size, min(about.st_mtime_ns, LATEST)
