"""Checks the archive of a session for changed files of originals and for lost refs."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from context_compression.conversation.refs import is_proven
from context_compression.errors import ContextCompressionError
from context_compression.store.events import refs_in
from context_compression.store.files import collecting
from context_compression.store.originals import original_of


def damaged_originals(
    hashes: Mapping[str, str],
    present: Collection[str],
    read: Callable[[str, str | None], object],
) -> list[str]:
    """One sentence for each file of originals that is missing, damaged or changed.

    Args:
        hashes: the SHA-256 of each file that the log names, by the file's name.
        present: the names of the files that exist.
        read: reads a file, and raises a `StoreError` if its hash is not the given one.
    """
    problems: list[str] = []
    for name in sorted({*hashes, *present}):
        with collecting(problems):
            read(name, hashes.get(name))
    return problems


def lost_refs(
    events: Iterable[Mapping[str, Any]],
    read_originals: Callable[[str], Sequence[Any]],
    read_original: Callable[[str, int], Any],
) -> list[str]:
    """The refs whose original is in none of the places that the log names.

    Args:
        events: the events of the log that have refs.
        read_originals: returns the messages of a file of originals, by the file's name.
        read_original: returns one of them by its position, also if others are damaged.
    """
    read_all = lru_cache(2)(read_originals)  # the refs of a compression follow each other
    damaged: set[str] = set()

    def read(file: str, at: int) -> Any:
        if file not in damaged:
            try:
                return read_all(file)[at]
            except ContextCompressionError:
                damaged.add(file)
        return read_original(file, at)

    restorable: dict[str, bool] = {}
    for event in events:
        for ref, entry in refs_in(event).items():
            if not restorable.get(ref):
                located = {"file": event.get("originals"), **entry}
                restorable[ref] = False
                with suppress(ContextCompressionError):
                    original = original_of(located, read)
                    restorable[ref] = is_proven(ref, entry, original)
    return [ref for ref, is_there in restorable.items() if not is_there]
