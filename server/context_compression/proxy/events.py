"""Server-sent events, read from bytes that are cut anywhere.

What was read can be written again byte for byte: an event knows the bytes it came as. The format is
that of html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"

_END = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?=[^\n]))")
"""The end of a line and a blank line; a last `\\r` waits for the `\\n` that may follow."""
_LINE_END = re.compile(rb"\A(?:\r\n|\n|\r)")
_DATA = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|(?<=[\r\n]))(?P<line>data(?:: ?(?P<data>[^\r\n]*)|(?=[\r\n]|\Z)))"
)


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event, with the comments before it.

    Attributes:
        raw: all its bytes, with the blank line that ends it.
        data: its lines of data, joined; empty if it has none.
    """

    raw: bytes
    data: bytes

    def with_data(self, data: bytes) -> bytes:
        """The bytes of the event with other data; all other lines as they came."""
        if data == self.data:
            return self.raw
        places = [match.span("line") for match in _DATA.finditer(self.raw)]
        shown = self.raw
        for start, stop in reversed(places[1:]):
            shown = shown[:start] + _LINE_END.sub(b"", shown[stop:], count=1)
        start, end = places[0]
        return shown[:start] + b"data: " + data.replace(b"\n", b"\ndata: ") + shown[end:]


def _event(raw: bytes) -> ServerEvent:
    lines = [match["data"] or b"" for match in _DATA.finditer(raw)]
    return ServerEvent(raw, lines[0] if len(lines) == 1 else b"\n".join(lines))


class EventReader:
    """The events of one stream. All bytes that come are bytes of one event, in order."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        """The events that are complete with these bytes."""
        searched = max(0, len(self._rest) - 4)
        self._rest += data
        ends = [match.end() for match in _END.finditer(self._rest, searched)]
        if not ends:
            return iter(())
        whole = bytes(self._rest[: ends[-1]])
        del self._rest[: ends[-1]]
        return (_event(whole[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True))

    def end(self) -> ServerEvent | None:
        """What is left when the stream has ended: an event that may be torn."""
        rest, self._rest = bytes(self._rest), bytearray()
        return _event(rest) if rest else None
