"""The sessions that `sessions` listed last, by number; kept in the user's own state folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast


@dataclass(frozen=True)
class NumberedSession:
    """A session in the listing.

    Attributes:
        number: its number, from 1.
        name: the path of its transcript, or its id if it is recorded in a store.
        id: its id.
        host: the name of its host.
        title: its title, or the user's first words.
        store: the folder of the store that recorded it; empty if a host keeps it.
    """

    number: int
    name: str
    id: str
    host: str
    title: str
    store: str = ""


def listing_file() -> Path:
    """`~/.local/state/context-compression/sessions.json` on Linux; XDG_STATE_HOME is respected."""
    from platformdirs import user_state_path

    return user_state_path("context-compression", appauthor=False) / "sessions.json"


def last_listing() -> dict[int, NumberedSession]:
    """The sessions listed last, by number; empty if there are none, or the file is damaged."""
    try:
        document = json.loads(listing_file().read_bytes())
        rows = cast("list[Mapping[str, Any]]", document["sessions"])
        listed = [NumberedSession(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {each.number: each for each in listed if all(map(_is_text, (each.name, each.id)))}


def _is_text(value: object) -> bool:
    return isinstance(value, str)
