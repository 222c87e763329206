"""Tokens of pictures, documents and base64, which are not counted as text."""

import binascii
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from context_compression.conversation.messages import strings_in
from context_compression.tokens.families import Family

PAGE = 2_200  # tokens of a PDF page: about 1,590 for its picture, the rest for its text
PAGE_BYTES = 50_000  # assumed bytes per page of a PDF whose pages cannot be counted
UNSEEN_PAGES, MOST_UNSEEN_PAGES = 4, 10
"""The assumed pages of a document given by an id or an address: in the count, and in its upper
bound. A letter has one page, a paper ten. A larger assumption would make a compression due too
often."""
HEAD = 262_144  # base64 characters of a JPEG searched for its size; it may begin with a thumbnail
SLICE = 1_048_576  # base64 characters decoded at a time
BASE64_CHARS = 300
"""How many characters at the beginning of a text decide whether it is base64. Within that length,
prose has a space, and paths and addresses have a dot or a colon."""

NAMING = frozenset({"file_id", "fileId", "file_url", "url", "uri", "fileUri", "file_uri"})
"""The keys of a document's id or address."""
ADDRESS = re.compile(r"(?:https?|gs|s3)://")
_BASE64 = re.compile(r"(?:data:[^,\s]{0,200},)?[A-Za-z0-9+/_=\r\n-]+")
_DATA_URL = re.compile(r"data:[^,\s]{0,200},")
_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")


def sealed_tokens(characters: int) -> int:
    """Estimated tokens of the text in this many characters of encrypted base64 reasoning."""
    return math.ceil(characters * 3 / 4 / 4)


def payload(source: Any) -> str:
    """The data of a picture or document in any dialect: its longest string, without `data:…,`."""
    longest = max(strings_in(source), key=len, default="")
    url = _DATA_URL.match(longest)
    return longest[url.end() :] if url else longest


def image_tokens(source: Any, family: Family) -> int:
    """Tokens of a picture by its size in pixels; the family's maximum if the size is unknown."""
    size = image_size(payload(source))
    if size is None:
        return family.image_tokens
    width, height = size
    scale = min(1.0, family.image_edge / max(width, height))
    if family.image_tiles:
        # OpenAI, gpt-4o: scale to 2048 x 2048, then the shorter side to 768; 85 + 170 per tile.
        scale = min(scale, 768 / min(width, height))
        tokens = 85 + 170 * _cells(width * scale, 512) * _cells(height * scale, 512)
    else:
        tokens = _cells(width * scale, 28) * _cells(height * scale, 28)
    return min(tokens, family.image_tokens)


def _cells(pixels: float, side: int) -> int:
    return max(1, math.ceil(round(pixels) / side))


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels from the header of a PNG, GIF, WebP or JPEG in base64.

    `None` for other data.
    """
    head = _decoded(data, 0, 64)
    size: tuple[int, int] | None = None
    if head[:8] == b"\x89PNG\r\n\x1a\n":
        size = _number(head[16:20]), _number(head[20:24])
    elif head[:4] == b"GIF8":
        size = _little(head[6:8]), _little(head[8:10])
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        size = _webp_size(head)
    elif head[:2] == b"\xff\xd8":
        size = _jpeg_size(_decoded(data, 0, HEAD))
    return size if size and min(size) > 0 else None


def _webp_size(head: bytes) -> tuple[int, int]:
    match head[12:16]:
        case b"VP8X":
            return _little(head[24:27]) + 1, _little(head[27:30]) + 1
        case b"VP8L":
            bits = _little(head[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _JPEG_FRAMES:
            return _number(head[at + 7 : at + 9]), _number(head[at + 5 : at + 7])
        at += 1 if marker == 0xFF else 2 + _number(head[at + 2 : at + 4])
    return None


def document_tokens(source: Any) -> int | None:
    """Tokens of a PDF by its pages; `None` if `source` does not hold a PDF."""
    data = payload(source)
    if _decoded(data, 0, 64)[:4] != b"%PDF":
        return None
    pages = sum(
        len(_PDF_PAGE.findall(_decoded(data, at, SLICE))) for at in range(0, len(data), SLICE)
    )
    return PAGE * (pages or math.ceil(len(data) * 3 / 4 / PAGE_BYTES))


def is_reference(source: Any) -> bool:
    """Whether a document is given only by an id or an address, without its data."""
    if isinstance(source, Mapping):
        mapping = cast("Mapping[str, Any]", source)
        named = any(key in NAMING and isinstance(value, str) for key, value in mapping.items())
        return (named and not _holds_data(mapping)) or any(map(is_reference, mapping.values()))
    return isinstance(source, str) and ADDRESS.match(source) is not None


def _holds_data(source: Mapping[str, Any]) -> bool:
    return any(isinstance(source.get(key), str | bytes) for key in ("data", "bytes", "file_data"))


def without_base64(value: Any) -> tuple[Any, int]:
    """Parsed JSON with `""` in place of long base64 strings, and the removed characters' number."""
    if isinstance(value, str):
        return ("", len(value)) if _is_base64(value) else (value, 0)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        items, removed = without_base64(list(mapping.values()))
        return dict(zip(mapping, items, strict=True)), removed
    if isinstance(value, list | tuple):
        pairs = [without_base64(item) for item in cast("Sequence[Any]", value)]
        return [item for item, _ in pairs], sum(removed for _, removed in pairs)
    return value, 0


def _is_base64(text: str) -> bool:
    return len(text) >= BASE64_CHARS and _BASE64.fullmatch(text, 0, BASE64_CHARS) is not None


_OF_URLS = str.maketrans("-_", "+/")
"""The characters of base64 for addresses, which Google's packages write, in those of base64."""


def _decoded(data: str, start: int, characters: int) -> bytes:
    part = "".join(data[start : start + characters].split())
    part = part.translate(_OF_URLS)
    try:
        return binascii.a2b_base64(part[: len(part) // 4 * 4])
    except ValueError:  # not base64, or cut within a group because of line breaks
        return b""


def _number(big_endian: bytes) -> int:
    return int.from_bytes(big_endian, "big")


def _little(little_endian: bytes) -> int:
    return int.from_bytes(little_endian, "little")
