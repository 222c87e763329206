"""Refs as a person or a model writes them: shortened, or with what stands around them.

At least four of the first digits identify a ref.
"""

import re
from collections.abc import Iterable

from context_compression.conversation.refs import REF, SHORTEST
from context_compression.errors import UnknownRef

SHORT_REF = re.compile(r"[0-9a-fA-F]{4,64}")
"""Matches a ref, complete or shortened."""
NAMED_REF = re.compile(r"\bref\W{1,3}([0-9a-f]{4,64})\b", re.IGNORECASE)
"""A ref copied together with its mark: `[… 9 lines; ref c3f91a20b77d]`."""
REF_FILE = re.compile(rf"(?:^|[/\\])({REF})\.txt\s*$")
"""The file of an offloaded text, named by its ref."""
ENCLOSED_REF = re.compile(r"[\W_]*([0-9a-f]{4,64})[\W_]*", re.IGNORECASE)
"""A ref in brackets or quotes."""
LONGEST_MARK = 600
"""How many characters of a mark are searched for a ref."""
MOST_LISTED = 20
"""How many refs the error for an ambiguous ref lists."""


def bare_ref(written: str) -> str:
    """The ref in what a caller passed as one; without a ref in it, the same text.

    `bare_ref("[ref c3f9]")`, `bare_ref('"c3f9"')` and `bare_ref("ref: c3f9")` return `"c3f9"`.
    """
    match = (
        NAMED_REF.search(written[:LONGEST_MARK])
        or REF_FILE.search(written)
        or ENCLOSED_REF.fullmatch(written)
    )
    return match[1] if match else written.strip()


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
