"""Which of several sessions archived a ref."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from context_compression.errors import StoreError, UnknownRef
from context_compression.store.backend import Owner
from context_compression.store.short_refs import complete_ref


def owner_of(
    ref: str, logs: Iterable[Owner], refs_of: Callable[[Owner], Iterable[str]]
) -> Owner | None:
    """The first log that archived a ref; `None` if no log did.

    Args:
        ref: complete, or its first four or more digits.
        logs: the newest first.
        refs_of: returns the refs of a log that may match.

    Raises:
        UnknownRef: several refs begin with these digits, or two logs archived different originals
            under the ref.
    """
    owners: dict[str, list[Owner]] = {}
    for log in logs:
        with suppress(StoreError):  # another log may still be readable
            for full in refs_of(log):
                owners.setdefault(full, []).append(log)
    full = complete_ref(ref, owners)
    return None if full is None else _first_owner(full, owners[full])


def several_originals(ref: str, sessions: Iterable[str]) -> str:
    """The error for a ref that stands for different originals in these sessions."""
    return (
        f"{ref} stands for different things in {' and in '.join(sessions)}: their hashes begin "
        "alike, which does not happen by chance. Name the session, too."
    )


def _first_owner(ref: str, owners: Sequence[Owner]) -> Owner:
    """The first log that has the original of a ref; the original must be the same in all logs."""
    if len(owners) == 1:
        return owners[0]
    by_digest: dict[str, Owner] = {}
    for log in owners:
        with suppress(StoreError):
            by_digest.setdefault(log.digest(ref), log)
    if len(by_digest) > 1:
        raise UnknownRef(several_originals(ref, [log.id for log in by_digest.values()]))
    return next(iter(by_digest.values()), owners[0])
