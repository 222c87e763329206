"""Refs: short names of archived originals, each checked by its full SHA-256.

A ref is the beginning of a hash, usually 12 hex digits. Two texts can be constructed whose hashes
share that many digits, so a ref that already belongs to other content gets more digits.
"""

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

DIGITS, MORE_DIGITS, MOST_DIGITS = 12, 4, 64
"""The digits of a ref, the digits added each time it is taken, and the digits of a full SHA-256."""
SHORTEST = 4
"""How many digits of a ref a caller must give at least."""
REF = f"[0-9a-f]{{{DIGITS},{MOST_DIGITS}}}"
"""A regular expression for a full ref."""
_WRITTEN = re.compile(f"[0-9a-f]{{{SHORTEST},{MOST_DIGITS}}}")
_JSON = json.JSONEncoder(ensure_ascii=False)


def canonical(value: Any) -> str:
    """A value's JSON as it is archived: keys in their own order, non-ASCII characters unescaped."""
    return _JSON.encode(value)


def digest_of(original: Any) -> str:
    """The SHA-256 of a text, or of a message's JSON, as 64 hex digits."""
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
    """Whether a key of a log has the form of a ref; content under other keys cannot be verified."""
    return _WRITTEN.fullmatch(key) is not None


def is_proven(ref: str, about: Mapping[str, Any], original: Any) -> bool:
    """Whether an original is the content that was archived under a ref.

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
    """Gives refs to originals and remembers them; each compression has its own `Refs`."""

    def __init__(self, taken: Callable[[str], str | None] = _free) -> None:
        """Refs that do not collide with those of an archive.

        Args:
            taken: takes a ref and returns the SHA-256 of its archived content, `None` if the ref is
                free, or any other text if the content cannot be read.
        """
        self._taken = taken
        self._given: dict[str, str] = {}

    def __call__(self, original: Any) -> str:
        """The ref of a text or message: always the same, and never that of other content."""
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
        """The SHA-256 of the original to which this object gave the ref.

        Raises:
            KeyError: the ref was not given here.
        """
        return self._given[ref]
