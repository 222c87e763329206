"""Events of a session's log: how they are stamped, and what any event contains."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeGuard

from context_compression.display.quantities import MOST


def timestamp() -> str:
    """The current time in UTC, ISO 8601 to the second: `2026-03-01T09:30:00Z`."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def is_timestamp(text: str) -> bool:
    """Whether a text is an ISO 8601 time with an offset from UTC."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def age_of(event: Mapping[str, Any]) -> float:
    """Seconds since an event; infinite if it has no valid time."""
    try:
        at = datetime.fromisoformat(event["created_at"])
        return (datetime.now(UTC) - at).total_seconds()
    except (KeyError, TypeError, ValueError):
        return math.inf


def undo_of(compression: Mapping[str, Any], now: str) -> dict[str, Any]:
    """The event that undoes a compression."""
    covered = {key: compression[key] for key in ("n", "messages_in")}
    return {"type": "undo", "created_at": now, **covered}


def has_rewind(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of the events removes recorded messages."""
    return any(event["type"] == "rewind" for event in events)


def origin_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The origin of a conversation, as an event records it, without impossible values.

    Returns:
        `host`, `window`, `model` and `beside` (tokens outside the messages of each request), or an
        empty mapping. `asked` is the size, with `beside`, that the user named to the host, if any.
    """
    match event.get("origin"):
        case {"host": str(host), "window": window, "model": model, "beside": overhead} as origin:
            asked = origin.get("asked")
            return {
                "host": host,
                "window": window if _is_count(window) and window > 0 else None,
                "model": model if isinstance(model, str) else None,
                "beside": overhead if _is_count(overhead) else 0,
                **({"asked": asked} if _is_count(asked) else {}),
            }
        case _:
            return {}


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
