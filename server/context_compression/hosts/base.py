"""What a host reader gives back, and what it has to offer to be one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from context_compression.hosts.lines import Rows

LONGEST_NAME = 120  # characters; most file systems end at 255 bytes


@dataclass(frozen=True)
class Transcript:
    """A conversation as it stands in a file: what is in the live context, nothing older."""

    path: Path
    host: str
    """Who wrote the file: `claude-code`, or `messages` for plain message files."""
    session_id: str
    """The host's own id of the conversation, else the file's name; safe as a folder name."""
    messages: list[dict[str, Any]]
    """Anthropic or OpenAI messages; texts and blocks are the objects that were read."""
    usage: tuple[int, int] | None = None
    """`(tokens, messages)`: what the provider counted for the last request, system prompt and tools
    included, and how many of `messages`, from the first on, that request held."""
    model: str | None = None
    system: Any = None
    """The system prompt, with what the host told the model beside the messages."""
    tools: Any = None
    warnings: list[str] = field(default_factory=list[str])
    """What could not be read or was left out, in plain words."""


class Host(Protocol):
    """Reads the transcripts of one host. A module with these two functions is one."""

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether only this host writes such a row."""
        ...

    def read(self, path: Path, rows: Rows) -> Transcript:
        """The conversation in the rows; what `rows` warns of is in the transcript's warnings."""
        ...


def folder_name(name: str) -> str:
    """`"a1-b2"` -> `"a1-b2"`; `"my chat"` -> `"my-chat-<8 hex digits>"`: safe as a folder name."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".")[:LONGEST_NAME]
    if safe == name and safe:
        return safe
    return f"{safe or 'conversation'}-{sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def name_of(path: Path) -> str:
    """A session id from a file's name: `chat.jsonl.gz` -> `chat`."""
    return folder_name(re.sub(r"(\.jsonl?)?(\.gz)?$", "", path.name))
