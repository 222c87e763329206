"""Refs shortened by a person or a model: at least four of the first digits identify a ref."""

import re
from collections.abc import Iterable

from context_compression.conversation.refs import SHORTEST
from context_compression.errors import UnknownRef

SHORT_REF = re.compile(r"[0-9a-fA-F]{4,64}")
"""Matches a ref, complete or shortened."""
MOST_LISTED = 20
"""How many refs the error for an ambiguous ref lists."""


def too_short_note(ref: str) -> str:
    """`"6da"` -> `" (at least 4 digits name a ref)"`; `""` for a ref that is long enough."""
    return f" (at least {SHORTEST} digits name a ref)" * (len(ref) < SHORTEST)


def complete_ref(ref: str, known: Iterable[str]) -> str | None:
    """The known ref that equals or begins with `ref`.

    `complete_ref("c3f9", ["c3f91a20"])` returns `"c3f91a20"`. `None` if no known ref begins with
    it.

    Raises:
        UnknownRef: several known refs begin with it; the message lists them.
    """
    refs = set(known)
    if ref in refs:
        return ref
    if not SHORT_REF.fullmatch(ref):
        return None
    matches = sorted(full for full in refs if full.startswith(ref.lower()))
    if len(matches) > 1:
        raise UnknownRef(
            f"{ref} is the beginning of several refs; take one: {', '.join(matches[:MOST_LISTED])}."
        )
    return matches[0] if matches else None
