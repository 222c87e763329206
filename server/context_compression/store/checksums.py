"""A checksum at the end of each line: a line whose bytes changed by themselves is not believed.

`{"type":"undo","n":1}` is written as `{"type":"undo","n":1,"crc32":"5f3a01bc"}`: the CRC-32 of the
line as it was before. Lines of older versions have none and are read as they are.
"""

import json
import re
from typing import Any, cast
from zlib import crc32

_KEY = "crc32"
_SUM = re.compile(rb',"crc32":"([0-9a-f]{8})"\}\s*\Z')
_MOST = 64
"""Bytes at the end of a line in which its checksum stands."""


def with_sum(line: bytes) -> bytes:
    """A line of JSON, which is an object with something in it, and its checksum."""
    return b'%b,"%b":"%08x"}' % (line[:-1], _KEY.encode(), crc32(line))


def was_changed(line: bytes) -> bool:
    """Whether a line has a checksum, and it is not that of the line."""
    found = _SUM.search(line, max(0, len(line) - _MOST))
    if found is None:
        return False
    return crc32(b"}", crc32(memoryview(line)[: found.start()])) != int(found[1], 16)


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object that a line holds, without its checksum; `None` where it cannot be believed."""
    if was_changed(line):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    item = cast("dict[str, Any]", value)
    item.pop(_KEY, None)
    return item
