"""The summaries and checkpoints that all sessions kept, as JSON objects in one document."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from context_compression.store import files

FIELDS = frozenset(
    {
        "content",
        "created_at",
        "key_points",
        "messages",
        "n",
        "session",
        "strategy",
        "tokens",
        "turns",
    }
)
"""The fields of a summary whose types are checked, see `_fits`. Other fields are not checked."""


def entries_in(document: Mapping[str, Any], place: str) -> list[dict[str, Any]]:
    """The summaries in a document, oldest first; `[]` if it is empty.

    Raises:
        StoreDamaged: the document is damaged; the error names its `place`.
    """
    entries = document.get("summaries", [])
    if not isinstance(entries, list):
        raise files.damaged(place, 'has no list of "summaries"')
    if not all(isinstance(entry, dict) for entry in cast("list[Any]", entries)):
        raise files.damaged(place, "holds a summary that is not a JSON object")
    return cast("list[dict[str, Any]]", entries)


def problems(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence for each summary with a field of a wrong type; `entries` are the oldest first."""
    for number, entry in enumerate(entries, 1):
        if wrong := ", ".join(sorted(entry.keys() - usable_part(entry).keys())):
            yield f"summaries: summary {number} has an unusable value in {wrong}"
        elif not is_whole(entry):
            yield f"summaries: summary {number} has no text"


def is_whole(entry: Mapping[str, Any]) -> bool:
    """Whether the usable part of a summary has its text."""
    return isinstance(entry.get("content"), str)


def usable_part(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A summary without the fields that have a wrong type."""
    return {name: value for name, value in entry.items() if _fits(name, value)}


def without_repeats(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The summaries without repeats: of equal texts in one session, only the first.

    All summaries of compressions are kept; they have an `n`.
    """
    known: set[tuple[str, str]] = set()
    for entry in entries:
        match entry:
            case {"session": str(session), "content": str(text)} if "n" not in entry:
                if (session, text) in known:
                    continue
                known.add((session, text))
            case _:
                pass
        yield entry


def _fits(name: str, value: Any) -> bool:
    """Whether a value has the type of its field; unknown fields may have any type."""
    match name, value:
        case (("content" | "created_at" | "session" | "strategy"), str()):
            return True
        case (("tokens" | "n"), int()):
            return not isinstance(value, bool)
        case (("messages" | "turns"), [int(), int()]):
            return True
        case "key_points", list():
            return all(isinstance(point, str) for point in cast("list[Any]", value))
        case _:
            return name not in FIELDS
