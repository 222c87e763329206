"""The folder of one session: its locks, its offloaded texts, and how it is deleted.

There are two locks: a short one around each append, and the long one of `SessionLog.locked`, which
a compression holds from start to end. Both are outside the session's folder, so that the
folder can be deleted.
"""

import os
import shutil
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from context_compression.conversation.refs import is_ref
from context_compression.errors import StoreError, StoreUnwritable
from context_compression.store import files
from context_compression.store.backend import COMPRESSING, Events
from context_compression.store.events import refs_in
from context_compression.store.json_lines import LineFile
from context_compression.store.location import JOURNAL_ENDINGS
from context_compression.store.names import checked_name
from context_compression.store.ref_list import noting, remove
from context_compression.store.root_folder import holding, make_folder

EVENTS = "session"
"""The kind of the file of events."""


class SessionFolder:
    """The folder `sessions/<id>/` of a store. The first write creates it."""

    def __init__(self, root: Path, id: str, refusal: str = "") -> None:
        """The session `id` of the store at `root`. An invalid id raises `StoreError`.

        Args:
            root: the folder of the store.
            id: of the session.
            refusal: why nothing may be added; "" if it may.
        """
        self.id = checked_name(id, "A session's id")
        self.root, self.refusal = root, refusal
        self.folder = root / "sessions" / id

    def make(self, *inside: str) -> Path:
        """Make the folder, to which something is to be added; returns its path, or that inside.

        Raises:
            StoreUnwritable: nothing may be added, or the disk refused.
        """
        self.check_may_add()
        return make_folder(self.root, "sessions", self.id, *inside)

    def check_may_add(self) -> None:
        """Raises `StoreUnwritable` if nothing may be added."""
        if self.refusal:
            raise StoreUnwritable(self.refusal)

    def offloaded_path(self, ref: str) -> Path:
        """Where the text of `ref` is, or would be."""
        return self.folder / "offloaded" / f"{checked_name(ref, 'A ref')}.txt"

    def write_offloaded(self, ref: str, text: str) -> Path:
        """Write a text in UTF-8; its line ends and lone surrogates are kept."""
        path = self.offloaded_path(ref)
        self.make("offloaded")
        files.replace_file(path, text.encode("utf-8", "surrogatepass"))
        return path

    def remove_offloaded(self, refs: Iterable[str]) -> tuple[list[str], list[str]]:
        """The refs whose files were removed, and a warning for each file that could not be.

        A file that is already gone is in neither list.
        """
        removed: list[str] = []
        warnings: list[str] = []
        for ref in refs:
            path = self.offloaded_path(ref)
            try:
                path.unlink()
                removed.append(ref)
            except FileNotFoundError:
                pass
            except OSError as error:
                warnings.append(f"{path} could not be removed: {error.strerror or error}")
        return removed, warnings

    @contextmanager
    def database(self, name: str) -> Generator[Path]:
        """The path of an SQLite database here that a framework writes, while nobody else writes.

        It is made with mode 0600, which SQLite gives to the journals beside it, too.
        """
        self.check_may_add()
        with self._writing():
            path = self.make() / name
            with files.writing(path):
                if not os.path.lexists(path):
                    self._remove_journals()
                flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
                os.close(os.open(path, flags, 0o600))
            yield path

    def remove_journals(self) -> None:
        """Remove the journals of databases in the folder, while nobody writes."""
        with self._writing():
            self._remove_journals()

    def _remove_journals(self) -> None:
        """Remove journals: SQLite would follow what they say."""
        with files.writing(self.folder):
            for path in [path for end in JOURNAL_ENDINGS for path in self.folder.glob(f"*{end}")]:
                path.unlink()

    def remove(self, timeout: float, before: Callable[[], object]) -> None:
        """Delete everything in the folder while both locks are held; see `Backend.remove`."""
        gone = self.folder.with_name(f".deleted-{self.id}")
        with files.writing(self.folder):
            if not self.folder.exists() and not gone.exists():
                return
            with (
                holding(self.root, f"{self.id}.compression", COMPRESSING, timeout),
                self._writing(),
            ):
                before()
                if gone.exists():  # an earlier deletion was killed
                    shutil.rmtree(gone)
                remove(self.root)  # the refs of what is deleted must not stay in it
                if self.folder.exists():
                    self.folder.rename(gone)
                    shutil.rmtree(gone)

    def _read(self, file: LineFile) -> Events:
        lines = file.read()
        if file.torn:  # another process may be writing: read again when it is done
            with suppress(StoreError), self._writing():
                lines = file.read()
        return lines

    def _append(
        self, file: LineFile, values: Iterable[Mapping[str, Any]], created_at: str | None
    ) -> None:
        added = list(values)
        self.check_may_add()
        with self._writing():
            self.make()
            with self._noting(file, added):
                file.append(added, {"id": self.id, "created_at": created_at})

    def _noting(
        self, file: LineFile, added: Sequence[Mapping[str, Any]]
    ) -> AbstractContextManager[None]:
        """Notes in the store's list of refs what is added to the log."""
        if file.kind != EVENTS:
            return nullcontext()
        refs = [ref for event in added for ref in refs_in(event) if is_ref(ref)]
        return noting(self.root, self.id, refs, is_new=not os.path.lexists(file.path))

    def _writing(self) -> AbstractContextManager[None]:
        busy = "another process is writing to this conversation"
        return holding(self.root, f"{self.id}.log", busy)
