"""File names that come from outside: session ids, tenants, refs, and files of originals."""

import re

from context_compression.errors import StoreError

FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
"""Matches a name that stands for one file inside its folder, and never for a path outside it."""
RULE = "1 to 128 characters of A-Z a-z 0-9 . _ - and does not begin with a dot"
"""What `FILE_NAME` says, in words: a name has …"""


def checked_name(name: str, what: str) -> str:
    """Return `name` unchanged if it can be the name of a file.

    Args:
        name: the name to check.
        what: what the name is for, used in the error: "A session's id".

    Raises:
        StoreError: the name could lead to another folder, or is too long.
    """
    if FILE_NAME.fullmatch(name):
        return name
    raise StoreError(f"{what} has {RULE}; {name[:60]!r} does not fit.")
