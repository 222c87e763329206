"""The file `summaries.json`: the summaries and checkpoints that all sessions kept."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
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


class SummaryFile:
    """The file `summaries.json` of a store. Writers must hold a lock; readers need none."""

    def __init__(self, folder: Path) -> None:
        """The file in the store at `folder`; nothing is read yet."""
        self._path = folder / "summaries.json"

    def read(self) -> list[dict[str, Any]]:
        """The summaries as they are in the file, oldest first; `[]` if there is no file.

        Raises:
            StoreDamaged: the file is damaged.
            StoreTooNew: a newer version wrote it.
        """
        entries = files.read_document(self._path).get("summaries", [])
        if not isinstance(entries, list):
            raise files.damaged(self._path, 'has no list of "summaries"')
        if not all(isinstance(entry, dict) for entry in cast("list[Any]", entries)):
            raise files.damaged(self._path, "holds a summary that is not a JSON object")
        return cast("list[dict[str, Any]]", entries)

    def write(self, entries: list[dict[str, Any]]) -> None:
        """Replace all summaries."""
        document = {"version": files.FORMAT, "summaries": entries}
        files.replace_file(self._path, files.to_json(document, indent=2) + b"\n")

    def problems(self) -> Iterator[str]:
        """A sentence for each summary with a field of a wrong type."""
        for number, entry in enumerate(self.read(), 1):
            if wrong := ", ".join(sorted(entry.keys() - usable_part(entry).keys())):
                yield f"summaries.json: summary {number} has an unusable value in {wrong}"


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
