"""A new session, and the interface of a host's module that writes one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from uuid import UUID, uuid5

from context_compression.conversation.messages import Message

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class NewSession:
    """A session to be written.

    Attributes:
        session_id: a UUID that no other session has.
        project: the folder it belongs to; hosts list a session only there.
        created: when it was created.
        model: the model that has answered in it so far, if known.
    """

    session_id: str
    project: Path
    created: datetime
    model: str | None = None

    def id(self, number: int) -> str:
        """The UUID of the row with this number; it is always the same."""
        return str(uuid5(UUID(self.session_id), str(number)))

    def time(self, number: int = 0) -> str:
        """The time of the row with this number, in UTC to the millisecond; hosts sort by it."""
        at = self.created.astimezone(UTC) + timedelta(milliseconds=number)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Exporter(Protocol):
    """Writes sessions of one host. Each `hosts/<host>/export.py` is one."""

    @property
    def NAME(self) -> str:
        """The host's name."""
        ...

    @property
    def DOCUMENTS(self) -> bool:
        """Whether the host's messages may hold documents."""
        ...

    @property
    def THINKING(self) -> bool:
        """Whether the host accepts reasoning that it recorded itself."""
        ...

    def place(self, session: NewSession, home: Path, environ: Mapping[str, str]) -> Path:
        """The path at which the host looks for the session."""
        ...

    def rows(self, messages: Sequence[Message], session: NewSession) -> Iterator[Row]:
        """The lines of the session's file, as JSON objects."""
        ...

    def command(self, session: NewSession, path: Path) -> Sequence[str]:
        """The command that resumes the session; it is run in the project's folder."""
        ...
