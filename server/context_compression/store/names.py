"""Names of files that come from outside: ids of sessions, refs, names of files of originals."""

import re

from context_compression.errors import StoreError

FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
"""Such a name stands for one file, and for nothing outside its folder."""


def checked_name(name: str, what: str) -> str:
    """`name` itself, where it can be the name of a file.

    Args:
        name: to be checked.
        what: it names, for the error: "A session's id".

    Raises:
        StoreError: it could lead to another folder, or is too long.
    """
    if FILE_NAME.fullmatch(name):
        return name
    raise StoreError(
        f"{what} has 1 to 128 characters of A-Z a-z 0-9 . _ - and does not begin with a dot; "
        f"{name[:60]!r} does not fit."
    )
