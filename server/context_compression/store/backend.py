"""`Backend`: the interface to the engine that keeps a store. It knows no paths.

A store is sessions, summaries and documents. A session has *rows* of two kinds, its events and its
ledger; *originals*, lists of messages that are written once under a name; and *texts* that an agent
may read by their place. A document is a JSON object of the store, such as its settings.

`FileBackend` keeps all of it in one folder, `PostgresBackend` in a database. `testing.backends` has
the tests that each engine must pass.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from context_compression.store.hits import SearchResult

Kind: TypeAlias = Literal["events", "ledger"]
"""The kind of a row of a session."""
Stamp: TypeAlias = tuple[int, int]
"""The size of a session's events, and when they were last written, in ns since 1970."""
CONFIG = "config"
"""The name of the document with the settings."""
LOCK_SECONDS = 30.0
"""Seconds to wait for a lock."""
WRITING = "another process is writing to the store"
COMPRESSING = "another process is compressing this conversation"
"""Why the lock `store`, and the long lock of a session, are not free."""


@dataclass(frozen=True)
class Events:
    """The rows of a session, oldest first. The dicts belong to a cache and must not be changed."""

    items: list[dict[str, Any]]
    warnings: list[str] = field(default_factory=list[str])
    """one sentence for each row that could not be read"""


class RefOwner(Protocol):
    """A session as `Backend.owner` returns it."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    def about(self, ref: str) -> Mapping[str, Mapping[str, Any]]:
        """The entries of its refs that begin with `ref`."""
        ...

    def refs(self) -> Mapping[str, Any]:
        """The entries of all its refs."""
        ...

    def digest(self, ref: str) -> str:
        """The SHA-256 of the original under a complete ref."""
        ...


Owner = TypeVar("Owner", bound=RefOwner)


class Backend(Protocol):
    """An engine that keeps one store. Several threads and processes may use it at once.

    Every method that writes raises `StoreUnwritable` if the engine refuses, and every method that
    reads raises `StoreDamaged` if what is there cannot be read; then nothing was changed.
    """

    @property
    def name(self) -> str:
        """What people are shown for the store: its path, or its address without secrets."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder of the store, whose files an agent may read; `None` if it has none."""
        ...

    @property
    def is_ours(self) -> bool:
        """Whether the user made or trusts what is kept here, or a program named it."""
        ...

    def of_tenant(self, tenant: str) -> "Backend":
        """The store of a tenant, apart from this one and from those of all other tenants.

        Raises:
            StoreError: the name cannot be that of a folder.
        """
        ...

    def check(self) -> None:
        """Raises `NotOurs` if the store must not be used, such as a folder of another user."""
        ...

    def sessions(self) -> list[str]:
        """The ids of all sessions that have events, the most recently written first."""
        ...

    def all_sessions(self) -> list[str]:
        """The ids of all sessions, also of those without events, such as damaged ones."""
        ...

    def stamp(self, session: str) -> Stamp | None:
        """Changes whenever events are added to a session; `None` for a session without events."""
        ...

    def rows(self, session: str, kind: Kind) -> Events:
        """All rows of a session, oldest first. A row that was read before is the same object."""
        ...

    def append(
        self, session: str, kind: Kind, rows: Sequence[Mapping[str, Any]], created_at: str | None
    ) -> None:
        """Add rows to a session; they are durable when this returns, all or none.

        Args:
            session: its id. The first row creates the session.
            kind: of the rows.
            rows: JSON objects.
            created_at: ISO 8601; when the session began, if this creates it.
        """
        ...

    def holds(self, session: str, text: str) -> bool:
        """Whether any event or original of a session contains a text."""
        ...

    def write_originals(
        self, session: str, name: str, messages: Sequence[Any], created_at: str
    ) -> None:
        """Keep messages under a name, and their SHA-256; both or none.

        Raises:
            StoreError: the name is taken, or a message is not a JSON value.
        """
        ...

    def originals(self, session: str) -> Collection[str]:
        """The names under which a session keeps originals."""
        ...

    def read_originals(self, session: str, name: str, digest: str | None = None) -> list[Any]:
        """The messages under a name.

        Args:
            session: its id.
            name: of the originals.
            digest: the SHA-256 that they must have; `None` skips the check.
        """
        ...

    def read_original(self, session: str, name: str, position: int) -> Any:
        """One message under a name, by its position from 0."""
        ...

    def entries(self, session: str, digits: str = "") -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The refs that begin with `digits`, each with its entry and the `file` of its originals.

        Args:
            session: its id.
            digits: at least four lower-case hex digits; "" for all refs.

        Returns:
            Oldest first; a ref that was archived several times comes several times.
        """
        ...

    def following(self, session: str, ref: str) -> str | None:
        """The ref of the message that was archived right after the message `ref`."""
        ...

    def owner(self, ref: str, session_of: Callable[[str], Owner]) -> Owner | None:
        """The newest session that archived a ref; `None` if no session did.

        Args:
            ref: complete, or its first four or more digits.
            session_of: returns the session of an id.

        Raises:
            UnknownRef: several refs begin with these digits, or stand for different originals.
        """
        ...

    def write_text(self, session: str, ref: str, text: str) -> str:
        """Keep a text where an agent can read it; returns the place.

        An engine whose texts no agent can read keeps nothing and returns "": the original is kept.
        """
        ...

    def place_of_text(self, session: str, ref: str) -> str:
        """The place of a text of `write_text`; "" if no agent can read it."""
        ...

    def remove_texts(self, session: str, refs: Sequence[str]) -> tuple[list[str], list[str]]:
        """The refs whose texts were removed, and a warning for each that could not be."""
        ...

    def add_summary(self, summary: Mapping[str, Any]) -> None:
        """Add a summary, a JSON object; its `session` is the id of a session.

        Raises:
            StoreDamaged: the summaries are damaged; they are not overwritten.
        """
        ...

    def summaries(self, session: str | None = None) -> Iterable[dict[str, Any]]:
        """The summaries of a session, the newest first; of all for `None`.

        Raises:
            StoreDamaged: the summaries are damaged.
            StoreTooNew: a newer version of this package wrote them.
        """
        ...

    def forget(self, session: str) -> None:
        """Free what this process remembers of a session; nothing that is kept changes."""
        ...

    def remove(self, session: str, timeout: float, before: Callable[[], object]) -> None:
        """Delete a session and its summaries as soon as no process compresses or writes in it.

        Args:
            session: its id.
            timeout: seconds to wait for a running compression before `StoreError` is raised.
            before: called while nobody else can write; if it raises, nothing is deleted.

        Raises:
            ObjectsLeft: it was deleted, but not all that is kept of it in other places.
        """
        ...

    def lock(
        self, name: str, busy: str, timeout: float = LOCK_SECONDS
    ) -> AbstractContextManager[None]:
        """Holds a lock against other threads and processes; the lock is not reentrant.

        It becomes free when the process ends, even after a crash.

        Args:
            name: of the lock.
            busy: the beginning of the error: "another process is writing to the store".
            timeout: seconds to wait before `StoreError` is raised, itself and no class below it.
        """
        ...

    def search(
        self, query: str, *, pattern: str | None, session: str | None, limit: int, skip: int
    ) -> SearchResult:
        """See `Store.search`."""
        ...

    def read_document(self, name: str) -> dict[str, Any]:
        """The document of a name, such as `config`; `{}` if there is none.

        Raises:
            StoreTooNew: a newer version of this package wrote it.
        """
        ...

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        """Replace a document."""
        ...

    def place_of_document(self, name: str) -> str:
        """What people are shown for the place of a document."""
        ...

    def prompt(self, name: str) -> str | None:
        """The user's instruction for summaries of a name; `None` if there is none.

        It is the file `prompts/<name>.md` of the folder. An engine without a folder has it in the
        document `prompts`.
        """
        ...

    @property
    def refusal(self) -> str:
        """Why nothing may be archived here, as a warning; "" if it may."""
        ...

    @property
    def not_applied(self) -> str:
        """Why settings and prompts here are not applied; "" if they are, or none exist."""
        ...

    def sweep(self) -> int:
        """Delete what killed writers left in other places than the engine's own; how much it was.

        What was written in the last hour stays, because its writer may not be done.

        Raises:
            ObjectsLeft: something could not be deleted.
        """
        ...

    def problems(self, session: str | None) -> list[str]:
        """One sentence for each problem with what a session keeps, but for its refs.

        With `None`, with summaries and documents, as far as reading them does not tell it.
        """
        ...

    def quoted(self, session: str) -> set[str]:
        """All hex digits in the events and originals of a session that could be a ref."""
        ...

    def size(self, session: str | None = None) -> int:
        """The bytes of a session, without its share of an index; of the whole store for `None`."""
        ...

    def sizes(self, sessions: Collection[str]) -> dict[str, int]:
        """The bytes of each of these sessions, with its share of a search index."""
        ...

    def index_shares(self) -> dict[str, int]:
        """The approximate bytes of a search index for each session; `{}` without an index."""
        ...

    def unassigned_index_bytes(self) -> int:
        """Bytes of a search index that `sizes` assigns to no session."""
        ...
