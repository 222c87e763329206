"""Large originals outside the database, as files of a folder, and the interface to such places."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from context_compression.errors import StoreDamaged, StoreError, StoreUnreachable
from context_compression.store.files import (
    FILE_NAME,
    RULE,
    UNFINISHED,
    bytes_of,
    checked_name,
    replace_file,
    sync_folder,
    sync_name,
    writing,
)

NAME = re.compile(rf"(?:{FILE_NAME.pattern})/([0-9a-f]{{2}})/\1[0-9a-f]{{62}}")
"""Matches the name of an object: `<tenant>/<first two digits>/<64 hex digits of its hash>`."""


class Objects(Protocol):
    """A place for contents of bytes. Several threads and processes may use it at once.

    A name has the form `<tenant>/<first two digits>/<64 hex digits of a hash>`. Other names raise
    `StoreError`; other files at the same place are neither listed nor touched.

    Every method raises `StoreUnreachable` if the place does not answer within some ten seconds,
    refuses the keys, or does not exist. No error shows a key.
    """

    @property
    def name(self) -> str:
        """What people are shown for the place: its path, or its address without secrets."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Keep `data` under a name. It is durable when this returns; nobody ever sees a part of it.

        Whoever puts something under a name that is taken must put the same content. That makes it
        young again for `names`.

        Raises:
            StoreUnwritable: the disk refused the write.
        """
        ...

    def get(self, name: str) -> bytes:
        """The bytes under a name.

        Raises:
            StoreDamaged: there is no such object.
        """
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects. A name without an object is no error."""
        ...

    def names(self, tenant: str | None = None, *, before: datetime | None = None) -> Iterator[str]:
        """The names of all objects, in no order.

        Args:
            tenant: only its objects.
            before: with a time zone; only objects that were last written before. An object is
                written before the row that names it, so leave out the last hour in a search for
                objects that no row names.
        """
        ...


def checked_object(name: str) -> str:
    """Return `name` unchanged if an object may be called so; `StoreError` if not."""
    if NAME.fullmatch(name):
        return name
    raise StoreError(
        "An object is called <tenant>/<first two digits>/<64 lower-case hex digits>, where a "
        f"tenant has {RULE}; {name[:200]!r} does not fit."
    )


def check_tenant(tenant: str | None) -> None:
    """Raises `StoreError` if a tenant, unless it is `None`, could stand for another folder."""
    if tenant is not None:
        checked_name(tenant, "A tenant's name")


def missing(name: str, place: str) -> StoreDamaged:
    """The error for an object that is not where it was put."""
    return StoreDamaged(
        f"The object {name} is missing in {place}. Bring it back from a backup of that place. If "
        "objects were moved, name the place where they are now. All other contents can be read."
    )


OTHER_FOLDER = "name another folder for the objects"
LONGEST_WRITE = timedelta(hours=1)
"""An older file that is not complete was left by a process that was killed."""


class Folder:
    """`Objects` in a folder. It is made, readable by its user alone, with the first object."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def name(self) -> str:
        """See `Objects.name`."""
        return str(self._root)

    def put(self, name: str, data: bytes) -> None:
        """See `Objects.put`."""
        path = self._root / checked_object(name)
        for folder in (self._root, path.parent.parent, path.parent):
            if not folder.is_dir():
                with writing(folder, OTHER_FOLDER):
                    folder.mkdir(mode=0o700, parents=folder == self._root, exist_ok=True)
                    sync_name(folder)
        replace_file(path, data, OTHER_FOLDER)

    def get(self, name: str) -> bytes:
        """See `Objects.get`."""
        path = self._root / checked_object(name)
        try:
            return bytes_of(path)
        except FileNotFoundError:
            self._check()
            raise missing(name, self.name) from None
        except OSError as error:
            raise _unreadable(path, error) from error

    def delete(self, names: Iterable[str]) -> None:
        """See `Objects.delete`. What killed processes left of the same objects goes, too."""
        paths = [self._root / checked_object(name) for name in names]
        self._check()
        for path in paths:
            with writing(path, OTHER_FOLDER):
                path.unlink(missing_ok=True)
        long_ago = datetime.now(UTC) - LONGEST_WRITE
        for folder in {path.parent for path in paths if path.parent.is_dir()}:
            with writing(folder, OTHER_FOLDER):
                for left in folder.glob(f"{UNFINISHED}*"):
                    if _is_older(left, long_ago):
                        left.unlink(missing_ok=True)
                sync_folder(folder)

    def names(self, tenant: str | None = None, *, before: datetime | None = None) -> Iterator[str]:
        """See `Objects.names`."""
        check_tenant(tenant)
        self._check()
        for path in self._root.glob(f"{tenant or '*'}/*/*"):
            name = path.relative_to(self._root).as_posix()
            if NAME.fullmatch(name) and _is_older(path, before):
                yield name

    def _check(self) -> None:
        if not self._root.is_dir():
            raise StoreUnreachable(
                f"The folder {self._root} of the objects is not there. If it is on another disk or "
                "machine, mount it; if it was moved, name its new place."
            )


def _is_older(path: Path, before: datetime | None) -> bool:
    """Whether a file was last written before that time; `False` if it was deleted meanwhile."""
    try:
        return before is None or datetime.fromtimestamp(path.stat().st_mtime, UTC) < before
    except FileNotFoundError:
        return False


def _unreadable(path: Path, error: OSError) -> StoreUnreachable:
    return StoreUnreachable(
        f"{path} cannot be read: {error.strerror or error}. Check the disk and the permissions; "
        "the file was left as it is."
    )
