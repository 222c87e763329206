"""The refs of a store without a search: by session, newest first."""

from collections.abc import Iterable, Iterator
from itertools import islice

from context_compression.errors import StoreError
from context_compression.session import Session
from context_compression.store import Store


def newest_refs(
    store: Store, ids: Iterable[str], most: int | None = None
) -> Iterator[tuple[str, str]]:
    """Each ref of these sessions with its description; of a session at most `most`.

    A session that cannot be read has none here; a call about that session says why.
    """
    for id in ids:
        try:
            refs = Session(store, id).state().refs
        except StoreError:
            continue
        yield from ((ref, refs[ref]["what"]) for ref in islice(reversed([*refs]), most))
