"""The folder `.compression/`: where it is, its config, its summaries, its sessions."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from context_compression.errors import StoreError
from context_compression.store import files
from context_compression.store.log import FILE_NAME, SessionLog, the_one

if TYPE_CHECKING:
    from context_compression.store.search import Found
    from context_compression.store.tidying import Prunable

NAME = ".compression"
INDEX = "search.sqlite"


class Store:
    """One `.compression/` folder; several processes may share it."""

    def __init__(self, folder: str | Path) -> None:
        """The store at `folder`; nothing is created until something is written."""
        self.folder = Path(folder)
        self._config = self.folder / "config.json"
        self._summaries = self.folder / "summaries.json"
        self._logs: dict[str, SessionLog] = {}

    @classmethod
    def find(cls, start: Path, *, home: Path, environ: Mapping[str, str]) -> "Store":
        """The store for work done in `start`.

        `CONTEXT_COMPRESSION_DIR` (relative to `start`), else the nearest `.compression` upward to
        the repository's root, else one made there. Without a repository only `start` counts: what
        lies above may be anybody's; so from `home`. From `/`, or where one cannot write, the one in
        `home`. A link is not taken for one: who wrote the repository would decide where we write
        and may read.
        """
        start, home = start.resolve(), home.resolve()
        if named := environ.get("CONTEXT_COMPRESSION_DIR"):
            first, *rest = Path(named).parts
            return cls(home.joinpath(*rest) if first == "~" else start / named)
        upward = [start, *start.parents] if start != home else [start]
        root = next((folder for folder in upward if os.path.exists(folder / ".git")), start)
        within = upward[: upward.index(root) + 1]
        place = next((folder for folder in within if _is_folder(folder / NAME)), root)
        written = place / NAME if os.path.lexists(place / NAME) else place
        usable = _is_folder(written) and os.access(written, os.W_OK | os.X_OK)
        return cls((home if place == Path(place.anchor) or not usable else place) / NAME)

    def read_config(self) -> dict[str, Any]:
        """The values of `config.json`, without its version; `{}` when there is none.

        Raises:
            StoreDamaged: it is not a JSON object.
            StoreTooNew: a newer version wrote it.
        """
        values = files.read_document(self._config)
        values.pop("version", None)
        return values

    def write_config(self, values: Mapping[str, Any]) -> None:
        """Replaces all values. A damaged file is an error, not overwritten."""
        self.update_config(lambda _: dict(values))

    def update_config(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Replaces the values by what `change` makes of them; nobody writes in between."""
        with self._locked():
            values = change(self.read_config())
            document = {"version": files.FORMAT, **values}
            files.replace_file(self._config, files.to_json(document, indent=2) + b"\n")
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
        entries = self._read_summaries()[::-1]
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

                index.forget(self.folder, [id])

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
        if not os.path.lexists(self.folder / INDEX):
            return {}
        from context_compression.store import index

        return index.shares(self.folder)

    def locate(self, ref: str) -> SessionLog | None:
        """The session that archived `ref`, the newest of several; `None` when none did.

        `ref` may be cut to its first four or more characters; `SessionLog.full_ref` completes it.

        Raises:
            UnknownRef: cut so short that it could be more than one.
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
            self._read_summaries()
        with files.noting(found):
            for id in self._session_folders():
                found += SessionLog(self.folder, id).problems()
        return found

    def _owner(self, ref: str, refs_of: Callable[[SessionLog], Iterable[str]]) -> SessionLog | None:
        owners: dict[str, SessionLog] = {}
        for id in self.sessions():
            log = self.session(id)
            with suppress(StoreError):  # what cannot be read here may be found elsewhere
                for full in refs_of(log):
                    owners.setdefault(full, log)
            if ref in owners:
                break
        full = the_one(ref, owners)
        return None if full is None else owners[full]

    def _session_folders(self) -> list[str]:
        folder = self.folder / "sessions"
        with files.reading(folder), suppress(FileNotFoundError):
            return sorted(name for name in os.listdir(folder) if FILE_NAME.fullmatch(name))
        return []

    def _read_summaries(self) -> list[dict[str, Any]]:
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
        return files.holding(self.folder, "store", "another process is writing to the store")


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


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
