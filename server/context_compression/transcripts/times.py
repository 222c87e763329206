"""Times as hosts write them."""

from datetime import UTC, datetime
from typing import Any


def seconds(written: Any) -> float | None:
    """A time in seconds since 1970: `seconds("1970-01-01T00:01:00Z")` -> `60.0`.

    Args:
        written: a time in ISO 8601, in UTC if it names no zone, or in milliseconds since 1970.

    Returns:
        `None` for any other value.
    """
    try:
        if isinstance(written, int | float):
            return written / 1000
        time = datetime.fromisoformat(written)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
