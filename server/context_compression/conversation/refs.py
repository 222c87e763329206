"""Refs: short names of archived originals, each checked by its full SHA-256.

A ref is the beginning of a hash, usually 12 hex digits. Two texts can be made to share that
many, so a ref that already stands for other content gets more digits.
"""

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

DIGITS, MORE_DIGITS, MOST_DIGITS = 12, 4, 64
"""Digits of a ref, digits it grows by if it is taken, and digits of a full SHA-256."""
SHORTEST = 4
"""Digits by which a caller may name a ref."""
REF = f"[0-9a-f]{{{DIGITS},{MOST_DIGITS}}}"
"""A regular expression for a full ref."""
_WRITTEN = re.compile(f"[0-9a-f]{{{SHORTEST},{MOST_DIGITS}}}")
_JSON = json.JSONEncoder(ensure_ascii=False)


def canonical(value: Any) -> str:
    """JSON as it is archived: keys in their order, non-ASCII characters unescaped."""
    return _JSON.encode(value)


def digest_of(original: Any) -> str:
    """The SHA-256 of a text, or of the JSON of a message: 64 hex digits."""
    text = original if isinstance(original, str) else canonical(original)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # in JSON two surrogates that make a pair are one character
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        data = joined.encode("utf-8", "surrogatepass")
    return sha256(data).hexdigest()


def ref_of(original: Any) -> str:
    """The ref of an original if no other content has it: the first 12 digits of its SHA-256."""
    return digest_of(original)[:DIGITS]


def is_ref(key: str) -> bool:
    """Whether a key of a log has the form of a ref; content under another key cannot be checked."""
    return _WRITTEN.fullmatch(key) is not None


def is_proven(ref: str, about: Mapping[str, Any], original: Any) -> bool:
    """Whether an original is what was archived under a ref.

    Args:
        ref: the full ref.
        about: the entry of the log; older versions wrote no `sha256`.
        original: the text or message that was read.
    """
    digest = digest_of(original)
    return is_ref(ref) and digest.startswith(ref) and about.get("sha256", digest) == digest


def _free(ref: str) -> str | None:
    return None


class Refs:
    """Gives refs to originals and remembers them; each compression has its own."""

    def __init__(self, taken: Callable[[str], str | None] = _free) -> None:
        """Refs that do not collide with those of an archive.

        Args:
            taken: gives the SHA-256 of what is archived under a ref; `None` if the ref is free; any
                other text if its content cannot be read.
        """
        self._taken = taken
        self._given: dict[str, str] = {}

    def __call__(self, original: Any) -> str:
        """The ref of an original, a text or a message: always the same, and of no other content."""
        digest = digest_of(original)
        for length in range(DIGITS, MOST_DIGITS + 1, MORE_DIGITS):
            ref = digest[:length]
            holder = self._given.get(ref) or self._taken(ref)
            if holder in (None, digest):
                break
        else:
            ref = digest
        self._given[ref] = digest
        return ref

    def digest(self, ref: str) -> str:
        """The SHA-256 of the original that has a ref from here."""
        return self._given[ref]
