"""`Folder`: objects as files of a folder, such as one that several machines mount."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from context_compression.errors import StoreUnreachable
from context_compression.store.files import (
    UNFINISHED,
    bytes_of,
    replace_file,
    sync_folder,
    sync_name,
    writing,
)
from context_compression.store.objects.interface import (
    NAME,
    check_tenant,
    checked_object,
    missing,
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
