"""The files that may be read. The user decides outside the conversation; no tool can change it."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from os import fstat
from pathlib import Path

from context_compression.errors import ConversationNotFound, PathNotAllowed, TranscriptError
from context_compression.opening import CheckedPath, NoFile, opened

HOW_TO_ALLOW = (
    "The user can allow more, with the environment variable CONTEXT_COMPRESSION_ALLOWED_PATHS or "
    "with --allow on the command line; no tool can."
)

NO_FILES = "This server reads no files: it runs on another machine than your agent"


@contextmanager
def opened_once(path: Path) -> Generator[tuple[BufferedReader, int]]:
    """The bytes of a file that a caller names, and their number; see `opened`.

    Raises:
        OSError: a part of the path is missing, may not be read, or became a link.
        TranscriptError: it is a folder, a device or a pipe.
    """
    try:
        file = opened(path)
    except NoFile as error:
        only = (
            "Pass the path of one file in it" if error.is_folder else "Only ordinary files are read"
        )
        raise TranscriptError(f"{error}. {only}.") from error
    with file:
        yield file, fstat(file.fileno()).st_size


@dataclass(frozen=True)
class Access:
    """The folders below which files may be read."""

    roots: tuple[Path, ...]
    """Allowed folders; resolved when the object is created."""
    read_host_transcripts: bool = True
    """Whether the host's live transcript may be read although it is outside these folders."""
    no_files: bool = False
    """Whether nothing may be read, and even whether a path exists must not be told."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "roots", tuple(map(_resolved, self.roots)))

    def check(self, path: str | Path) -> Path:
        """The path with `~` and symbolic links resolved.

        Raises:
            PathNotAllowed: the path is outside the allowed folders, or cannot be resolved.
        """
        if self.no_files:
            raise PathNotAllowed(f"{NO_FILES}.")
        try:
            resolved = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop, an unknown home, a NUL
            raise PathNotAllowed(
                f"{str(path)!r} is not a path that can be followed: {error}."
            ) from error
        if not any(resolved.is_relative_to(root) for root in self.roots):
            folders = ", ".join(map(str, self.roots)) or "none"
            raise PathNotAllowed(
                f"{resolved} lies outside the folders that may be read: {folders}. {HOW_TO_ALLOW}"
            )
        return CheckedPath(resolved)

    def check_search(self) -> None:
        """Refuse to look for the host's live transcript where none may be read at all.

        Raises:
            ConversationNotFound: no file may be read.
        """
        if self.no_files:
            raise ConversationNotFound(
                f"{NO_FILES}, so there is no current conversation. Pass its messages, or the id of "
                "a recorded session."
            )

    def check_current(self, path: Path) -> Path:
        """The resolved path of the host's live transcript, in any folder.

        The path must come from our own search, not from an argument of a tool.

        Raises:
            PathNotAllowed: the user switched off reading live transcripts.
        """
        if self.read_host_transcripts:
            return CheckedPath(path.resolve())
        raise PathNotAllowed(
            "Reading the host's live transcript is switched off "
            "(CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS). Pass the messages, or ask the user."
        )

    def named_by_hook(self, path: str, folder: Path) -> Path | None:
        """The resolved path of a transcript that an event of a host names.

        `None` if it is no JSON lines file below `folder`, where the host keeps its transcripts: a
        hook must not open any other file. `None`, too, if the user switched off reading them.
        """
        resolved = Path(path).resolve()
        inside = resolved.suffix == ".jsonl" and resolved.is_relative_to(folder.resolve())
        return CheckedPath(resolved) if inside and self.read_host_transcripts else None


def _resolved(root: Path) -> Path:
    with suppress(RuntimeError):  # `~name` of an unknown user is the name of a folder
        root = root.expanduser()
    try:
        return root.resolve()
    except ValueError as error:
        raise PathNotAllowed(
            f"{str(root)!r} has a NUL character, which no folder has, so it cannot be allowed."
        ) from error
