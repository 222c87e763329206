"""The ways a text can be written in the JSON of a store: a quick check that bytes lack a text."""

import json

from context_compression.store import files


class Spellings:
    """The ways in which a text can be written within a JSON string.

    A path may also be written with backslashes, so any bytes with backslashes may contain it.

    Attributes:
        text: the text.
        in_one: whether the text has no newline, so that only a single string can contain it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._ways = {files.to_json(text)[1:-1], json.dumps(text)[1:-1].encode()}
        self._is_path = "/" in text
        self.in_one = "\n" not in text

    def may_be_in(self, data: bytes, *, in_parts: bool) -> bool:
        """Whether some bytes may contain the text.

        Args:
            data: JSON strings.
            in_parts: whether the strings stand for the lines of one text.
        """
        if (in_parts and not self.in_one) or (self._is_path and b"\\\\" in data):
            return True
        return any(way in data for way in self._ways)


def lacks(data: bytes, spellings: Spellings, *, in_parts: bool) -> bool:
    """Whether the bytes of a span certainly lack a text; `False` if that is not known."""
    is_literal = in_parts or data.startswith(b'"')
    return is_literal and not spellings.may_be_in(data, in_parts=in_parts)
