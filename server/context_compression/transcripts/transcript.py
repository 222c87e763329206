"""What a transcript is, and what a host's module offers to have its transcripts read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from context_compression.conversation.formats import Conversation
from context_compression.transcripts.lines import At

LONGEST_NAME = 120  # characters; most file systems end at 255 bytes

Row: TypeAlias = dict[str, Any]
Load: TypeAlias = Callable[[At], Row]
"""A row that was passed before, read from the file again; empty where it is no longer there."""


@dataclass(frozen=True)
class Transcript:
    """A conversation as it stands in a file: what is in the live context, nothing older."""

    path: Path
    host: str
    """Who wrote the file: `claude-code`, or `messages` for plain message files."""
    session_id: str
    """The host's own id of the conversation, else the file's name; safe as a folder name."""
    messages: list[dict[str, Any]]
    """In a dialect of `formats`; texts and blocks are the objects that were read."""
    usage: tuple[int, int] | None = None
    """`(tokens, messages)`: what the provider counted for the last request, system prompt and tools
    included, and how many of `messages`, from the first on, that is. The answer is among them where
    the host notes its tokens faithfully."""
    window: int | None = None
    """Tokens of the model's window, where the host writes that down."""
    model: str | None = None
    system: Any = None
    """The system prompt, with what the host told the model beside the messages."""
    tools: Any = None
    rows: list[list[str]] = field(default_factory=list[list[str]])
    """The host's ids of the rows that each message was made of, where it has such ids."""
    warnings: list[str] = field(default_factory=list[str])
    """What could not be read or was left out, in plain words."""
    conversation: Conversation | None = field(default=None, compare=False, repr=False)
    """The messages as values, where they had to be read to know them."""


class Reader(Protocol):
    """Reads one transcript: takes row after row, and can give the conversation at any time.

    It keeps the rows that may be in the context, not all rows.
    """

    def add(self, row: Row, at: At) -> None:
        """Take the next row into account. Parts of it that are never asked for may be dropped."""
        ...

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The conversation as it stands now; its warnings are about the rows passed."""
        ...


class Host(Protocol):
    """Knows the transcripts of one host. Each `hosts/<host>/transcript` is one."""

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether only this host writes such a row."""
        ...

    def reader(self) -> Reader:
        """A reader for one transcript, from its first row on."""
        ...


def folder_name(name: str) -> str:
    """`"a1-b2"` -> `"a1-b2"`; `"my chat"` -> `"my-chat-<8 hex digits>"`: safe as a folder name.

    It begins with no hyphen: a command that is given it would take it for an option.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-")[:LONGEST_NAME]
    if safe == name and safe:
        return safe
    return f"{safe or 'conversation'}-{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def id_from_name(path: Path) -> str:
    """A session id from a file's name: `chat.jsonl.gz` -> `chat`."""
    return folder_name(re.sub(r"(\.jsonl?)?(\.gz)?$", "", path.name))


def counted(what: str, counts: Mapping[str, int]) -> list[str]:
    """`"Rows were skipped: 3 (mode 2, tag 1)."`; nothing where there are none."""
    most = sorted(counts.items(), key=lambda item: -item[1])[:5]
    listed = ", ".join(f"{name} {count}" for name, count in most if count)
    total = sum(counts.values())
    return [f"{what}: {total:,} ({listed})."] if total else []
