"""The tables of the search index: the texts, their words, and what stands beside them."""

import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from context_compression.evidence.words import Lexicon, kind_of
from context_compression.store.files import to_json
from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.excerpt import CallLabel, ConversationReader, RecordedMessage
from context_compression.store.search.query import humps, indexable

VERSION = 10
"""Version of the tables. An index of another version is rebuilt from the plain files."""
PAGE_BYTES = 1024
"""About half a page stays empty in every table, so small pages suit small archives."""
TABLES = (
    "CREATE TABLE logs (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, time INTEGER,"
    " offset INTEGER DEFAULT 0, checksum INTEGER DEFAULT 0, reading TEXT DEFAULT '[0, {}]',"
    " title TEXT DEFAULT '')",
    "CREATE TABLE files (id INTEGER PRIMARY KEY, log INTEGER, name TEXT, stamp TEXT)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, log INTEGER, ref BLOB, place INTEGER,"
    " packed BLOB)",
    "CREATE INDEX messages_by_ref ON messages (log, ref)",
    "CREATE INDEX messages_by_place ON messages (log, place)",
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, log INTEGER, ref BLOB, message BLOB,"
    " tool TEXT, failed INTEGER, ours INTEGER, file INTEGER, words INTEGER, place INTEGER,"
    " UNIQUE (log, ref))",
    "CREATE INDEX documents_by_message ON documents (log, message) WHERE message > x''",
    "CREATE TABLE texts (id INTEGER PRIMARY KEY, packed BLOB)",
    "CREATE VIRTUAL TABLE words USING fts5 (text, humps, paths, about, content = '',"
    " tokenize = 'unicode61 remove_diacritics 2')",
    "CREATE VIRTUAL TABLE stems USING fts5 (text, beside, content = '',"
    " tokenize = 'porter unicode61 remove_diacritics 2')",
    f"INSERT INTO words (words, rank) VALUES ('pgsz', {PAGE_BYTES - 48})",
    f"INSERT INTO stems (stems, rank) VALUES ('pgsz', {PAGE_BYTES - 48})",
    f"PRAGMA user_version = {VERSION}",
)
"""`texts` has the texts, compressed. `words` and `stems` keep none of their own: removing a row
needs the words it was made from.

`words` has words as they are written, for names and patterns. `stems` has the same texts with each
English word as its stem ("migrations" -> "migrat"), for questions.
"""
ADD_DOCUMENT = (
    "INSERT INTO documents (id, log, ref, message, tool, failed, ours, file, words, place)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_WORDS = "INSERT INTO words (rowid, text, humps, paths, about) VALUES (?, ?, ?, ?, ?)"
REMOVE_WORDS = (
    "INSERT INTO words (words, rowid, text, humps, paths, about) VALUES ('delete', ?, ?, ?, ?, ?)"
)
ADD_STEMS = "INSERT INTO stems (rowid, text, beside) VALUES (?, ?, ?)"
REMOVE_STEMS = "INSERT INTO stems (stems, rowid, text, beside) VALUES ('delete', ?, ?, ?)"
SELECT_DOCUMENT = (
    "SELECT documents.id, documents.log, files.name, stamp, ref, failed, ours, place, packed"
    " FROM documents JOIN texts ON texts.id = documents.id JOIN files ON files.id = file"
)
"""Selects a document's key, session and file, and what `document_of` reads."""
Do: TypeAlias = Callable[[str, Sequence[Any]], Any]


def reader_of(reading: str) -> ConversationReader:
    """A reader that continues where another, of which `reading_of` told, has stopped."""
    length, calls = json.loads(reading)
    return ConversationReader(length, {key: CallLabel(*call) for key, call in calls.items()})


def reading_of(reader: ConversationReader) -> str:
    """What `reader_of` reads."""
    return json.dumps([reader.length, {id: _call(call) for id, call in reader.calls.items()}])


def packed_message(message: RecordedMessage) -> bytes:
    """What a row of `messages` says beside the place and the ref."""
    answers = {str(slot): _call(call) for slot, call in message.answers.items()}
    time = [] if message.time is None else [message.time]
    return _packed([message.role, message.glimpse, answers, *time])


def message_of(ref: bytes, place: int, packed: bytes) -> RecordedMessage:
    """The message of a row; `ValueError` if the row is damaged."""
    role, glimpse, answers, *time = _unpacked(packed)
    calls = {int(slot): CallLabel(*call) for slot, call in answers.items()}
    return RecordedMessage(place, ref.hex(), role, glimpse, calls, *time)


def add(do: Do, log: int, file: int, document: IndexedDocument, lexicon: Lexicon) -> None:
    """Add a document: its refs, its words and its text."""
    message = bytes.fromhex(document.message) if document.is_text else None
    refs = (bytes.fromhex(document.ref), message)
    key = add_words(do, log, document, lexicon, refs=refs, file=file)
    about = (document.ref, document.message, document.what, *_call(document.call))
    do("INSERT INTO texts VALUES (?, ?)", (key, _packed([*about, document.text])))


def add_words(
    do: Do,
    log: int,
    document: IndexedDocument,
    lexicon: Lexicon,
    *,
    key: int | None = None,
    refs: tuple[bytes | None, bytes | None] = (None, None),
    file: int = 0,
) -> int:
    """Add a document without its text; returns its key, which is a new one for `None`."""
    words = words_of(document, lexicon)
    row = (
        key, log, *refs, indexable(document.call.tool), document.failed, document.by_us, file,
        _sum_of(words), document.place,
    )  # fmt: skip
    added: int = do(ADD_DOCUMENT, row).lastrowid
    do(ADD_WORDS, (added, *words))
    do(ADD_STEMS, (added, *_stems_of(words)))
    return added


def document_of(
    ref: bytes, failed: int, by_us: int, place: int | None, packed: bytes
) -> IndexedDocument:
    """The document of a row; `ValueError` if the row is damaged."""
    own, message, what, tool, arguments, text = _unpacked(packed)
    if own != ref.hex():
        raise ValueError(f"the text of {ref.hex()} is that of another")
    call = CallLabel(tool, arguments)
    return IndexedDocument(own, what, message, text, call, bool(failed), bool(by_us), place)


def remove_words(do: Do, key: int, document: IndexedDocument, added: int, lexicon: Lexicon) -> None:
    """Remove the words of a document, whose checksum is `added`.

    Raises:
        ValueError: they cannot be removed, because they are not known any more.
    """
    words = words_of(document, lexicon)
    if _sum_of(words) != added:
        raise ValueError(f"the words of {document.ref} are not known any more")
    do(REMOVE_WORDS, (key, *words))
    do(REMOVE_STEMS, (key, *_stems_of(words)))


def lexicon() -> Lexicon:
    """The lexicon of `words_of`. It includes weak words, because a search may ask for any word."""
    return Lexicon(kind_of)


def words_of(document: IndexedDocument, lexicon: Lexicon) -> tuple[str, ...]:
    """The columns of `words` for a document; the same document always has the same columns.

    They are its text; the parts of names in camel case; paths; and the call it is the result of,
    with the word "error" if it reports a failure.
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


def _stems_of(words: Sequence[str]) -> tuple[str, str]:
    """The columns of `stems` for a document, from its columns of `words`."""
    text, humps_in_it, _, about = words
    return text, f"{humps_in_it} {about}"


def _sum_of(words: Sequence[str]) -> int:
    """A CRC-32 of words, to check that they are the words that were added."""
    return zlib.crc32("\0".join(words).encode("utf-8", "surrogatepass"))


def _call(call: CallLabel) -> tuple[str, str]:
    return call.tool, call.arguments


def _packed(value: Sequence[Any]) -> bytes:
    return zlib.compress(to_json(value))


def _unpacked(packed: bytes) -> list[Any]:
    """The values; `ValueError` if the bytes were changed."""
    try:
        return json.loads(zlib.decompress(packed))
    except zlib.error as error:
        raise ValueError(str(error)) from error
