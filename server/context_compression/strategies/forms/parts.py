"""The beginning and end of a long text, and the first spans that fit a limit."""

import re
from collections.abc import Sequence
from itertools import accumulate

from context_compression.conversation.rendering import Span
from context_compression.evidence.constraints import SENTENCE


def fitting(spans: Sequence[Span], limit: int) -> Sequence[Span]:
    """The first spans that together hold at most `limit` characters."""
    ends = accumulate(stop - start for start, stop in spans)
    return [span for span, end in zip(spans, ends, strict=True) if end <= limit]


def outer_parts(text: str, limit: int, divider: re.Pattern[str] = SENTENCE) -> list[Span]:
    """The spans of the beginning and end of a text, together at most `limit` characters.

    The text is cut at the `divider` if there is one near the limit; by default that is the end of a
    sentence.
    """
    half = limit // 2
    *_, stop = (half, *(end.start() for end in divider.finditer(text, half // 2, half)))
    begins = divider.search(text, len(text) - half, len(text) - half // 2)
    return [(0, stop), (begins.end() if begins else len(text) - half, len(text))]
