"""The tables of the search index, and what stands in a row of each.

The texts stand in the plain files; here is only where, and which words are in them.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from context_compression.evidence.lexicon import Lexicon
from context_compression.evidence.words import kind_of
from context_compression.store.documents import Call, Document, Reading
from context_compression.store.lines import Mark
from context_compression.store.query import humps, indexable
from context_compression.store.spans import Place, checksum, text_from

VERSION = 6
NUMBER = "#"
"""Stands for the number in what something is."""
PAGE_BYTES = 1024
"""Half a page stays empty in every table: small ones suit small archives."""
TABLES = (
    "CREATE TABLE logs (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, time INTEGER,"
    " offset INTEGER DEFAULT 0, ending BLOB DEFAULT x'', reading TEXT DEFAULT '[0, {}, 0, 0]')",
    "CREATE TABLE files (id INTEGER PRIMARY KEY, log INTEGER, name TEXT, stamp TEXT)",
    "CREATE TABLE kinds (id INTEGER PRIMARY KEY, about TEXT UNIQUE, tool TEXT)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, log INTEGER, refs BLOB, packed BLOB)",
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, log INTEGER, ref BLOB, message BLOB,"
    " kind INTEGER, number INTEGER, failed INTEGER, ours INTEGER, file INTEGER, start INTEGER,"
    " length INTEGER, position INTEGER, block INTEGER, parts TEXT, checksum INTEGER,"
    " words INTEGER, UNIQUE (log, ref))",
    "CREATE INDEX documents_by_message ON documents (log, message) WHERE message > x''",
    "CREATE VIRTUAL TABLE words USING fts5 (text, humps, paths, about, content = '',"
    " tokenize = 'unicode61 remove_diacritics 2')",
    f"INSERT INTO words (words, rank) VALUES ('pgsz', {PAGE_BYTES - 48})",
    f"PRAGMA user_version = {VERSION}",
)
"""`words` keeps no text of its own: to remove a row one has to say what was in it."""
ADD_DOCUMENT = (
    "INSERT INTO documents (log, ref, message, kind, number, failed, ours, file, start,"
    " length, position, block, parts, checksum, words)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_WORDS = "INSERT INTO words (rowid, text, humps, paths, about) VALUES (?, ?, ?, ?, ?)"
REMOVE_WORDS = (
    "INSERT INTO words (words, rowid, text, humps, paths, about) VALUES ('delete', ?, ?, ?, ?, ?)"
)
ROW = (
    "SELECT documents.id, documents.log, ref, message, about, number, failed, ours,"
    " files.name, stamp, start, length, position, block, parts, checksum, words FROM documents"
    " JOIN kinds ON kinds.id = kind JOIN files ON files.id = file"
)
"""The columns of a `Row`."""

_NUMBERED = re.compile(r"(message )(0|[1-9]\d{0,15})\b")


class Row(NamedTuple):
    """A document as the index knows it: all but its text and its call.

    Attributes:
        about: its kind as `kind_to_row` has it.
        number: the one in what it is, if any.
        message: as `ref`; `None` where the document is that message, empty where there is none.
        stamp: of the file, when it was read.
        checksum: of what stands in the place.
        words: checksum of the document's words.
    """

    id: int
    log: int
    ref: bytes
    message: bytes | None
    about: str
    number: int | None
    failed: int
    ours: int
    file: str
    stamp: str
    start: int
    length: int
    position: int | None
    block: int | None
    parts: str | None
    checksum: int
    words: int

    @property
    def place(self) -> Place:
        """Where its text stands."""
        parts = tuple(json.loads(self.parts)) if self.parts else ()
        return Place(self.file, self.start, self.length, self.position, self.block, parts)

    @property
    def message_ref(self) -> str:
        """The ref of the message it is or stands in."""
        return (self.ref if self.message is None else self.message).hex()

    def document(self, data: bytes, call: Call | None = None) -> Document:
        """It, given the bytes in its place; a `ValueError` where they are not what they were."""
        ref, place = self.ref.hex(), self.place
        if checksum(ref, data) != self.checksum:
            raise ValueError(f"what stands in {self.file} is not what it was")
        what, tool = _kind(self.about)
        what = what if self.number is None else what.replace(NUMBER, str(self.number), 1)
        return Document(
            ref, what, self.message_ref, place, lambda: text_from(data, place, ref),
            call or Call(tool, ""), bool(self.failed), bool(self.ours), data,
        )  # fmt: skip


@lru_cache
def _kind(about: str) -> tuple[str, str]:
    what, tool = json.loads(about)
    return what, tool


class Recorded(NamedTuple):
    """A recorded message: its ref, its place in the conversation, where it stands.

    Attributes:
        back: so many messages before it stands the one with the calls it answers; 0 for none.
        file: its number in the table of files.
        position: in a file that is read as a whole, else -1.
    """

    ref: str
    at: int
    back: int
    file: int
    start: int
    length: int
    position: int


def place_from(offset: int, ending: bytes, reading: str) -> tuple[Mark, Reading]:
    """How far a log was read."""
    length, calls, number, asked = json.loads(reading)
    waiting = {key: Call(*call) for key, call in calls.items()}
    return Mark(offset, ending), Reading(length, waiting, number, asked)


def place_to_row(mark: Mark, reading: Reading) -> tuple[int, bytes, str]:
    """`place_from` backwards."""
    calls = {key: (call.tool, call.arguments) for key, call in reading.calls.items()}
    said = json.dumps([reading.length, calls, reading.number, reading.asked])
    return mark.offset, mark.ending, said


def packed(messages: Sequence[Recorded]) -> tuple[bytes, bytes]:
    """The refs of messages, and all else of them: mostly a few bytes for each."""
    refs, *columns = zip(*messages, strict=True)
    steps = [[b - a for a, b in pairwise((0, *column))] for column in columns]
    return bytes.fromhex("".join(refs)), zlib.compress(json.dumps(steps).encode(), 9)


def unpacked(refs: bytes, data: bytes) -> Iterator[Recorded]:
    """`packed` backwards."""
    try:
        steps = json.loads(zlib.decompress(data))
    except zlib.error as error:
        raise ValueError(str(error)) from error
    digits = refs.hex()
    named = (digits[at : at + 12] for at in range(0, len(digits), 12))
    return map(Recorded._make, zip(named, *map(accumulate, steps), strict=True))


def place_of(message: Recorded, names: Mapping[int, str]) -> Place:
    """Where a recorded message stands."""
    position = None if message.position < 0 else message.position
    return Place(names[message.file], message.start, message.length, position)


def kind_to_row(document: Document) -> tuple[str, str, int | None]:
    """What a document is and the tool it is of; that tool as it is looked for; its number.

    `message 7 (user)` is of one kind with all `message # (user)`.
    """
    tool, what, number = document.call.tool, document.what, None
    found = _NUMBERED.match(what)
    if found and NUMBER not in what:
        what, number = _NUMBERED.sub(rf"\g<1>{NUMBER}", what), int(found[2])
    return json.dumps([what, tool]), indexable(tool), number


def document_to_row(
    document: Document, kind: int, number: int | None, file: int, sums: tuple[int, int]
) -> tuple[Any, ...]:
    """All columns but the log: its kind, its file, the checksums of its place and its words."""
    place, ref = document.place, bytes.fromhex(document.ref)
    return (
        ref, None if document.message == document.ref else bytes.fromhex(document.message),
        kind, number, document.failed, document.ours, file, place.start, place.length,
        place.position, place.block, json.dumps(place.parts) if place.parts else None, *sums,
    )  # fmt: skip


def lexicon() -> Lexicon:
    """The lexicon of `words_of`: whoever asks for a word means it, so weak ones are in it, too."""
    return Lexicon(kind_of)


def words_of(document: Document, lexicon: Lexicon) -> tuple[str, ...]:
    """What a document is found by, the same each time: the columns of `words`.

    Its text; the parts of names in camel case; paths; and the call it is the result of, with the
    word "error" where it tells of a failure.
    """
    text = document.text
    about = f"{document.call.tool} {document.call.arguments}"
    names = sorted(lexicon.words(f"{about}\n{text}"))
    paths = " ".join(name for name, kind in names if kind in ("path", "url"))
    columns = (
        text,
        humps(name for name, _ in names),
        paths,
        f"{about} error" if document.failed else about,
    )
    return tuple(map(indexable, columns))


def sum_of(words: Sequence[str]) -> int:
    """By this it is known whether words are those that were taken in."""
    return zlib.crc32("\0".join(words).encode("utf-8", "surrogatepass"))
