"""`Transcript`, and the interface of a host's module that reads transcripts."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import objects
from context_compression.transcripts.history import Compaction, Request
from context_compression.transcripts.lines import At, string

LONGEST_NAME = 120  # characters; most file systems end at 255 bytes

Row: TypeAlias = dict[str, Any]
Load: TypeAlias = Callable[[At], Row]
"""Reads a row that was passed before from the file again; empty if it is no longer there."""


@dataclass(frozen=True)
class ClearedResult:
    """A tool's result that the host took out of the context, but not out of its file.

    Attributes:
        tool: the name of the tool.
        text: all of it; a result with pictures is the JSON of its blocks.
    """

    tool: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class Transcript:
    """A conversation in a file: the messages in the live context, and no older ones."""

    path: Path
    host: str
    """The host that wrote the file: `claude-code`, ...; `messages` for plain message files."""
    session_id: str
    """The host's own id of the conversation, else the file's name; safe as a folder name."""
    messages: list[dict[str, Any]]
    """Messages in a dialect of `formats`; texts and blocks are the objects that were read."""
    usage: tuple[int, int] | None = None
    """`(tokens, messages)` of the last request: the tokens that the provider counted, system prompt
    and tools included, and how many of `messages`, from the first on, they cover. Both include the
    answer if the host records its tokens faithfully."""
    window: int | None = None
    """The size of the model's context window in tokens, if the host records it."""
    largest: int = 0
    """Tokens of the largest request that the same model answered, before compactions too, as far as
    it is known."""
    model: str | None = None
    system: Any = None
    """The system prompt, with other texts that the host sent outside the messages."""
    tools: Any = None
    rows: list[list[str]] = field(default_factory=list[list[str]])
    """For each message, the host's ids of the rows it was made of; empty without such ids."""
    warnings: list[str] = field(default_factory=list[str])
    """The parts that could not be read or were left out, in sentences for the user."""
    missing: Sequence[str] = ()
    """The warnings that say what of the conversation is in no file that could be read."""
    conversation: Conversation | None = field(default=None, compare=False, repr=False)
    """The parsed messages, if reading the file required parsing them."""
    project: str = ""
    """The folder that the agent worked in; empty if the host does not record it."""
    title: str = ""
    """The session's title; empty if the host records none."""
    compactions: Sequence[Compaction] = ()
    """The compactions that led to the live context, the oldest first."""
    carried: int = 0
    """How many of the messages, from the first on, the last compaction left or wrote."""
    times: Sequence[float | None] = field(default=(), repr=False)
    """When each message was written, in seconds since 1970; empty if the host records no times."""
    requests: Sequence[Request] = field(default=(), repr=False)
    """The requests since the last compaction that the model answered."""
    replaced: "Sequence[Transcript]" = field(default=(), compare=False, repr=False)
    """The contexts before its compactions, the oldest first, where no request was charged since."""
    cleared: Sequence[ClearedResult] = field(default=(), repr=False)
    """The results that the host cleared; `messages` only say so in their places."""

    def read_to_the_end(self) -> "Transcript":
        """The same without rows that only its `times` and `requests` still need."""
        return replace(self, times=[*self.times], requests=[*self.requests])


class Reader(Protocol):
    """Reads one transcript: takes row after row, and can give the conversation at any time.

    It keeps the rows that may be in the context, not all rows.
    """

    def add(self, row: Row, at: At) -> None:
        """Add the next row of the file. The reader may drop parts of it that it does not need."""
        ...

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live conversation; its warnings are about the rows added so far."""
        ...

    def before(self, row: Row, path: Path, load: Load) -> Transcript | None:
        """The conversation before a row that may take something out of the context.

        Args:
            row: the next row, not yet added.
            path: as for `transcript`.
            load: as for `transcript`.

        Returns:
            `None` for all other rows.
        """
        ...


class HostTranscripts(Protocol):
    """The reader of one host's transcripts. Each `hosts/<host>/transcript` is one."""

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether only this host writes such a row."""
        ...

    def reader(self) -> Reader:
        """A reader for one transcript, from its first row on."""
        ...


class EarlierRows(Protocol):
    """The rows of other files that a conversation goes through before its own file."""

    @property
    def missing(self) -> Sequence[str]:
        """Rows that are in no file, in sentences for the user; complete after `rows`."""
        ...

    @property
    def warnings(self) -> Sequence[str]:
        """The parts of those files that could not be read; complete after `rows`."""
        ...

    @property
    def ends(self) -> Sequence[tuple[Path, int | None]]:
        """The files, and the byte before which the rows of each end; `None` for the file's end."""
        ...

    def missing_at_a_glance(self) -> Sequence[str]:
        """What is missing, as far as it can be told without reading the rows."""
        ...

    def rows(self, max_bytes: int) -> Iterator[tuple[Row, At]]:
        """The rows, the oldest first; their places are below zero."""
        ...


@runtime_checkable
class Continuing(Protocol):
    """A host whose conversations may begin in another file than the one they go on in."""

    def earlier(self, rows: Iterable[Row], path: Path) -> EarlierRows | None:
        """The rows before those of a file that begins with `rows`; `None` if there are none."""
        ...


def earlier_rows(host: object, rows: Iterable[Row], path: Path) -> EarlierRows | None:
    """The rows before those of a file, if its host has conversations of several files."""
    return host.earlier(rows, path) if isinstance(host, Continuing) else None


def told(transcript: Transcript, missing: Sequence[str]) -> Transcript:
    """The same with what else is missing of the conversation, in sentences."""
    return replace(
        transcript,
        warnings=[*missing, *transcript.warnings],
        missing=[*missing, *transcript.missing],
    )


def folder_name(name: str) -> str:
    """A name that is safe for a folder: `"a1-b2"` -> itself; `"my chat"` -> `"my-chat-<8 hex>"`.

    It does not begin with a hyphen, because commands would take it for an option.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-")[:LONGEST_NAME]
    if safe == name and safe:
        return safe
    return f"{safe or 'conversation'}-{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def id_from_name(path: Path) -> str:
    """A session id from a file's name: `chat.jsonl.gz` -> `chat`."""
    return folder_name(re.sub(r"(\.jsonl?)?(\.gz|\.zst)?$", "", path.name))


def whole_text(content: Any) -> str:
    """The content of a result as one text: the JSON of its blocks if they are not only text."""
    blocks = objects(content)
    if blocks and any(block.get("type") != "text" for block in blocks):
        return json.dumps(content, ensure_ascii=False)
    texts = [content] if isinstance(content, str) else [string(block, "text") for block in blocks]
    return "\n".join(filter(None, texts))


def counted(what: str, counts: Mapping[str, int]) -> list[str]:
    """`["Rows were skipped: 3 (mode 2, tag 1)."]`; an empty list if all counts are 0."""
    most = sorted(counts.items(), key=lambda item: -item[1])[:5]
    listed = ", ".join(f"{name} {count}" for name, count in most if count)
    total = sum(counts.values())
    return [f"{what}: {total:,} ({listed})."] if total else []
