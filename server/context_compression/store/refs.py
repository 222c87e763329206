"""Refs of a store: as people write them, in the bytes of a log, and in one list.

At least four of the first digits identify a ref.

A log can have many megabytes, and parsing all of it would make a restore too slow. So the entries
of refs are found in its bytes. This relies on how `LineFile.append` writes lines: a quotation mark
inside a string has a backslash before it, so bytes that look like a key are a key. For a log that
was edited by hand, see `SessionLog.refs`.

A ref is named without its session, and reading the logs of thousands of sessions to find it takes
seconds. So each session notes in one list what it archived. The list also tells which logs have
grown, so that a search need not look at each of them. It may be deleted at any time. A line
`=id ref ref ...` has all refs of a session so far, and later lines `id ref ...` add to it. Sessions
without a line of the first kind were written by hand: the next reader adds them.
"""

import os
import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from context_compression import opening
from context_compression.conversation.refs import REF, SHORTEST
from context_compression.errors import UnknownRef
from context_compression.store.files import leading_json
from context_compression.store.json_lines import was_changed
from context_compression.store.root_folder import LOCKS

SHORT_REF = re.compile(r"[0-9a-fA-F]{4,64}")
"""Matches a ref, complete or shortened."""
NAMED_REF = re.compile(r"\bref\W{1,3}([0-9a-f]{4,64})\b", re.IGNORECASE)
"""A ref copied together with its mark: `[… 9 lines; ref c3f91a20b77d]`."""
REF_FILE = re.compile(rf"(?:^|[/\\])({REF})\.txt\s*$")
"""The file of an offloaded text, named by its ref."""
ENCLOSED_REF = re.compile(r"[\W_]*([0-9a-f]{4,64})[\W_]*", re.IGNORECASE)
"""A ref in brackets or quotes."""
LONGEST_MARK = 600
"""How many characters of a mark are searched for a ref."""
MOST_LISTED = 20
"""How many refs the error for an ambiguous ref lists."""


def bare_ref(written: str) -> str:
    """The ref in what a caller passed as one; without a ref in it, the same text.

    `bare_ref("[ref c3f9]")`, `bare_ref('"c3f9"')` and `bare_ref("ref: c3f9")` return `"c3f9"`.
    """
    match = (
        NAMED_REF.search(written[:LONGEST_MARK])
        or REF_FILE.search(written)
        or ENCLOSED_REF.fullmatch(written)
    )
    return match[1] if match else written.strip()


def too_short_note(ref: str) -> str:
    """`"6da"` -> `" (at least 4 digits name a ref)"`; `""` for a ref that is long enough."""
    return f" (at least {SHORTEST} digits name a ref)" * (len(ref) < SHORTEST)


def complete_ref(ref: str, known: Iterable[str]) -> str | None:
    """The known ref that equals or begins with `ref`.

    `complete_ref("c3f9", ["c3f91a20"])` returns `"c3f91a20"`. `None` if no known ref begins with
    it.

    Raises:
        UnknownRef: several known refs begin with it; the message lists them.
    """
    refs = set(known)
    if ref in refs:
        return ref
    if not SHORT_REF.fullmatch(ref):
        return None
    matches = sorted(full for full in refs if full.startswith(ref.lower()))
    if len(matches) > 1:
        raise UnknownRef(
            f"{ref} is the beginning of several refs; take one: {', '.join(matches[:MOST_LISTED])}."
        )
    return matches[0] if matches else None


_KEY = re.compile(rb'"([0-9a-f]{12,64})":')
_MESSAGE = re.compile(rb'"([0-9a-f]{12,64})":\{"what":"[^"\\]*","message":\d+,"block":null[,}]')
_EVENTS = (b'{"type":"compression"', b'{"type":"offload"')
_ORIGINALS = b'"originals":"'
_REFS = b'"refs":{'


def is_usable(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of a ref has all that says where its original is."""
    match entry:
        case {"what": str(), "text": str()}:
            return True
        case {"what": str(), "file": str(), "message": int(at), "block": (None | int()) as block}:
            return not isinstance(at, bool) and not isinstance(block, bool)
        case _:
            return False


def entries(log: bytes, ref: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The refs that begin with `ref`, each with its entry and the `file` of its originals."""
    key_start = b'"' + ref.encode()
    at = log.find(key_start)
    while at >= 0:
        if entry := _entry(log, at):
            yield entry
        at = log.find(key_start, at + 1)


def following(log: bytes, ref: str) -> str | None:
    """The ref of the next message that the same compression archived; `None` if there is none.

    If a message was archived twice, the last time counts.
    """
    key = b'"' + ref.encode() + b'":'
    at = log.rfind(key)
    while at >= 0:
        message = _MESSAGE.match(log, at)
        if message and (event := _event(log, at)):
            next_message = _MESSAGE.search(log, message.end(), event.stop)
            return next_message[1].decode() if next_message else None
        at = log.rfind(key, 0, at)
    return None


def _entry(log: bytes, at: int) -> tuple[str, Mapping[str, Any]] | None:
    """The ref whose key starts at `at`, and its entry; `None` if no key starts there."""
    key = _KEY.match(log, at)
    event = _event(log, at) if key else None
    if not key or not event:
        return None
    entry = leading_json(log[key.end() : event.stop])
    file = _string_after(_ORIGINALS, log, log.rfind(_ORIGINALS, event.start, at))
    match entry:
        case {"what": str(), "text": str()}:
            return key[1].decode(), entry
        case {"what": str(), "message": int(), "block": int() | None} if file:
            return key[1].decode(), {**entry, "file": file}
        case _:
            return None


def _event(log: bytes, at: int) -> range | None:
    """The byte range of the event whose `refs` contain the position `at`.

    `None` if `at` is in another part of a line, or the line was changed. After its refs an event
    has only keys that this package wrote. Before them it may have any keys, from the messages of
    the view.
    """
    start, stop = log.rfind(b"\n", 0, at) + 1, log.find(b"\n", at)
    stop = stop if stop >= 0 else len(log)
    if not log.startswith(_EVENTS, start) or was_changed(log[start:stop]):
        return None
    return range(start, stop) if start < log.rfind(_REFS, start, stop) < at else None


def _string_after(key: bytes, log: bytes, at: int) -> str | None:
    """The string that follows a key at `at`; `None` if `at` is negative."""
    if at < 0:
        return None
    start = at + len(key)
    return log[start : log.find(b'"', start)].decode("ascii", "replace")


NAME = "refs"
"""The name of the list in the folder for data of this machine."""
ENDING_BYTES = 160
"""More than the longest id of a session, with which a line begins."""
_COMPLETE = re.compile(rb"^=(\S+)", re.MULTILINE)
_FIRST_WORD = re.compile(rb"^=?(\S+)", re.MULTILINE)


Mark: TypeAlias = tuple[int, int]
"""A place in the list: the inode of its file, and an offset in bytes."""


class RefList:
    """The list of one store, as far as this process has read it."""

    def __init__(self, root: Path) -> None:
        """The list of the store at `root`. Nothing is read yet."""
        self._path = root / LOCKS / NAME
        self._file = 0
        self._data = bytearray()
        self._complete: set[str] = set()

    def read(self) -> Mark:
        """Read what was added since the last call, and return where the list ends now."""
        try:
            opened = opening.opened(self._path, follows=False)
        except OSError:
            self._begin(0)
            return 0, 0
        with opened:
            status = os.fstat(opened.fileno())
            if status.st_ino != self._file or status.st_size < len(self._data):
                self._begin(status.st_ino)
            opened.seek(len(self._data))
            added = opened.read()
        added = added[: added.rfind(b"\n") + 1]
        self._data += added
        self._complete.update(map(_decoded, _COMPLETE.findall(added)))
        return self._file, len(self._data)

    def grown_since(self, mark: Mark) -> set[str] | None:
        """The sessions whose logs may have grown since a mark; `None` if the list was made anew."""
        file, offset = mark
        if not file or file != self._file or offset > len(self._data):
            return None
        last_line = self._data.rfind(b"\n", 0, max(0, offset - 1)) + 1
        return {*map(_decoded, _FIRST_WORD.findall(self._data, last_line))}

    def add_missing(
        self, sessions: Iterable[str], refs_of: Callable[[str], Iterable[str] | None]
    ) -> None:
        """Add the sessions that the list does not have, but those whose refs are unreadable."""
        missing = [id for id in sessions if id not in self._complete]
        found = {id: refs for id in missing if (refs := refs_of(id)) is not None}
        if found:
            lines = "".join(_line(f"={id}", refs) for id, refs in found.items())
            with suppress(OSError):
                _append(self._path, lines)
                self.read()
            if not found.keys() <= self._complete:  # the folder is read-only
                self._data += lines.encode()
                self._file = 0  # so that the next call reads the file from its beginning

    def sessions_with(self, ref: str) -> set[str]:
        """The ids of the sessions that may have archived a ref."""
        key, found = f" {ref}".encode(), set[str]()
        at = self._data.find(key)
        while at >= 0:
            start, stop = self._data.rfind(b"\n", 0, at) + 1, self._data.find(b"\n", at)
            if word := _FIRST_WORD.match(self._data, start, at):
                found.add(_decoded(word[1]))
            at = self._data.find(key, stop)
        return found

    def _begin(self, file: int) -> None:
        self._file = file
        self._data.clear()
        self._complete.clear()


@contextmanager
def noting(root: Path, id: str, refs: Collection[str], *, is_new: bool) -> Generator[None]:
    """Notes what is added to the log of a session meanwhile.

    Refs are noted before, so that a crash leaves no ref that is archived but not listed; a listed
    ref that is not archived does no harm. That the log has grown is noted after.
    """
    path = root / LOCKS / NAME
    file = None
    with suppress(OSError):
        _append(path, _line(f"={id}" if is_new else id, refs), None if refs or is_new else id)
        file = os.stat(path).st_ino
    yield
    with suppress(OSError):
        again = refs if os.stat(path).st_ino != file else ()
        _append(path, _line(id, again), None if again else id)


def remove(root: Path) -> None:
    """Remove the list, because a session was deleted; the next reader makes it again."""
    with suppress(OSError):
        (root / LOCKS / NAME).unlink(missing_ok=True)


def _line(first: str, refs: Iterable[str]) -> str:
    return f"{' '.join([first, *refs])}\n"


def _append(path: Path, lines: str, unless_last: str | None = None) -> None:
    """Add lines in one write; not if the last line is already about session `unless_last`.

    Readers look at the session of the last line in any case.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    file = os.open(path, flags, 0o600)
    try:
        size = os.fstat(file).st_size
        start = max(0, size - ENDING_BYTES)
        os.lseek(file, start, os.SEEK_SET)
        ending = os.read(file, ENDING_BYTES)
        if unless_last and _last_session(ending, complete=not start) == unless_last.encode():
            return
        data = (b"" if ending.endswith(b"\n") or not size else b"\n") + lines.encode()
        try:
            complete = os.write(file, data) == len(data)
            if b" " in data:
                os.fsync(file)
        except OSError:
            complete = False
        if not complete:  # a part of the refs would be taken for all
            path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _last_session(ending: bytes, *, complete: bool) -> bytes | None:
    """The session of the last line; `None` if its beginning is not in the ending of the list."""
    _, newline, last = ending.removesuffix(b"\n").rpartition(b"\n")
    found = _FIRST_WORD.match(last) if ending.endswith(b"\n") and (newline or complete) else None
    return found[1] if found else None


def _decoded(id: bytes) -> str:
    return id.decode("ascii", "replace")


def several_originals(ref: str, sessions: Iterable[str]) -> str:
    """The error for a ref that stands for different originals in these sessions."""
    return (
        f"{ref} stands for different things in {' and in '.join(sessions)}: their hashes begin "
        "alike, which does not happen by chance. Name the session, too."
    )
