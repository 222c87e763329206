"""The sessions that `sessions` listed last, by number; kept in the user's own state folder."""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from context_compression.opening import opened


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


LARGEST = 32 * 1024 * 1024
"""Bytes of the file that are read; a listing of 10,000 sessions has about 4 million."""


def listing_file() -> Path:
    """`~/.local/state/context-compression/sessions.json` on Linux; XDG_STATE_HOME is respected."""
    from platformdirs import user_state_path

    return user_state_path("context-compression", appauthor=False) / "sessions.json"


def last_listing() -> dict[int, NumberedSession]:
    """The sessions listed last, by number; empty if there are none, or the file is damaged.

    It names files to read, so one that others may have written does not count.
    """
    try:
        document = json.loads(_own_bytes(listing_file()))
        rows = cast("list[Mapping[str, Any]]", document["sessions"])
        listed = [NumberedSession(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {each.number: each for each in listed if _is_sound(each)}


def _own_bytes(path: Path) -> bytes:
    """The bytes of a file that only this user may write; a pipe or a device is never read.

    Raises:
        OSError: there is no such file.
    """
    with opened(path) as file:
        about = os.fstat(file.fileno())
        of_others = os.name != "nt" and (
            about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        )
        if of_others:
            raise OSError(f"{path} is no file of this user alone")
        return file.read(LARGEST)


def _is_sound(listed: NumberedSession) -> bool:
    texts: tuple[object, ...] = (
        listed.name, listed.id, listed.host, listed.title, listed.store,
    )  # fmt: skip
    return type(listed.number) is int and {*map(type, texts)} == {str}
