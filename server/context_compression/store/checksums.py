"""A checksum at the end of each line, so that changed lines are recognized and not trusted.

`{"type":"undo","n":1}` is written as `{"type":"undo","n":1,"crc32":"5f3a01bc"}`: the CRC-32 of the
line without the checksum. Lines of older versions have no checksum and are read as they are; rows
of a database always have one, which holds their place, too, so that none can stand in for another.
"""

import json
import re
from typing import Any, cast
from zlib import crc32

KEY = "crc32"
_SUM = re.compile(rb'[{,]"crc32":"([0-9a-f]{8})"\}\s*\Z')
_TAIL_BYTES = 64
"""The checksum is within this many last bytes of a line."""


def with_checksum(line: bytes, place: str = "") -> bytes:
    """A JSON object in a line with the checksum of it, and of its place if it has one."""
    comma = b"" if line == b"{}" else b","
    return b'%b%b"%b":"%08x"}' % (line[:-1], comma, KEY.encode(), _sum(crc32(line), place))


def placed(line: bytes, place: str) -> bytes:
    """A line that has a checksum, with that of its place, too."""
    match = _SUM.search(line, max(0, len(line) - _TAIL_BYTES))
    if match is None:
        return line
    total = _sum(int(match[1], 16), place)
    return b"%b%08x%b" % (line[: match.start(1)], total, line[match.end(1) :])


def has_checksum(line: bytes) -> bool:
    """Whether a line ends with a checksum."""
    return _SUM.search(line, max(0, len(line) - _TAIL_BYTES)) is not None


def was_changed(line: bytes, place: str = "") -> bool:
    """Whether a line has a checksum that matches neither the rest of it, nor that and its place."""
    match = _SUM.search(line, max(0, len(line) - _TAIL_BYTES))
    if match is None:
        return False
    start = match.start() + (line[match.start()] == ord("{"))
    total = crc32(b"}", crc32(memoryview(line)[:start]))
    return int(match[1], 16) not in (total, _sum(total, place))


def _sum(total: int, place: str) -> int:
    return crc32(place.encode(), total)


def object_in_row(row: bytes, place: str) -> dict[str, Any] | None:
    """As `object_in_line`, for the row of a database; `None` also if it has no checksum."""
    return object_in_line(row, place) if has_checksum(row) else None


def object_in_line(line: bytes, place: str = "") -> dict[str, Any] | None:
    """The JSON object in a line, without its checksum.

    `None` if the line was changed, is not JSON, or is not a JSON object.
    """
    if was_changed(line, place):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    item = cast("dict[str, Any]", value)
    item.pop(KEY, None)
    return item
