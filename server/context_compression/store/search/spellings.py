"""How a text may be written in the JSON of a store: a quick proof that it is not in some bytes."""

import json

from context_compression.store import files


class Spellings:
    """The ways in which a text may be written within a JSON string.

    A path may also stand there with backslashes, so bytes with those may always hold one.

    Attributes:
        in_one: whether it has no newline, so that it stands in one string or in none.
    """

    def __init__(self, text: str) -> None:
        self._ways = {files.to_json(text)[1:-1], json.dumps(text)[1:-1].encode()}
        self._is_path = "/" in text
        self.in_one = "\n" not in text

    def may_be_in(self, data: bytes, *, in_parts: bool) -> bool:
        """Whether some bytes may hold the text.

        Args:
            data: JSON strings.
            in_parts: whether the strings stand for the lines of one text.
        """
        if (in_parts and not self.in_one) or (self._is_path and b"\\\\" in data):
            return True
        return any(way in data for way in self._ways)


def lacks(data: bytes, spellings: Spellings, *, in_parts: bool) -> bool:
    """Whether a text is certainly not in the bytes of a span; `False` where that is not known."""
    is_literal = in_parts or data.startswith(b'"')
    return is_literal and not spellings.may_be_in(data, in_parts=in_parts)
