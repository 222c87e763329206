"""What is wrong with the archive of a session: changed files of originals, refs that are lost."""

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
    """A sentence for each file of originals that is missing, damaged or changed.

    Args:
        hashes: the SHA-256 of each file that the log names, by the file's name.
        present: the names of the files that are there.
        read: reads a file, and raises a `StoreError` where its hash is not the one given.
    """
    problems: list[str] = []
    for name in sorted({*hashes, *present}):
        with collecting(problems):
            read(name, hashes.get(name))
    return problems


def lost_refs(
    events: Iterable[Mapping[str, Any]], read_originals: Callable[[str], Sequence[Any]]
) -> list[str]:
    """The refs whose original is in none of the places that the log names.

    Args:
        events: of the log, those with refs.
        read_originals: gives the messages of a file of originals, by the file's name.
    """
    read = lru_cache(2)(read_originals)  # the refs of a compression follow each other
    restorable: dict[str, bool] = {}
    for event in events:
        for ref, entry in refs_in(event).items():
            if not restorable.get(ref):
                located = {"file": event.get("originals"), **entry}
                restorable[ref] = False
                with suppress(ContextCompressionError):
                    original = original_of(located, lambda file, at: read(file)[at])
                    restorable[ref] = is_proven(ref, entry, original)
    return [ref for ref, is_there in restorable.items() if not is_there]
