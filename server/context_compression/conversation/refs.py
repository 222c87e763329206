"""Refs: the short names under which originals are archived, each proven by the full SHA-256.

A ref is the beginning of a hash, 12 hex digits as a rule. Two texts can be made that share so many;
so where a ref stands for other content already, the new one gets more of its digits.
"""

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

DIGITS, MORE_DIGITS, MOST_DIGITS = 12, 4, 64
"""Of a ref as a rule; by so many it grows where that is taken; of a whole SHA-256."""
SHORTEST = 4
"""Digits that name one."""
REF = f"[0-9a-f]{{{DIGITS},{MOST_DIGITS}}}"
"""The pattern of a ref in full."""
_WRITTEN = re.compile(f"[0-9a-f]{{{SHORTEST},{MOST_DIGITS}}}")
_JSON = json.JSONEncoder(ensure_ascii=False)


def canonical(value: Any) -> str:
    """JSON as it is archived: keys in the order they came, nothing escaped that need not be."""
    return _JSON.encode(value)


def digest_of(original: Any) -> str:
    """The SHA-256 of a text, or of the JSON of a message: 64 hex digits."""
    text = original if isinstance(original, str) else canonical(original)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # two surrogates that make a pair are one character: so says JSON
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        data = joined.encode("utf-8", "surrogatepass")
    return sha256(data).hexdigest()


def ref_of(original: Any) -> str:
    """The ref of something where no other content has it."""
    return digest_of(original)[:DIGITS]


def is_ref(key: str) -> bool:
    """Whether something can be archived under a key of a log; under no other it could be proven."""
    return _WRITTEN.fullmatch(key) is not None


def is_proven(ref: str, about: Mapping[str, Any], original: Any) -> bool:
    """Whether an original is what was archived under a ref.

    Args:
        ref: in full.
        about: what the log says of it; older versions wrote no `sha256`.
        original: what came back.
    """
    digest = digest_of(original)
    return is_ref(ref) and digest.startswith(ref) and about.get("sha256", digest) == digest


def _free(ref: str) -> str | None:
    return None


class Refs:
    """Gives refs. What was given once stays, so one of these goes with each compression."""

    def __init__(self, taken: Callable[[str], str | None] = _free) -> None:
        """Refs beside those of an archive.

        Args:
            taken: the SHA-256 of what is archived under a ref; `None` where nothing is; any other
                text where what is there cannot be read.
        """
        self._taken = taken
        self._given: dict[str, str] = {}

    def __call__(self, original: Any) -> str:
        """The ref of an original: the same each time, and of no other content."""
        digest = digest_of(original)
        for length in range(DIGITS, MOST_DIGITS + 1, MORE_DIGITS):
            ref = digest[:length]
            there = self._given.get(ref) or self._taken(ref)
            if there in (None, digest):
                break
        else:
            ref = digest
        self._given[ref] = digest
        return ref

    def digest(self, ref: str) -> str:
        """The SHA-256 of the original that a ref was given to."""
        return self._given[ref]
