"""Reads single events of a session's log: messages in other files, refs, hashes of originals."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from context_compression.errors import StoreDamaged


def messages_in(
    event: Mapping[str, Any], read: Callable[[str], Sequence[Any]]
) -> Iterator[dict[str, Any]]:
    """The `message` events that an event of the type `messages` stands for.

    Such an event names a file of originals and a range of its messages: `from`, and `to`, which is
    exclusive.

    Args:
        event: an event of the type `messages`.
        read: returns the messages of a file of originals, by the file's name.

    Raises:
        StoreDamaged: the file is missing or damaged, or has no such messages.
    """
    match event:
        case {"file": str(file), "from": int(start), "to": int(stop)} if 0 <= start < stop:
            messages = read(file)
            if stop > len(messages):
                raise StoreDamaged(
                    f"The log names messages {start} to {stop - 1} of {file}, which has "
                    f"{len(messages)}."
                )
            for message in messages[start:stop]:
                yield {
                    "type": "message", "created_at": event.get("created_at"), "message": message
                }  # fmt: skip
        case _:
            raise StoreDamaged("events.jsonl: an event does not say where its messages are")


def refs_in(event: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The entries of the refs that an event created, by ref; only JSON objects count."""
    refs = event.get("refs")
    if event.get("type") not in ("compression", "offload") or not isinstance(refs, dict):
        return {}
    entries = cast("dict[str, Any]", refs)
    return {ref: entry for ref, entry in entries.items() if isinstance(entry, dict)}


def hashes_of_originals(events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The SHA-256 of each file of originals that a log names, by the file's name."""
    records = (event for event in events if event.get("type") == "originals")
    return {str(record.get("file")): str(record.get("sha256")) for record in records}
