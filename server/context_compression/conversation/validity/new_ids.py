"""New ids for calls whose id was used before, in the form of the provider's own ids."""

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import count

from context_compression.conversation.formats.ids import kind_of

TAIL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{9,}\Z")
"""The end of an id that is long enough to make another id of the same form."""
CHANGED = 8
"""How many characters at the end of such an id change: one less than the shortest `TAIL`."""


def ids_like(call_id: str) -> Iterator[str]:
    """The ids that may be used for `call_id`: first itself, then others of its length and form.

    An id that is too short for that gets a number: `"a"` -> `"a"`, `"a-2"`, `"a-3"` and so on; one
    of this package stays one, so that it is not written: `"@call-1"` -> `"@call-10002"`.
    """
    yield call_id
    dash = "000" if kind_of(call_id) else "-"
    tail = TAIL.search(call_id)
    for number in count(2):
        if tail is None:
            yield f"{call_id}{dash}{number}"
            continue
        digest = sha256(f"{number} {call_id}".encode("utf-8", "replace")).digest()
        changed = "".join(map(_alike, call_id[-CHANGED:], digest))
        yield f"{call_id[:-CHANGED]}{changed}"


def _alike(char: str, byte: int) -> str:
    """Another character of the same kind: a digit, a small letter or a capital."""
    if char.isdigit():
        return str(byte % 10)
    letter = chr(ord("a") + byte % 26)
    return letter.upper() if char.isupper() else letter
