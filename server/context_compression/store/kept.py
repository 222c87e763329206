"""Sessions of hosts, kept as they were written: pieces of their files, and a manifest for each.

    keep.json                    whether sessions are kept
    objects/<ab>/<sha256>.zst    the pieces, each compressed and named after its content
    sessions/<sha256>.json       the manifests: each a version of a session, with its pieces
    copies/<sha256>/…            unpacked versions, for who reads them; they can be deleted

Files are cut after a line that its own bytes choose, so a transcript that grew shares its pieces
with the version before, and one that was rewritten shares those that stayed. A version whose bytes
all stand at the beginning of a newer one is replaced by it. Pieces are on disk before a manifest
names them, so a process that dies leaves pieces that nothing names, which `sweep` removes.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from zlib import crc32

from pydantic import TypeAdapter

from context_compression.errors import StoreDamaged
from context_compression.extras import zstandard
from context_compression.store import files
from context_compression.store.files import damaged, no_link, replace_by_parts, replace_file
from context_compression.store.root_folder import check_owner, holding, make_folder

NAME = "kept"
"""The folder in the user's data folder."""
SWITCH, OBJECTS, SESSIONS, COPIES = "keep.json", "objects", "sessions", "copies"
DIGEST = re.compile(r"[0-9a-f]{64}")
SMALLEST, LARGEST = 2**20, 2**22
"""Bytes of a piece. With 1 MB, what is kept is a tenth smaller than with 256 KB (recordings)."""
SELDOM = 64
"""One line of so many ends a piece that is large enough: some 100 KB of a transcript."""
LEVEL = 6
"""Of Zstandard: 10.9 % of recorded sessions is left; level 9 leaves 10.6 %, 3 leaves 12.0 %."""
UNUSED = 86_400
"""Seconds after which a copy that nobody opened is removed."""
MOVE = "move that folder away"


@dataclass(frozen=True)
class KeptFile:
    """A file of a session.

    Attributes:
        name: its path below the folder of the session, with `/`.
        size: bytes that are kept; of a packed file, those that it holds.
        sha256: of these bytes.
        pieces: the SHA-256 of each piece, in their order.
        stamp: size and modification time in ns of the file on the host's disk.
    """

    name: str
    size: int
    sha256: str
    pieces: tuple[str, ...]
    stamp: tuple[int, int]


@dataclass(frozen=True)
class KeptSession:
    """A version of a session that is kept.

    Attributes:
        host: the name of the host that wrote it.
        id: the host's id of the session.
        path: where the host keeps the transcript, or kept it.
        written_at: when it was last written, in seconds since 1970.
        project: the folder that the agent began in; empty if that is not known.
        folders: those that it worked in, as far as they are known.
        title: the title of the session, or the user's first words.
        tokens: the size of its context; `None` if that is not known.
        window: the size of the model's context window.
        compactions: how often its context was compacted; `None` if that is not known.
        subagents: how many transcripts of subagents belong to it.
        is_subagent: whether it is itself a subagent's.
        files: the transcript first, then what belongs to it.
    """

    host: str
    id: str
    path: str
    written_at: float
    project: str = ""
    folders: tuple[str, ...] = ()
    title: str = ""
    tokens: int | None = None
    window: int | None = None
    compactions: int | None = None
    subagents: int = 0
    is_subagent: bool = False
    files: tuple[KeptFile, ...] = ()

    @property
    def name(self) -> str:
        """The name of the manifest: 64 hex digits, from host, id and contents."""
        parts = [self.host, self.id, *(f"{each.name} {each.sha256}" for each in self.files)]
        return sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of its files as they were written."""
        return sum(each.size for each in self.files)

    @property
    def sha256(self) -> str:
        """The SHA-256 of its transcript."""
        return self.files[0].sha256


@dataclass(frozen=True)
class WrittenFile:
    """A file that a host wrote, open to be kept; the fields are those of `KeptFile`."""

    name: str
    stream: BinaryIO
    stamp: tuple[int, int]


class KeptSessions:
    """The sessions that are kept in a folder, which nobody but its user may write to.

    Args:
        folder: it is made when something is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def is_on(self) -> bool:
        """Whether sessions are kept.

        Raises:
            NotOurs: the folder belongs to another user.
            StoreDamaged: the file that says so cannot be read.
        """
        return self._switch().get("on") is True

    @property
    def since(self) -> float:
        """Sessions that were last written before are not kept, because the user pruned them."""
        since = self._switch().get("since")
        return since if isinstance(since, int | float) else 0.0

    def switch(self, *, on: bool | None = None, since: float | None = None) -> None:
        """Keep sessions from now on, or not; and none that are older than `since`.

        Raises:
            MissingExtra: there is no Zstandard.
            StoreError: the folder belongs to another user, or cannot be written.
        """
        if on:
            zstandard()
        given = {"on": on, "since": since}
        changed = {name: value for name, value in given.items() if value is not None}
        with self._locked():
            document = {"version": files.FORMAT, **self._switch(), **changed}
            self._write(self.folder / SWITCH, document)

    def _switch(self) -> Mapping[str, Any]:
        return files.read_document(self._own() / SWITCH)

    def _own(self) -> Path:
        check_owner(no_link(self.folder), MOVE)
        return self.folder

    @contextmanager
    def _locked(self) -> Generator[None]:
        with holding(self._own(), "keep", f"another process writes to {self.folder}"):
            yield

    @contextmanager
    def looking(self, timeout: float) -> Generator[None]:
        """Holds back other processes that would look for what changed, too.

        Raises:
            StoreError: another one still looks after `timeout` seconds.
        """
        busy = f"another process keeps sessions in {self.folder}"
        with holding(self._own(), "look", busy, timeout):
            yield

    def read(self) -> tuple[list[KeptSession], list[str]]:
        """All versions, the one written last first; and what of them cannot be read."""
        found: list[KeptSession] = []
        problems: list[str] = []
        if not os.path.isdir(self._own() / SESSIONS):
            return [], []
        for path in no_link(self.folder / SESSIONS).glob("*.json"):
            with files.collecting(problems):
                found.append(_session_in(files.read_document(path), path))
        return sorted(found, key=lambda each: (each.written_at, each.name), reverse=True), problems

    def sessions(self) -> list[KeptSession]:
        """All versions that can be read, the one written last first."""
        return self.read()[0]

    def add(
        self,
        about: KeptSession,
        written: Iterable[WrittenFile],
        earlier: Sequence[KeptSession] = (),
    ) -> KeptSession:
        """Keep a version of a session; it is on disk afterwards.

        Args:
            about: the session, without files.
            written: its files, the transcript first.
            earlier: versions that are kept of it; those that the new one contains are replaced.

        Raises:
            MissingExtra: there is no Zstandard.
            StoreError: the folder cannot be written.
        """
        with self._locked():
            kept = replace(about, files=tuple(map(self._packed, written)))
            make_folder(self.folder, SESSIONS)
            self._write(self._manifest(kept), {"version": files.FORMAT, **asdict(kept)})
            for each in earlier:
                if each.name != kept.name and self._goes_on(each, kept):
                    self._manifest(each).unlink(missing_ok=True)
            return kept

    def delete(self, sessions: Iterable[KeptSession]) -> int:
        """Delete versions, and the pieces that no other one has; how many bytes became free."""
        before = self.stored()
        with self._locked():
            for each in sessions:
                self._manifest(each).unlink(missing_ok=True)
                self.drop_copy(each)
        self.sweep()
        return before - self.stored()

    def sweep(self) -> None:
        """Remove pieces that no manifest names, and what interrupted work left.

        Nothing is removed while a manifest cannot be read, since it may name any piece.
        """
        if not os.path.isdir(self.folder):
            return
        with self._locked():
            sessions, problems = self.read()
            if problems:
                return
            used = {piece for each in sessions for file in each.files for piece in file.pieces}
            for path in no_link(self.folder / OBJECTS).glob("*/*"):
                if path.stem not in used:
                    path.unlink(missing_ok=True)
            for path in (self.folder / SESSIONS).glob(f"{files.UNFINISHED}*"):
                path.unlink(missing_ok=True)

    def stored(self, sessions: Iterable[KeptSession] | None = None) -> int:
        """Bytes that versions take, without copies; all of them by default.

        A piece that several versions have is counted once.
        """
        if sessions is None:
            return sum(files.folder_size(self.folder / each) for each in (OBJECTS, SESSIONS))
        listed = [*sessions]
        pieces = {piece for each in listed for file in each.files for piece in file.pieces}
        paths = [*map(self._piece, pieces), *map(self._manifest, listed)]
        return sum(map(files.size_of, paths))

    def piece(self, digest: str) -> bytes:
        """The bytes of a piece.

        Raises:
            StoreDamaged: it is missing, or is not what it was; the message names its file.
        """
        path = self._piece(digest)
        packed = files.bytes_or_none(path)
        if packed is None:
            raise _broken(path, "is missing")
        zstd = zstandard()
        try:
            data = zstd.ZstdDecompressor().decompress(packed, max_length=LARGEST + 1)
        except zstd.ZstdError as error:
            raise _broken(path, f"cannot be unpacked: {error}") from error
        if sha256(data).hexdigest() != digest:
            raise _broken(path, "is not what was kept")
        return data

    def unpacked(self, session: KeptSession, broken: list[str] | None = None) -> Path:
        """The transcript of a version in a private copy, with the other files around it.

        The copy stays for a day after it was last asked for.

        Args:
            session: the version.
            broken: takes a sentence for each piece that is damaged, and the copy goes without
                them; pieces are cut at lines, so the other lines can be read.

        Raises:
            StoreDamaged: a piece is damaged, and `broken` was not passed.
            StoreError: the copy cannot be written.
        """
        copies = make_folder(self._own(), COPIES)
        place = copies / session.name
        transcript = place / session.files[0].name
        if all(files.size_of(place / each.name) == each.size for each in session.files):
            with suppress(OSError):
                os.utime(place)
            return transcript
        for old in copies.iterdir():
            with suppress(OSError):
                if time.time() - old.stat().st_mtime > UNUSED:
                    shutil.rmtree(old, ignore_errors=True)
        made = Path(tempfile.mkdtemp(prefix=files.UNFINISHED, dir=copies))
        try:
            for each in session.files:
                path = made / each.name
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                replace_by_parts(path, self._pieces(each, broken))
                os.utime(path, ns=(each.stamp[1], each.stamp[1]))
            shutil.rmtree(place, ignore_errors=True)
            with suppress(OSError):  # another process was faster: it wrote the same
                made.rename(place)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return transcript

    def drop_copy(self, session: KeptSession) -> None:
        """Remove the copy of a version, if there is one."""
        shutil.rmtree(self.folder / COPIES / session.name, ignore_errors=True)

    def _pieces(self, file: KeptFile, broken: list[str] | None) -> Iterator[bytes]:
        for digest in file.pieces:
            try:
                yield self.piece(digest)
            except StoreDamaged as error:
                if broken is None:
                    raise
                broken.append(str(error))

    def _packed(self, written: WrittenFile) -> KeptFile:
        whole, size, pieces = sha256(), 0, list[str]()
        for data in cut(written.stream):
            whole.update(data)
            size += len(data)
            digest = sha256(data).hexdigest()
            path = self._piece(digest)
            if not os.path.lexists(path):
                make_folder(self.folder, OBJECTS, path.parent.name)
                replace_file(path, zstandard().compress(data, LEVEL), MOVE)
            pieces.append(digest)
        return KeptFile(written.name, size, whole.hexdigest(), tuple(pieces), written.stamp)

    def _goes_on(self, old: KeptSession, new: KeptSession) -> bool:
        """Whether a version contains all of an older one, at the beginnings of its files."""
        by_name = {each.name: each for each in new.files}
        return all(
            (newer := by_name.get(each.name)) is not None and self._begins_with(newer, each)
            for each in old.files
        )

    def _begins_with(self, new: KeptFile, old: KeptFile) -> bool:
        if old.sha256 == new.sha256 or not old.pieces:
            return True
        *before, last = old.pieces
        at = len(before)
        if [*new.pieces[:at]] != before or len(new.pieces) <= at:
            return False
        try:
            return self.piece(new.pieces[at]).startswith(self.piece(last))
        except StoreDamaged:
            return False

    def _piece(self, digest: str) -> Path:
        return self.folder / OBJECTS / digest[:2] / f"{digest}.zst"

    def _manifest(self, session: KeptSession) -> Path:
        return self.folder / SESSIONS / f"{session.name}.json"

    @staticmethod
    def _write(path: Path, document: Mapping[str, Any]) -> None:
        replace_file(path, files.to_json(document, indent=1) + b"\n", MOVE)


def cut(stream: BinaryIO) -> Iterator[bytes]:
    """The pieces of a file. Where one ends depends on its own bytes alone."""
    lines: list[bytes] = []
    size = 0
    while line := stream.readline(LARGEST - size):
        lines.append(line)
        size += len(line)
        if size >= LARGEST or (size >= SMALLEST and crc32(line) % SELDOM == 0):
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


def _session_in(document: Mapping[str, Any], path: Path) -> KeptSession:
    """The version that a manifest describes.

    Raises:
        StoreDamaged: it is no manifest, or not the one that its name says.
    """
    try:
        session = _manifests().validate_python(document)
    except ValueError as error:
        raise damaged(path, "is not the manifest of a kept session") from error
    if session.name != path.stem or not session.files or not all(map(_is_safe, session.files)):
        raise damaged(path, "is not the manifest of a kept session")
    return session


@cache
def _manifests() -> TypeAdapter[KeptSession]:
    return TypeAdapter(KeptSession)


def _is_safe(file: KeptFile) -> bool:
    """Whether its names lead to files below their folders."""
    path = PurePosixPath(file.name)
    inside = path.parts and not path.is_absolute() and ".." not in path.parts
    return bool(inside) and "\\" not in file.name and all(map(DIGEST.fullmatch, file.pieces))


def _broken(path: Path, problem: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} {problem}: a part of a kept session. All other parts can be read. If the host "
        "still has the session, or a backup has that file, bring it back from there."
    )
