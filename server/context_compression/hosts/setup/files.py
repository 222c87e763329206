"""Configuration files of other programs: read, and replaced atomically after a backup.

~/.compression/installed/<name>-<hash of the path>/
  about.json     the path, whether the file existed, the hash of the content that we wrote
  <file name>    the file before our change
"""

import difflib
import json
import os
import stat
import tomllib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

from context_compression.conversation.messages import is_array
from context_compression.errors import SetupError, StoreError
from context_compression.opening import NoFile, opened
from context_compression.store import files
from context_compression.store.root_folder import make_folder, remove_unused
from context_compression.transcripts.commented_json import object_in

ABOUT = "about.json"


@dataclass(frozen=True)
class FileChange:
    """The content of a file before and after a change; `None` stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_one(self) -> bool:
        """Whether the content changes."""
        return self.before != self.after

    def diff(self) -> str:
        """The change as `diff -u` shows it."""
        old, new = _shown(self.before), _shown(self.after)
        name, none = str(self.path), os.devnull
        names = none if self.before is None else name, none if self.after is None else name
        return "".join(_lines(difflib.unified_diff(old, new, names[0], names[1])))

    def carry_out(self) -> None:
        """Replace the file, or remove it. A file that is replaced keeps its mode.

        `path` must not be a link: it would be replaced, and not the file that it leads to.

        Raises:
            SetupError: it cannot be written, or another program has changed it meanwhile.
        """
        with _explained(self.path):
            if read(self.path) != self.before:
                raise SetupError(
                    f"{self.path} was changed by another program meanwhile. Nothing was written; "
                    "run this again."
                )
            if self.after is None:
                self.path.unlink(missing_ok=True)
            elif self.is_one:
                _replace(self.path, self.after)


@dataclass(frozen=True)
class Backup:
    """A file before our change.

    Attributes:
        path: the file.
        before: its content; `None` if there was no file.
        written: the hash of the content that we wrote.
        folders: the folders that we created for it, the outermost first.
    """

    path: Path
    before: bytes | None
    written: str
    folders: tuple[Path, ...] = ()

    def is_of(self, data: bytes | None) -> bool:
        """Whether `data` is the content that we wrote."""
        return data is not None and hash_of(data) == self.written


class Backups:
    """The backups of one user, below `~/.compression/installed`."""

    def __init__(self, home: Path) -> None:
        self._root = home / ".compression"

    def place(self, path: Path) -> Path:
        """The folder of the backup of a file."""
        digest = hash_of(os.fsencode(path))[:8]
        return self._root / "installed" / f"{path.stem.lstrip('.')}-{digest}"

    def of(self, path: Path) -> Backup | None:
        """The backup of a file; `None` if we did not change that file.

        Raises:
            SetupError: the backup exists and cannot be read.
        """
        folder = self.place(path)
        about = read(folder / ABOUT)
        if about is None:
            return None
        try:
            record = json.loads(about)
            before = read(folder / path.name) if record["existed"] else None
            return Backup(path, before, str(record["written"]), tuple(map(Path, record["folders"])))
        except (ValueError, KeyError, TypeError) as error:
            raise SetupError(
                f"The backup in {folder} cannot be read. Move it away to go on without it."
            ) from error

    def keep(self, backup: Backup) -> Path:
        """Write a backup before the file is changed, and return the backup's folder.

        Raises:
            SetupError: the backup cannot be written; the file must not be changed then.
        """
        folder = self.place(backup.path)
        about = {
            "version": files.FORMAT,
            "path": str(backup.path),
            "existed": backup.before is not None,
            "written": backup.written,
            "folders": list(map(str, backup.folders)),
        }
        try:
            make_folder(self._root, "installed", folder.name)
            if backup.before is not None:
                files.replace_file(folder / backup.path.name, backup.before)
            files.replace_file(folder / ABOUT, files.to_json(about, indent=2) + b"\n")
        except (StoreError, OSError) as error:
            raise SetupError(
                f"No backup can be kept in {folder}, so nothing was changed: "
                f"{error.__cause__ or error}. Correct its permissions, and run this again."
            ) from error
        return folder

    def forget(self, path: Path) -> None:
        """Remove a backup that is no longer needed."""
        folder = self.place(path)
        for name in (ABOUT, path.name):
            with suppress(OSError):
                (folder / name).unlink()
        with suppress(OSError):  # folders that still hold other backups or a store stay
            folder.rmdir()
            folder.parent.rmdir()
            remove_unused(self._root)


def hash_of(data: bytes) -> str:
    """SHA-256, in hex."""
    return sha256(data).hexdigest()


def missing_folders(path: Path) -> tuple[Path, ...]:
    """The folders that do not exist yet on the way to a file, the outermost first."""
    return tuple(folder for folder in reversed(path.parents) if not folder.exists())


def read(path: Path) -> bytes | None:
    """The content of a file; `None` if there is no file.

    Raises:
        SetupError: the file cannot be read, or is not a regular file.
    """
    with _explained(path):
        try:
            with opened(path) as file:
                return file.read()
        except NoFile as error:
            raise SetupError(
                f"{path} is not a regular file. It stays as it is; move it away, and run this "
                "again."
            ) from error
        except FileNotFoundError:
            return None


def remove_empty(folders: tuple[Path, ...]) -> None:
    """Remove the folders that we created for a file, except those that are not empty."""
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


def _replace(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically: a reader gets the old file or the new one, in full."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):  # a new file has the mode that new files have
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    files.sync_name(path)


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Turn an `OSError` into a `SetupError` that says what to do."""
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"{path} cannot be read or written: {error.strerror or error}. Nothing was changed. "
            "Correct its permissions, or make room."
        ) from error


def _shown(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True)


def _lines(diff: Iterator[str]) -> Iterator[str]:
    for line in diff:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


Values = Mapping[str, Any]


def json_in(path: Path) -> Values:
    """The object in a JSON file, with or without comments; empty if it cannot be read."""
    with suppress(SetupError):
        return object_in(read(path) or b"")
    return {}


def toml_in(path: Path) -> Values:
    """The table in a TOML file; empty if it cannot be read."""
    try:
        return tomllib.loads((read(path) or b"").decode().removeprefix("\ufeff"))
    except (SetupError, ValueError):
        return {}


def names_of(value: Any) -> list[str]:
    """The items of an array as strings; an empty list if the value is not an array."""
    return [str(name) for name in value] if is_array(value) else []
