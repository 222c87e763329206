"""Stand-in."""
from typing import Any
from collections.abc import Mapping
def refusal(value: Any) -> str | None:
    """None."""
    return None
def nothing_seen(index: int, message: Mapping[str, Any]) -> str:
    """Told."""
    return f"Message {index} has no content that we can read; its keys are {', '.join(map(repr, message))}."
