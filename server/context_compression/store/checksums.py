"""A checksum at the end of each line, so that changed lines are recognized and not trusted.

`{"type":"undo","n":1}` is written as `{"type":"undo","n":1,"crc32":"5f3a01bc"}`: the CRC-32 of the
line without the checksum. Lines of older versions have no checksum and are read as they are.
"""

import json
import re
from typing import Any, cast
from zlib import crc32

_KEY = "crc32"
_SUM = re.compile(rb',"crc32":"([0-9a-f]{8})"\}\s*\Z')
_TAIL_BYTES = 64
"""The checksum is within this many last bytes of a line."""


def with_checksum(line: bytes) -> bytes:
    """A line with its checksum added. The line must be a non-empty JSON object."""
    return b'%b,"%b":"%08x"}' % (line[:-1], _KEY.encode(), crc32(line))


def was_changed(line: bytes) -> bool:
    """Whether a line has a checksum that does not match the rest of it."""
    match = _SUM.search(line, max(0, len(line) - _TAIL_BYTES))
    if match is None:
        return False
    return crc32(b"}", crc32(memoryview(line)[: match.start()])) != int(match[1], 16)


def object_in_line(line: bytes) -> dict[str, Any] | None:
    """The JSON object in a line, without its checksum.

    `None` if the line was changed, is not JSON, or is not a JSON object.
    """
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
