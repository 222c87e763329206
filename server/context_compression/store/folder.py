"""The folder `.compression/`: where it is, its config, its summaries, its sessions."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from context_compression.errors import NotOurs, StoreError, UnknownRef
from context_compression.store import files
from context_compression.store.location import INDEX, place_of
from context_compression.store.log import FILE_NAME, SessionLog, the_one
from context_compression.store.trust import PROMPTS, Folders, check_owner, speaking

if TYPE_CHECKING:
    from context_compression.store.search import Found
    from context_compression.store.tidying import Prunable

SUMMARY = frozenset(
    {
        "content",
        "created_at",
        "key_points",
        "messages",
        "n",
        "session",
        "strategy",
        "tokens",
        "turns",
    }
)
"""What a summary says; see `_fits` for the types."""


class Store:
    """One `.compression/` folder; several processes may share it."""

    def __init__(self, folder: str | Path) -> None:
        """The store at `folder`; nothing is created until something is written.

        Raises:
            StoreError: no folder can be called so.
        """
        if "\0" in str(folder):
            raise StoreError(
                f"{str(folder)!r} holds a NUL character, and no folder can be so called."
            )
        self.folder = Path(folder)
        self._config = self.folder / "config.json"
        self._summaries = self.folder / "summaries.json"
        self._logs: dict[str, SessionLog] = {}
        self._folders: Folders | None = None

    @classmethod
    def find(cls, start: Path, *, home: Path, environ: Mapping[str, str]) -> "Store":
        """The store for work done in `start`, see `location.place_of`."""
        return cls.of_user(place_of(start, home=home, environ=environ), home)

    @classmethod
    def of_user(cls, folder: str | Path, home: Path) -> "Store":
        """The store at `folder`, whose settings and prompts are applied only if the user made it.

        Those of `Store(folder)`, which a program names, always are.
        """
        store = cls(folder)
        store._folders = Folders(home)
        files.when_made(store.folder, store._folders.made)
        return store

    @property
    def is_ours(self) -> bool:
        """Whether the user made this folder, or a program named it."""
        return self._folders is None or self._folders.owns(self.folder)

    @property
    def not_applied(self) -> str:
        """Why settings and prompts in this folder are not applied; "" where they are, or none.

        Raises:
            NotOurs: the folder belongs to somebody else, or others may write there.
        """
        check_owner(self.folder)
        why = self._folders.why_not(self.folder) if self._folders else ""
        return f"Settings and prompts in {self.folder} are not applied: {why}." if why else ""

    @property
    def doubts(self) -> tuple[str, ...]:
        """`not_applied` as answers tell it: nothing where all is applied."""
        return (self.not_applied,) if self.not_applied else ()

    def speaking(self) -> list[Path]:
        """The files here that are not applied where the folder is not the user's own."""
        return speaking(self.folder)

    def trust(self) -> None:
        """Have the settings and prompts that are in this folder now applied from now on.

        Raises:
            StoreError: the folder cannot be read, or the home folder not be written.
        """
        check_owner(self.folder)
        if self._folders:
            from context_compression.store import index

            index.remove(self.folder)  # whoever made it may have made a journal, too
            self._folders.trust(self.folder)

    def prompt(self, name: str) -> str | None:
        """The user's own instruction for summaries of a name; `None` where there is none."""
        place = self.folder / PROMPTS / f"{name}.md"
        return None if self.not_applied else files.read_text(place)

    def read_config(self) -> dict[str, Any]:
        """The values of `config.json`, without its version; `{}` when there is none, or not ours.

        Raises:
            NotOurs: the folder belongs to somebody else, or others may write there.
            StoreDamaged: it is not a JSON object.
            StoreTooNew: a newer version wrote it.
        """
        not_applied = self.not_applied
        values = files.read_document(self._config)
        values.pop("version", None)
        return {} if not_applied else values

    def write_config(self, values: Mapping[str, Any]) -> None:
        """Replaces all values. A damaged file is an error, not overwritten."""
        self.update_config(lambda _: dict(values))

    def update_config(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Replaces the values by what `change` makes of them; nobody writes in between."""
        with self._locked():
            config = self.read_config()
            if why := self.not_applied:
                raise NotOurs(f"{why} Nothing was changed.")
            values = change(config)
            document = {"version": files.FORMAT, **values}
            files.replace_file(self._config, files.to_json(document, indent=2) + b"\n")
            if self._folders:
                self._folders.wrote(self.folder)
        return values

    def add_summary(self, entry: Mapping[str, Any]) -> None:
        """Appends to `summaries.json`; `entry["session"]` says whose it is."""
        with self._locked():
            self._write_summaries([*self._read_summaries(), dict(entry)])

    def summaries(
        self, *, session: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """What was added, newest first: of one session or of all, `limit` at most.

        Of a checkpoint that was kept more than once, the newest. That of a compression which was
        killed before it counted is none.
        """
        entries = [_whole(entry) for entry in reversed(self._read_summaries())]
        if session is not None:
            entries = [entry for entry in entries if entry.get("session") == session]
        return list(islice(_different(filter(self._counts, entries)), limit))

    def _counts(self, entry: Mapping[str, Any]) -> bool:
        """Whether the compression of a summary was ended; what cannot be looked up counts."""
        if "n" not in entry:
            return True
        with suppress(StoreError):
            events = self.session(str(entry.get("session"))).events().items
            made = (event.get("n") for event in events if event.get("type") == "compression")
            return not events or entry["n"] in made
        return True

    def session(self, id: str) -> SessionLog:
        """The log of session `id`, whether it exists or not; the same object for the same id."""
        check_owner(self.folder)
        files.no_link(self.folder / "sessions")
        if id not in self._logs:
            self._logs[id] = SessionLog(self.folder, id)
        return self._logs[id]

    def sessions(self) -> list[str]:
        """The ids of all recorded sessions, the one last written to first."""
        times: dict[str, int] = {}
        for id in self._session_folders():
            with suppress(OSError):
                status = os.stat(f"{self.folder}/sessions/{id}/events.jsonl")
                if status.st_size:
                    times[id] = status.st_mtime_ns
        return sorted(times, key=lambda id: (-times[id], id))

    def delete(
        self,
        id: str,
        *,
        timeout: float = files.LOCK_SECONDS,
        if_stamp: tuple[int, int] | None = None,
    ) -> None:
        """Deletes a session, its archive and its summaries; nothing of it can be restored.

        Args:
            id: of the session.
            timeout: seconds to wait for a compression of it that is under way.
            if_stamp: as `SessionLog.stamp` was; where something was added since, it stays.

        Raises:
            StoreError: somebody works in it, or it was written to; nothing was deleted.
        """
        log = self.session(id)

        def forgotten() -> None:
            if if_stamp is not None and log.stamp != if_stamp:
                raise StoreError(f"Something was recorded in {id} meanwhile; it was not deleted.")
            if os.path.lexists(self.folder / INDEX):  # what stands in it can be told as yet
                from context_compression.store import index

                if self.is_ours:
                    index.forget(self.folder, [id])
                else:
                    index.remove(self.folder)

        log.remove(timeout, forgotten)
        self._logs.pop(id, None)
        if self.summaries(session=id):
            with self._locked():
                entries = self._read_summaries()
                self._write_summaries([entry for entry in entries if entry.get("session") != id])

    def prunable(
        self, older_than: float, *, keep: Collection[str] = (), now: float | None = None
    ) -> "Prunable":
        """What `prune` would delete with these arguments."""
        from context_compression.store import tidying

        return tidying.prunable(self, older_than, keep, now)

    def prune(
        self, older_than: float, *, keep: Collection[str] = (), now: float | None = None
    ) -> "Prunable":
        """Deletes old sessions, and what killed work left behind; tells what went.

        What a session that stays refers to stays, and what somebody works in.

        Args:
            older_than: seconds since a session was written to last.
            keep: ids of sessions that stay in any case.
            now: seconds since 1970; without it the time it is.
        """
        from context_compression.store import tidying

        return tidying.prune(self, older_than, keep, now)

    def size_of(self, id: str) -> int:
        """Bytes of all files of a session; 0 where there is none."""
        from context_compression.store import tidying

        return tidying.size_of(self.session(id).folder)

    def index_shares(self) -> dict[str, int]:
        """About how many bytes of the search index each session takes; nothing where none is."""
        if not self.is_ours or not os.path.lexists(self.folder / INDEX):
            return {}
        from context_compression.store import index

        return index.shares(self.folder)

    def locate(self, ref: str) -> SessionLog | None:
        """The session that archived `ref`, the newest of several; `None` when none did.

        `ref` may be cut to its first four or more characters; `SessionLog.full_ref` completes it.

        Raises:
            UnknownRef: cut so short that it could be more than one; or it stands for one thing in
                one session and for another in another, which somebody brought about.
        """
        return self._owner(ref, lambda log: log.about(ref)) or self._owner(ref, SessionLog.refs)

    def search(
        self,
        query: str = "",
        *,
        pattern: str | None = None,
        session: str | None = None,
        limit: int = 5,
        skip: int = 0,
    ) -> "Found":
        """What is archived and fits a query best; with a pattern alone, the newest that holds it.

        Args:
            query: words, names, phrases in quotation marks, `path:…`, `tool:…`, `error:`.
            pattern: a regular expression; beside a query, what fits must also hold this.
            session: look in this one only.
            limit: how many hits at most.
            skip: so many of the best are left out.

        Raises:
            StoreError: the pattern is wrong or takes too long.
        """
        from context_compression.store.search import search

        return search(self, query, pattern=pattern, session=session, limit=limit, skip=skip)

    def verify(self) -> list[str]:
        """Everything that is wrong with the folder, in plain words; `[]` when it is sound."""
        found: list[str] = []
        with files.noting(found):
            self.read_config()
        with files.noting(found):
            for number, entry in enumerate(self._read_summaries(), 1):
                if wrong := ", ".join(sorted(entry.keys() - _whole(entry).keys())):
                    found.append(f"summaries.json: summary {number} says nothing usable in {wrong}")
        with files.noting(found):
            for id in self._session_folders():
                found += SessionLog(self.folder, id).problems()
        return found

    def _owner(self, ref: str, refs_of: Callable[[SessionLog], Iterable[str]]) -> SessionLog | None:
        owners: dict[str, list[SessionLog]] = {}
        for id in self.sessions():
            log = self.session(id)
            with suppress(StoreError):  # what cannot be read here may be found elsewhere
                for full in refs_of(log):
                    owners.setdefault(full, []).append(log)
        full = the_one(ref, owners)
        return None if full is None else _newest(full, owners[full])

    def _session_folders(self) -> list[str]:
        check_owner(self.folder)
        folder = files.no_link(self.folder / "sessions")
        with files.reading(folder), suppress(FileNotFoundError):
            return sorted(
                name
                for name in os.listdir(folder)
                if FILE_NAME.fullmatch(name) and not os.path.islink(folder / name)
            )
        return []

    def _read_summaries(self) -> list[dict[str, Any]]:
        check_owner(self.folder)
        entries = files.read_document(self._summaries).get("summaries", [])
        if not isinstance(entries, list):
            raise files.damaged(self._summaries, 'has no list of "summaries"')
        if not all(isinstance(entry, dict) for entry in cast("list[Any]", entries)):
            raise files.damaged(self._summaries, "holds a summary that is not a JSON object")
        return cast("list[dict[str, Any]]", entries)

    def _write_summaries(self, entries: list[dict[str, Any]]) -> None:
        document = {"version": files.FORMAT, "summaries": entries}
        files.replace_file(self._summaries, files.to_json(document, indent=2) + b"\n")

    def _locked(self) -> AbstractContextManager[None]:
        check_owner(self.folder)
        return files.holding(self.folder, "store", "another process is writing to the store")


def _newest(ref: str, owners: Sequence[SessionLog]) -> SessionLog:
    """The first of the logs in which something is archived under a ref, the same in all."""
    if len(owners) == 1:
        return owners[0]
    held: dict[str, SessionLog] = {}
    for log in owners:
        with suppress(StoreError):
            held.setdefault(log.digest(ref), log)
    if len(held) > 1:
        where = " and in ".join(log.id for log in held.values())
        raise UnknownRef(
            f"{ref} stands for different things in {where}: somebody made texts whose hashes begin "
            "alike. Name the session, too."
        )
    return next(iter(held.values()), owners[0])


def _whole(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A summary without what is of a wrong type: that counts as not said."""
    return {name: value for name, value in entry.items() if _fits(name, value)}


def _fits(name: str, value: Any) -> bool:
    """Whether a value is of the type that this part of a summary has; other parts are not ours."""
    match name, value:
        case (("content" | "created_at" | "session" | "strategy"), str()):
            return True
        case (("tokens" | "n"), int()):
            return not isinstance(value, bool)
        case (("messages" | "turns"), [int(), int()]):
            return True
        case "key_points", list():
            return all(isinstance(point, str) for point in cast("list[Any]", value))
        case _:
            return name not in SUMMARY


def _different(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of what is the same text in one session, the first; those of compressions all."""
    known: set[tuple[str, str]] = set()
    for entry in entries:
        match entry:
            case {"session": str(session), "content": str(text)} if "n" not in entry:
                if (session, text) in known:
                    continue
                known.add((session, text))
            case _:
                pass
        yield entry
