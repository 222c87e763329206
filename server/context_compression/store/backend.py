"""`Backend`: the interface to the engine that keeps a store. It knows no paths.

A store is sessions, summaries and documents. `Backend` is the whole store, and `SessionStore` one
session: *rows* of two kinds, its events and its ledger; *originals*, lists of messages that are
written once under a name; and *texts* that an agent may read by their place. A document is a JSON
object of the store, such as its settings.

`FileBackend` keeps all of it in one folder, `PostgresBackend` in a database.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

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


@dataclass(frozen=True)
class Stats:
    """The bytes that sessions take.

    Attributes:
        sizes: of each session, with its share of a search index.
        shares: the approximate bytes of a search index for each session; `{}` without an index.
        beside: bytes of a search index that belong to no session.
    """

    sizes: Mapping[str, int]
    shares: Mapping[str, int] = field(default_factory=dict[str, int])
    beside: int = 0


class SessionStore(Protocol):
    """What an engine keeps of one session, whether or not there is anything yet.

    Every method that writes raises `StoreUnwritable` if the engine refuses, and every method that
    reads raises `StoreDamaged` if what is there cannot be read; then nothing was changed.
    """

    def stamp(self) -> Stamp | None:
        """Changes whenever events are added; `None` without events."""
        ...

    def rows(self, kind: Kind) -> Events:
        """All rows of a kind, oldest first. A row that was read before is the same object."""
        ...

    def append(self, kind: Kind, rows: Sequence[Mapping[str, Any]], created_at: str | None) -> None:
        """Add JSON objects; they are durable when this returns, all or none.

        The first creates the session, which then began at `created_at`, in ISO 8601.
        """
        ...

    def holds(self, text: str) -> bool:
        """Whether any event or original contains a text."""
        ...

    def quoted(self) -> set[str]:
        """All hex digits in events and originals that could be a ref."""
        ...

    def write_originals(self, name: str, messages: Sequence[Any], created_at: str) -> None:
        """Keep messages under a name, and their SHA-256; both or none.

        Raises:
            StoreError: the name is taken, or a message is not a JSON value.
        """
        ...

    def originals(self) -> Collection[str]:
        """The names under which there are originals."""
        ...

    def read_originals(self, name: str, digest: str | None = None) -> list[Any]:
        """The messages under a name. `digest` is the SHA-256 they must have; `None` for any."""
        ...

    def read_original(self, name: str, position: int) -> Any:
        """One message under a name, by its position from 0."""
        ...

    def entries(self, digits: str = "") -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The refs that begin with `digits`, each with its entry and the `file` of its originals.

        Args:
            digits: at least four lower-case hex digits; "" for all refs.

        Returns:
            Oldest first; a ref that was archived several times comes several times.
        """
        ...

    def following(self, ref: str) -> str | None:
        """The ref of the message that was archived right after the message `ref`."""
        ...

    def write_text(self, ref: str, text: str) -> str:
        """Keep a text where an agent can read it; returns the place.

        An engine whose texts no agent can read keeps nothing and returns "": the original is kept.
        """
        ...

    def place_of_text(self, ref: str) -> str:
        """The place of a text of `write_text`; "" if no agent can read it."""
        ...

    def remove_texts(self, refs: Iterable[str]) -> tuple[list[str], list[str]]:
        """The refs whose texts were removed, and a warning for each that could not be."""
        ...

    def size(self) -> int:
        """The bytes of all that is kept, without a share of an index; 0 if there is nothing."""
        ...

    def verify(self) -> list[str]:
        """One sentence for each problem with what is kept, but for refs that cannot be restored."""
        ...


class Backend(Protocol):
    """An engine that keeps one store. Several threads and processes may use it at once.

    Its methods raise what those of `SessionStore` raise.
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
    def refusal(self) -> str:
        """Why nothing may be archived here, as a warning; "" if it may."""
        ...

    def is_ours(self) -> bool:
        """Whether the user made or trusts what is kept here, or a program named it."""
        ...

    def not_applied(self) -> str:
        """Why settings and prompts here are not applied; "" if they are, or none exist."""
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

    def session(self, id: str) -> SessionStore:
        """What is kept of a session; the same object for the same id, until it is forgotten.

        Raises:
            StoreError: the id cannot be the name of a file.
        """
        ...

    def sessions(self, *, also_empty: bool = False) -> list[str]:
        """The ids of all sessions that have events, the most recently written first.

        With `also_empty`, also of those without events, such as damaged ones; in no order.
        """
        ...

    def owner(self, ref: str) -> str | None:
        """The id of the newest session that archived a ref; `None` if no session did.

        Args:
            ref: complete, or its first four or more digits.

        Raises:
            UnknownRef: several refs begin with these digits, or stand for different originals.
        """
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
            timeout: seconds to wait before `StoreBusy` is raised.
        """
        ...

    def search(
        self, query: str, *, pattern: str | None, session: str | None, limit: int, skip: int
    ) -> SearchResult:
        """What fits a query or a pattern, as `Store.search` describes it."""
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

    def sweep(self) -> int:
        """Delete what killed writers left in other places than the engine's own; how much it was.

        What was written in the last hour stays, because its writer may not be done.

        Raises:
            ObjectsLeft: something could not be deleted.
        """
        ...

    def verify(self) -> list[str]:
        """One sentence for each problem beside the sessions that reading does not tell."""
        ...

    def size(self) -> int:
        """The bytes of the whole store."""
        ...

    def stats(self, sessions: Collection[str]) -> Stats:
        """The bytes of each of these sessions, 0 if it does not exist, and of a search index."""
        ...
