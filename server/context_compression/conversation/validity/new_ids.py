"""Another id for a call whose id was used before, as its provider would have made it."""

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import count

TAIL = re.compile(r"[A-Za-z0-9]{9,}\Z")
"""The end of an id that is long enough to become another of the same form."""
CHANGED = 8
"""Characters of such an id that change."""


def ids_like(call_id: str) -> Iterator[str]:
    """The ids that may stand for one: itself, then others of its length and form.

    One too short for that is made longer: `"a"` -> `"a"`, `"a-2"`, `"a-3"` and so on.
    """
    yield call_id
    tail = TAIL.search(call_id)
    for number in count(2):
        if tail is None:
            yield f"{call_id}-{number}"
            continue
        digest = sha256(f"{number} {call_id}".encode("utf-8", "replace")).digest()
        changed = "".join(map(_alike, call_id[-CHANGED:], digest))
        yield f"{call_id[:-CHANGED]}{changed}"


def _alike(sign: str, byte: int) -> str:
    """Another letter or digit of the same kind."""
    if sign.isdigit():
        return str(byte % 10)
    letter = chr(ord("a") + byte % 26)
    return letter.upper() if sign.isupper() else letter
