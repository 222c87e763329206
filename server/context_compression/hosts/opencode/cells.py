"""Values of SQLite's columns, which may be of any type, and parts that the reader does not know."""

from typing import Any

from context_compression.conversation.messages import is_array, is_object
from context_compression.hosts.opencode.live import Object
from context_compression.transcripts.lines import parse


def text_of(cell: Any) -> str:
    """A value as a text: of bytes what is UTF-8, of NULL nothing."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return "" if cell is None else str(cell)


def object_in(cell: Any) -> Object:
    """The JSON object in a value; any other value is that of `data` in an object."""
    written = text_of(cell)
    found = parse(written.encode("utf-8", "surrogatepass"))
    return found if is_object(found) else {"data": written} if written else {}


def listed(value: Any) -> list[Any]:
    """The parts of a list; a value that is no list is its only part, and `None` is none."""
    if is_array(value):
        return [*value]
    return [] if value is None else [value]


def unread(kind: str, held: Any) -> Object:
    """A part of a shape that is not known, which is carried along and told.

    Its type is no text, because what it holds may name a type of opencode 1 without being of it.
    """
    return {"type": ("unread", kind), "held": held}
