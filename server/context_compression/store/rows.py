"""The tables of the search index, and what stands in a row of each."""

import json
from collections.abc import Sequence
from typing import Any

from context_compression.refs import ref_of
from context_compression.store.documents import Call, Document, Reading, Said
from context_compression.store.lines import Mark
from context_compression.store.log import SessionLog
from context_compression.store.query import humps, indexable
from context_compression.words import Lexicon, kind_of

VERSION = 5
TABLES = (
    "CREATE TABLE logs (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, time INTEGER,"
    " offset INTEGER DEFAULT 0, ending BLOB DEFAULT x'', reading TEXT DEFAULT '[0, {}]')",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, log INTEGER, ref TEXT, at INTEGER, about TEXT)",
    "CREATE INDEX messages_by_ref ON messages (log, ref)",
    "CREATE INDEX messages_by_place ON messages (log, at)",
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, log INTEGER, ref TEXT, message TEXT,"
    " file TEXT, stamp TEXT, failed INTEGER, ours INTEGER, binary INTEGER, tool TEXT, about TEXT,"
    " text BLOB, hash TEXT, UNIQUE (log, ref))",
    "CREATE INDEX documents_by_message ON documents (log, message)",
    "CREATE VIRTUAL TABLE words USING fts5 (text, humps, paths, about, content = '',"
    " tokenize = 'unicode61 remove_diacritics 2')",
    f"PRAGMA user_version = {VERSION}",
)
"""`words` keeps no text of its own: to remove a row one has to say what was in it."""
ADD_MESSAGE = "INSERT INTO messages (log, ref, at, about) VALUES (?, ?, ?, ?)"
ADD_DOCUMENT = (
    "INSERT OR IGNORE INTO documents (log, ref, message, file, stamp, failed, ours, tool, about,"
    " text, binary, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_WORDS = "INSERT INTO words (rowid, text, humps, paths, about) VALUES (?, ?, ?, ?, ?)"
REMOVE_WORDS = (
    "INSERT INTO words (words, rowid, text, humps, paths, about) VALUES ('delete', ?, ?, ?, ?, ?)"
)
DOCUMENT = "id, ref, message, file, failed, ours, about, text, hash"
"""Columns of `document_from`."""
SAID = "at, ref, about"
"""Columns of `said_from`."""


def place_from(offset: int, ending: bytes, reading: str) -> tuple[Mark, Reading]:
    """How far a log was read."""
    length, calls = json.loads(reading)
    return Mark(offset, ending), Reading(length, {key: Call(*call) for key, call in calls.items()})


def place_to_row(mark: Mark, reading: Reading) -> tuple[int, bytes, str]:
    """`place_from` backwards."""
    calls = {key: (call.tool, call.arguments) for key, call in reading.calls.items()}
    return mark.offset, mark.ending, json.dumps([reading.length, calls])


def said_from(at: int, ref: str, about: str) -> Said:
    """A recorded message."""
    role, glimpse, answers = json.loads(about)
    return Said(at, ref, role, glimpse, {int(slot): Call(*call) for slot, call in answers.items()})


def said_to_row(said: Said) -> tuple[str, int, str]:
    """Ref, place and the rest."""
    answers = {slot: (call.tool, call.arguments) for slot, call in said.answers.items()}
    return said.ref, said.at, json.dumps([said.role, said.glimpse, answers])


def document_from(row: Sequence[Any]) -> Document:
    """Something archived; a text that is not what it was is a `ValueError`."""
    _, ref, message, file, failed, ours, about, data, hash = row
    what, tool, arguments = json.loads(about)
    text = from_bytes(data)
    if ref_of(text) != hash:
        raise ValueError(f"the text of {ref} is damaged")
    call = Call(tool, arguments)
    return Document(ref, what, message, file, text, call, bool(failed), bool(ours))


def document_to_row(document: Document, stamp: str) -> tuple[Any, ...]:
    """All columns but the log."""
    call = document.call
    about = json.dumps([document.what, call.tool, call.arguments])
    return (
        document.ref, document.message, document.file, stamp, document.failed, document.ours,
        indexable(call.tool), about, to_bytes(document.text),
        "\0" in document.text, ref_of(document.text),
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


def stamp_of(log: SessionLog, originals: str) -> str:
    """By this it is known whether a file of originals was changed; of the log itself, nothing."""
    return str(log.stamp_of(originals)) if originals else ""


def to_bytes(text: str) -> bytes:
    """A text as it is stored: lone surrogates have no UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def holds(data: bytes, part: str) -> bool:
    """Whether a part stands in a text as it is stored, whatever its case."""
    return part.casefold() in from_bytes(data).casefold()


def from_bytes(data: bytes) -> str:
    """`to_bytes` backwards."""
    return data.decode("utf-8", "surrogatepass")
